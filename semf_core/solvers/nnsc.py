"""Hoyer's nonnegative sparse coding."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative, UnitNorm
from semf_core.sets.base import latex_number
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, given_or_random
from semf_core.solvers.nmf import scaled

LONGER, SHORTER, TRIALS = 1.2, 0.5, 40
"""After a step that lowers the cost the next is longer; one that does not is halved, so many times at most."""


@SOLVERS.register
class NNSC(Direct):
    """A gradient step on U, projected to nonnegative columns of length one; then V ← V ∘ UᵀM ⊘ (UᵀUV + λ)."""

    name: ClassVar[str] = "nnsc"
    title: ClassVar[str] = "Nonnegative sparse coding"
    summary: ClassVar[str] = "NNSC: a lasso penalty on the coefficients, components of length one"
    family: ClassVar[str] = "Constrained sparse"
    enforces: ClassVar[str] = "nonnegative factors; components of length one, so that the penalty on V cannot be evaded"
    encourages: ClassVar[str] = "sparse coefficients (λ); the components themselves are not asked to be sparse"
    reference: ClassVar[str] = "nnsc"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")

    lam: float = param("number", 0.1, low=0, symbol=r"\lambda", help="weight of ΣV, in the units of M")

    def objective(self) -> str:
        return (
            r"\min_{U,V}\ \tfrac12\|M-UV\|_F^2 + \lambda\sum_{k,j}V_{kj}"
            r" \quad\text{s.t.}\quad U\ge 0,\; V\ge 0,\; \|u_k\|_2=1"
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(), UnitNorm()), (Nonnegative(),)

    def half_steps(self) -> tuple[HalfStep, ...]:
        slope = r"U_+ = \mathcal P\bigl(U - t\,(UV-M)V^\top\bigr)"
        ratio = rf"V_+ = V\odot (U_+^\top M)\oslash(U_+^\top U_+V + {latex_number(self.lam)})"
        return (
            HalfStep("U", slope, "a gradient step, then nonnegative columns of length one; t is halved until the error falls"),
            HalfStep("V", ratio, "Lee and Seung's update with the price λ in the denominator, with the new U"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        state.numbers["length"] = 1.0
        Xt, Y = given_or_random(replace(problem, x_set=Nonnegative()), rng)
        return Factors(problem.x_set.project(Xt.T).T, Y * np.linalg.norm(Xt, axis=1, keepdims=True))

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Xt = self._stepped(problem, state, Xt, M.right(Y, Xt), Y @ Y.T)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y = scaled(Y, XtM, XtX @ Y + Y.dtype.type(self.lam))
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))

    @staticmethod
    def _stepped(problem: Problem, state: State, Xt: Array, MYt: Array, YYt: Array) -> Array:
        """The first of ever shorter projected gradient steps that does not raise ‖M−XY‖²; X itself if there is none."""
        gradient, now = YYt @ Xt - MYt, _quadratic(Xt, MYt, YYt)
        for _ in range(TRIALS):
            new = problem.x_set.project((Xt - Xt.dtype.type(state.numbers["length"]) * gradient).T).T
            if _quadratic(new, MYt, YYt) <= now:
                state.numbers["length"] *= LONGER
                return new
            state.numbers["length"] *= SHORTER
        return Xt

    @property
    def penalised(self) -> bool:
        return True

    def cost(self, problem: Problem, state: State) -> float:
        """½‖M−UV‖² + λΣV; never rises."""
        return self.frame(problem, state).residual_uv ** 2 / 2 + self.lam * float(state.V.sum())


def _quadratic(Xt: Array, MYt: Array, YYt: Array) -> float:
    """½‖M−XY‖² up to a constant."""
    return float(np.vdot(Xt @ Xt.T, YYt)) / 2 - float(np.vdot(Xt, MYt))
