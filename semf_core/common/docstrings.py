"""The docstring of a class whose fields are described: its parameters are written once, in the fields."""

from __future__ import annotations

import inspect
from typing import TypeVar

from semf_core.common.parameters import Param, params_of

C = TypeVar("C", bound=type)
HEADING = "Parameters\n----------"
KINDS = {
    "boolean": "true or false",
    "indices": "indices from 0",
    "groups": "groups of indices",
    "integers": "integer, or a list",
    "numbers": "number, or a list",
    "function": "Python function",
}


def with_parameters(cls: C) -> C:
    """The class with a numpydoc section "Parameters", before its examples; one that is written by hand stays as it is."""
    text = inspect.cleandoc(cls.__doc__ or "")
    described = params_of(cls)
    if not described or HEADING in text:
        return cls
    opening, mark, examples = text.partition("Examples\n--------")
    lines = [HEADING]
    for p in described:
        default = "" if p.required else f", default {p.default!r}"
        lines += [f"{p.name} : {kind_of(p)}{default}", f"    {p.help}"]
    cls.__doc__ = "\n\n".join(part for part in (opening.strip(), "\n".join(lines), mark + examples) if part)
    return cls


def kind_of(p: Param) -> str:
    """What a value of a parameter is, with its range."""
    if p.choices:
        return "{" + ", ".join(map(repr, p.choices)) + "}"
    limits = "" if p.low is None and p.high is None else f" {p.describe_range()}"
    return KINDS.get(p.kind, p.kind) + limits
