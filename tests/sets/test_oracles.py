"""The fast projections against slow and obviously right ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import clarabel
import numpy as np
import pytest

from semf_core import sets
from semf_core.sets import (
    Box,
    Custom,
    DisjointSupports,
    EqualNonzeros,
    GroupSparse,
    Intersection,
    L1Ball,
    Nonnegative,
    OrthogonalTo,
    Simplex,
    Sparse,
    StructureSet,
    Support,
    Unimodal,
    UnitNorm,
    members_of,
)
from semf_core.sets.base import SETS
from tests.sets.cases import EVERY, MASK, matrices, name_of
from tests.sets.oracles import CONIC, Conic, by_columns, conic_projection, nearest, on_support, supports

Array = np.ndarray
CONVEX = [s for s in EVERY if s.convex and not any(isinstance(m, Custom) for m in members_of(s))]
GROUPS = ((0, 1), (2, 3, 4), (5,))


@pytest.mark.parametrize("s", CONVEX, ids=name_of)
def test_convex_sets_agree_with_a_conic_solver(s: StructureSet) -> None:
    for A in matrices(2):
        np.testing.assert_allclose(s.project(A), conic_projection(s, A), atol=3e-5)


def test_every_convex_set_that_comes_along_is_compared() -> None:
    """One in a file of its own passes without a cone: nearness is then checked by the variational inequality alone."""
    offered = [cls for cls in SETS if cls.__name__ in sets.__all__ and cls.from_params(cls.example).convex]
    assert len(offered) > 5 and all(issubclass(cls, CONIC) for cls in offered)


def simplex(b: Array, total: float) -> Array:
    """By halving the threshold."""
    low, high = b.min() - total, b.max()
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(b - middle, 0).sum() > total else (low, middle)
    return np.maximum(b - low, 0)


def l1_ball(b: Array, radius: float) -> Array:
    return b if np.abs(b).sum() <= radius else np.sign(b) * simplex(np.abs(b), radius)


def grouped(d: int, counts: tuple[int, ...]) -> Iterator[list[int]]:
    for S in supports(d, range(1, d + 1)):
        if all(len(set(S) & set(g)) <= k for g, k in zip(GROUPS, counts, strict=True)):
            yield S


def unit(x: Array) -> Array:
    return x / np.linalg.norm(x)


def sphere(b: Array, S: list[int]) -> Array:
    """The best unit vector on a support, signs free."""
    return on_support(b, S, unit(b[S]) if b[S].any() else np.eye(len(S))[0])


def positive_sphere(b: Array, S: list[int]) -> Array:
    """The best nonnegative unit vector on a support."""
    part = np.maximum(b[S], 0)
    return on_support(b, S, unit(part) if part.any() else np.eye(len(S))[b[S].argmax()])


BRUTE = {
    "sparse": ((Sparse(2),), lambda b: (on_support(b, S, b[S]) for S in supports(6, [2]))),
    "nonnegative sparse": (
        (Nonnegative(), Sparse(2)),
        lambda b: (on_support(b, S, np.maximum(b[S], 0)) for S in supports(6, [2])),
    ),
    "groups": ((GroupSparse(GROUPS, (1, 2, 1)),), lambda b: (on_support(b, S, b[S]) for S in grouped(6, (1, 2, 1)))),
    "sparse groups": (
        (Sparse(2), GroupSparse(GROUPS, (1, 2, 1))),
        lambda b: (on_support(b, S, b[S]) for S in grouped(6, (1, 2, 1)) if len(S) <= 2),
    ),
    "nonnegative groups": (
        (GroupSparse(GROUPS), Nonnegative()),
        lambda b: (on_support(b, S, np.maximum(b[S], 0)) for S in grouped(6, (1, 1, 1))),
    ),
    "equal": ((EqualNonzeros(2),), lambda b: (on_support(b, S, max(b[S].mean(), 0)) for S in supports(6, [2]))),
    "equal, any number": (
        (EqualNonzeros(),),
        lambda b: (on_support(b, S, max(b[S].mean(), 0)) for S in supports(6, range(1, 7))),
    ),
    "equal, at most 3": (
        (EqualNonzeros(), Sparse(3)),
        lambda b: (on_support(b, S, max(b[S].mean(), 0)) for S in supports(6, (1, 2, 3))),
    ),
    "equal in groups": (
        (EqualNonzeros(2), GroupSparse(GROUPS), Nonnegative()),
        lambda b: (on_support(b, S, max(b[S].mean(), 0)) for S in grouped(6, (1, 1, 1)) if len(S) == 2),
    ),
    "equal on sphere": (
        (EqualNonzeros(2), GroupSparse(GROUPS), UnitNorm()),
        lambda b: (on_support(b, S, 2**-0.5) for S in grouped(6, (1, 1, 1)) if len(S) == 2),
    ),
    "equal on sphere, any number": (
        (EqualNonzeros(), UnitNorm()),
        lambda b: (on_support(b, S, len(S) ** -0.5) for S in supports(6, range(1, 7))),
    ),
    "sparse on sphere": ((Sparse(2), UnitNorm()), lambda b: (sphere(b, S) for S in supports(6, [2]))),
    "nonnegative on sphere": ((Nonnegative(), UnitNorm()), lambda b: (positive_sphere(b, S) for S in supports(6, range(1, 7)))),
    "all on sphere": ((Nonnegative(), Sparse(2), UnitNorm()), lambda b: (positive_sphere(b, S) for S in supports(6, [1, 2]))),
    "sparse box": ((Sparse(2), Box(-0.3, 0.8)), lambda b: (on_support(b, S, np.clip(b[S], -0.3, 0.8)) for S in supports(6, [2]))),
    "nonnegative sparse box": (
        (Sparse(2), Box(-0.3, 0.8), Nonnegative()),
        lambda b: (on_support(b, S, np.clip(b[S], 0, 0.8)) for S in supports(6, [2])),
    ),
    "sparse simplex": ((Sparse(2), Simplex()), lambda b: (on_support(b, S, simplex(b[S], 1.0)) for S in supports(6, [1, 2]))),
    "sparse l1": ((Sparse(2), L1Ball(0.7)), lambda b: (on_support(b, S, l1_ball(b[S], 0.7)) for S in supports(6, [2]))),
}


@pytest.mark.parametrize("name", BRUTE)
def test_counted_sets_agree_with_trying_every_support(name: str) -> None:
    sets, candidates = BRUTE[name]
    s = Intersection(sets)
    assert s.exact
    for A in (*matrices(5), 0.1 * matrices(1)[0]):
        P, Q = s.project(A), by_columns(lambda b: nearest(b, candidates(b)), A)
        np.testing.assert_allclose(np.linalg.norm(A - P, axis=0), np.linalg.norm(A - Q, axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_unimodal_agrees_with_trying_every_peak(nonnegative: bool) -> None:
    """One conic problem for every place of the peak."""
    s = Intersection((Unimodal(), *([Nonnegative()] if nonnegative else [])))
    for A in matrices(3):
        found = np.linalg.norm(A - s.project(A), axis=0)
        for j, b in enumerate(A.T):
            best = min(np.linalg.norm(b - peaked(b, m, nonnegative)) for m in range(len(b)))
            assert found[j] == pytest.approx(best, abs=1e-6)


def peaked(b: Array, m: int, nonnegative: bool) -> Array:
    """The nearest vector that rises up to entry m and falls after it."""
    problem = Conic(b[:, None])
    steps = [{i: 1.0, i + 1: -1.0} if i < m else {i: -1.0, i + 1: 1.0} for i in range(len(b) - 1)]
    problem.add(steps, [0.0] * len(steps), clarabel.NonnegativeConeT(len(steps)))
    if nonnegative:
        problem.add([{i: -1.0} for i in range(len(b))], [0.0] * len(b), clarabel.NonnegativeConeT(len(b)))
    return problem.solve()[:, 0]


def rowwise_choices(A: Array, choices: list[list[int]]) -> Iterator[Array]:
    """Every matrix that keeps, in each row, the entries of one of the choices."""
    for picked in itertools.product(choices, repeat=len(A)):
        Z = np.zeros_like(A)
        for i, kept in enumerate(picked):
            Z[i, kept] = A[i, kept]
        yield Z


@pytest.mark.parametrize("sign", [False, True])
def test_disjoint_supports_agree_with_trying_every_assignment(sign: bool) -> None:
    A = matrices(1)[0][:, :3]
    s = Intersection((DisjointSupports(), *([Nonnegative()] if sign else [])))
    B = np.maximum(A, 0) if sign else A
    best = min(np.linalg.norm(A - Z) for Z in rowwise_choices(B, [[0], [1], [2]]))
    assert np.linalg.norm(A - s.project(A)) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("k", [None, 2])
def test_orthogonal_nonnegative_columns_agree_with_trying_every_share(k: int | None) -> None:
    A = matrices(2)[1]
    counts = [Sparse(k, columns=[1])] if k else []
    s = Intersection((OrthogonalTo(1, hold=False), Nonnegative(), *counts))
    shares = rowwise_choices(np.maximum(A, 0), [[1], [0, 2, 3]])
    best = min(np.linalg.norm(A - Z) for Z in shares if k is None or np.count_nonzero(Z[:, 1]) <= k)
    assert s.exact and np.linalg.norm(A - s.project(A)) == pytest.approx(best, abs=1e-12)


def test_orthogonal_pair_agrees_with_a_scan_of_directions() -> None:
    """In three dimensions the direction of the chosen column can be scanned."""
    turn, tilt = np.meshgrid(np.linspace(0, np.pi, 400), np.linspace(0, np.pi, 400))
    w = np.stack([np.sin(tilt) * np.cos(turn), np.sin(tilt) * np.sin(turn), np.cos(tilt)]).reshape(3, -1)
    rng = np.random.default_rng(0)
    for c in (0, 2):
        A = rng.normal(size=(3, 3)) * rng.random(3)
        along = (A.T @ w) ** 2
        cost = along.sum(axis=0) - 2 * along[c] + A[:, c] @ A[:, c]
        best = min(cost.min(), A[:, c] @ A[:, c])
        assert np.linalg.norm(A - OrthogonalTo(c, hold=False).project(A)) ** 2 == pytest.approx(best, abs=2e-4)


@pytest.mark.parametrize("others", [(UnitNorm(),), (Nonnegative(), UnitNorm()), (Simplex(),), (EqualNonzeros(2),)], ids=str)
def test_masked_vectors_are_projected_on_their_own_support(others: tuple[StructureSet, ...]) -> None:
    s, A = Intersection((Support(MASK), *others)), matrices(1)[0]
    assert s.exact
    P, free = s.project(A), Intersection(others)
    for j, mask in enumerate(np.array(MASK, bool).T):
        np.testing.assert_allclose(P[mask, j], free.project(A[mask][:, [j]])[:, 0], atol=1e-14)
        assert not P[~mask, j].any()
