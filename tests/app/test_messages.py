"""Refusals as sentences."""

from __future__ import annotations

import re

import pytest

from pages.ui.messages import sentence, symbol, told
from semf_core.common.parameters import InvalidInput, params_of
from semf_core.sets import SETS

SAID = {
    ("run", "has an id that is not valid", "open the whole link"): "The run has an id that is not valid; open the whole link.",
    ("words.csv", "holds text but no numbers"): "words.csv holds text but no numbers.",
    ("k", "must be at least 1, not 0"): "k must be at least 1, not 0.",
    ("alpha0", "must be above 0"): "α₀ must be above 0.",
    ("max_iter", "must be a whole number"): "Iterations must be a whole number.",
    ("spec", "is not valid JSON"): "The model is not valid JSON.",
}  # fmt: skip


CLAUSES = {
    ("run", "there is no run with this id"): "There is no run with this id.",
    ("key", "only the owner can do this"): "Only the owner can do this.",
    ("my own.npz", "its groups overlap"): "my own.npz: its groups overlap.",
    ("k", "at most 6 nonzeros fit", "lower it"): "k: at most 6 nonzeros fit; lower it.",
    ("dataset", "there is no 'nowhere'!"): "There is no 'nowhere'!",
    ("box and nonnegative", "no entry is both"): "Box and nonnegative: no entry is both.",
}


@pytest.mark.parametrize("refusal", SAID, ids=" ".join)
def test_a_problem_goes_on_after_the_name_of_its_field(refusal):
    assert sentence(InvalidInput(*refusal)) == SAID[refusal]


@pytest.mark.parametrize("refusal", CLAUSES, ids=" ".join)
def test_a_problem_that_is_a_clause_of_its_own(refusal):
    assert sentence(InvalidInput(*refusal, whole=True)) == CLAUSES[refusal]


def test_an_answer_over_http_has_the_parts_too():
    refusal = InvalidInput("rank", "is 9, but there are only 4 samples", "lower it")
    message = "Rank is 9, but there are only 4 samples; lower it."
    told_rest = {"field": "rank", "problem": "is 9, but there are only 4 samples", "remedy": "lower it"}
    assert told(refusal) == {"message": message} | told_rest


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
