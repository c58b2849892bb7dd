"""Nonnegative matrix factorization without further structure, by four ways of descent."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np

from semf_core.common.extras import optional
from semf_core.common.parameters import param
from semf_core.mathematics.matrix import DenseMatrix, SparseMatrix
from semf_core.sets import Nonnegative
from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import SOLVERS, Array, Frame, HalfStep, Problem, Sets, Solver, State
from semf_core.solvers.direct import SAME, Direct, Factors, given_or_random, hals_steps

OBJECTIVE = r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0"
FAMILY = "Nonnegative factorization"
SUFFICIENT, SHRINK, TRIALS = 0.01, 0.1, 20
"""Lin's line search: the decrease that is asked for, the factor between two steps, and how many it tries."""


class PlainNMF(Direct):
    """NMF, min ‖M − XY‖² over X ≥ 0, Y ≥ 0; subclasses differ in how they descend."""

    family: ClassVar[str] = FAMILY
    enforces: ClassVar[str] = "nonnegative factors"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    drops_zeros: ClassVar[bool] = True

    def objective(self) -> str:
        return OBJECTIVE

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(),), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        return Factors(*given_or_random(problem, rng))


@SOLVERS.register
class MultiplicativeNMF(PlainNMF):
    """Lee and Seung's updates: each factor times the ratio of the gradient's negative and positive parts."""

    name: ClassVar[str] = "nmf-mu"
    title: ClassVar[str] = "NMF (multiplicative)"
    summary: ClassVar[str] = "Lee and Seung's classic updates: simple, never increasing, slow at the end"
    reference: ClassVar[str] = "lee-seung"

    def half_steps(self) -> tuple[HalfStep, ...]:
        return (
            HalfStep("U", r"U_+ = U\odot (MV^\top)\oslash(UVV^\top)", "every entry times the ratio of the gradient's two parts"),
            HalfStep("V", r"V_+ = V\odot (U_+^\top M)\oslash(U_+^\top U_+V)", SAME),
        )

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Xt = scaled(Xt, M.right(Y, Xt), (Y @ Y.T) @ Xt)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y = scaled(Y, XtM, XtX @ Y)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))


def scaled(factor: Array, numerator: Array, denominator: Array) -> Array:
    """factor ∘ numerator / denominator; an entry whose denominator vanishes is zero already or has no effect."""
    ratio = np.divide(numerator, denominator, out=np.zeros_like(factor), where=denominator > 0)
    return factor * np.maximum(ratio, 0)


@cache
def scikit_nmf() -> Callable[..., Any]:
    """scikit-learn takes a second to import: only who runs its algorithm should wait, not every worker and command."""
    with optional():
        from sklearn.decomposition import non_negative_factorization

    return non_negative_factorization


@SOLVERS.register
class CoordinateNMF(PlainNMF):
    """scikit-learn's coordinate descent (Cichocki and Phan's HALS), one sweep over X and over Y at a time."""

    name: ClassVar[str] = "nmf-cd"
    title: ClassVar[str] = "NMF (coordinate descent)"
    summary: ClassVar[str] = "scikit-learn's coordinate descent: every entry is minimised exactly in turn, never increasing, fast"
    reference: ClassVar[str] = "hals"

    def half_steps(self) -> tuple[HalfStep, ...]:
        return hals_steps("one component after the other, each exactly")

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        scikit_nmf()  # here, so that importing it does not count as time of the first iteration
        return super().init(problem, rng)

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        if not (Xt.any() and Y.any()):  # scikit-learn rejects a zero factor; where one has become zero, nothing moves any more
            return Factors(Xt, Y)
        assert isinstance(M, DenseMatrix | SparseMatrix)
        array = M.array if M.array.dtype == M.dtype else M.array.astype(M.dtype)
        # Copies, because the sweep works in place. With tol=0 there is no warning about convergence.
        X, Y, _ = scikit_nmf()(array, W=Xt.T.copy(), H=Y.copy(), n_components=p, init="custom", max_iter=1, tol=0)
        return Factors(np.ascontiguousarray(X.T), np.ascontiguousarray(Y))


@SOLVERS.register
class ProjectedGradientNMF(PlainNMF):
    """Lin's alternating nonnegative least squares, each solved by projected gradients to a tolerance that tightens.

    A subproblem starts with the tolerance 0.001 times the gradient at the start, and is asked for a tenth
    of it from then on whenever no step was needed to reach it.
    """

    name: ClassVar[str] = "nmf-pg"
    title: ClassVar[str] = "NMF (projected gradient)"
    summary: ClassVar[str] = "Lin's projected gradients with a line search, factor after factor, never increasing"
    reference: ClassVar[str] = "lin-pg"

    inner: int = param("integer", 50, low=1, high=10_000, help="gradient steps at most on one factor before the other's turn")

    def half_steps(self) -> tuple[HalfStep, ...]:
        steps = f"at most {self.inner} projected gradient steps, each with a length t from a line search"
        return (
            HalfStep("U", r"U \leftarrow \bigl[U - t\,(UV-M)V^\top\bigr]_+", steps),
            HalfStep("V", r"V \leftarrow \bigl[V - t\,U_+^\top(U_+V-M)\bigr]_+", SAME),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        M = problem.matrix
        Xt, Y = (factor.astype(M.dtype) for factor in given_or_random(problem, rng))
        gradients = ((Y @ Y.T) @ Xt - M.right(Y, Xt), (Xt @ Xt.T) @ Y - M.left(Xt, Xt, Y))
        tolerance = 0.001 * float(np.sqrt(sum(float(np.vdot(g, g)) for g in gradients)))
        state.numbers.update(tolerance_x=tolerance, tolerance_y=tolerance)
        return Factors(Xt, Y)

    def update(self, problem: Problem, state: State) -> Factors:
        M, p, numbers = problem.matrix, state.rank, state.numbers
        Xt, Y = state.W[:p], state.Z[:p]
        Xt, steps = nonnegative_descent(Xt, Y @ Y.T, M.right(Y, Xt), numbers["tolerance_x"], self.inner)
        numbers["tolerance_x"] *= 1 if steps else 0.1
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y, steps = nonnegative_descent(Y, XtX, XtM, numbers["tolerance_y"], self.inner)
        numbers["tolerance_y"] *= 1 if steps else 0.1
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))


def nonnegative_descent(B: Array, gram: Array, C: Array, tolerance: float, most: int) -> tuple[Array, int]:
    """Projected gradient steps on ½⟨B, gram B⟩ − ⟨C, B⟩ over B ≥ 0 until the projected gradient is small; how many there were."""
    length = 1.0
    for step in range(most):
        gradient = gram @ B - C
        if np.linalg.norm(gradient[(gradient < 0) | (B > 0)]) <= tolerance:
            return B, step
        B, length = _searched(B, gradient, gram, length)
    return B, most


def _searched(B: Array, gradient: Array, gram: Array, length: float) -> tuple[Array, float]:
    """max(B − length·gradient, 0) for the largest of the lengths 10^k tried with sufficient decrease (Lin, Algorithm 4)."""
    best, shrinking = B, False
    for trial in range(TRIALS):
        new = np.maximum(B - B.dtype.type(length) * gradient, 0)
        move = new - B
        slope, curvature = float(np.vdot(gradient, move)), float(np.vdot(gram @ move, move))
        enough = (1 - SUFFICIENT) * slope + curvature / 2 <= 0
        if trial == 0:
            shrinking = not enough
        if shrinking:
            if enough:
                return new, length
            length *= SHRINK
        elif not enough or np.array_equal(new, best):
            return best, length * SHRINK
        else:
            best, length = new, length / SHRINK
    return best, length


@SOLVERS.register
class FixedPenaltyNMF(Solver):
    """Algorithm 1 for nonnegative factors with penalties that stay as they are (Zhang 2010): SeMF without Algorithm 2."""

    name: ClassVar[str] = "nmf-admm"
    title: ClassVar[str] = "NMF (fixed-penalty ADMM)"
    summary: ClassVar[str] = "the alternating direction method with constant penalties, which decide how well it does"
    family: ClassVar[str] = FAMILY
    enforces: ClassVar[str] = "nonnegative U and V; X and Y only approach them"
    reference: ClassVar[str] = "zhang-admm"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative",)
    splits: ClassVar[bool] = True
    drops_zeros: ClassVar[bool] = True

    alpha0: float = param("number", 0.1, low=0, open_low=True, symbol=r"\alpha", help="α as a multiple of ‖M‖")
    beta0: float = param("number", 0.1, low=0, open_low=True, symbol=r"\beta", help="β as a multiple of ‖M‖")
    gamma: float = param(
        "number", 1.0, low=0, high=1.618, open_low=True, open_high=True, symbol=r"\gamma", help="step length of the multipliers"
    )

    def objective(self) -> str:
        return OBJECTIVE

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(),), (Nonnegative(),)

    @cached_property
    def _engine(self) -> ADMM:
        return ADMM(penalty="fixed", alpha0=self.alpha0, beta0=self.beta0, gamma=self.gamma)

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        return self._engine.init(problem, rng)

    def step(self, problem: Problem, state: State) -> State:
        return self._engine.step(problem, state)

    def frame(self, problem: Problem, state: State) -> Frame:
        return self._engine.frame(problem, state)

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """Penalties that were changed take their new value."""
        return self._engine.retuned(problem, state, before)
