"""NMFℓ⁰: nonnegative factors with counted nonzeros, by alternating nonnegative least squares (Peharz and Pernkopf)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative, Sparse
from semf_core.sets.kernels import keep_largest_nonnegative
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, generator, given_or_random
from semf_core.solvers.nnls import nnls, reverse_sparse_nnls, sparse_nnls
from semf_core.solvers.polish import descend

SETTLED = 2e-6
"""Where ‖M−UV‖ falls by less than this part of it, the support has given what it can."""


class CountedNMF(Direct):
    """min ‖M − UV‖² over U, V ≥ 0 with few nonzeros in one of them.

    After `rounds` iterations, or once nothing moves any more, the support of that factor is chosen afresh,
    which may raise the cost; in between both factors are improved on the support, which never does.
    """

    family: ClassVar[str] = "Sparse nonnegative factorization"
    reference: ClassVar[str] = "nmf-l0"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    drops_zeros: ClassVar[bool] = True
    buffers: ClassVar[float] = 19

    rounds: int = param("integer", 10, low=1, high=1000, help="iterations on one support before it is chosen afresh")
    updates: str = param(
        "choice", "nnls", choices=("nnls", "sweeps"), help="exact least squares, or one sweep of coordinate descent"
    )

    @property
    def _by(self) -> str:
        return "least squares without negative entries" if self.updates == "nnls" else "one sweep of coordinate descent"

    def choosing(self, state: State) -> bool:
        """Whether this iteration chooses the support; counts the iterations on it."""
        numbers = state.numbers
        progress, numbers["before"] = numbers["before"] - numbers["residual"], numbers["residual"]
        settled = numbers["age"] > 1 and progress <= SETTLED * numbers["residual"]
        fresh = settled or numbers["age"] >= self.rounds
        numbers["age"] = 1.0 if fresh else numbers["age"] + 1
        return fresh

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        Xt, Y = given_or_random(problem, rng)
        dtype = problem.matrix.dtype
        state.numbers.update({"age": float(self.rounds), "before": np.inf})
        return Factors(problem.x_set.project(Xt.T).T.astype(dtype), problem.y_set.project(Y).astype(dtype))

    def improved(self, rows: Array, target: Array, gram: Array, allowed: Array | None) -> Array:
        """A factor (as rows) improved on the entries allowed, as a new array."""
        if self.updates == "nnls":
            return nnls(gram, target, allowed, rows).astype(rows.dtype)
        new = rows.copy()
        descend(new, allowed, target, gram, "nonnegative")
        return new


@SOLVERS.register
class CountedPartsNMF(CountedNMF):
    """‖u_j‖₀ ≤ k, SeMF's rival in its §4.3 (Table 1).

    U by nonnegative least squares, of each column the k largest entries, then V and U on that support.
    """

    name: ClassVar[str] = "nmf-l0"
    title: ClassVar[str] = "NMFℓ⁰ on U"
    summary: ClassVar[str] = "least squares, then the k largest entries of each part: counted nonzeros without splitting"
    enforces: ClassVar[str] = "nonnegative factors, and at most the given share of nonzeros in each column of U"

    share: float = param(
        "number", 0.33, low=0, high=1, open_low=True, symbol="k/m", help="largest share of nonzeros in a column of U"
    )

    def count(self, m: int) -> int:
        """Nonzeros allowed in a column of m entries."""
        return max(1, round(self.share * m))

    def objective(self) -> str:
        count = rf"\|u_j\|_0 \le {100 * self.share:g}\,\%\,m \;\forall j"
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad U\ge 0,\; V\ge 0,\; {count}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(), Sparse(self.count(shape[0]))), (Nonnegative(),)

    def half_steps(self) -> tuple[HalfStep, ...]:
        k = rf"{100 * self.share:g}\,\%\,m"
        chosen = rf"U_+ = H_k\Bigl(\arg\min_{{U\ge 0}}\|M-UV\|_F\Bigr),\quad k = {k}"
        return (
            HalfStep("U", chosen, f"H keeps the k largest entries of a column; for at most {self.rounds - 1} more iterations "
                     "only the fit on that support is improved"),
            HalfStep("V", r"V_+ = \arg\min_{V\ge 0}\|M-U_+V\|_F", self._by),
        )  # fmt: skip

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        target, gram = M.right(Y, Xt), Y @ Y.T
        if self.choosing(state):
            Xt = nnls(gram, target, start=Xt).astype(Xt.dtype)
            Xt = np.ascontiguousarray(keep_largest_nonnegative(Xt.T, self.count(problem.shape[0])).T)
            state.arrays["support"] = Xt > 0
        else:
            Xt = self.improved(Xt, target, gram, state.arrays["support"])
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y = self.improved(Y, XtM, XtX, None)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))


@SOLVERS.register
class CountedCodesNMF(CountedNMF):
    """‖v_j‖₀ ≤ L: V by sparse nonnegative least squares, then U and V on that support.

    Columns of U have unit length, so that coefficients can be compared; one that no sample uses is
    replaced by a sample before the next choice.
    """

    name: ClassVar[str] = "nmf-l0-codes"
    title: ClassVar[str] = "NMFℓ⁰ on V"
    summary: ClassVar[str] = "sparse nonnegative coding: each sample is a sum of at most L parts"
    enforces: ClassVar[str] = "nonnegative factors, and at most L nonzeros in each column of V"

    most: int = param("integer", 3, low=1, symbol="L", help="largest number of parts that a sample is made of")
    coder: str = param(
        "choice", "reverse", choices=("reverse", "forward"), help="give up the smallest coefficients, or stop when there are L"
    )

    def objective(self) -> str:
        count = rf"\|v_j\|_0 \le {self.most} \;\forall j"
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad U\ge 0,\; V\ge 0,\; {count}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(),), (Nonnegative(), Sparse(min(self.most, rank)))

    def half_steps(self) -> tuple[HalfStep, ...]:
        least = rf"\arg\min_{{V\ge 0,\ \|v_i\|_0\le {self.most}}}\|M-U_+V\|_F"
        return (
            HalfStep("U", r"U_+ = \arg\min_{U\ge 0}\|M-UV\|_F\cdot D^{-1}", f"{self._by}, then unit length; "
                     "where V is chosen afresh only components that nobody uses are replaced"),
            HalfStep("V", rf"V_+ \approx {least}", f"greedily; for at most {self.rounds - 1} more iterations on that support"),
        )  # fmt: skip

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        if self.choosing(state):
            Xt = _unit_rows(_revived(problem, Xt, Y, generator(state)))
            XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
            coder = reverse_sparse_nnls if self.coder == "reverse" else sparse_nnls
            Y = coder(XtX.astype(np.float64), XtM.astype(np.float64), min(self.most, p)).astype(Y.dtype)
            state.arrays["support"] = Y > 0
        else:
            Xt = _unit_rows(self.improved(Xt, M.right(Y, Xt), Y @ Y.T, None))
            XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
            Y = self.improved(Y, XtM, XtX, state.arrays["support"])
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))


def _unit_rows(Xt: Array) -> Array:
    length = np.linalg.norm(Xt, axis=1, keepdims=True)
    return Xt / np.where(length == 0, 1, length)


def _revived(problem: Problem, Xt: Array, Y: Array, rng: np.random.Generator) -> Array:
    """Xᵀ with random samples in place of the components that no sample uses."""
    unused = np.flatnonzero(~(Xt.any(axis=1) & Y.any(axis=1)))
    if not unused.size:
        return Xt
    chosen = np.zeros((unused.size, Y.shape[1]), Xt.dtype)
    chosen[np.arange(unused.size), rng.integers(0, Y.shape[1], unused.size)] = 1
    out = Xt.copy()
    out[unused] = problem.matrix.right(chosen, Xt)
    return out
