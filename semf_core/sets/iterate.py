"""Projecting onto several sets by projecting onto each of them again and again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semf_core.sets.base import Array, StructureSet, frobenius

MAX_ROUNDS = 100
TOLERANCE = 1e-10
"""Where to stop, relative to the size of the matrices."""


def successive(sets: Sequence[StructureSet], A: Array, rounds: int) -> Array:
    """Project onto one set after the other (SeMF §4.4.3), until all hold or the rounds are used up."""
    size = frobenius(A)
    for _ in range(rounds):
        for s in sets:
            A = s.project(A)
        if rounds > 1 and all(s.violation(A) <= _small(A) * max(size, frobenius(A)) for s in sets):
            break
    return A


def dykstra(sets: Sequence[StructureSet], A: Array) -> Array:
    """Dykstra's algorithm: converges to the nearest point of an intersection of convex sets.

    It may stand still for many rounds and move again, so it is stopped by the corrections, which
    change meanwhile (Birgin and Raydan), and not by the point.
    """
    size = frobenius(A)
    corrections = [np.zeros_like(A) for _ in sets]
    for _ in range(10 * MAX_ROUNDS):
        change = 0.0
        for i, s in enumerate(sets):
            shifted = A + corrections[i]
            A = s.project(shifted)
            change += frobenius(shifted - A - corrections[i])
            corrections[i] = shifted - A
        if change <= _small(A) * max(size, frobenius(A)):
            break
    return A


def _small(A: Array) -> float:
    return max(TOLERANCE, 10 * float(np.finfo(A.dtype).eps))
