"""Loops along curves for numba to compile, which also run, slowly, as they are."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
SIGNATURES = {
    "smooth_where_free": "void(float64[::1], float64, boolean[::1], float64[::1], float64[::1], float64[::1], float64[::1])",
    "move_contact": "int64(float64[::1], float64, boolean[::1], float64[::1], boolean)",
}
"""What is compiled."""


def smooth_where_free(b: Array, weight: float, free: Array, z: Array, pivots: Array, reduced: Array, found: Array) -> None:
    """z ← argmin ‖z − b‖² + weight·‖Dz‖² over the z that vanish where not free, D taking differences of neighbours.

    found ← ‖Dz‖² and gᵀA⁻¹g for g = DᵀDz, A = I + weight·DᵀD on the free entries. The pivots come without a
    subtraction, so that a huge weight costs no digits: what a pivot exceeds the weight by is 1 + weight·(the part of
    the pivot before that exceeds the weight).
    """
    d, excess, inside = len(b), 1.0, False
    for i in range(d):
        if not free[i]:
            z[i], inside = 0.0, False
            continue
        if inside:
            excess = 1.0 + weight * excess / pivots[i - 1]
            z[i] = b[i] + weight / pivots[i - 1] * z[i - 1]
        else:
            excess = 1.0 + weight if i > 0 else 1.0
            z[i] = b[i]
        pivots[i], inside = excess + weight if i < d - 1 else excess, True
    above = 0.0
    for back in range(d):
        i = d - 1 - back
        if free[i]:
            z[i] = (z[i] + weight * above) / pivots[i]
        above = z[i]
    roughness, fall, inside = 0.0, 0.0, False
    for i in range(d):
        before = z[i] - z[i - 1] if i > 0 else 0.0
        after = z[i + 1] - z[i] if i < d - 1 else 0.0
        roughness += after * after
        if free[i]:
            reduced[i] = before - after + (weight / pivots[i - 1] * reduced[i - 1] if inside else 0.0)
            fall += reduced[i] * reduced[i] / pivots[i]
        inside = free[i]
    found[0], found[1] = roughness, fall


def move_contact(b: Array, weight: float, free: Array, z: Array, careful: bool) -> int:
    """Bind the free entries that are negative, free bound ones that would rise; how many of both. z is changed.

    A bound entry rises if the pull of its neighbours, weight·z, exceeds the load −b. Unless `careful`, entries
    behind it are freed with it as long as the pull exceeds their loads together, which is where the pull would end.
    """
    d, changes = len(b), 0
    for i in range(d):
        if free[i] and z[i] < 0:
            free[i] = False
            z[i] = -1.0  # not to be freed at once
            changes += 1
    for i in range(d):
        if free[i] or z[i] != 0:
            continue
        left = weight * max(z[i - 1], 0.0) if i > 0 else 0.0
        right = weight * max(z[i + 1], 0.0) if i < d - 1 else 0.0
        if left + right + b[i] <= 1e-15 * (left + right + abs(b[i])):
            continue
        free[i] = True
        changes += 1
        for towards in (1, -1):
            pull = left if towards == 1 else right
            load, j = -b[i], i + towards
            while pull > 0 and not careful and 0 <= j < d and not free[j] and z[j] == 0 and load - b[j] < pull:
                load -= b[j]
                free[j] = True
                changes += 1
                j += towards
    return changes
