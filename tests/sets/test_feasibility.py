"""Constraints that cannot be met are rejected before the first iteration, with one sentence naming the field."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.sets import (
    Box,
    DisjointSupports,
    EqualNonzeros,
    FixedColumns,
    GroupSparse,
    GroupSparseness,
    Intersection,
    L1Ball,
    Nonnegative,
    NormBall,
    OrthogonalTo,
    Orthonormal,
    Simplex,
    Sparse,
    Sparseness,
    StructureSet,
    Support,
    UnitNorm,
)
from semf_core.sets.feasibility import check_together

SHAPE = (4, 3)
BARE = Support(np.array([[1, 0, 1], [1, 0, 0], [0, 0, 1], [1, 0, 1]]))
"""Column 1 has no entry, row 1 and 2 have one."""
KNOWN = FixedColumns([1], np.array([[1], [-1], [0], [2]]))


@pytest.mark.parametrize(
    ("s", "field"),
    [
        (Sparse(5), "k"),
        (Sparse(4, axis="row"), "k"),
        (Sparse(1, columns=[3]), "columns"),
        (Sparse(1, entries=[4]), "entries"),
        (Sparse(1, axis="row", columns=[4]), "columns"),
        (Sparse(1, axis="all", columns=[0], entries=[4]), "entries"),
        (EqualNonzeros(5), "k"),
        (GroupSparse([[0, 1], [2]]), "groups"),
        (GroupSparse([[0, 1], [2, 3, 4]]), "groups"),
        (OrthogonalTo(3), "column"),
        (Orthonormal("row"), "axis"),
        (DisjointSupports(columns=[0, 3]), "columns"),
        (DisjointSupports("row", columns=[4]), "columns"),
        (Support(np.array([[1, 0]])), "mask"),
        (FixedColumns([3], np.ones((4, 1))), "columns"),
        (FixedColumns([0], np.ones((3, 1))), "values"),
        (FixedColumns([0], np.ones((4, 1)), "row"), "values"),
        (Sparseness(0.5, entries=[2]), "low"),
        (Sparseness(0.5, axis="all", columns=[0], entries=[1]), "low"),
        (GroupSparseness([[0, 3]], 0.5), "groups"),
        (GroupSparseness([[0, 3]], 0.5, "row"), None),
    ],
    ids=str,
)
def test_what_does_not_fit_the_shape(s: StructureSet, field: str | None) -> None:
    if field is None:
        s.check_shape(SHAPE)
        return
    rejected(lambda: s.check_shape(SHAPE), field)
    rejected(lambda: Intersection((Nonnegative(), s)).check_shape(SHAPE), field)


def test_one_entry_has_no_sparseness() -> None:
    rejected(lambda: Sparseness(0.5).check_shape((1, 3)), "low")
    rejected(lambda: GroupSparseness([[0]], 0.5).check_shape((1, 3)), "groups")


@pytest.mark.parametrize(
    "sets",
    [
        (EqualNonzeros(3), Sparse(2)),
        (EqualNonzeros(3), GroupSparse([[0, 1], [2, 3]])),
        (EqualNonzeros(3), EqualNonzeros(2)),
        (Nonnegative(), Box(-2, -1)),
        (Nonnegative(axis="all"), Box(-2, -1, columns=[1])),
        (Box(0, 1), Box(2, 3, axis="row", columns=[0])),
        (UnitNorm(), NormBall(0.5)),
        (UnitNorm(), L1Ball(0.5)),
        (Simplex(), Simplex(2)),
        (Simplex(2), L1Ball(1)),
        (Simplex(0.5), UnitNorm()),
        (Sparseness(0.2, 0.4), Sparseness(0.5)),
    ],
    ids=str,
)
def test_contradictions_whatever_the_shape(sets: tuple[StructureSet, ...]) -> None:
    for order in (sets, sets[::-1]):
        with pytest.raises(InvalidInput) as error:
            Intersection(order)
        assert all(s.name in error.value.field for s in sets)


@pytest.mark.parametrize(
    "sets",
    [
        (UnitNorm(entries=[0, 1]), NormBall(0.5, entries=[1, 2])),
        (UnitNorm(columns=[0]), NormBall(0.5, columns=[1])),
        (EqualNonzeros(3), Sparse(2, axis="row")),
        (Box(0, 1, columns=[0]), Box(2, 3, columns=[1])),
        (Simplex(), Simplex(2, axis="row")),
        (Nonnegative(columns=[0]), Box(-2, -1, axis="row", entries=[1])),
    ],
    ids=str,
)
def test_what_only_seems_contradictory_is_taken(sets: tuple[StructureSet, ...]) -> None:
    Intersection(sets).check_shape((4, 4))


@pytest.mark.parametrize(
    ("sets", "field"),
    [
        ((Box(0, 1, axis="all", entries=[4]), Box(2, 3, axis="row", columns=[1])), "box"),
        ((Sparse(3), Box(1, 2)), "box"),
        ((GroupSparse([[0, 1], [2, 3]]), Box(1, 2)), "box"),
        ((Simplex(), Box(0.5, 1)), "box"),
        ((Simplex(9), Box(0, 1)), "box"),
        ((UnitNorm(), Box(-0.1, 0.1)), "box"),
        ((UnitNorm(), Box(1, 2)), "box"),
        ((NormBall(1), Box(1, 2)), "box"),
        ((L1Ball(3), Box(-2, -1)), "box"),
        ((Simplex(3), UnitNorm()), "simplex"),
        ((Simplex(3), NormBall(1)), "simplex"),
        ((Sparseness(0.1), Sparse(2)), "sparseness"),
        ((Sparseness(0.9), EqualNonzeros(2)), "sparseness"),
        ((BARE, UnitNorm()), "mask"),
        ((BARE, Simplex(axis="all", columns=[1])), "mask"),
        ((BARE, Orthonormal()), "mask"),
        ((BARE, EqualNonzeros(2, axis="row")), "mask"),
        ((BARE, Box(1, 2)), "mask"),
        ((Support(np.eye(4, 3)), Support(1 - np.eye(4, 3)), UnitNorm()), "mask"),
    ],
    ids=str,
)
def test_contradictions_of_a_shape(sets: tuple[StructureSet, ...], field: str) -> None:
    rejected(lambda: Intersection(sets).check_shape(SHAPE), field)
    rejected(lambda: Intersection(sets[::-1]).check_shape(SHAPE), field)


def test_masks_with_room_are_taken() -> None:
    Intersection((BARE, UnitNorm(columns=[0, 2]), Simplex(axis="row"), EqualNonzeros(1, axis="row"))).check_shape(SHAPE)


@pytest.mark.parametrize(
    "s",
    [
        Nonnegative(),
        Nonnegative(axis="row", columns=[1]),
        Box(-1, 1, axis="all"),
        Sparse(2),
        UnitNorm(),
        Sparseness(0.9),
        Sparse(4, axis="all", columns=[1]),
        Support(np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1]])),
        FixedColumns([0, 1], np.ones((4, 2))),
        FixedColumns([0], np.array([[1], [7], [0]]), "row"),
        OrthogonalTo(1) & FixedColumns([2], np.ones((4, 1))),
        DisjointSupports() & FixedColumns([0], np.ones((4, 1))),
        Orthonormal(),
    ],
    ids=str,
)
def test_known_columns_that_break_a_constraint(s: StructureSet) -> None:
    if isinstance(s, Sparse) and s.axis == "all":
        Intersection((KNOWN, s)).check_shape(SHAPE)
        return
    rejected(lambda: (KNOWN & s).check_shape(SHAPE), "values")
    rejected(lambda: (s & KNOWN).check_shape(SHAPE), "values")


@pytest.mark.parametrize(
    "s",
    [Nonnegative(columns=[0, 2]), UnitNorm(columns=[0]), UnitNorm(axis="row"), Simplex(axis="row"), OrthogonalTo(0), Sparse(3)],
    ids=str,
)
def test_known_columns_that_can_be_kept(s: StructureSet) -> None:
    known = FixedColumns([1], np.array([[1], [-0.5], [0], [0.2]]))
    (known & s).check_shape(SHAPE)


def rejected(attempt: object, field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        attempt()  # type: ignore[operator]
    assert field in error.value.field and len(error.value.message) > 15 and "\n" not in str(error.value)


def test_bounds_that_agree_are_not_looked_at_entry_by_entry():
    """The page checks a model before anybody has asked what it costs."""
    sets = (Nonnegative(), Box(low=0.0, high=1.0))
    tracemalloc.start()
    check_together(sets, (4000, 5000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
