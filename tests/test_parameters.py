"""One description of a value: checked, spelled, stored, compared."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semf_core.common.notation import number, spell
from semf_core.common.parameters import REQUIRED, InvalidInput, Param, Parametrized, param, params_of


class Sample(Parametrized):
    name: ClassVar[str] = "sample"

    count: int = param("integer", low=1, high=9, help="how many")
    rate: float = param("number", 0.5, low=0, high=1, open_low=True, open_high=True)
    shape: str = param("choice", "round", choices=("round", "square"))
    parts: Sequence[int] | None = param("indices", None, optional=True)
    table: np.ndarray | None = param("matrix", None, optional=True)


def make(kind: str, **description: object) -> Param:
    return Param(kind, REQUIRED, name="x", **description)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("p", "value", "normal"),
    [
        (make("integer"), np.int32(3), 3),
        (make("integer"), 3.0, 3),
        (make("number"), np.float32(0.5), 0.5),
        (make("number"), 2, 2.0),
        (make("boolean"), np.True_, True),
        (make("indices"), np.array([3, 1]), (3, 1)),
        (make("indices"), {2, 10, 1}, (1, 2, 10)),
        (make("indices"), range(3), (0, 1, 2)),
        (make("groups"), [[0, 2], (1,)], ((0, 2), (1,))),
        (make("integers"), 4, 4),
        (make("integers"), [4, 5.0], (4, 5)),
        (make("numbers"), np.array([0.5]), (0.5,)),
        (make("text"), "a", "a"),
        (make("number", optional=True), None, None),
    ],
)
def test_values_are_brought_to_a_normal_form(p: Param, value: object, normal: object) -> None:
    found = p.check(value)
    assert found == normal and type(found) is type(normal)


@pytest.mark.parametrize(
    ("p", "text", "value"),
    [
        (make("integer"), " 3 ", 3),
        (make("integer"), "1e3", 1000),
        (make("number"), "1e-3", 0.001),
        (make("boolean"), "Yes", True),
        (make("boolean"), "0", False),
        (make("indices"), "0-3+7", (0, 1, 2, 3, 7)),
        (make("indices"), "[2, 1]", (2, 1)),
        (make("indices", optional=True), "all", None),
        (make("groups"), "0-1|4|2+3", ((0, 1), (4,), (2, 3))),
        (make("integers"), "2", 2),
        (make("integers"), "2+3", (2, 3)),
        (make("numbers"), "1e+2", 100.0),
        (make("numbers"), "0.5|1e+2", (0.5, 100.0)),
        (make("choice", choices=("a", "b")), "b", "b"),
        (make("text"), "[x]", "[x]"),
    ],
)
def test_command_line_spelling(p: Param, text: str, value: object) -> None:
    assert p.parse(text) == value


COUNTED = [make("indices"), make("groups"), make("integer", index=True), make("integers")]


@pytest.mark.parametrize("p", COUNTED, ids=lambda p: p.kind)
def test_indices_can_be_counted_from_one(p: Param) -> None:
    value = {"indices": (0, 1, 7), "groups": ((0, 1), (5,)), "integer": 4, "integers": (2, 3)}[p.kind]
    shown = {"indices": "1-2+8", "groups": "1-2|6", "integer": "5", "integers": "2+3"}[p.kind]
    assert spell(p, value, 1) == shown
    assert p.parse(shown, 1) == p.check(value)
    if p.counts:
        with pytest.raises(InvalidInput, match="must count from 1"):
            p.parse("0", 1)


def test_a_refusal_tells_its_indices_in_either_way_of_counting() -> None:
    refusal = InvalidInput("columns", "names column {worst}, counted from {origin}", worst=9)
    assert str(refusal) == "columns: names column 9, counted from 0"
    assert refusal.counted(1) == "names column 10, counted from 1"
    again = pickle.loads(pickle.dumps(refusal.about("X columns")))
    assert (again.field, again.counted(1)) == ("X columns", refusal.counted(1))
    assert InvalidInput("a", "holds {braces}").counted(1) == "holds {braces}"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("indices", "3-1", "goes down"),
        ("indices", "0-99999999", "too long"),
        ("indices", "a", "cannot be read"),
        ("indices", "", "cannot be read"),
        ("number", "", "must be a number"),
        ("number", "nan", "must be a number"),
        ("number", "1e999", "must be a number"),
        ("integer", "2.5", "whole number"),
        ("boolean", "maybe", "true or false"),
        ("matrix", "[[1, 2], [3]]", "rectangular"),
        ("matrix", "[[1, 2", "not valid JSON"),
        ("matrix", "[" * 100_000, "not valid JSON"),
        ("number", "[" + "9" * 5000 + "]", "x: "),
        ("matrix", "3", "matrix"),
    ],
)
def test_words_that_cannot_be_read(kind: str, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as error:
        make(kind).parse(text)
    assert error.value.field == "x"


@given(st.floats(allow_nan=True) | st.integers(), st.floats(-5, 5), st.floats(-5, 5), st.booleans(), st.booleans())
def test_ranges_are_kept(value: float, low: float, high: float, open_low: bool, open_high: bool) -> None:
    p = make("number", low=low, high=high, open_low=open_low, open_high=open_high)
    inside = (low < value or (low == value and not open_low)) and (value < high or (value == high and not open_high))
    if inside:
        assert p.check(value) == value
    else:
        with pytest.raises(InvalidInput, match=r"^x: must be"):
            p.check(value)


def test_ranges_are_described() -> None:
    assert make("number", low=0, high=1, open_low=True).describe_range() == "in (0, 1]"
    assert make("number", low=2).describe_range() == "at least 2"
    assert make("number", high=2, open_high=True).describe_range() == "below 2"


def test_a_class_lists_its_parameters() -> None:
    assert [p.name for p in params_of(Sample)] == ["count", "rate", "shape", "parts", "table"]
    assert [p.name for p in params_of(Sample) if p.required] == ["count"]


def test_json_holds_what_differs_from_the_default() -> None:
    s = Sample(3, parts=[1], table=np.array([[1, 2]]))
    assert s.to_dict() == {"name": "sample", "count": 3, "parts": [1], "table": [[1.0, 2.0]]}
    values = json.loads(json.dumps(s.to_dict()))
    values.pop("name")
    assert Sample.from_params(values) == s


def test_equality_and_hash_go_by_content() -> None:
    as_float: Any = 3.0
    row, column = np.array([[1, 2]]), np.array([[1], [2]])
    assert Sample(3, table=row) == Sample(as_float, table=row.copy()) != Sample(3, table=column)
    assert len({Sample(3), Sample(3, rate=0.5), Sample(4)}) == 2
    assert Sample(3) != "sample"


def test_tables_are_copied_and_locked() -> None:
    table = np.ones((2, 2))
    s = Sample(1, table=table)
    table[0, 0] = 5
    assert s.table is not None and s.table[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        s.table[0, 0] = 2


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.21437, 3, "0.214"),
        (5390.4, 3, "5,390"),
        (1024, 4, "1,024"),
        (99.7, 2, "100"),
        (128.4, 2, "130"),
        (4.73e-15, 3, "4.73·10⁻¹⁵"),
        (-2e7, 4, "−2·10⁷"),
    ],
)
def test_numbers_are_written_one_way(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text
