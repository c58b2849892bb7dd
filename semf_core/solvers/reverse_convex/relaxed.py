"""Sparseness as a reward instead of a bound: the relaxed form (4), solved by (26)."""

from __future__ import annotations

from typing import ClassVar

from semf_core.common.parameters import param
from semf_core.sets.base import latex_number
from semf_core.solvers.base import SOLVERS, Problem, State
from semf_core.solvers.reverse_convex.common import Alternating
from semf_core.solvers.reverse_convex.conic import Array
from semf_core.solvers.reverse_convex.geometry import sparseness, sparseness_gradient
from semf_core.solvers.reverse_convex.half import ERROR_ROOM, Half, Quadratic
from semf_core.solvers.reverse_convex.tangent import from_here

HALVINGS = 30
"""Steps shorter than 2⁻³⁰ of the way count as none."""


def rewarded(half: Half, f: Quadratic, H: Array) -> Array:
    """A lower f − weight·Σ sp(H_k): (26) at H, then as much of the way to its solution as pays.

    The linear model of sp overshoots: sp is bounded, its model is not. The way there is one of descent
    all the same, because model and objective have the same slope at H. Where the fit is bounded (§6.3) and not yet good
    enough, only the fit counts; from then on nothing is worth leaving the bound.
    """
    weight, level = half.weight / f.scale, half.level(f, ERROR_ROOM)
    if f.fit(H) > level:
        return from_here(half, f, H)

    def cost(rows: Array) -> float:
        return f.value(rows) - weight * float(sparseness(rows).sum())

    best, step = cost(H), from_here(half, f, H, weight * sparseness_gradient(H)) - H
    for k in range(HALVINGS):
        new = half.band.rectified(H + 0.5**k * step)
        if cost(new) < best and f.fit(new) <= level:
            return new
    return H


class Rewarding(Alternating):
    """−‖M‖²(λ_x Σ sp(X_j) + λ_y Σ sp(Y_i)) added to the objective: weights that do not depend on the data's scale."""

    programs: ClassVar[str] = "sparseness is replaced by its tangent, (26), and as much of the way is gone as pays"
    boundary: ClassVar[str] = r"\langle t, %s\rangle\ge 0"

    x_weight: float = param(
        "number", 0.01, low=0, high=1e6, symbol=r"\lambda_x", help="worth of the sparseness of a column of X, in ‖M‖²"
    )
    y_weight: float = param(
        "number", 0.0, low=0, high=1e6, symbol=r"\lambda_y", help="worth of the sparseness of a row of Y, in ‖M‖²"
    )
    max_error: float | None = param(
        "number", None, low=0, high=1, open_low=True, optional=True, symbol=r"\delta",
        help="largest ‖M−UV‖/‖M‖ that sparseness may cost; as long as it is not reached, only the fit counts",
    )  # fmt: skip
    rounds: int = param("integer", 1, low=1, high=100, help="cone programs for one factor before the other's turn")

    def weights(self) -> tuple[float, float]:
        return self.x_weight, self.y_weight

    def rewards_latex(self) -> str:
        rewards = (("U_{j}", "j", self.x_weight), ("V_{i,:}", "i", self.y_weight))
        return "".join(
            rf" - {latex_number(weight)}\,\|M\|_F^2 \sum_{{{index}}} \mathrm{{sp}}({vector})"
            for vector, index, weight in rewards
            if weight
        )

    def bound_latex(self) -> list[str]:
        return [] if self.max_error is None else [rf"\|M-UV\|_F \le {latex_number(self.max_error)}\,\|M\|_F"]

    @property
    def penalised(self) -> bool:
        return True

    @property
    def admissible(self) -> float | None:
        return self.max_error

    def within_bound(self, problem: Problem, residual: float) -> bool:
        """Whether ‖M−UV‖ is at most what the bound allows, up to what conic programs leave."""
        size = problem.matrix.norm or 1.0
        return self.max_error is None or (residual / size) ** 2 <= self.max_error**2 + 2 * ERROR_ROOM

    def remarks(self, problem: Problem, state: State, residual: float, factors: tuple[Array, Array]) -> tuple[str, ...]:
        if self.max_error is None:
            return ()
        error = residual / (problem.matrix.norm or 1.0)
        if self.within_bound(problem, residual):
            return (f"The reconstruction error {error:.4g} is within its bound {self.max_error:g}.",)
        told = f"The reconstruction error {error:.4g} did not come down to its bound {self.max_error:g}"
        return (f"{told}: raise the bound or the rank.",)

    def cost(self, problem: Problem, state: State) -> float:
        """The objective; outside of a bound on the error the fit alone, above all that is within it."""
        p = state.rank
        if not self.within_bound(problem, state.numbers["residual"]):
            return float(problem.matrix.norm**2 + state.numbers["residual"] ** 2)
        worth = self.x_weight * sparseness(state.W[:p]).sum() + self.y_weight * sparseness(state.Z[:p]).sum()
        return float(state.numbers["residual"] ** 2 - problem.matrix.norm**2 * worth)

    def descend(self, half: Half, f: Quadratic, H: Array) -> Array:
        for _ in range(self.rounds):
            H = rewarded(half, f, H)
        return H


@SOLVERS.register
class RelaxedSparsity(Rewarding):
    """(4): NMF whose objective is lower the sparser the factors are."""

    name: ClassVar[str] = "relaxed-sparsity"
    title: ClassVar[str] = "Rewarded sparseness"
    summary: ClassVar[str] = "NMF that trades fit for sparseness: no bound, a price instead"
    enforces: ClassVar[str] = "nonnegative factors"
    encourages: ClassVar[str] = "sparse columns of X and sparse rows of Y, at the stated price"

    def objective(self) -> str:
        conditions = r",\; ".join([r"U\ge 0", r"V\ge 0", *self.bound_latex()])
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2{self.rewards_latex()} \quad\text{{s.t.}}\quad {conditions}"
