"""Mixed-norm NMF: pairwise coordinate descent under a sparseness that groups of columns share (Potluru et al. 2013)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import GroupSparseness, Nonnegative, Sparseness, UnitNorm
from semf_core.sets.base import check_indices, latex_number
from semf_core.sets.hoyer import best_vector, ratio_of
from semf_core.sets.hoyer_groups import split_pair
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import HALS_V, LEFT, Direct, Factors, generator, given_or_random
from semf_core.solvers.polish import descend

Groups = Sequence[Sequence[int]]
PLAIN_SWEEPS = 20
"""Sweeps of plain NMF to start from: enough for parts to show, few enough to take little time."""
LEAST_SHARE = 1e-6
"""A column with less than this length on its set of rows has nothing to exchange there."""


@dataclass(frozen=True)
class Linear:
    """Unit vectors as rows with their L1 norms k, and what the cost sees of the rest: the products with M, and a Gram matrix."""

    rows: Array
    k: Array
    target: Array
    Z: Array

    def slope(self, j: int) -> Array:
        """b = −(c_j − Z_jj u_j): the unit vector that makes bᵀu_j largest makes the cost least."""
        weights = self.Z[j].copy()
        weights[j] = 0
        return (self.target[j] - weights @ self.rows).astype(np.float64, copy=False)


@SOLVERS.register
class MixedNormNMF(Direct):
    """min ‖M − UV‖² over U, V ≥ 0, ‖u_j‖₂ = 1 and Σ_{j∈I_g} ‖u_j‖₁ = α_g (Potluru et al. 2013, eq. 2).

    With C = −MVᵀ + UVVᵀ and Z = VVᵀ the part of the cost that depends on u_j alone is linear on the unit
    sphere, with slope c_j − Z_jj u_j. So a single column has Sparse-opt as its exact minimiser, and so
    have two columns on disjoint sets of rows once their common L1 norm is split between them
    (Algorithms 1 and 2). An iteration matches the columns of a group at random into pairs, then goes over
    single columns; with all pairs, each two columns of a group meet, as Algorithm 2 is printed. The columns of C are
    computed when they are needed, from the current U.

    Rows of V may have their own groups and sparseness. As U has unit columns, V = diag(t) Y with unit rows of Y: Y is found
    like Uᵀ, with UᵀM and UᵀU weighted by t, and then each t_j by least squares.
    """

    name: ClassVar[str] = "mixed-norm"
    title: ClassVar[str] = "Mixed-norm NMF"
    summary: ClassVar[str] = "pairs of columns trade sparseness within their group, whose mean is fixed exactly"
    family: ClassVar[str] = "Sparse nonnegative factorization"
    enforces: ClassVar[str] = "nonnegative factors, unit columns of U, the sparseness of each group (its mean, or every column's)"
    reference: ClassVar[str] = "mixed-norm"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    buffers: ClassVar[float] = 22

    sparseness: float | Sequence[float] = param(
        "numbers", 0.6, low=0, high=1, symbol="s_g", help="mean sparseness of the columns of U, one number or one per group"
    )
    groups: Groups | None = param(
        "groups", None, optional=True, symbol="I_g", help="groups of columns that cover all of them; empty makes a single group"
    )
    sparseness_y: float | Sequence[float] | None = param(
        "numbers", None, low=0, high=1, optional=True, symbol="s^v_g",
        help="mean sparseness of the rows of V, one number or one per group; empty leaves V nonnegative alone",
    )  # fmt: skip
    groups_y: Groups | None = param(
        "groups", None, optional=True, symbol="J_g", help="groups of rows of V that cover all of them; empty makes a single group"
    )
    pairs: str = param(
        "choice", "matched", choices=("matched", "all"),
        help="who trades at an iteration: each column with one other of its group, or every two of them",
    )  # fmt: skip
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
        for name, wanted, groups in (("", self.sparseness, self.groups), ("_y", self.sparseness_y, self.groups_y)):
            count = 1 if groups is None else len(groups)
            if isinstance(wanted, Sequence) and len(wanted) != count:
                what = f"{len(wanted)} numbers for {count} group{'s' if count > 1 else ''}"
                raise InvalidInput(f"sparseness{name}", f"holds {what}", "give one number, or one per group")
        if self.groups_y is not None and self.sparseness_y is None:
            raise InvalidInput("sparseness_y", "is empty, so that groups of rows of V say nothing", "give a number")

    def objective(self) -> str:
        measure = r"\frac{\sqrt{m}-\|u_j\|_1}{\sqrt{m}-1}"
        kept = self._wanted_latex(measure, "I_g", "s", self.sparseness)
        if self.sparseness_y is not None:
            measure = r"\frac{\sqrt{n}-\|v_j\|_1/\|v_j\|_2}{\sqrt{n}-1}"
            kept += r",\; " + self._wanted_latex(measure, "J_g", "s^v", self.sparseness_y)
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0,\; \|u_j\|_2=1,\; " + kept

    def _wanted_latex(self, measure: str, group: str, symbol: str, wanted: float | Sequence[float]) -> str:
        values = ",".join(latex_number(s) for s in (wanted if isinstance(wanted, Sequence) else (wanted,)))
        if self.shared:
            return rf"\frac{{1}}{{|{group}|}}\sum_{{j\in {group}}}{measure} = {symbol}_g,\; {symbol} = ({values})"
        return rf"{measure} = {symbol}_g \;\forall j\in {group},\; {symbol} = ({values})"

    def partition(self, rank: int) -> Groups:
        """The groups of columns, checked against the number of columns."""
        return _partition("groups", self.groups, rank, "column")

    def targets(self, groups: Groups) -> tuple[float, ...]:
        """The sparseness wanted of each group of columns."""
        return _for_each(groups, self.sparseness)

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        if shape[0] < 2 or (self.sparseness_y is not None and shape[1] < 2):
            which = "rows" if shape[0] < 2 else "columns"
            raise InvalidInput(
                "solver", f"{self.title} needs data with at least two {which}: one entry has no sparseness", whole=True
            )
        kept = self._kept(self.partition(rank), self.sparseness, "column")
        kept_y: Sets = ()
        if self.sparseness_y is not None:
            kept_y = self._kept(_partition("groups_y", self.groups_y, rank, "row"), self.sparseness_y, "row")
        return (Nonnegative(), UnitNorm(), *kept), (Nonnegative(), *kept_y)

    def _kept(self, groups: Groups, wanted: float | Sequence[float], axis: str) -> Sets:
        """The sets that hold the sparseness of groups of columns or rows."""
        targets = _for_each(groups, wanted)
        if self.shared:
            return (GroupSparseness(groups, targets, axis=axis),)
        return tuple(Sparseness(s, axis=axis, columns=group) for group, s in zip(groups, targets, strict=True))

    def half_steps(self) -> tuple[HalfStep, ...]:
        kept = r"u\ge 0,\ \|u\|_2=1,\ \|u\|_1=k_j"
        pairs = "columns of a group trade their k in pairs, then each by itself" if self.shared else "one column after the other"
        on_v = HalfStep("V", HALS_V, f"{self.inner} sweeps over the rows of V, with the new U")
        if self.sparseness_y is not None:
            best = r"v_{j:} \leftarrow t_j\arg\max\bigl\{u_j^\top R_j y^\top : y\ge 0,\ \|y\|_2=1,\ \|y\|_1=k^v_j\bigr\}"
            on_v = HalfStep("V", best, "the same for the rows of V, and their lengths t by least squares")
        return HalfStep("U", rf"u_j \leftarrow \arg\max\bigl\{{u^\top R_jv_{{j:}}^\top : {kept}\bigr\}}", pairs + LEFT), on_v

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Columns of the wanted sparseness: nearest to those given or to plain NMF, or from random vectors (§3)."""
        M = problem.matrix
        Xt, H = (factor.astype(M.dtype) for factor in given_or_random(problem, rng))
        if problem.start[0] is None and self.start == "random":
            k = self._ratios(len(Xt[0]), len(Xt))
            Wt = np.stack([best_vector(x.astype(np.float64), ratio) for x, ratio in zip(Xt, k, strict=True)])
        else:
            if problem.start[0] is None:
                self._plain(problem, Xt, H)
            length = np.linalg.norm(Xt, axis=1, keepdims=True)
            Wt = problem.x_set.project((Xt / np.where(length == 0, 1, length)).T.astype(np.float64)).T
            H = H * length
        state.arrays["ratios"] = Wt.sum(axis=1)
        Wt = np.ascontiguousarray(Wt, dtype=M.dtype)
        if self.sparseness_y is None:
            return self._coded(problem, Wt, H)
        H = problem.y_set.project(np.where(H.any(axis=1, keepdims=True), H, 1).astype(np.float64))
        state.arrays["ratios_y"] = H.sum(axis=1) / np.linalg.norm(H, axis=1)
        return Factors(Wt, H.astype(M.dtype))

    @staticmethod
    def _plain(problem: Problem, Xt: Array, Y: Array) -> None:
        """Sweeps of coordinate descent without any sparseness, in place."""
        M = problem.matrix
        for _ in range(PLAIN_SWEEPS):
            descend(Xt, None, M.right(Y, Xt), Y @ Y.T, "nonnegative")
            descend(Y, None, M.left(Xt, Xt, Y), Xt @ Xt.T, "nonnegative")

    def update(self, problem: Problem, state: State) -> Factors:
        """Algorithm 2 for U, then coordinate descent for V."""
        M, p = problem.matrix, state.rank
        Wt, H = state.W[:p].copy(), state.Z[:p].copy()
        k, rng = state.arrays["ratios"].copy(), generator(state)
        self._improve(Linear(Wt, k, M.right(H, Wt), H @ H.T), self.partition(p), rng)
        state.arrays["ratios"] = k
        if self.sparseness_y is None:
            return self._coded(problem, Wt, H)
        WtM, WtW = M.left(Wt, Wt, H), Wt @ Wt.T
        t = np.linalg.norm(H, axis=1)
        rows, k = H / t[:, None], state.arrays["ratios_y"].copy()
        weighted = Linear(rows, k, t[:, None] * WtM, t[:, None] * WtW * t)
        self._improve(weighted, _partition("groups_y", self.groups_y, p, "row"), rng)
        _rescale(t, rows, WtM, WtW)
        state.arrays["ratios_y"] = k
        H = t[:, None] * rows
        return Factors(Wt, H, M.residual_from(Wt, H, WtM, WtW, H @ H.T))

    def _improve(self, part: Linear, groups: Groups, rng: np.random.Generator) -> None:
        """Algorithm 2: pairs of a group, then single vectors, in place."""
        if self.shared:
            for g in rng.permutation(len(groups)):
                self._exchange(part, rng.permutation(groups[g]), rng)
        for _ in range(self.sweeps):
            for j in rng.permutation(len(part.rows)):
                if part.Z[j, j] > 0:
                    part.rows[j] = best_vector(part.slope(j), part.k[j])

    def _ratios(self, m: int, rank: int) -> Array:
        """‖u_j‖₁ of every column where all columns of a group are equally sparse."""
        k, groups = np.empty(rank), self.partition(rank)
        for group, target in zip(groups, self.targets(groups), strict=True):
            k[list(group)] = ratio_of(target, m)
        return k

    def _exchange(self, part: Linear, order: Array, rng: np.random.Generator) -> None:
        """Vectors of one group, two by two on disjoint random halves of their entries, in place."""
        Wt, k, Z = part.rows, part.k, part.Z
        half = Wt.shape[1] // 2
        if half < 2 or len(order) < 2:
            return
        pairs = combinations(order, 2) if self.pairs == "all" else zip(order[::2], order[1::2], strict=False)
        rows = rng.permutation(Wt.shape[1])
        for i, j in pairs:
            if self.pairs == "all":  # each pair has its own halves, as printed
                rows = rng.permutation(Wt.shape[1])
            A, B = rows[:half], rows[half : 2 * half]
            old = np.stack((Wt[i, A], Wt[j, B])).astype(np.float64)
            length, l1 = np.linalg.norm(old, axis=1), old.sum(axis=1)
            if Z[i, i] <= 0 or Z[j, j] <= 0 or length.min() < LEAST_SHARE:
                continue
            slopes = np.stack((part.slope(i)[A], part.slope(j)[B]))
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
        descend(H, None, WtM, WtW, "nonnegative", self.inner)
        return Factors(Wt, H, M.residual_from(Wt, H, WtM, WtW, H @ H.T))


def _partition(name: str, groups: Groups | None, rank: int, what: str) -> Groups:
    """The groups of columns (rows), checked against their number; without groups a single one."""
    if groups is None:
        return (tuple(range(rank)),)
    named = sorted(j for group in groups for j in group)
    check_indices(name, named, rank, what)
    if len(named) < rank:
        missing = min(set(range(rank)) - set(named))
        raise InvalidInput(
            name, f"leave out {what} {{index}} (counted from {{origin}})", f"every one of the {rank} needs a group", index=missing
        )
    return groups


def _for_each(groups: Groups, wanted: float | Sequence[float]) -> tuple[float, ...]:
    return tuple(wanted) if isinstance(wanted, Sequence) else (wanted,) * len(groups)


def _rescale(t: Array, rows: Array, WtM: Array, WtW: Array) -> None:
    """The best length t_j ≥ 0 of each row diag(t)·rows in turn, in place; one that would be zero keeps a trace of itself."""
    along, gram = np.einsum("ij,ij->i", WtM, rows), WtW * (rows @ rows.T)
    for j in np.flatnonzero(gram.diagonal() > 0):
        best = (along[j] - gram[j] @ t + gram[j, j] * t[j]) / gram[j, j]
        t[j] = max(best, LEAST_SHARE * t.max())
