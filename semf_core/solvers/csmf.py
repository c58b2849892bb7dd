"""Constrained sparse matrix factorization (Zheng, Li, Lai and Liao): sparse, little overlapping components by penalties."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative
from semf_core.sets.base import latex_number
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import LEFT, Direct, Factors, given_or_random

SHARE = {"low": 0, "high": 1}
SHRUNK = 0.5
"""Components below this share of their first size have drifted."""


@SOLVERS.register
class CSMF(Direct):
    """Exact minimisation over one entry after the other, on a part of the rows and columns at each step.

    The rows of U are independent given V, and the columns of V given U, so the entries of one component
    are updated together (Lemmas 1-2, Theorems 1-3 and 5). The gentle update strategy (§3.2) takes, at each
    step, the next rows in their cyclic order and those of largest cost (12), then columns likewise (13).
    """

    name: ClassVar[str] = "csmf"
    title: ClassVar[str] = "CSMF"
    summary: ClassVar[str] = "sparse components that overlap little, of any sign, by penalties on both factors"
    family: ClassVar[str] = "Constrained sparse"
    enforces: ClassVar[str] = "nothing: both factors may have any sign"
    encourages: ClassVar[str] = (
        "components that do not overlap (α) and are sparse (β), sparse coefficients (λ); "
        "where λ = 0, U can shrink while V grows, so that the penalties on U fade"
    )
    reference: ClassVar[str] = "csmf"
    needs: ClassVar[tuple[str, ...]] = ("complete",)
    signs: ClassVar[tuple[bool, bool]] = (False, False)
    """Whether U and whether V must be nonnegative."""

    alpha: float = param("number", 0.05, low=0, symbol=r"\alpha", help="weight of the overlap Σ|u_i||u_j| of the components")
    beta: float = param("number", 0.0, low=0, symbol=r"\beta", help="weight of Σ|U|, which makes components sparse")
    lam: float = param("number", 0.0, low=0, symbol=r"\lambda", help="weight of Σ|V|, which makes coefficients sparse")
    rows: float = param("number", 0.6, **SHARE, open_low=True, help="share of the rows of U that a step updates in turn")
    worst_rows: float = param("number", 0.2, **SHARE, help="share of the rows that it updates because they cost most")
    columns: float = param("number", 0.8, **SHARE, open_low=True, help="share of the columns of V that a step updates in turn")
    worst_columns: float = param("number", 0.4, **SHARE, help="share of the columns that it updates because they cost most")

    def objective(self) -> str:
        domain = [rf"{factor}\ge 0" for factor, signed in zip("UV", self.signs, strict=True) if signed]
        penalties = r"\alpha\sum_{i\ne j}|u_i|^T|u_j| + \beta\|U\|_1 + \lambda\|V\|_1"
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 + {penalties}" + (rf" \quad\text{{s.t.}}\quad {', '.join(domain)}" if domain else "")

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        sets: tuple[Sets, Sets] = tuple((Nonnegative(),) if signed else () for signed in self.signs)  # type: ignore[assignment]
        return sets

    def half_steps(self) -> tuple[HalfStep, ...]:
        alpha, beta, lam = (latex_number(weight) for weight in (self.alpha, self.beta / 2, self.lam / 2))
        on_u = rf"t = {alpha}\sum_{{j\ne k}}|u_j| + {beta}"
        some = "one component after the other, in the rows whose turn it is and in those of largest cost" + LEFT
        return (
            HalfStep("U", _shrunk("u_k", r"R_kv_{k:}^\top", "t", r"\|v_{k:}\|^2", self.signs[0]) + rf",\quad {on_u}", some),
            HalfStep("V", _shrunk("v_{k:}", r"u_k^\top R_k", lam, r"\|u_k\|^2", self.signs[1]),
                     "the same for the rows of V, in columns that are chosen alike"),
        )  # fmt: skip

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Components uniform in (0, 1), coefficients by least squares (§4.2); their size is remembered, to see a drift."""
        state.numbers.update(next_row=0, next_column=0)
        first = self._first(problem, rng)
        state.numbers["first_size"] = float(np.linalg.norm(first.Xt))
        return first

    def _first(self, problem: Problem, rng: np.random.Generator) -> Factors:
        (m, n), p, (X0, Y0) = problem.matrix.shape, problem.rank, problem.start
        Xt = rng.random((p, m)) if X0 is None else problem.x_set.project(X0).T
        if Y0 is not None:
            return Factors(Xt, problem.y_set.project(Y0))
        Xt = Xt.astype(problem.matrix.dtype)
        target = problem.matrix.left(Xt, Xt, np.zeros((p, n), Xt.dtype))
        return Factors(Xt, np.linalg.lstsq(Xt @ Xt.T, target, rcond=None)[0])

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        row_squares, column_squares = _squares(problem, state)
        YYt, MYt = Y @ Y.T, M.right(Y, Xt)
        chosen = self._chosen(state, "row", fit_costs(row_squares, MYt, YYt, Xt) + self._row_penalties(Xt))
        Xt = Xt.copy()
        Xt[:, chosen] = minimised(Xt[:, chosen], MYt[:, chosen], YYt, self.alpha, self.beta, self.signs[0])
        XtX, XtM = Xt @ Xt.T, M.left(Xt, Xt, Y)
        chosen = self._chosen(state, "column", fit_costs(column_squares, XtM, XtX, Y) + self.lam * np.abs(Y).sum(axis=0))
        Y = Y.copy()
        Y[:, chosen] = minimised(Y[:, chosen], XtM[:, chosen], XtX, 0.0, self.lam, self.signs[1])
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))

    def remarks(self, problem: Problem, state: State, residual: float, factors: tuple[Array, Array]) -> tuple[str, ...]:
        """Whether the components shrank, and with them the weights on them."""
        first = state.numbers.get("first_size", 0.0)
        left = float(np.linalg.norm(factors[0])) / first if first > 0 else 1.0
        if self.lam or not (self.alpha or self.beta) or left > SHRUNK:
            return ()
        told = f"Where λ = 0 nothing keeps V from growing while U shrinks: U ended at {100 * left:.2g} % of its first size"
        return (f"{told}, and α and β weigh that much less; a λ above 0 holds it.",)

    @property
    def penalised(self) -> bool:
        return True

    def cost(self, problem: Problem, state: State) -> float:
        """‖M−UV‖² with all penalties, (1) with (3) and (4); never rises."""
        Ut, V = state.U.T, state.V
        fit = self.frame(problem, state).residual_uv ** 2
        return fit + float(self._row_penalties(Ut).sum()) + self.lam * float(np.abs(V).sum())

    def _row_penalties(self, Xt: Array) -> Array:
        """α Σ_{i≠j} |x_i||x_j| + β Σ|x_i| of each row x of X."""
        sums: Array = np.abs(Xt).sum(axis=0)
        return self.alpha * (sums**2 - np.square(Xt).sum(axis=0)) + self.beta * sums

    def _chosen(self, state: State, which: str, costs: Array) -> Array:
        """A mask of the rows (columns) of this step: the next ones in turn, and those of largest cost."""
        in_turn, worst = (self.rows, self.worst_rows) if which == "row" else (self.columns, self.worst_columns)
        count, first = max(1, round(in_turn * len(costs))), int(state.numbers[f"next_{which}"])
        mask = np.zeros(len(costs), bool)
        mask[(first + np.arange(count)) % len(costs)] = True
        state.numbers[f"next_{which}"] = (first + count) % len(costs)
        largest = round(worst * len(costs))
        if largest and count < len(costs):
            mask[np.argpartition(costs, -largest)[-largest:]] = True
        return mask


@SOLVERS.register
class CSMFnc(CSMF):
    """CSMF (5): components without negative entries, added and subtracted."""

    name: ClassVar[str] = "csmfnc"
    title: ClassVar[str] = "CSMFnc"
    summary: ClassVar[str] = "nonnegative sparse components that may be added and subtracted"
    enforces: ClassVar[str] = "nonnegative components U; V may have any sign"
    signs: ClassVar[tuple[bool, bool]] = (True, False)


@SOLVERS.register
class CSMFncc(CSMF):
    """CSMF with both factors nonnegative (Theorem 5, with the sign of Lemma 1); without penalties this is NMF."""

    name: ClassVar[str] = "csmfncc"
    title: ClassVar[str] = "CSMFncc"
    summary: ClassVar[str] = "nonnegative sparse components with nonnegative coefficients"
    enforces: ClassVar[str] = "nonnegative factors"
    signs: ClassVar[tuple[bool, bool]] = (True, True)

    start: str = param(
        "choice", "published", choices=("published", "scaled"),
        help="both factors uniform in (0, 1) as in the paper; or random with a product of the size of M, which pays where λ > 0",
    )  # fmt: skip

    def _first(self, problem: Problem, rng: np.random.Generator) -> Factors:
        """A product far above M, as published, makes the first steps shrink the components, and the weights on them fade."""
        if self.start == "scaled":
            return Factors(*given_or_random(problem, rng))
        (m, n), p, (X0, Y0) = problem.matrix.shape, problem.rank, problem.start
        Xt = rng.random((p, m)) if X0 is None else problem.x_set.project(X0).T
        return Factors(Xt, rng.random((p, n)) if Y0 is None else problem.y_set.project(Y0))


def _shrunk(vector: str, target: str, threshold: str, size: str, nonnegative: bool) -> str:
    """LaTeX of Theorem 1's minimiser over one component."""
    if nonnegative:
        return rf"{vector} \leftarrow \bigl[{target} - {threshold}\bigr]_+/{size}"
    return rf"{vector} \leftarrow \operatorname{{sign}}(r)\bigl[|r| - {threshold}\bigr]_+/{size},\quad r = {target}"


def minimised(B: Array, C: Array, gram: Array, alpha: float, lasso: float, nonnegative: bool) -> Array:
    """One pass of exact minimisation over each entry of the columns b of B (p×k), component after component, of

        bᵀ gram b − 2 cᵀb + α Σ_{i≠j} |b_i||b_j| + lasso Σ|b_i|,   c the column of C.

    With the others fixed, an entry z costs a z² + b₀ z + t|z|, where a = gram_ii, b₀ = 2(Σ_{j≠i} gram_ij b_j − c_i)
    and t = 2α Σ_{j≠i} |b_j| + lasso ≥ 0. Lemma 1's minimisers on either side are max(−(b₀+t)/2a, 0) and
    min(−(b₀−t)/2a, 0). At most one of them is not zero, so their sum is the minimiser of Theorem 1.
    """
    B = B.copy()
    sums = np.abs(B).sum(axis=0)
    for i, a in enumerate(gram.diagonal()):
        if a <= 0:  # the component's partner is zero: only the penalty counts
            if alpha or lasso:
                sums -= np.abs(B[i])
                B[i] = 0
            continue
        half = C[i] - gram[i] @ B + a * B[i]  # −b₀/2
        sums -= np.abs(B[i])
        threshold = alpha * sums + lasso / 2
        new = np.maximum(half - threshold, 0)
        if not nonnegative:
            new += np.minimum(half + threshold, 0)
        new /= a
        B[i] = new
        sums += np.abs(new)
    return B


def fit_costs(squares: Array, C: Array, gram: Array, B: Array) -> Array:
    """‖x − Aᵀb‖² of each sample x from ‖x‖², c = Ax and gram = AAᵀ; rounding may leave it a little below zero."""
    costs: Array = squares + np.einsum("ij,ij->j", gram @ B - 2 * C, B)
    return costs


def _squares(problem: Problem, state: State) -> tuple[Array, Array]:
    """‖·‖² of each row and of each column of M."""
    if "squares" not in state.scratch:
        state.scratch["squares"] = problem.matrix.squares()
    squares: tuple[Array, Array] = state.scratch["squares"]
    return squares
