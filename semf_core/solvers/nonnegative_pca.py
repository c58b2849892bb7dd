"""Nonnegative sparse PCA (Zass and Shashua): directions of large variance without negative entries."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors
from semf_core.solvers.spectral import plain_array


@SOLVERS.register
class NonnegativePCA(Direct):
    """max ½‖UᵀM‖² − (α/4)‖I − UᵀU‖² − β Σ U over U ≥ 0, ‖M‖ = 1, one entry after the other, exactly; V by least squares.

    As a function of one entry this is −(α/4)u⁴ + (c₂/2)u² + c₁u: its maximum over u ≥ 0 is zero or the largest root of
    a cubic. Nonnegative columns that are nearly orthogonal hardly overlap, so a large α makes them sparse by itself.
    The variance is taken about zero, not about the mean.
    """

    name: ClassVar[str] = "nonnegative-pca"
    title: ClassVar[str] = "Nonnegative sparse PCA"
    summary: ClassVar[str] = "nonnegative directions of large variance that hardly overlap; coefficients of any sign"
    family: ClassVar[str] = "Sparse principal components"
    enforces: ClassVar[str] = "nonnegative components U; V may have any sign"
    encourages: ClassVar[str] = "orthonormal components (α), which then overlap little, and sparse ones (β)"
    reference: ClassVar[str] = "nonnegative-pca"
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 3

    alpha: float = param(
        "number", 1.0, low=0, high=1e6, open_low=True, symbol=r"\alpha", help="weight of orthonormality, for data of norm 1"
    )
    beta: float = param("number", 0.0, low=0, high=1e6, symbol=r"\beta", help="weight of Σ U, for data of norm 1")

    def objective(self) -> str:
        near = r"\tfrac{\alpha}{4}\|I-U^\top U\|_F^2"
        return (
            rf"\max_{{U\ge 0}}\ \tfrac12\|U^\top M\|_F^2 - {near} - \beta\sum_{{ij}}U_{{ij}}, \quad V = (U^\top U)^{{+}}U^\top M"
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(),), ()

    def half_steps(self) -> tuple[HalfStep, ...]:
        entry = r"U_{rs} \leftarrow \arg\max_{u\ge 0}\ -\tfrac{\alpha}{4}u^4+\tfrac{c_2}{2}u^2+c_1u"
        return (
            HalfStep("U", entry, "one entry after the other: zero, or the largest root of a cubic"),
            HalfStep("V", r"V_+ = (U_+^\top U_+)^{+}U_+^\top M", "least squares"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        (m, _), p, X0 = problem.matrix.shape, problem.rank, problem.start[0]
        U = rng.random((m, p)) if X0 is None else np.asarray(problem.x_set.project(X0), float)
        lengths = np.linalg.norm(U, axis=0)
        return self._coded(problem, state, U / np.where(lengths > 0, lengths, 1))

    def update(self, problem: Problem, state: State) -> Factors:
        return self._coded(problem, state, swept(self._scaled(problem, state), state.X.astype(float), self.alpha, self.beta))

    @staticmethod
    def _scaled(problem: Problem, state: State) -> Array:
        if "scaled" not in state.scratch:
            state.scratch["scaled"] = plain_array(problem.matrix).astype(float) / (problem.matrix.norm or 1.0)
        scaled: Array = state.scratch["scaled"]
        return scaled

    def _coded(self, problem: Problem, state: State, U: Array) -> Factors:
        M = self._scaled(problem, state)
        V = np.linalg.lstsq(U.T @ U, U.T @ M, rcond=None)[0] * problem.matrix.norm
        dtype = problem.matrix.dtype
        return Factors(np.ascontiguousarray(U.T, dtype), V.astype(dtype))

    @property
    def penalised(self) -> bool:
        return True

    def cost(self, problem: Problem, state: State) -> float:
        """What is to be made large, subtracted from ½, for data of norm 1."""
        U, M = state.U.astype(float), self._scaled(problem, state)
        apart = np.eye(U.shape[1]) - U.T @ U
        return (
            (1 - float(np.square(U.T @ M).sum())) / 2
            + self.alpha / 4 * float(np.square(apart).sum())
            + self.beta * float(U.sum())
        )


def swept(M: Array, U: Array, alpha: float, beta: float) -> Array:
    """Every entry of U at its best in turn, row after row; the gram matrix and MᵀU follow along."""
    U, along, gram = U.copy(), M.T @ U, U.T @ U
    for samples, row in zip(M, U, strict=True):
        drawn, variance, before = samples @ along, float(samples @ samples), row.copy()
        for s, u in enumerate(before.tolist()):
            others = float(row @ row) - u * u
            mixed = float(gram[s] @ row) - gram[s, s] * u - u * others
            quadratic = variance + alpha * (1 - gram[s, s] + u * u) - alpha * others
            new = highest(alpha, quadratic, float(drawn[s]) - variance * u - alpha * mixed - beta)
            if new != u:
                row[s] = 0
                gram[s] += (new - u) * row
                gram[:, s] = gram[s]
                gram[s, s] += new * new - u * u
                row[s] = new
        if (row != before).any():
            along += np.outer(samples, row - before)
    return U


def highest(alpha: float, quadratic: float, linear: float) -> float:
    """argmax of −(α/4)u⁴ + (quadratic/2)u² + linear·u over u ≥ 0."""
    a, b = quadratic / alpha, linear / alpha
    root = largest_root(a, b)
    return root if root > 0 and -(root**3) / 4 + a * root / 2 + b > 0 else 0.0


def largest_root(a: float, b: float) -> float:
    """The largest real root of u³ = au + b, by Cardano's formula."""
    half, third = b / 2, a / 3
    inside = half * half - third**3
    if inside >= 0:
        root = math.sqrt(inside)
        return math.cbrt(half + root) + math.cbrt(half - root)
    return 2 * math.sqrt(third) * math.cos(math.acos(max(-1.0, min(1.0, half / third**1.5))) / 3)
