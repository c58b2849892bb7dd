"""Slow and obviously right projections, to compare the fast ones with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import clarabel
import numpy as np
import pytest
from scipy import sparse

from semf_core.sets import (
    Box,
    FixedColumns,
    Intersection,
    L1Ball,
    Monotone,
    Nonnegative,
    NormBall,
    Simplex,
    Smooth,
    StructureSet,
    Support,
    VectorSet,
)

Array = np.ndarray


def supports(d: int, sizes: Sequence[int]) -> Iterator[list[int]]:
    for k in sizes:
        yield from map(list, itertools.combinations(range(d), k))


def nearest(b: Array, candidates: Iterator[Array]) -> Array:
    """The nearest of a list of vectors."""
    return min(candidates, key=lambda x: float(np.linalg.norm(x - b)))


def on_support(b: Array, S: list[int], values: Array | float) -> Array:
    x = np.zeros_like(b)
    x[S] = values
    return x


def by_columns(project: Callable[[Array], Array], A: Array) -> Array:
    return np.stack([project(b) for b in A.T], axis=1)


# ---------------------------------------------------------------------------------------------
# Hoyer's sparseness, by trying every support


def best_of_ratio(b: Array, k: float) -> Array:
    """argmax bᵀy over y ≥ 0, 1ᵀy = k, ‖y‖ = 1: on a support S the maximiser without y ≥ 0 is known.

    NaN if there is none: where the largest entries tie, no multiplier gives the maximiser.
    """
    best, value = np.full_like(b, np.nan), -np.inf
    for S in supports(len(b), range(1, len(b) + 1)):
        p, mean = len(S), b[S].mean()
        e = b[S] - mean
        room = 1 - k * k / p
        if room < -1e-12 or (np.linalg.norm(e) < 1e-9 and room > 1e-12):
            continue
        part = np.sqrt(max(room, 0)) * e / np.linalg.norm(e) if room > 1e-12 else 0 * e
        y = on_support(b, S, k / p + part)
        if (y >= 0).all() and b @ y > value:
            best, value = y, float(b @ y)
    return best


def nearest_of_ratio(b: Array, ratios: Sequence[float], nonnegative: bool) -> Array:
    """The nearest x = t·y, t ≥ 0, over these ratios; signs free unless nonnegative."""
    a = b if nonnegative else np.abs(b)

    def candidates() -> Iterator[Array]:
        yield np.zeros_like(b)
        for k in ratios:
            y = best_of_ratio(a, k)
            assert not np.isnan(y).any(), "no ties, please"
            x = max(float(a @ y), 0.0) * y
            yield x if nonnegative else np.where(b < 0, -x, x)

    return nearest(b, candidates())


# ---------------------------------------------------------------------------------------------
# Convex sets, by a conic solver


class Conic:
    """min ½‖x − a‖² over x in cones, x the entries of a matrix, with extra variables where a norm needs them."""

    def __init__(self, A: Array) -> None:
        self.A, self.count = A, A.size
        self.place = np.arange(A.size).reshape(A.shape)
        self.blocks: list[tuple[list[dict[int, float]], list[float], object]] = []

    def add(self, terms: list[dict[int, float]], offsets: list[float], cone: object) -> None:
        """offsets − terms·x lies in the cone."""
        self.blocks.append((terms, offsets, cone))

    def solve(self) -> Array:
        n, entries, cones = self.count, [], []
        b: list = []
        for terms, offsets, cone in self.blocks:
            entries += [(len(b) + i, j, v) for i, term in enumerate(terms) for j, v in term.items()]
            b += offsets
            cones.append(cone)
        i, j, v = zip(*entries, strict=True)
        G = sparse.csc_matrix((v, (i, j)), shape=(len(b), n))
        weights = np.r_[np.ones(self.A.size), np.zeros(n - self.A.size)]
        q = np.r_[-self.A.ravel(), np.zeros(n - self.A.size)]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
        solution = clarabel.DefaultSolver(sparse.diags(weights).tocsc(), q, G, np.array(b), cones, settings).solve()
        assert str(solution.status) in ("Solved", "AlmostSolved"), solution.status
        return np.array(solution.x[: self.A.size]).reshape(self.A.shape)


CONIC = (Support, FixedColumns, Nonnegative, Simplex, Box, Monotone, NormBall, Smooth, L1Ball)
"""Sets whose cone is known here."""


def conic_projection(s: StructureSet, A: Array) -> Array:
    """The nearest member of a convex set, by Clarabel; a set whose cone is not known here is not compared."""
    problem = Conic(A)
    for member in s.sets if isinstance(s, Intersection) else (s,):
        if not isinstance(member, CONIC):
            pytest.skip(f"{member.name}: add its cone to CONIC in tests/sets/oracles.py to compare it with a conic solver")
        _demand(problem, member)
    return problem.solve() if problem.blocks else A.copy()


def _demand(problem: Conic, s: StructureSet) -> None:
    place = problem.place
    if isinstance(s, Support):
        zero = place[~s.mask]
        problem.add([{i: 1.0} for i in zero], [0.0] * len(zero), clarabel.ZeroConeT(len(zero)))
    elif isinstance(s, FixedColumns):
        known = (place.T if s.axis == "row" else place)[:, list(s.columns)].ravel()
        problem.add([{int(i): 1.0} for i in known], list(s.values.ravel()), clarabel.ZeroConeT(len(known)))
    elif isinstance(s, VectorSet):
        for x in s.scope.take(place).T:
            _demand_of_vector(problem, s, [int(i) for i in x])


def _demand_of_vector(problem: Conic, s: VectorSet, x: list[int]) -> None:
    steps = list(itertools.pairwise(x))
    if isinstance(s, Nonnegative | Simplex):
        problem.add([{i: -1.0} for i in x], [0.0] * len(x), clarabel.NonnegativeConeT(len(x)))
    if isinstance(s, Simplex):
        problem.add([dict.fromkeys(x, 1.0)], [s.total], clarabel.ZeroConeT(1))
    if isinstance(s, Box):
        problem.add([{i: -1.0} for i in x], [-s.low] * len(x), clarabel.NonnegativeConeT(len(x)))
        problem.add([{i: 1.0} for i in x], [s.high] * len(x), clarabel.NonnegativeConeT(len(x)))
    if isinstance(s, Monotone) and steps:
        sign = 1.0 if s.increasing else -1.0
        problem.add([{i: sign, j: -sign} for i, j in steps], [0.0] * len(steps), clarabel.NonnegativeConeT(len(steps)))
    if isinstance(s, NormBall):
        problem.add([{}, *({i: -1.0} for i in x)], [s.radius] + [0.0] * len(x), clarabel.SecondOrderConeT(1 + len(x)))
    if isinstance(s, Smooth) and s.bound > 0 and steps:
        differences = [{i: 1.0, j: -1.0} for i, j in steps]
        problem.add([{}, *differences], [np.sqrt(s.bound)] + [0.0] * len(steps), clarabel.SecondOrderConeT(1 + len(steps)))
    if isinstance(s, Smooth) and s.bound == 0 and steps:
        problem.add([{i: 1.0, j: -1.0} for i, j in steps], [0.0] * len(steps), clarabel.ZeroConeT(len(steps)))
    if isinstance(s, L1Ball):
        sizes = range(problem.count, problem.count + len(x))
        problem.count += len(x)
        for sign in (1.0, -1.0):
            within = [{i: sign, t: -1.0} for i, t in zip(x, sizes, strict=True)]
            problem.add(within, [0.0] * len(x), clarabel.NonnegativeConeT(len(x)))
        problem.add([dict.fromkeys(sizes, 1.0)], [s.radius], clarabel.NonnegativeConeT(1))
