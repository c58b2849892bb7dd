"""Relatives of NMF that fit by Kullback and Leibler's divergence and keep the components' sums at one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import kl_div

from semf_core.matrix import DenseMatrix
from semf_core.parameters import param
from semf_core.sets import Nonnegative, Simplex
from semf_core.solvers.base import SOLVERS, Array, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, given_or_random
from semf_core.solvers.nmf import FAMILY, scaled


@dataclass(frozen=True, eq=False)
class DivergenceNMF(Direct):
    """Multiplicative updates for D(M‖UV) = Σ (m log(m/(uv)) − m + uv); each column of U is scaled to the sum 1."""

    family: ClassVar[str] = FAMILY
    enforces: ClassVar[str] = "nonnegative factors; the entries of each component add up to one"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "dense")

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Simplex(),), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Positive random factors, or given ones clipped and scaled: the nearest simplex point would have zeros, which stay."""
        Xt, Y = given_or_random(replace(problem, x_set=Nonnegative()), rng)
        if problem.start[1] is None:
            Y = Y * Xt.sum(axis=1, keepdims=True)
        return Factors(summing_to_one(Xt, Xt), Y)

    def cost(self, problem: Problem, state: State) -> float:
        """D(M‖UV); infinite where UV has a zero that M has not."""
        M = _dense(problem)
        return sum(float(kl_div(block, state.U[rows] @ state.V).sum()) for rows, block in M.blocks())


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class LNMF(DivergenceNMF):
    """Li, Hou, Zhang and Cheng's local NMF: V ← √(V ∘ Uᵀ(M ⊘ UV)), then Lee and Seung's U, then unit sums.

    a and b of its objective are positive constants that cancel from these updates, so they are no options.
    So does the scale of V, which the square root ties to nothing in M: after each update V is multiplied by the
    number that fits best. The error of Table 7 in the CSMF paper (5.051 on CBCL) is met so and not otherwise.
    """

    name: ClassVar[str] = "lnmf"
    title: ClassVar[str] = "LNMF"
    summary: ClassVar[str] = "local NMF: components that overlap little, at the price of the fit"
    encourages: ClassVar[str] = "components that overlap little, few of them needed; the objective may rise on the way"
    reference: ClassVar[str] = "lnmf"

    def objective(self) -> str:
        return (
            r"\min_{U,V}\ D(M\,\|\,UV) + a\sum_{i,j}(U^TU)_{ij} - b\sum_i (VV^T)_{ii}"
            r" \quad\text{s.t.}\quad U\ge 0,\; V\ge 0,\; \mathbf{1}^TU=\mathbf{1}^T"
        )

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = _dense(problem), state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Y = np.sqrt(Y * explained_left(M, Xt, Y))
        new = scaled(Xt, explained_right(M, Xt, Y), Y.sum(axis=1, keepdims=True))
        Xt = summing_to_one(new, Xt)
        XtM, XtX, YYt = M.left(Xt, Xt, Y), Xt @ Xt.T, Y @ Y.T
        size = float(np.vdot(XtX, YYt))
        share = float(np.vdot(XtM, Y)) / size if size > 0 else 1.0
        return Factors(Xt, share * Y, M.residual_from(Xt, share * Y, XtM, XtX, share**2 * YYt))


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class NsNMF(DivergenceNMF):
    """Pascual-Montano et al.'s nonsmooth NMF: M ≈ USH with S = (1−θ)I + (θ/p)11ᵀ between the factors; V is SH.

    Lee and Seung's updates for the divergence, with US in the place of U and SH in that of V. S smooths
    what it multiplies, so U and H have to be sparse for a good fit.
    """

    name: ClassVar[str] = "nsnmf"
    title: ClassVar[str] = "nsNMF"
    summary: ClassVar[str] = "nonsmooth NMF: a smoothing matrix between the factors makes both of them sparse"
    encourages: ClassVar[str] = "sparse U and sparse H, where V = SH; scaling U each time, the objective may rise on the way"
    reference: ClassVar[str] = "nsnmf"

    theta: float = param("number", 0.5, low=0, high=1, symbol=r"\theta", help="smoothing: 0 is plain NMF, 1 makes V constant")

    def objective(self) -> str:
        return (
            r"\min_{U,H}\ D(M\,\|\,USH),\; V=SH,\; S=(1-\theta)I+\tfrac{\theta}{p}\mathbf{1}\mathbf{1}^T"
            r" \quad\text{s.t.}\quad U\ge 0,\; H\ge 0,\; \mathbf{1}^TU=\mathbf{1}^T"
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Random U and H; a given V counts as SH as far as some H ≥ 0 can make it."""
        Xt, Y = super().begin(problem, rng, state)[:2]
        H = Y
        if problem.start[1] is not None and self.theta < 1:
            H = np.maximum((Y - self.theta * Y.mean(axis=0)) / (1 - self.theta), 0)
        state.arrays["H"] = H.astype(problem.matrix.dtype)
        return Factors(Xt, self._smoothed(H))

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = _dense(problem), state.rank
        Xt, H, V = state.W[:p], state.arrays["H"], state.Z[:p]
        smooth = self._smoothed(Xt)
        H = scaled(H, explained_left(M, Xt, V, smooth), smooth.sum(axis=1, keepdims=True))
        V = self._smoothed(H)
        new = scaled(Xt, explained_right(M, Xt, V), V.sum(axis=1, keepdims=True))
        state.arrays["H"] = H
        return Factors(summing_to_one(new, Xt), V)

    def retuned(self, problem: Problem, state: State, before: object) -> State:
        """V = SH with the new θ."""
        V = self._smoothed(state.arrays["H"])
        return self._placed(problem, state, Factors(state.W[: state.rank], V))

    def _smoothed(self, factor: Array) -> Array:
        """S · factor; S is symmetric, so this is (US)ᵀ for Uᵀ."""
        return (1 - self.theta) * factor + self.theta * factor.mean(axis=0)


def explained_left(M: DenseMatrix, Xt: Array, Y: Array, Wt: Array | None = None) -> Array:
    """Wᵀ(M ⊘ XY), W = X unless it is given."""
    W = Xt if Wt is None else Wt
    out = np.zeros_like(Y)
    for rows, block in M.blocks():
        out += W[:, rows] @ _ratio(block, Xt[:, rows].T @ Y)
    return out


def explained_right(M: DenseMatrix, Xt: Array, Y: Array) -> Array:
    """((M ⊘ XY) Yᵀ)ᵀ."""
    out = np.empty_like(Xt)
    for rows, block in M.blocks():
        out[:, rows] = Y @ _ratio(block, Xt[:, rows].T @ Y).T
    return out


def summing_to_one(Xt: Array, before: Array) -> Array:
    """Every column of X divided by its sum; one that has become zero is left as it was before, or uniform."""
    sums, earlier = Xt.sum(axis=1, keepdims=True), before.sum(axis=1, keepdims=True)
    Xt = np.where(sums > 0, Xt, np.where(earlier > 0, before, 1))
    return Xt / Xt.sum(axis=1, keepdims=True)


def _ratio(block: Array, product: Array) -> Array:
    """block ⊘ product, 0 where the product is: such an entry is out of reach of the updates."""
    return np.divide(block, product, out=np.zeros_like(product), where=product > 0)


def _dense(problem: Problem) -> DenseMatrix:
    assert isinstance(problem.matrix, DenseMatrix)  # `needs` has seen to that
    return problem.matrix
