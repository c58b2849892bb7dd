"""Leaving out all-zero rows or columns: the rest is projected as before, or the set declines."""

from __future__ import annotations

import numpy as np
import pytest

from semf_core.sets import (
    Box,
    DisjointSupports,
    EqualNonzeros,
    FixedColumns,
    GroupSparse,
    Intersection,
    Nonnegative,
    OrthogonalTo,
    Simplex,
    Sparse,
    StructureSet,
    Support,
    UnitNorm,
)
from tests.sets.cases import EVERY, MASK, SHAPE, matrices, name_of, settles

KEEP = {0: ([0, 2, 3, 5], [1, 4], [3]), 1: ([0, 2], [1, 2, 3], [3])}
CHOICES = [(axis, np.array(kept)) for axis, choices in KEEP.items() for kept in choices]


def put_back(P: np.ndarray, keep: np.ndarray, axis: int) -> np.ndarray:
    out = np.zeros(SHAPE)
    if axis == 0:
        out[keep] = P
    else:
        out[:, keep] = P
    return out


@pytest.mark.parametrize("s", EVERY, ids=name_of)
def test_restriction_commutes_with_projection(s: StructureSet) -> None:
    for axis, keep in CHOICES:
        smaller = s.restricted(keep, axis, SHAPE)
        if smaller is None:
            continue
        for A in (*matrices(3), np.zeros(SHAPE)):
            part = A.take(keep, axis=axis)
            if settles(s):
                smaller.check_shape(part.shape)
            whole = s.project(put_back(part, keep, axis))
            np.testing.assert_allclose(whole, put_back(smaller.project(part), keep, axis), atol=1e-9)


TAKEN: list[tuple[StructureSet, int]] = [
    (Nonnegative(), 0),
    (Sparse(5), 0),
    (Sparse(2, entries=[0, 1, 2]), 0),
    (Sparse(2, axis="all"), 1),
    (GroupSparse([[0, 1, 2], [3, 4, 5]]), 0),
    (GroupSparse([[0, 1], [2]], entries=[0, 2, 5]), 0),
    (EqualNonzeros(), 0),
    (EqualNonzeros(2), 1),
    (Box(-1, 1), 0),
    (Support(MASK), 1),
    (DisjointSupports(), 0),
    (OrthogonalTo(1), 0),
    (OrthogonalTo(2, axis="row", columns=[0, 4]), 1),
    (FixedColumns([1], np.array([[1], [0], [2], [0], [0], [1]])), 0),
    (Intersection((Nonnegative(), OrthogonalTo(2), Sparse(3, columns=[2]))), 0),
]
DECLINED: list[tuple[StructureSet, int]] = [
    (UnitNorm(), 0),
    (Simplex(), 1),
    (EqualNonzeros(2), 0),
    (Box(0.5, 1), 0),
    (FixedColumns([1], np.array([[1], [1], [2], [0], [0], [1]])), 0),
    (Intersection((Nonnegative(), UnitNorm())), 0),
]


@pytest.mark.parametrize(("s", "axis"), TAKEN, ids=str)
def test_common_sets_are_restricted(s: StructureSet, axis: int) -> None:
    assert s.restricted(np.array(KEEP[axis][0]), axis, SHAPE) is not None


@pytest.mark.parametrize(("s", "axis"), DECLINED, ids=str)
def test_sets_that_fill_zeros_decline(s: StructureSet, axis: int) -> None:
    assert s.restricted(np.array(KEEP[axis][0]), axis, SHAPE) is None


def test_a_count_larger_than_what_is_left_is_lowered() -> None:
    assert Sparse(5).restricted(np.array([1, 4]), 0, SHAPE) == Sparse(2)
    assert GroupSparse([[0, 1, 2], [3, 4, 5]], 2).restricted(np.array([0, 3, 4]), 0, SHAPE) == GroupSparse([[0], [1, 2]], (1, 2))
