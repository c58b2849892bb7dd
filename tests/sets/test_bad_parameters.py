"""Bad parameters, made from the descriptions of the good ones, are rejected with the name of the field."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.sets import (
    SETS,
    Box,
    FixedColumns,
    GroupSparse,
    GroupSparseness,
    Intersection,
    Nonnegative,
    Sparseness,
    set_from_dict,
)

WRONG: dict[str, tuple[Any, ...]] = {
    "integer": ("3", 1.5, True, math.nan, math.inf, [1], {}, 10**400, 1j),
    "number": ("3", True, math.nan, -math.inf, [1.0], {}, 10**400, 1j, None),
    "boolean": ("true", 1, 0.0, [], None),
    "choice": ("sideways", 1, ["row"], None, np.zeros(3)),
    "text": (1, None, ["x"]),
    "indices": ([], [-1], [0, 0], ["0"], [1.5], "0-3", 3, {"a": 1}, {1, "a"}, [[0]], np.zeros((2, 2))),
    "groups": ([], [[]], [[0, 1], [1, 2]], [[0], []], [0, 1], "0|1", [[0, "1"]], None),
    "integers": ("1", [1.5], [True], [[1]], None, math.inf),
    "numbers": ("1", [math.nan], [[0.1]], None),
    "matrix": ([], [[]], [1.0], [[1], [1, 2]], [["1"]], [[math.nan]], [[1j]], None, "x", [[10**400]]),
    "mask": ([[2]], [[0.5]], [["true"]], [[None]], 1),
    "function": ("print", 1),
}


def bad_values(p: Param) -> list[Any]:
    """Wrong kinds, and numbers just outside the range."""
    beyond = [] if p.low is None else [p.low - 1]
    beyond += [] if p.high is None else [p.high + 1]
    beyond += [p.low] if p.open_low and p.low is not None else []
    several = p.kind in {"integers", "numbers"}
    values = [*WRONG[p.kind], *beyond, *([[b] for b in beyond] if several else [])]
    return [v for v in values if not (v is None and p.optional)]


@pytest.mark.parametrize("cls", list(SETS.everything()), ids=lambda cls: cls.name)
def test_bad_values_are_refused(cls: Any) -> None:
    for p in params_of(cls):
        for value in bad_values(p):
            with pytest.raises(InvalidInput) as error:
                cls.from_params({**cls.example, p.name: value})
            assert error.value.field == p.name and str(error.value).startswith(f"{p.name}: "), value


@pytest.mark.parametrize("cls", list(SETS.everything()), ids=lambda cls: cls.name)
def test_missing_and_unknown_names_are_refused(cls: Any) -> None:
    for p in params_of(cls):
        if p.required:
            with pytest.raises(InvalidInput, match="needs a value") as error:
                cls.from_params({k: v for k, v in cls.example.items() if k != p.name})
            assert error.value.field == p.name
    with pytest.raises(InvalidInput, match=r"^colour: is not a parameter"):
        cls.from_params({**cls.example, "colour": "red"})


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Box(1, 0), "low"),
        (lambda: Sparseness(0.5, 0.4), "high"),
        (lambda: GroupSparse([[0], [1]], [1]), "k"),
        (lambda: GroupSparse([[0], [1]], 2), "k"),
        (lambda: GroupSparse([[0], [1]], []), "k"),
        (lambda: GroupSparseness([[0], [1]], [0.1]), "values"),
        (lambda: FixedColumns([0, 1], np.array([[1.0]])), "values"),
        (lambda: Intersection.from_params({"sets": ("nonnegative",)}), "sets"),
        (lambda: Intersection((), method="guess"), "method"),
        (lambda: Intersection((), rounds=0), "rounds"),
        (lambda: set_from_dict({"name": "intersection"}), "sets"),
        (lambda: set_from_dict({"name": "intersection", "sets": [], "k": 1}), "k"),
        (lambda: set_from_dict({"name": "intersection", "sets": [1]}), "set"),
        (lambda: set_from_dict([]), "set"),
        (lambda: set_from_dict({"name": ["x"]}), "set"),
        (lambda: Nonnegative(columns=[]), "columns"),
    ],
)
def test_parameters_that_disagree(make: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        make()
    assert error.value.field == field


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)


@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_built_or_refused(data: st.DataObject) -> None:
    cls = data.draw(st.sampled_from(list(SETS)))
    names = [p.name for p in params_of(cls)]
    values = {**cls.example, **data.draw(st.dictionaries(st.sampled_from(names), json_values, max_size=2))}
    try:
        built = SETS.build({"name": cls.name, **values})
    except InvalidInput as error:
        assert error.field in names
    else:
        assert set_from_dict(built.to_dict()) == built


@given(st.sampled_from(SETS.names()), st.text(alphabet='abk=,:+-|[]0123.e"{} ', max_size=20))
@settings(max_examples=200, deadline=None)
def test_any_command_line_word_is_built_or_refused(name: str, tail: str) -> None:
    for word in (f"{name}:{tail}", f"{name}:columns={tail}", f"{name}:k={tail}"):
        try:
            SETS.parse(word)
        except InvalidInput as error:
            assert error.message
