"""How intersections are projected onto, and what they say about it."""

from __future__ import annotations

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.sets import (
    Box,
    EqualNonzeros,
    FixedColumns,
    Intersection,
    L1Ball,
    Monotone,
    Nonnegative,
    OrthogonalTo,
    Orthonormal,
    Simplex,
    Smooth,
    Sparse,
    Sparseness,
    StructureSet,
    Support,
    UnitNorm,
    combine,
    in_rounds,
    members_of,
    without_rounds,
)
from tests.helpers import of
from tests.sets.cases import COMPOSED, MASK, RULED, matrices, name_of

CLIP = Nonnegative()


@pytest.mark.parametrize("s", RULED, ids=name_of)
def test_rules_are_exact_in_any_order_and_before_any_shape(s: Intersection) -> None:
    assert s.exact
    A = matrices(1)[0]
    np.testing.assert_array_equal(s.project(A), Intersection(s.sets[::-1]).project(A))


def test_exactness_does_not_depend_on_what_was_projected() -> None:
    for s in COMPOSED:
        fresh = Intersection(s.sets, s.method, s.rounds)
        before = (fresh.exact, fresh.reason)
        fresh.project(matrices(1)[0])
        assert (fresh.exact, fresh.reason) == before


@pytest.mark.parametrize(
    ("sets", "word"),
    [
        ((Simplex(), L1Ball(2)), "Dykstra"),
        ((Monotone(), Smooth(1)), "Dykstra"),
        ((Sparse(2), Monotone()), "rounds"),
        ((Sparse(2), Sparse(2, axis="row")), "rounds"),
        ((OrthogonalTo(1), CLIP), "keep that column"),
        ((EqualNonzeros(2), Box(0, 1)), "rounds"),
        ((Sparse(2), Sparse(1, entries=[0, 1])), "rounds"),
        ((Sparse(3, axis="all", columns=[0, 1]), Sparse(2, axis="all", columns=[1, 2])), "rounds"),
        ((Sparse(2), Box(1, 2)), "rounds"),
        ((Support(MASK), Monotone()), "Dykstra"),
        ((Support(MASK), Sparseness(0.5)), "rounds"),
        ((FixedColumns([0], np.ones((6, 1))), EqualNonzeros(9, axis="all")), "rounds"),
    ],
    ids=str,
)
def test_what_has_no_proof_is_not_called_exact(sets: tuple[StructureSet, ...], word: str) -> None:
    s = Intersection(sets)
    assert not s.exact and word in s.reason


def test_named_columns_far_out_cost_nothing() -> None:
    s = Intersection((CLIP, Sparse(2, columns=[10**12])))
    assert s.exact and "Proposition 1" in s.reason


def test_successive_rounds_follow_the_order() -> None:
    """§4.4.3's round is not the nearest point: signs after counting leave fewer entries than allowed."""
    A = np.array([[-3.0], [2.0], [1.0]])
    count_first = Intersection((Sparse(1), CLIP), "successive")
    np.testing.assert_array_equal(count_first.project(A), np.zeros((3, 1)))
    np.testing.assert_array_equal(Intersection((Sparse(1), CLIP)).project(A), [[0], [2], [0]])
    assert not count_first.exact and "one round" in count_first.reason and "sparse, nonnegative" in count_first.reason


def test_orthogonality_binds_the_named_vectors_alone() -> None:
    """Eq. 16 along rows, and for some of them."""
    A = matrices(1)[0]
    for hold in (True, False):
        P = OrthogonalTo(4, hold, axis="row", columns=[0, 5]).project(A)
        np.testing.assert_allclose(P[[0, 5]] @ P[4], 0, atol=1e-12)
        np.testing.assert_array_equal(P[1:4], A[1:4])
        np.testing.assert_array_equal(P[[4, 0, 5]].T, OrthogonalTo(0, hold).project(A[[4, 0, 5]].T))
    with pytest.raises(InvalidInput, match="the chosen one itself"):
        OrthogonalTo(1, columns=[1])


def test_rounds_are_put_around_constraints_and_taken_off() -> None:
    sets = (Sparse(1), CLIP)
    (around,) = in_rounds(sets, 2)
    assert isinstance(around, Intersection) and (around.method, around.rounds) == ("successive", 2)
    assert without_rounds((around,)) == (sets, 2) and without_rounds(sets) == (sets, 0)
    assert in_rounds(sets, 0) == sets and in_rounds((), 3) == ()


def test_intersections_flatten_unless_told_in_which_order_to_go() -> None:
    a, b, c = CLIP, Sparse(2), UnitNorm()
    assert of(Intersection, (a & b) & c).sets == (a, b, c) == of(Intersection, a & (b & c)).sets
    ordered = Intersection((a, b), "successive")
    assert members_of(ordered & c) == (ordered, c)
    assert combine([a]) is a and combine(()).project(np.ones((2, 2))).all()


def test_blocks_are_counted_apart() -> None:
    """One count for the whole of a block of columns, signs everywhere: each block has its closed form."""
    A = matrices(2)[1]
    s = Intersection((CLIP, Sparse(3, axis="all", columns=[0, 1]), Sparse(2, axis="all", columns=[3])))
    P = s.project(A)
    assert s.exact and [np.count_nonzero(P[:, j]) for j in ([0, 1], [3])] == [3, 2]
    np.testing.assert_array_equal(P[:, 2], np.maximum(A[:, 2], 0))


def test_known_columns_join_what_they_leave_free() -> None:
    rng = np.random.default_rng(0)
    A, K = rng.normal(size=(6, 4)), np.linalg.qr(rng.normal(size=(6, 2)))[0]
    P = (FixedColumns([1, 3], K) & Orthonormal()).project(A)
    np.testing.assert_allclose(P.T @ P, np.eye(4), atol=1e-14)
    np.testing.assert_array_equal(P[:, [1, 3]], K)
    inside = (FixedColumns([1, 3], K) & Orthonormal()).project(K @ rng.normal(size=(2, 4)))
    np.testing.assert_allclose(inside.T @ inside, np.eye(4), atol=1e-12)
    held = FixedColumns([2], K[:, :1]) & OrthogonalTo(2)
    assert held.exact and not OrthogonalTo(2).exact
    np.testing.assert_allclose(K[:, 0] @ held.project(A)[:, [0, 1, 3]], 0, atol=1e-14)


def test_an_orthogonal_zero_column_changes_nothing() -> None:
    A = matrices(1)[0].copy()
    A[:, 2] = 0
    np.testing.assert_array_equal(OrthogonalTo(2).project(A), A)
    np.testing.assert_array_equal(OrthogonalTo(2, hold=False).project(A), A)


def test_rows_can_be_orthonormal() -> None:
    A = np.random.default_rng(1).normal(size=(3, 5))
    P = Orthonormal("row").project(A)
    np.testing.assert_allclose(P @ P.T, np.eye(3), atol=1e-14)
    assert Orthonormal("row").violation(P) < 1e-14


def test_polish_sign_of_compositions() -> None:
    mask = Support(np.ones((6, 4)))
    assert Intersection((CLIP, Sparse(2), mask, OrthogonalTo(1))).polish_sign == "nonnegative"
    assert Intersection((Sparse(2), mask)).polish_sign == "free"
    assert Intersection((Nonnegative(axis="all"), Sparse(2))).polish_sign == "nonnegative"
    for s in (Nonnegative(columns=[0]), Nonnegative(columns=[0]) & Sparse(2), OrthogonalTo(1) & Sparse(2), CLIP & UnitNorm()):
        assert s.polish_sign is None
