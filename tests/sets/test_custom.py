"""The user's own projection: checked at each call, never stored, never made from text."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.sets import SETS, Custom, Intersection, Nonnegative, Sparse, set_from_dict


def test_it_is_projected_and_measured_as_the_user_says() -> None:
    A = np.array([[1.5, -2.0]])
    rounded = Custom(np.round, "whole numbers", exact=True)
    np.testing.assert_array_equal(rounded.project(A), [[2, -2]])
    assert rounded.violation(A) == 0.5 and rounded.exact and not rounded.convex
    assert Custom(np.round, measure=lambda A: 7).violation(A) == 7
    assert not Custom(np.round).exact and Custom(np.round).size == "fixed"


def test_it_joins_other_sets_without_a_claim() -> None:
    s = Intersection((Nonnegative(), Custom(np.round, exact=True), Sparse(1)))
    assert not s.exact and "rounds" in s.reason
    np.testing.assert_array_equal(s.project(np.array([[1.4], [2.6], [-3]])), [[0], [3], [0]])


def test_a_function_that_writes_on_its_argument_does_no_harm() -> None:
    def careless(A: np.ndarray) -> np.ndarray:
        A[:] = 0
        return A

    A = np.ones((2, 2))
    assert not Custom(careless).project(A).any() and A.all()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda A: A[:1], "shape"),
        (lambda A: A * np.nan, "finite"),
        (lambda A: A + 1j, "finite real"),
        (lambda A: None, "shape"),
    ],
)
def test_what_the_function_returns_is_checked(function: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=f"function: mine returned.*{words}"):
        Custom(function, "mine").project(np.ones((2, 2)))


@pytest.mark.parametrize("found", [-1, np.nan, "far"])
def test_what_the_measure_gives_is_checked(found: Any) -> None:
    with pytest.raises(InvalidInput, match="measure"):
        Custom(np.round, measure=lambda A: found).violation(np.ones((2, 2)))


def test_it_cannot_be_stored_or_built_from_text() -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        Custom(np.round).to_dict()
    with pytest.raises(InvalidInput, match="cannot be stored"):
        Intersection((Nonnegative(), Custom(np.round))).to_dict()
    for attempt in (lambda: set_from_dict({"name": "custom", "function": "print"}), lambda: SETS.parse("custom:function=print")):
        with pytest.raises(InvalidInput, match="in Python"):
            attempt()
    assert "custom" not in SETS.names() and Custom not in SETS and Custom in SETS.everything()


def test_equality_is_that_of_the_functions() -> None:
    assert Custom(np.round) == Custom(np.round) != Custom(np.floor)
    assert len({Custom(np.round), Custom(np.round), Custom(np.floor)}) == 2
    assert pickle.loads(pickle.dumps(Custom(np.round))) == Custom(np.round)


def test_its_name_is_typeset_as_text() -> None:
    assert Custom(np.round, r"a_b{c}\d%").latex() == r"\left\{ X : X \in \text{a\_b\{c\}\textbackslash{}d\%} \right\}"
