"""Relatives of NMF that fit by Kullback and Leibler's divergence and keep the components' sums at one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import kl_div

from semf_core.common.parameters import param
from semf_core.mathematics.blocks import row_blocks
from semf_core.mathematics.matrix import DataMatrix, DenseMatrix, SparseMatrix
from semf_core.sets import Nonnegative, Simplex
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, given_or_random
from semf_core.solvers.nmf import FAMILY, scaled

LEE_AND_SEUNG = "Lee and Seung's update with the new V, then every component divided by its sum"


def unit_sums(V: str) -> str:
    """LaTeX of Lee and Seung's update of U for these coefficients."""
    ratio = rf"(M\oslash U{V}){V}^\top\oslash \mathbf 1\mathbf 1^\top {V}^\top"
    return rf"U_+ = U'D^{{-1}},\quad U' = U\odot {ratio},\quad D = \operatorname{{diag}}(\mathbf 1^\top U')"


class DivergenceNMF(Direct):
    """Multiplicative updates for D(M‖UV) = Σ (m log(m/(uv)) − m + uv); each column of U is scaled to the sum 1."""

    family: ClassVar[str] = FAMILY
    enforces: ClassVar[str] = "nonnegative factors; the entries of each component add up to one"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Simplex(),), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Positive random factors, or given ones clipped and scaled: the nearest simplex point would have zeros, which stay."""
        Xt, Y = given_or_random(replace(problem, x_set=Nonnegative()), rng)
        return Factors(summing_to_one(Xt, Xt), Y * Xt.sum(axis=1, keepdims=True))

    def cost(self, problem: Problem, state: State) -> float:
        """D(M‖UV); infinite where UV has a zero that M has not."""
        return divergence(problem.matrix, state.U.T, state.V)


@SOLVERS.register
class DivergenceFitNMF(DivergenceNMF):
    """Lee and Seung's NMF of 1999: V ← V ∘ Uᵀ(M ⊘ UV), then U ← U ∘ (M ⊘ UV)Vᵀ ⊘ 1Vᵀ, U's sums passed to V.

    The divergence never rises. It is the likelihood of counts that follow Poisson's law with the mean UV.
    """

    name: ClassVar[str] = "nmf-kl"
    title: ClassVar[str] = "KL-NMF"
    summary: ClassVar[str] = "Lee and Seung's updates for Kullback and Leibler's divergence: the fit for counts, such as words"
    reference: ClassVar[tuple[str, ...]] = ("lee-seung-parts", "lee-seung")
    judged_by_change: ClassVar[bool] = True

    @property
    def penalised(self) -> bool:
        """What is minimised is not ‖M−UV‖."""
        return True

    def objective(self) -> str:
        return r"\min_{U,V}\ D(M\,\|\,UV) \quad\text{s.t.}\quad U\ge 0,\; V\ge 0,\; \mathbf{1}^TU=\mathbf{1}^T"

    def half_steps(self) -> tuple[HalfStep, ...]:
        return (
            HalfStep(
                "V", r"V_+ = D\,V',\quad V' = V\odot U^\top(M\oslash UV)", "V comes first; the sums D of the new U go into it"
            ),
            HalfStep("U", unit_sums("V'"), LEE_AND_SEUNG),
        )

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Y = scaled(Y, explained_left(M, Xt, Y), Xt.sum(axis=1, keepdims=True))
        new = scaled(Xt, explained_right(M, Xt, Y), Y.sum(axis=1, keepdims=True))
        return Factors(summing_to_one(new, Xt), Y * new.sum(axis=1, keepdims=True))


@SOLVERS.register
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

    def half_steps(self) -> tuple[HalfStep, ...]:
        root = r"V_+ = c\,V',\quad V' = \sqrt{V\odot U^\top(M\oslash UV)}"
        return (
            HalfStep("V", root, "V comes first, with a square root; c is the number that fits best"),
            HalfStep("U", unit_sums("V'"), LEE_AND_SEUNG),
        )

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p]
        Y = np.sqrt(Y * explained_left(M, Xt, Y))
        new = scaled(Xt, explained_right(M, Xt, Y), Y.sum(axis=1, keepdims=True))
        Xt = summing_to_one(new, Xt)
        XtM, XtX, YYt = M.left(Xt, Xt, Y), Xt @ Xt.T, Y @ Y.T
        size = float(np.vdot(XtX, YYt))
        share = float(np.vdot(XtM, Y)) / size if size > 0 else 1.0
        return Factors(Xt, share * Y, M.residual_from(Xt, share * Y, XtM, XtX, share**2 * YYt))


@SOLVERS.register
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

    def half_steps(self) -> tuple[HalfStep, ...]:
        smooth = r"V_+ = SH_+,\quad H_+ = H\odot (US)^\top(M\oslash UV)\oslash (US)^\top\mathbf 1\mathbf 1^\top"
        return (
            HalfStep("V", smooth, f"V comes first; S smooths with θ = {self.theta:g}"),
            HalfStep("U", unit_sums("V_+"), LEE_AND_SEUNG),
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
        M, p = problem.matrix, state.rank
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


def explained_left(M: DataMatrix, Xt: Array, Y: Array, Wt: Array | None = None) -> Array:
    """Wᵀ(M ⊘ XY), W = X unless it is given."""
    W = Xt if Wt is None else Wt
    out = np.zeros_like(Y)
    for rows, block, product in _products(M, Xt, Y):
        out += W[:, rows] @ _ratio(block, product)
    return out


def explained_right(M: DataMatrix, Xt: Array, Y: Array) -> Array:
    """((M ⊘ XY) Yᵀ)ᵀ."""
    out = np.empty_like(Xt)
    for rows, block, product in _products(M, Xt, Y):
        out[:, rows] = Y @ _ratio(block, product).T
    return out


def divergence(M: DataMatrix, Xt: Array, Y: Array) -> float:
    """D(M‖XY); infinite where XY has a zero that M has not."""
    total = 0.0
    for _, block, product in _products(M, Xt, Y):
        total += float(kl_div(*((block, product) if isinstance(block, np.ndarray) else (block.data, product))).sum())
        total -= 0 if isinstance(block, np.ndarray) else float(product.sum())
    return total + (float(Xt.sum(axis=1) @ Y.sum(axis=1)) if isinstance(M, SparseMatrix) else 0)


def summing_to_one(Xt: Array, before: Array) -> Array:
    """Every column of X divided by its sum; one that has become zero is left as it was before, or uniform."""
    sums, earlier = Xt.sum(axis=1, keepdims=True), before.sum(axis=1, keepdims=True)
    Xt = np.where(sums > 0, Xt, np.where(earlier > 0, before, 1))
    return Xt / Xt.sum(axis=1, keepdims=True)


def _products(M: DataMatrix, Xt: Array, Y: Array) -> Iterator[tuple[slice, Any, Array]]:
    """Blocks of rows of M and of XY; of a sparse block XY has only the entries that the block stores, in their order."""
    if isinstance(M, DenseMatrix):
        for rows, block in M.blocks():
            yield rows, block, Xt[:, rows].T @ Y
        return
    assert isinstance(M, SparseMatrix)  # `needs` has seen to that
    for rows in row_blocks(*M.shape):
        block = M.array[rows]
        i = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        yield rows, block, np.einsum("kj,kj->j", Xt[:, rows][:, i], Y[:, block.indices])


def _ratio(block: Any, product: Array) -> Any:
    """block ⊘ product, 0 where the product is: such an entry is out of reach of the updates."""
    entries = block if isinstance(block, np.ndarray) else block.data
    ratio = np.divide(entries, product, out=np.zeros_like(product), where=product > 0)
    return ratio if isinstance(block, np.ndarray) else sp.csr_array((ratio, block.indices, block.indptr), shape=block.shape)
