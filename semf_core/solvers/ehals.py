"""Extrapolated HALS: coordinate descent that goes on in the direction of its last step (Ang and Gillis)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.solvers.alternating import QUIET, balanced, balanced_start, inner_steps, revive
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Solver, State
from semf_core.solvers.direct import Factors, fit
from semf_core.solvers.nmf import PlainNMF
from semf_core.solvers.polish import descend


@SOLVERS.register
class ExtrapolatedNMF(PlainNMF):
    """Ang and Gillis' scheme around accelerated HALS (Gillis and Glineur), X first. With X̂, Ŷ the extrapolated factors:

    X₊ ≈ argmin ‖M − XŶ‖ over X ≥ 0, X̂₊ = max(X₊ + β(X₊ − X), 0);
    Y₊ ≈ argmin ‖M − X̂₊Y‖ over Y ≥ 0, Ŷ₊ = Y₊ + β(Y₊ − Y).

    U = X̂₊ and V = Y₊ are the answer. While ‖M − UV‖ falls, β grows by γ up to β̄ and β̄ by γ̄ up to 1. If it rises, X₊
    and Y₊ are dropped, the extrapolation starts afresh at X and Y, balanced, and β falls by η, its last good value the new β̄.
    """

    name: ClassVar[str] = "nmf-ehals"
    title: ClassVar[str] = "NMF (extrapolated HALS)"
    summary: ClassVar[str] = (
        "coordinate descent that overshoots along its last step, and restarts when the error rises: very fast"
    )
    reference: ClassVar[tuple[str, ...]] = ("ehals", "accelerated-hals")

    inner: int = param("integer", 10, low=1, high=1000, help="sweeps at most over one factor before the other's turn")
    beta: float = param("number", 0.5, low=0, high=1, symbol=r"\beta", help="extrapolation at the start; 0 is HALS without any")
    growth: float = param("number", 1.01, low=1, high=10, symbol=r"\gamma", help="growth of β while the error falls")
    limit_growth: float = param("number", 1.005, low=1, high=10, symbol=r"\bar\gamma", help="growth of the upper bound on β")
    decay: float = param(
        "number", 1.5, low=1, high=100, open_low=True, symbol=r"\eta", help="β is divided by it when the error rises"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.limit_growth <= self.growth < self.decay:
            raise InvalidInput("growth", f"must lie between limit_growth ({self.limit_growth:g}) and decay ({self.decay:g})")

    def half_steps(self) -> tuple[HalfStep, ...]:
        ahead = r"U_+ = \bigl[X_+ + \beta\,(X_+ - X)\bigr]_+,\quad X_+ \approx \arg\min_{X\ge 0}\|M-X\hat Y\|_F"
        return (
            HalfStep("U", ahead, "sweeps over the components, then further along the last step; Ŷ is V, extrapolated like it"),
            HalfStep("V", r"V_+ \approx \arg\min_{V\ge 0}\|M-U_+V\|_F", "sweeps over the rows of V, with the new U"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        Xt, Y = balanced_start(problem, rng)
        state.arrays.update(X=Xt, Y=Y, ahead_x=Xt, ahead_y=Y)
        state.numbers.update(beta=self.beta, beta_before=self.beta, beta_limit=1.0)
        return Factors(Xt, Y)

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """A β that was changed is the next one."""
        if isinstance(before, ExtrapolatedNMF) and self.beta != before.beta:
            state.numbers.update(beta=self.beta, beta_before=self.beta, beta_limit=1.0)
        return state

    def update(self, problem: Problem, state: State) -> Factors:
        M, p, arrays, numbers = problem.matrix, state.rank, state.arrays, state.numbers
        ahead_x, ahead_y, beta = arrays["ahead_x"], arrays["ahead_y"], M.dtype.type(numbers["beta"])
        sweeps_x, sweeps_y = inner_steps(M, p, self.inner)

        Xt = _improved(ahead_x, M.right(ahead_y, ahead_x), ahead_y @ ahead_y.T, sweeps_x)
        ahead_x = np.maximum(_beyond(Xt, arrays["X"], beta), 0)
        XtM, XtX = M.left(ahead_x, ahead_x, ahead_y), ahead_x @ ahead_x.T
        Y = _improved(ahead_y, XtM, XtX, sweeps_y)
        residual = M.residual_from(ahead_x, Y, XtM, XtX, Y @ Y.T)
        if revive(problem, ahead_x, Y, XtM, XtX):
            residual = fit(problem, ahead_x, Y)

        if residual > numbers["residual"]:
            X, old = balanced(problem, arrays["X"], arrays["Y"])
            arrays.update(X=X, Y=old, ahead_x=X, ahead_y=old)
            numbers.update(beta=numbers["beta"] / self.decay, beta_limit=numbers["beta_before"], beta_before=numbers["beta"])
        else:
            arrays.update(X=Xt, Y=Y, ahead_x=ahead_x, ahead_y=_beyond(Y, arrays["Y"], beta))
            limit = numbers["beta_limit"]
            numbers.update(
                beta=min(limit, self.growth * numbers["beta"]),
                beta_limit=min(1.0, self.limit_growth * limit),
                beta_before=numbers["beta"],
            )
        return Factors(ahead_x, Y, residual)


def _improved(factor: Array, target: Array, gram: Array, most: int) -> Array:
    """A new nonnegative factor (as rows) after a few sweeps."""
    rows = np.maximum(factor, 0)
    descend(rows, None, target, gram, "nonnegative", most, QUIET)
    return rows


def _beyond(new: Array, old: Array, beta: np.floating) -> Array:
    """new + β(new − old)."""
    out = new - old
    out *= beta
    out += new
    return out
