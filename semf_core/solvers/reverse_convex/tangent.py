"""The tangent-plane algorithm (§4, Table 1)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.solvers.base import SOLVERS
from semf_core.solvers.reverse_convex.common import Supervised
from semf_core.solvers.reverse_convex.conic import Array
from semf_core.solvers.reverse_convex.half import Half, Quadratic


def from_scratch(half: Half, f: Quadratic, H: Array) -> tuple[Array, bool]:
    """Lines 1 and 3-8 of Table 1: (19) first, then (20) with ever more rows bound until all are sparse enough.

    Also says whether any row had to be bound: if none, the answer is the global optimum.
    """
    active = np.zeros(len(H), dtype=bool)
    normals = np.zeros_like(H)
    H = half.beyond_planes(f, normals, active)
    while (dense := half.band.too_dense(H) & ~active).any():
        active |= dense
        normals[active] = half.band.normals(H, -f.gradient(H))[active]
        H = half.beyond_planes(f, normals, active)
    return half.band.rectified(H), bool(active.any())


def from_here(half: Half, f: Quadratic, H: Array, reward: Array | None = None) -> Array:
    """(20) with every row bound by the plane at π(H): H itself is feasible there, so f cannot rise."""
    every = np.full(len(H), half.band.low > 0)
    normals = half.band.normals(H, -f.gradient(H)) if every.any() else np.zeros_like(H)
    return half.band.rectified(half.beyond_planes(f, normals, every, reward))


@SOLVERS.register
class TangentPlane(Supervised):
    """Bounds below on sparseness replaced by tangent planes of their cones: one small program after the other."""

    name: ClassVar[str] = "tangent-plane"
    title: ClassVar[str] = "Tangent planes"
    summary: ClassVar[str] = "NMF with bounds on sparseness: each factor by a few small cone programs, without step sizes"
    programs: ClassVar[str] = "convex programs, first without bounds below, then beyond the tangent plane t of each cone, (20)"
    boundary: ClassVar[str] = r"\langle t, %s\rangle\ge 0"

    rounds: int = param("integer", 2, low=1, high=100, help="planes are placed at most this often before the other factor's turn")
    epsilon: float = param("number", 1e-2, low=0, high=1, help="less relative fall of ‖M−UV‖² than this ends the turn")
    fresh: bool = param("boolean", True, help="begin each turn without lower bounds, as in Table 1; otherwise where it is")

    def descend(self, half: Half, f: Quadratic, H: Array) -> Array:
        H, bound = from_scratch(half, f, H) if self.fresh else (from_here(half, f, H), half.band.low > 0)
        before = f.value(H)
        for _ in range(self.rounds - 1 if bound else 0):
            H = from_here(half, f, H)
            now = f.value(H)
            if before - now <= self.epsilon * before:
                break
            before = now
        return H
