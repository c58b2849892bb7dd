"""The sparseness cones of §3: where a row stands, and what their boundaries look like.

C(s) = {x : ‖x‖₂ ≤ eᵀx/c}, c = √n − (√n − 1)s, holds the nonnegative vectors of sparseness at most s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.mathematics.metrics import hoyer_sparseness
from semf_core.sets.hoyer import ratio_of, sparse_opt, within_ratios

Array = np.ndarray
TOLERANCE = 1e-9
"""A row counts as sparse enough up to this share of its ratio ‖x‖₁/‖x‖₂."""


@dataclass(frozen=True)
class Band:
    """low ≤ sp(x) ≤ high for rows of this length."""

    low: float
    high: float
    length: int

    @property
    def most(self) -> float:
        """The largest ratio ‖x‖₁/‖x‖₂ allowed: that of the least sparseness."""
        return ratio_of(self.low, self.length)

    @property
    def least(self) -> float:
        return ratio_of(self.high, self.length)

    def rectified(self, H: Array) -> Array:
        """The nearest nonnegative rows within the band."""
        return within_ratios(H.T, self.least, self.most, nonnegative=True).T

    def too_dense(self, H: Array) -> Array:
        """Which rows are inside C(low)."""
        return H.sum(axis=1) > (1 + TOLERANCE) * self.most * np.linalg.norm(H, axis=1)

    def too_sparse(self, H: Array) -> Array:
        """Which rows are outside C(high)."""
        return H.sum(axis=1) < (1 - TOLERANCE) * self.least * np.linalg.norm(H, axis=1)

    def normals(self, H: Array, descent: Array) -> Array:
        """t_k: unit normals of C(low) at π(H_k), pointing out of it.

        The nearest nonnegative boundary point of direction u has the normal c·u − e, and for every x

            ⟨c·u − e, x⟩ ≥ 0   implies   c‖x‖₂ ≥ c·uᵀx ≥ eᵀx,

        so what lies beyond the plane is sparse enough. A zero row has no nearest direction; it gets the
        one that `descent`, the negative gradient, favours.
        """
        empty = np.logical_not(H.any(axis=1))
        chosen: Array = np.where(empty[:, None], descent, H)
        outward = self.most * sparse_opt(chosen.T, self.most).T - 1
        return outward / np.linalg.norm(outward, axis=1, keepdims=True)

    def clearance(self, H: Array) -> Array:
        """The distance of every row from C(low), for rows outside of it."""
        boundary = within_ratios(H.T, self.most, self.most, nonnegative=True).T
        return np.where(self.too_dense(H), 0.0, np.linalg.norm(H - boundary, axis=1))


def sparseness(H: Array) -> Array:
    """sp of every row, (2)."""
    return hoyer_sparseness(H.T)


def sparseness_gradient(H: Array) -> Array:
    """∇sp of every nonnegative row: ((eᵀx) x/‖x‖³ − e/‖x‖)/(√n − 1); zero for an empty row."""
    norms = np.linalg.norm(H, axis=1, keepdims=True)
    safe = np.where(norms > 0, norms, 1)
    slope = (H.sum(axis=1, keepdims=True) * H / safe**2 - 1) / safe
    return np.where(norms > 0, slope, 0) / (np.sqrt(H.shape[1]) - 1)
