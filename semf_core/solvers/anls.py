"""Alternating nonnegative least squares: each factor is solved for exactly while the other is fixed (Kim and Park)."""

from __future__ import annotations

from typing import ClassVar

from semf_core.solvers.base import SOLVERS, HalfStep, Problem, State
from semf_core.solvers.direct import Factors, nnls_steps
from semf_core.solvers.nmf import PlainNMF
from semf_core.solvers.nnls import nnls


@SOLVERS.register
class AlternatingNNLS(PlainNMF):
    """NMF by turns: X = argmin ‖M − XY‖ over X ≥ 0, then Y; both by block principal pivoting.

    The rows of X, and the columns of Y, are separate problems that share the Gram matrix of the other factor.
    """

    name: ClassVar[str] = "nmf-anls"
    title: ClassVar[str] = "NMF (alternating NNLS)"
    summary: ClassVar[str] = "nonnegative least squares solved exactly, factor after factor, by block principal pivoting"
    reference: ClassVar[str] = "anls-bpp"
    buffers: ClassVar[float] = 18

    def half_steps(self) -> tuple[HalfStep, ...]:
        return nnls_steps("least squares without negative entries, exactly")

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Xt = nnls(Y @ Y.T, M.right(Y, Xt), start=Xt).astype(M.dtype)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y = nnls(XtX, XtM, start=Y).astype(M.dtype)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))
