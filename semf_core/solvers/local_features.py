"""Local feature analysis: principal components turned into outputs that belong to pixels (Penev and Atick)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.linalg

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Box
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets
from semf_core.solvers.spectral import Spectral, closed_form, leading_svd, plain_array


@SOLVERS.register
class LocalFeatures(Spectral):
    """The mean, and the outputs of the kernel K = ΨΛ^(−1/2)Ψᵀ at p − 1 rows of M; Ψ, Λ the leading principal components.

    KM̄ is decorrelated as far as a map of the rows to themselves can be, and each output stays near its row. The rows are
    chosen greedily, the one that the chosen predict worst next (pivoted QR of Ψᵀ). V holds their outputs, U the regression
    of M̄ on them, ΨΛ^(1/2)Ψ_Sᵀ(Ψ_SΨ_Sᵀ)⁻¹: with as many principal components as rows the fit is PCA's.
    """

    name: ClassVar[str] = "lfa"
    title: ClassVar[str] = "Local feature analysis"
    summary: ClassVar[str] = "whitened principal components, read at the rows (pixels) that tell most: local, but many and alike"
    enforces: ClassVar[str] = (
        "the first component is the mean, with weight 1; the others are predicted from one row's output each"
    )
    encourages: ClassVar[str] = "components around one pixel: the more principal components stand behind them, the more local"
    reference: ClassVar[str] = "lfa"

    modes: int | None = param(
        "integer",
        None,
        low=1,
        high=4096,
        optional=True,
        help="principal components behind the outputs, at least rank − 1; empty: rank − 1",
    )

    def objective(self) -> str:
        return (
            r"\min_{U}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad V_{1\cdot}=\mathbf 1^T,\;"
            r" V_{2:p}=(K\bar M)_S,\; K=\Psi\Lambda^{-1/2}\Psi^T"
        )

    def half_steps(self) -> tuple[HalfStep, ...]:
        regression = r"u_1 = \tfrac1n M\mathbf 1,\quad U_{2:p} = \Psi\Lambda^{1/2}\Psi_S^\top(\Psi_S\Psi_S^\top)^{-1}"
        return closed_form(regression, r"v_{1:} = \mathbf 1^\top,\quad V_{2:p} = (\Psi\Lambda^{-1/2}\Psi^\top\bar M)_S")

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        if self.modes is not None and not rank - 1 <= self.modes <= min(shape):
            raise InvalidInput(
                "modes", f"is {self.modes}", f"choose from {rank - 1} (rank − 1) to {min(shape)}, or leave it empty"
            )
        return super().structure(shape, rank)

    def claims(self, rank: int) -> tuple[Sets, Sets]:
        return (), (Box(1, 1, axis="row", columns=(0,)),)

    def solve(self, problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
        M, q = np.asarray(_dense(plain_array(problem.matrix))), problem.rank - 1
        n = M.shape[1]
        mean = M.mean(axis=1, keepdims=True)
        if q == 0:
            return mean, np.ones((1, n))
        Psi, scores = leading_svd(problem.matrix, M - mean, q if self.modes is None else self.modes, rng)
        sizes = np.linalg.norm(scores, axis=1) / np.sqrt(n)
        known = sizes > np.finfo(M.dtype).eps * max(M.shape) * sizes.max(initial=0)
        whitened = np.divide(scores, sizes[:, None], out=np.zeros_like(scores), where=known[:, None])
        rows = scipy.linalg.qr(Psi.T, mode="r", pivoting=True)[1][:q]
        chosen = Psi[rows]
        local = np.linalg.solve(chosen @ chosen.T, chosen * np.where(known, sizes, 0)) @ Psi.T
        return np.column_stack((mean, local.T)), np.vstack((np.ones((1, n)), chosen @ whitened))


def _dense(A: Array) -> Array:
    return A if isinstance(A, np.ndarray) else A.toarray()
