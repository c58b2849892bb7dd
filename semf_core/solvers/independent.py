"""Independent components: FastICA (Hyvärinen), and ICA of nonnegative sources (Plumbley)."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
import scipy.linalg

from semf_core.common.extras import optional
from semf_core.common.parameters import param
from semf_core.sets import Box, Nonnegative
from semf_core.sets.kernels import polar
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors
from semf_core.solvers.spectral import components_exist, leading_svd, plain_array

SHORTER, TRIALS = 0.5, 40
"""A rotation that does not lower the cost is tried at half the angle, so many times."""
GAUSSIAN = 0.37456720749143877
"""E log cosh ν for a standard normal ν."""


class Rotation(Direct):
    """Whitened data Z (q×N), and a rotation R that is improved step by step; the factors follow from both."""

    own_start: ClassVar[str] = "a random rotation of the whitened data"
    family: ClassVar[str] = "Independent components"
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 7
    judged_by_change: ClassVar[bool] = True

    @property
    def penalised(self) -> bool:
        """All rotations fit alike, or nearly so: another measure decides."""
        return True

    def rotated(self, problem: Problem, state: State, R: Array) -> Factors:
        """The factors that belong to R, which is kept for the next step."""
        raise NotImplementedError


def first_rotation(size: int, rng: np.random.Generator) -> Array:
    return polar(rng.standard_normal((size, size)))


@SOLVERS.register
class FastICA(Rotation):
    """The mean and p − 1 directions whose coefficients are as far from Gaussian as possible, each of variance 1.

    PCA finds the subspace, so the fit is PCA's; R follows Hyvärinen's fixed point R ← E[g(RZ)Zᵀ] − E[g′(RZ)]R with
    g = tanh, all rows at once and orthonormalised again, by scikit-learn. Rows of V are independent where M is a
    mixture of independent sources; with components in their place it is Bartlett's first architecture.
    """

    name: ClassVar[str] = "ica"
    title: ClassVar[str] = "ICA"
    summary: ClassVar[str] = "independent component analysis (FastICA): coefficients, or components, as independent as can be"
    enforces: ClassVar[str] = "uncorrelated coefficients of variance 1 beside the mean (or components in their place)"
    encourages: ClassVar[str] = "independence: entries far from a normal distribution"
    reference: ClassVar[tuple[str, ...]] = ("fastica", "ica-faces")

    independent: str = param(
        "choice",
        "coefficients",
        choices=("coefficients", "components"),
        help="what is to be independent: the rows of V, or columns of U",
    )

    def objective(self) -> str:
        rows = "V_k" if self.independent == "coefficients" else "U_k"
        return (
            rf"\max_{{U,V}}\ \sum_{{k>1}}\bigl(\mathrm{{E}}\log\cosh {rows}-\mathrm{{E}}\log\cosh\nu\bigr)^2"
            rf" \quad\text{{s.t.}}\quad UV=\mathrm{{PCA}}(M),\; \operatorname{{cov}}({rows})=I"
        )

    def half_steps(self) -> tuple[HalfStep, ...]:
        turned = r"R_+ = \operatorname{orth}\bigl(\mathrm E[g(RZ)Z^\top]-\mathrm E[g'(RZ)]R\bigr),\ g=\tanh"
        sources, mixing = ("V", "U") if self.independent == "coefficients" else ("U", "V")
        rows, columns = ("V_{2:p}", "U_{2:p}") if sources == "V" else (r"U_{2:p}^\top", r"V_{2:p}^\top")
        return (
            HalfStep(sources, rf"{rows} = R_+Z,\quad {turned}", "the rotation R of the whitened data Z is improved once"),
            HalfStep(mixing, rf"{columns} = AR_+^\top", "A undoes the whitening: the product stays PCA's"),
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        components_exist(shape, rank)
        if self.independent == "coefficients":
            return (), (Box(1, 1, axis="row", columns=(0,)),)
        return (Box(1, 1, columns=(0,)),), ()

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        M, q = plain_array(problem.matrix), problem.rank - 1
        A = M if self.independent == "coefficients" else M.T
        mean = A.mean(axis=1, keepdims=True)
        U, scores = leading_svd(problem.matrix, A - mean, q, rng) if q else (A[:, :0], A[:0])
        sizes = scores.std(axis=1, keepdims=True)
        known = sizes > np.finfo(A.dtype).eps * max(A.shape) * sizes.max(initial=0)
        state.arrays |= {
            "mean": mean,
            "mixing": U * np.where(known, sizes, 0).T,
            "whitened": np.divide(scores, sizes, out=np.zeros_like(scores), where=known),
        }
        return self.rotated(problem, state, first_rotation(q, rng).astype(A.dtype))

    def update(self, problem: Problem, state: State) -> Factors:
        R, Z = state.arrays["rotation"], state.arrays["whitened"]
        if len(R) < 2:  # nothing to turn
            return self.rotated(problem, state, R)
        # scikit-learn takes a second or two to import; only those who want it should wait.
        with optional():
            from sklearn.decomposition import fastica
            from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():  # one step at a time never converges
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, new, _ = fastica(Z.T, whiten=False, w_init=R, max_iter=1, fun="logcosh")
        turned = np.where(np.einsum("ij,ij->i", new, R) < 0, -1, 1)  # a step may turn a source's sign; it means nothing
        return self.rotated(problem, state, (turned[:, None] * new).astype(R.dtype))

    def rotated(self, problem: Problem, state: State, R: Array) -> Factors:
        kept = state.arrays
        kept["rotation"] = R
        mixing, sources = np.column_stack((kept["mean"], kept["mixing"] @ R.T)), R @ kept["whitened"]
        sources = np.vstack((np.ones((1, sources.shape[1]), sources.dtype), sources))
        return Factors(mixing.T, sources) if self.independent == "coefficients" else Factors(sources, mixing.T)

    def cost(self, problem: Problem, state: State) -> float:
        """Minus the sum of the squared distances of E log cosh from a Gaussian's: minus an approximate negentropy."""
        sources = state.V[1:] if self.independent == "coefficients" else state.U[:, 1:].T
        contrast = np.logaddexp(sources, -sources).mean(axis=1) - np.log(2) - GAUSSIAN
        return -float(np.square(contrast).sum())


@SOLVERS.register
class NonnegativeICA(Rotation):
    """Plumbley's nonnegative PCA: whitened but not centred data is turned until no coefficient is negative.

    With Z = WM, W a square root of the inverse covariance on the best subspace of rank p, min ‖Z − Rᵀ[RZ]₊‖ over rotations
    R; V = [RZ]₊ and U = W⁺Rᵀ. A step turns along the geodesic of steepest descent, R ← exp(−t(FYᵀ − YFᵀ)/n)R with Y = RZ
    and F = min(Y, 0), t halved until the cost falls. Sources that are independent, nonnegative and often near zero are found.
    """

    name: ClassVar[str] = "nica"
    title: ClassVar[str] = "Nonnegative ICA"
    summary: ClassVar[str] = "whitened data turned until the coefficients are nonnegative; the components may have any sign"
    enforces: ClassVar[str] = "nonnegative coefficients"
    encourages: ClassVar[str] = "independent coefficients of variance 1: exact where no coefficient had to be cut at zero"
    reference: ClassVar[str] = "nica"

    def objective(self) -> str:
        return r"\min_{R^TR=I}\ \tfrac1{2n}\|\min(RZ,0)\|_F^2,\; V=\max(RZ,0),\; Z=WM,\; \operatorname{cov}(Z)=I,\; U=W^+R^T"

    def half_steps(self) -> tuple[HalfStep, ...]:
        turned = r"R_+ = e^{-t(FY^\top-YF^\top)/n}R,\ Y=RZ,\ F=\min(Y,0)"
        return (
            HalfStep("V", rf"V_+ = [R_+Z]_+,\quad {turned}", "the whitened data Z is turned by an angle t that lowers the cost"),
            HalfStep("U", r"U_+ = W^+R_+^\top", "W⁺ undoes the whitening"),
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        components_exist(shape, rank)
        return (), (Nonnegative(),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        M = plain_array(problem.matrix)
        U, scores = leading_svd(problem.matrix, M, problem.rank, rng)
        centred = scores - scores.mean(axis=1, keepdims=True)
        values, vectors = np.linalg.eigh(centred @ centred.T / scores.shape[1])
        sizes = np.sqrt(np.maximum(values, 0))
        inverse = np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > np.finfo(M.dtype).eps * len(M) * sizes.max())
        state.arrays |= {"mixing": U @ vectors * sizes, "whitened": inverse[:, None] * (vectors.T @ scores)}
        state.numbers["angle"] = 1.0
        return self.rotated(problem, state, first_rotation(problem.rank, rng).astype(M.dtype))

    def update(self, problem: Problem, state: State) -> Factors:
        R, Z = state.arrays["rotation"], state.arrays["whitened"]
        Y = R @ Z
        slope = np.minimum(Y, 0) @ Y.T / Y.shape[1]
        slope, now = slope - slope.T, _negative(Y)
        for _ in range(TRIALS):
            new = (scipy.linalg.expm(-state.numbers["angle"] * slope) @ R).astype(R.dtype)
            if _negative(new @ Z) < now:
                state.numbers["angle"] /= SHORTER
                return self.rotated(problem, state, polar(new))  # rounding would carry it away from the rotations
            state.numbers["angle"] *= SHORTER
        state.numbers["angle"] = 1.0
        return self.rotated(problem, state, R)

    def rotated(self, problem: Problem, state: State, R: Array) -> Factors:
        kept = state.arrays
        kept["rotation"] = R
        return Factors((kept["mixing"] @ R.T).T, np.maximum(R @ kept["whitened"], 0))

    def cost(self, problem: Problem, state: State) -> float:
        """½‖min(RZ, 0)‖²/n; RZ = U⁺M."""
        return _negative(np.linalg.pinv(state.U) @ plain_array(problem.matrix))


def _negative(Y: Array) -> float:
    return float(np.square(np.minimum(Y, 0)).sum()) / (2 * Y.shape[1])
