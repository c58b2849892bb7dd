"""Public functions say what they take, what they return, and show it: every example is run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from semf_core.sets import SETS, Sparse

PACKAGES = (
    "semf_core",
    "semf_core.sets",
    "semf_core.solvers",
    "semf_core.datasets",
    "semf_core.model",
    "semf_core.model.codegen",
    "semf_core.mathematics.metrics",
    "semf_core.factorization.encode",
    "semf_core.factorization.restoration",
    "semf_core.factorization.retrieval",
    "semf_core.studies",
    "semf_core.distributed",
    "semf_core.comparison",
    "semf_core.lessons",
    "semf_core.glossary",
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
HEADINGS = re.compile(r"^(Parameters|Returns|Attributes|Raises|Examples)\n-+$", re.MULTILINE)


def public() -> Iterator[Any]:
    """Functions and classes that a package offers, each once."""
    found: dict[int, Any] = {}
    for name in PACKAGES:
        package = importlib.import_module(name)
        own = [key for key, value in vars(package).items() if key[0] != "_" and getattr(value, "__module__", "") == name]
        values = (inspect.unwrap(getattr(package, key)) for key in getattr(package, "__all__", own))
        found |= {id(value): value for value in values if inspect.isfunction(value) or inspect.isclass(value)}
    return iter(found.values())


def label(value: Any) -> str:
    return f"{value.__module__.removeprefix('semf_core.')}.{value.__name__}"


def sections(value: Any) -> dict[str, str]:
    """The numpydoc sections of a docstring."""
    pieces = HEADINGS.split(inspect.getdoc(value) or "")
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


@pytest.mark.parametrize("function", [v for v in public() if inspect.isfunction(v)], ids=label)
def test_a_public_function_says_what_it_takes_and_returns(function):
    told, signature = sections(function), inspect.signature(function)
    named = re.findall(r"^(\S[^:\n]*) : |^(\*\*\w+)", told.get("Parameters", ""), re.MULTILINE)
    names = [name.lstrip("*") for pair in named for name in "".join(pair).split(", ")]
    assert names == list(signature.parameters), (
        f"{label(function)}: its section Parameters must name its arguments in their order"
    )
    if signature.return_annotation not in (None, "None"):
        assert "Returns" in told, f"{label(function)} needs a section Returns"
    assert ">>> " in told.get("Examples", ""), f"{label(function)} needs a section Examples with lines >>>"


@pytest.mark.parametrize("cls", [v for v in public() if v in set(SETS.everything())], ids=label)
def test_a_set_shows_a_projection(cls):
    assert ">>> " in sections(cls).get("Examples", ""), f"{label(cls)} needs a section Examples with lines >>>"


def test_parameters_are_told_from_their_fields():
    told = sections(Sparse)["Parameters"]
    assert (
        "k : integer at least 1\n    largest number of nonzeros" in told
        and "axis : {'column', 'row', 'all'}, default 'column'" in told
    )


@pytest.mark.parametrize("value", [v for v in public() if ">>> " in (v.__doc__ or "")], ids=label)
def test_examples_print_what_they_say(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "home"))
    known = {**vars(inspect.getmodule(value)), "np": np}
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(value) or "", known, label(value), None, None)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert outcome.attempted and not outcome.failed, "".join(said)
