"""Refusals as sentences."""

from __future__ import annotations

import re

import pytest

from pages.ui.words import sentence, symbol
from semf_core.parameters import InvalidInput, params_of
from semf_core.sets import SETS

SAID = {
    ("run", "has an id that is not valid; open the whole link"): "The run has an id that is not valid; open the whole link.",
    ("run", "there is no run with this id"): "There is no run with this id.",
    ("key", "only the owner can do this"): "Only the owner can do this.",
    ("words.csv", "holds text but no numbers"): "words.csv holds text but no numbers.",
    ("my own.npz", "its groups overlap"): "my own.npz: its groups overlap.",
    ("k", "must be at least 1, not 0"): "k must be at least 1, not 0.",
    ("k", "at most 6 nonzeros fit"): "k: at most 6 nonzeros fit.",
    ("alpha0", "must be above 0"): "α₀ must be above 0.",
    ("max_iter", "must be a whole number"): "Max iter must be a whole number.",
    ("spec", "is not valid JSON"): "The model is not valid JSON.",
    ("dataset", "there is no 'nowhere'!"): "There is no 'nowhere'!",
    ("box and nonnegative", "no entry is both"): "Box and nonnegative: no entry is both.",
}  # fmt: skip


@pytest.mark.parametrize("refusal", SAID, ids=" ".join)
def test_a_refusal_is_a_sentence(refusal):
    assert sentence(InvalidInput(*refusal)) == SAID[refusal]


def test_places_are_counted_from_one():
    refusal = InvalidInput("columns", "names column {worst}, counted from {origin}", worst=9)
    assert sentence(refusal) == "Columns names column 10, counted from 1."


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_whatever_does_not_fit_reads_as_a_sentence(cls):
    """Every set in a factor of one entry: some fit, the others say why not."""
    try:
        cls.from_params(cls.example).check_shape((1, 1))
    except InvalidInput as refusal:
        said = sentence(refusal)
        assert re.fullmatch(r"\S.*[^ ]\.", said)
        assert "{" not in said and "counted from 0" not in said
        assert refusal.field in {p.name for p in params_of(cls)}


def test_symbols():
    written = {"alpha": "α", "beta0": "β₀", "k_t": "kₜ", "G_t": "Gₜ", "s_max": "smax", "max_iter": "max_iter", "tol": "tol"}
    assert {text: symbol(text) for text in written} == written
