"""Mixed-norm NMF: pairwise coordinate descent under a sparseness that groups of columns share (seed 001)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semf_core.parameters import InvalidInput, param
from semf_core.sets import GroupSparseness, Nonnegative, Sparseness, UnitNorm
from semf_core.sets.base import check_indices, latex_number
from semf_core.sets.hoyer import best_vector, ratio_of
from semf_core.sets.hoyer_groups import split_pair
from semf_core.solvers.base import SOLVERS, Array, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, generator, given_or_random
from semf_core.solvers.polish import descend

Groups = tuple[tuple[int, ...], ...]
PLAIN_SWEEPS = 20
"""Sweeps of plain NMF to start from: enough for parts to show, few enough to take little time."""
LEAST_SHARE = 1e-6
"""A column with less than this length on its set of rows has nothing to exchange there."""


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class MixedNormNMF(Direct):
    """min ‖M − UV‖² over U, V ≥ 0, ‖u_j‖₂ = 1 and Σ_{j∈I_g} ‖u_j‖₁ = α_g (seed 001, eq. 2).

    With C = −MVᵀ + UVVᵀ and Z = VVᵀ the part of the cost that depends on u_j alone is linear on the unit
    sphere, with slope c_j − Z_jj u_j. So a single column has Sparse-opt as its exact minimiser, and so
    have two columns on disjoint sets of rows once their common L1 norm is split between them
    (Algorithms 1 and 2). An iteration matches the columns of a group at random into pairs, then goes over
    single columns. The columns of C are computed when they are needed, from the current U.
    """

    name: ClassVar[str] = "mixed-norm"
    title: ClassVar[str] = "Mixed-norm NMF"
    summary: ClassVar[str] = "pairs of columns trade sparseness within their group, whose mean is fixed exactly"
    family: ClassVar[str] = "Sparse nonnegative factorization"
    enforces: ClassVar[str] = "nonnegative factors, unit columns of U, the sparseness of each group (its mean, or every column's)"
    reference: ClassVar[str] = "mixed-norm"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")

    sparseness: float | tuple[float, ...] = param(
        "numbers", 0.6, low=0, high=1, symbol="s_g", help="mean sparseness of the columns of U, one number or one per group"
    )
    groups: Groups | None = param(
        "groups", None, optional=True, symbol="I_g", help="groups of columns that cover all of them; empty makes a single group"
    )
    shared: bool = param("boolean", True, help="columns of a group share its sparseness; otherwise each column has it by itself")
    split: str = param(
        "choice", "exact", choices=("exact", "grid"), help="how two columns split their L1 norm: by one threshold, or on a grid"
    )
    delta: int = param("integer", 50, low=2, high=10_000, symbol=r"\Delta", help="steps of the grid (Sparse-biopt)")
    start: str = param(
        "choice",
        "nmf",
        choices=("nmf", "random"),
        help="start near plain NMF, which is better where much sparseness is asked for",
    )
    sweeps: int = param("integer", 3, low=1, high=100, help="sweeps over single columns of U after each round of pairs")
    inner: int = param("integer", 10, low=1, high=100, help="sweeps over the rows of V at each iteration")

    def __post_init__(self) -> None:
        super().__post_init__()
        count = 1 if self.groups is None else len(self.groups)
        if isinstance(self.sparseness, tuple) and len(self.sparseness) != count:
            what = f"{len(self.sparseness)} numbers for {count} group{'s' if count > 1 else ''}"
            raise InvalidInput("sparseness", f"holds {what}; give one number, or one per group")

    def objective(self) -> str:
        measure = r"\frac{\sqrt{m}-\|u_j\|_1}{\sqrt{m}-1}"
        wanted = self.sparseness if isinstance(self.sparseness, tuple) else (self.sparseness,)
        values = ",".join(latex_number(s) for s in wanted)
        if self.shared:
            kept = rf"\frac{{1}}{{|I_g|}}\sum_{{j\in I_g}}{measure} = s_g,\; s = ({values})"
        else:
            kept = rf"{measure} = s_g \;\forall j\in I_g,\; s = ({values})"
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0,\; \|u_j\|_2=1,\; " + kept

    def partition(self, rank: int) -> Groups:
        """The groups of columns, checked against the number of columns."""
        if self.groups is None:
            return (tuple(range(rank)),)
        named = sorted(j for group in self.groups for j in group)
        check_indices("groups", named, rank, "column")
        if len(named) < rank:
            missing = min(set(range(rank)) - set(named))
            raise InvalidInput("groups", f"leave out column {missing} (counted from 0); every one of the {rank} needs a group")
        return self.groups

    def targets(self, groups: Groups) -> tuple[float, ...]:
        """The sparseness wanted of each group."""
        return self.sparseness if isinstance(self.sparseness, tuple) else (self.sparseness,) * len(groups)

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        groups = self.partition(rank)
        targets = self.targets(groups)
        if shape[0] < 2:
            raise InvalidInput("solver", f"{self.title} needs data with at least two rows: one entry has no sparseness")
        kept: Sets = (GroupSparseness(groups, targets),)
        if not self.shared:
            kept = tuple(Sparseness(s, columns=group) for group, s in zip(groups, targets, strict=True))
        return (Nonnegative(), UnitNorm(), *kept), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Columns of the wanted sparseness: nearest to those given or to plain NMF, or from random vectors (§3)."""
        M = problem.matrix
        Xt, H = (factor.astype(M.dtype) for factor in given_or_random(problem, rng))
        if problem.start[0] is None and self.start == "random":
            k = self._wanted(len(Xt[0]), len(Xt))
            Wt = np.stack([best_vector(x.astype(np.float64), ratio) for x, ratio in zip(Xt, k, strict=True)])
        else:
            if problem.start[0] is None:
                self._plain(problem, Xt, H)
            length = np.linalg.norm(Xt, axis=1, keepdims=True)
            Wt = problem.x_set.project((Xt / np.where(length == 0, 1, length)).T.astype(np.float64)).T
            H = H * length
        state.arrays["ratios"] = Wt.sum(axis=1)
        return self._coded(problem, np.ascontiguousarray(Wt, dtype=M.dtype), H)

    @staticmethod
    def _plain(problem: Problem, Xt: Array, Y: Array) -> None:
        """Sweeps of coordinate descent without any sparseness, in place."""
        M, free = problem.matrix, np.ones(len(Xt), dtype=bool)
        for _ in range(PLAIN_SWEEPS):
            descend(Xt, free, M.right(Y, Xt), Y @ Y.T, "nonnegative")
            descend(Y, free, M.left(Xt, Xt, Y), Xt @ Xt.T, "nonnegative")

    def update(self, problem: Problem, state: State) -> Factors:
        """Algorithm 2 for U, then coordinate descent for V."""
        M, p = problem.matrix, state.rank
        Wt, H = state.W[:p].copy(), state.Z[:p].copy()
        k, rng = state.arrays["ratios"].copy(), generator(state)
        target, Z = M.right(H, Wt), H @ H.T
        groups = self.partition(p)
        if self.shared:
            for g in rng.permutation(len(groups)):
                self._exchange(Wt, k, target, Z, rng.permutation(groups[g]), rng)
        for _ in range(self.sweeps):
            for j in rng.permutation(p):
                if Z[j, j] > 0:
                    Wt[j] = best_vector(_slope(Wt, target, Z, j), k[j])
        state.arrays["ratios"] = k
        return self._coded(problem, Wt, H)

    def _wanted(self, m: int, rank: int) -> Array:
        """‖u_j‖₁ of every column where all columns of a group are equally sparse."""
        k, groups = np.empty(rank), self.partition(rank)
        for group, target in zip(groups, self.targets(groups), strict=True):
            k[list(group)] = ratio_of(target, m)
        return k

    def _exchange(self, Wt: Array, k: Array, target: Array, Z: Array, order: Array, rng: np.random.Generator) -> None:
        """Columns of one group, two by two on disjoint random halves of the rows, in place."""
        half = Wt.shape[1] // 2
        if half < 2 or len(order) < 2:
            return
        rows = rng.permutation(Wt.shape[1])
        A, B = rows[:half], rows[half : 2 * half]
        for i, j in zip(order[::2], order[1::2], strict=False):
            old = np.stack((Wt[i, A], Wt[j, B])).astype(np.float64)
            length, l1 = np.linalg.norm(old, axis=1), old.sum(axis=1)
            if Z[i, i] <= 0 or Z[j, j] <= 0 or length.min() < LEAST_SHARE:
                continue
            slopes = np.stack((_slope(Wt, target, Z, i)[A], _slope(Wt, target, Z, j)[B]))
            steps = self.delta if self.split == "grid" else None
            share = split_pair(slopes, length, l1 / length, steps)
            new = [t * best_vector(b, r) for t, b, r in zip(length, slopes, share, strict=True)]
            Wt[i, A], Wt[j, B] = new
            moved = length[0] * share[0] - l1[0]
            k[i] += moved
            k[j] -= moved

    def _coded(self, problem: Problem, Wt: Array, H: Array) -> Factors:
        """V improved for this U by sweeps of exact minimisation over its rows."""
        M = problem.matrix
        WtM, WtW = M.left(Wt, Wt, H), Wt @ Wt.T
        free = np.ones(len(H), dtype=bool)
        for _ in range(self.inner):
            descend(H, free, WtM, WtW, "nonnegative")
        return Factors(Wt, H, M.residual_from(Wt, H, WtM, WtW, H @ H.T))


def _slope(Wt: Array, target: Array, Z: Array, j: int) -> Array:
    """b = −(c_j − Z_jj u_j): the unit column that makes bᵀu_j largest makes the cost least."""
    weights = Z[j].copy()
    weights[j] = 0
    return (target[j] - weights @ Wt).astype(np.float64, copy=False)
