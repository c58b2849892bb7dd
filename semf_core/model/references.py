"""The papers behind algorithms, sets and data: one BibTeX file, looked up by key.

A solver, a set or a data source names its papers in a class attribute `reference`, a key or a tuple of keys.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec
from semf_core.sets import members_of

POLISH = "hals"
"""The polish on fixed supports is coordinate descent."""


@cache
def entries() -> dict[str, str]:
    """BibTeX entries by key, in the order of the file."""
    text = (resources.files("semf_core") / "references.bib").read_text(encoding="utf-8")
    pieces = [piece.strip() for piece in re.split(r"\n(?=@)", text)]
    return {piece.partition("{")[2].partition(",")[0]: piece for piece in pieces}


def entry(key: str) -> str:
    """The BibTeX entry of a key; what a package of somebody else brings along may be the entry itself."""
    if key.startswith("@"):
        return key
    if key not in entries():
        raise InvalidInput("reference", f"there is no {key!r}", f"known are {', '.join(entries())}", whole=True)
    return entries()[key]


def references_of(spec: ModelSpec) -> tuple[str, ...]:
    """Keys of the papers behind a model: its algorithm first, then the polish, its sets and its data."""
    keys = list(_named(spec.solver))
    if spec.limits.polish:
        keys.append(POLISH)
    for whole in (spec.x_set, spec.y_set):
        keys += [key for member in members_of(whole) for key in _named(member)]
    keys += _named(spec.dataset)
    return tuple(dict.fromkeys(keys))


def bibliography(spec: ModelSpec) -> str:
    """The BibTeX of the papers behind a model."""
    return "\n\n".join(entry(key) for key in references_of(spec)) + "\n"


def _named(thing: object) -> tuple[str, ...]:
    named: str | tuple[str, ...] = getattr(type(thing), "reference", ())
    if isinstance(named, str):
        return (named,) if named else ()
    return named
