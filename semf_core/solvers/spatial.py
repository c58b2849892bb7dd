"""Spatial NMF and spatial nonnegative component analysis: a penalty on scattered pixels (Zheng, Lai, Liao and He)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative, UnitNorm
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import LEFT, Direct, Factors, given_or_random
from semf_core.solvers.pixels import image_sides, pixel_places

STEPS = 3
"""Steps on a component, and rounds over V, in one iteration."""


class Dispersion:
    """E with E_ij the distance of pixels i and j, as a share of the image's diagonal; it is applied as a convolution."""

    def __init__(self, problem: Problem) -> None:
        self._sides, self._places = image_sides(problem), pixel_places(problem)
        height, width = self._sides
        self._size = next_fast_len(2 * height - 1), next_fast_len(2 * width - 1)
        down, across = (np.arange(n)[:, None] for n in self._size)
        far = np.hypot(np.minimum(down, self._size[0] - down), np.minimum(across, self._size[1] - across).T)
        self._kernel = rfft2(far / max(float(np.hypot(height - 1, width - 1)), 1.0))
        self.bound = float(self.times(np.ones((1, len(self._places[0])))).max())
        """At least the largest eigenvalue of E: its largest row sum."""

    def times(self, Xt: Array) -> Array:
        """(EX)ᵀ; nonnegative for nonnegative X."""
        images = np.zeros((len(Xt), *self._sides), Xt.dtype)
        images[:, *self._places] = Xt
        spread = irfft2(rfft2(images, self._size) * self._kernel, self._size)
        return np.maximum(spread[:, *self._places], 0).astype(Xt.dtype)


class SpatialFactorization(Direct):
    """min ‖M − UV‖² + λ‖M‖²/p Σ_k u_kᵀEu_k over u_k ≥ 0 of length 1, E_ij the distance of pixels i and j.

    One component after the other: with r = (M − Σ_{j≠k} u_jv_j)v_kᵀ it is max uᵀr − ½λ′uᵀEu, and u ← [r − λ′Eu + λ′μu]₊ scaled
    to length 1 never lowers that, μ at least the largest eigenvalue of E. Then V, row after row, exactly. The cost never rises.
    """

    family: ClassVar[str] = "Constrained sparse"
    encourages: ClassVar[str] = "components whose bright pixels lie close together (pixel dispersion penalty, λ)"
    reference: ClassVar[str] = "spatial-nmf"
    drops_zeros: ClassVar[bool] = True
    buffers: ClassVar[float] = 24

    lam: float = param(
        "number", 0.02, low=0, symbol=r"\lambda", help="weight of the dispersion; distances are shares of the diagonal"
    )
    signed: ClassVar[bool] = False

    def objective(self) -> str:
        extra = "" if self.signed else r",\; V\ge 0"
        return (
            r"\min_{U,V}\ \|M-UV\|_F^2+\lambda\tfrac{\|M\|_F^2}{p}\sum_k\sum_{i,j}U_{ik}U_{jk}\,d(i,j)"
            rf" \quad\text{{s.t.}}\quad U\ge 0{extra},\; \|u_k\|_2=1"
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (Nonnegative(), UnitNorm()), (() if self.signed else (Nonnegative(),))

    def half_steps(self) -> tuple[HalfStep, ...]:
        on_u = r"u_k \leftarrow \frac{[r]_+}{\|[r]_+\|_2},\quad r = R_kv_{k:}^\top - \lambda'\,(Eu_k-\mu u_k)"
        on_v = r"v_{k:} + u_k^\top(M-U_+V)" if self.signed else r"\bigl[v_{k:} + u_k^\top(M-U_+V)\bigr]_+"
        return (
            HalfStep("U", on_u, "one component after the other; E holds the distances of pixels" + LEFT),
            HalfStep("V", rf"v_{{k:}} \leftarrow {on_v}", f"{STEPS} rounds over the rows of V, each exactly"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        Xt, Y = given_or_random(replace(problem, x_set=Nonnegative()), rng)
        return Factors(problem.x_set.project(Xt.T).T, Y * np.linalg.norm(Xt, axis=1, keepdims=True))

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y, disperse = state.W[:p].copy(), state.Z[:p].copy(), self._dispersion(problem, state)
        target, gram, weight = M.right(Y, Xt), Y @ Y.T, Xt.dtype.type(self._weight(problem))
        for k in range(p):
            rest = target[k] - gram[k] @ Xt + gram[k, k] * Xt[k]
            for _ in range(STEPS):
                u = Xt[k]
                ahead = np.maximum(rest - weight * (disperse.times(u[None])[0] - disperse.bound * u), 0)
                length = np.linalg.norm(ahead)
                if length > 0:
                    Xt[k] = ahead / length
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        for _ in range(STEPS):
            for k in range(p):
                row = Y[k] + XtM[k] - XtX[k] @ Y
                Y[k] = row if self.signed else np.maximum(row, 0)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))

    def _weight(self, problem: Problem) -> float:
        return self.lam * problem.matrix.norm**2 / problem.rank

    def _dispersion(self, problem: Problem, state: State) -> Dispersion:
        if "dispersion" not in state.scratch:
            state.scratch["dispersion"] = Dispersion(problem)
        found: Dispersion = state.scratch["dispersion"]
        return found

    @property
    def penalised(self) -> bool:
        return self.lam > 0

    def cost(self, problem: Problem, state: State) -> float:
        fit = super().cost(problem, state)
        if not self.penalised:
            return fit
        Xt = state.U.T
        return fit + self._weight(problem) * float(np.vdot(Xt, self._dispersion(problem, state).times(Xt)))


@SOLVERS.register
class SpatialNMF(SpatialFactorization):
    """Both factors are nonnegative."""

    name: ClassVar[str] = "spatial-nmf"
    title: ClassVar[str] = "Spatial NMF"
    summary: ClassVar[str] = "NMF with a penalty on bright pixels that lie far apart: compact parts of an image"
    enforces: ClassVar[str] = "nonnegative factors; components of length one, so that the penalty on them cannot be evaded"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")


@SOLVERS.register
class SpatialNCA(SpatialFactorization):
    """Only the components are nonnegative."""

    name: ClassVar[str] = "spatial-nca"
    title: ClassVar[str] = "Spatial NCA"
    summary: ClassVar[str] = "spatial nonnegative component analysis: compact nonnegative parts that may be added or taken away"
    enforces: ClassVar[str] = "nonnegative components of length one; coefficients of any sign"
    needs: ClassVar[tuple[str, ...]] = ("complete",)
    signed: ClassVar[bool] = True
