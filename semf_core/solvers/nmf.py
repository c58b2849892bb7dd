"""Nonnegative matrix factorization without further structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semf_core.sets import Nonnegative
from semf_core.solvers.base import SOLVERS, Array, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, given_or_random


@dataclass(frozen=True, eq=False)
class PlainNMF(Direct):
    """min ‖M − XY‖² over X ≥ 0, Y ≥ 0; subclasses differ in how they descend."""

    family: ClassVar[str] = "Nonnegative factorization"
    enforces: ClassVar[str] = "nonnegative factors"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    drops_zeros: ClassVar[bool] = True

    def objective(self) -> str:
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(),), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        return Factors(*given_or_random(problem, rng))


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class MultiplicativeNMF(PlainNMF):
    """Lee and Seung's updates: each factor times the ratio of the gradient's negative and positive parts."""

    name: ClassVar[str] = "nmf-mu"
    title: ClassVar[str] = "NMF (multiplicative)"
    summary: ClassVar[str] = "Lee and Seung's classic updates: simple, never increasing, slow at the end"
    reference: ClassVar[str] = "lee-seung"

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Xt = _scaled(Xt, M.right(Y, Xt), (Y @ Y.T) @ Xt)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y = _scaled(Y, XtM, XtX @ Y)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))


def _scaled(factor: Array, numerator: Array, denominator: Array) -> Array:
    """factor ∘ numerator / denominator; an entry whose denominator vanishes is zero already or has no effect."""
    ratio = np.divide(numerator, denominator, out=np.zeros_like(factor), where=denominator > 0)
    return factor * np.maximum(ratio, 0)
