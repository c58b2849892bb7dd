"""Projections of vectors seen as curves: monotone, unimodal and smooth ones.

As in `kernels`, the columns of an array are the vectors and a new array of its dtype is returned.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.fft import dct, idct
from scipy.optimize import isotonic_regression

from semf_core.sets.kernels import binary_scale

Array = np.ndarray
BATCH = 32
"""Isotonic problems solved in one call; each lies above the one before, which costs log₂ 96 bits of the 53."""


def monotone(B: Array, increasing: bool) -> Array:
    """argmin ‖Z − B‖ over columns whose entries never fall (never rise): isotonic regression."""
    order = slice(None) if increasing else slice(None, None, -1)
    scale = binary_scale(B)
    rows = np.ascontiguousarray((B / scale)[order].T)
    fitted = _isotonic(rows.ravel(), np.full(len(rows), rows.shape[1])).reshape(rows.shape)
    return (fitted.T[order] * scale).astype(B.dtype)


def _isotonic(values: Array, lengths: Array) -> Array:
    """Isotonic regression of each stretch of `values` (entries in [−1, 1]) by itself.

    Stretches are lifted above one another and solved together; the levels are then the means of the
    values themselves, so that lifting decides at most a tie.
    """
    out = np.empty_like(values)
    for first in range(0, len(lengths), BATCH):
        batch = lengths[first : first + BATCH]
        begin = int(lengths[:first].sum())
        part = values[begin : begin + int(batch.sum())]
        if not part.size:
            continue
        lifted = part + 3.0 * np.repeat(np.arange(len(batch)), batch)
        blocks = isotonic_regression(lifted).blocks
        levels = np.add.reduceat(part, blocks[:-1]) / np.diff(blocks)
        out[begin : begin + part.size] = np.repeat(levels, np.diff(blocks))
    return out


def unimodal(B: Array, nonnegative: bool) -> Array:
    """argmin ‖Z − B‖ over columns that rise and then fall (and Z ≥ 0).

    Some split leaves a rising first part and a falling second part, fitted independently; the best
    split is read off the errors of all prefixes and all suffixes. With Z ≥ 0 the fits are clipped,
    which is their nonnegative projection, and so are the errors that choose the split.
    """
    scale = binary_scale(B)
    rows = np.ascontiguousarray((B / scale).T)
    stretches, lengths = [], []
    for row in rows:
        up, down = prefix_gains(row, nonnegative), prefix_gains(row[::-1], nonnegative)
        split = int(np.argmax(np.array(up) + np.array(down[::-1])))
        stretches += [row[:split], row[split:][::-1]]
        lengths += [split, len(row) - split]
    fitted = _isotonic(np.concatenate(stretches), np.array(lengths))
    if nonnegative:
        np.maximum(fitted, 0, out=fitted)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    parts = [fitted[a:b] for a, b in pairwise(ends)]
    out = np.stack([np.concatenate([up, down[::-1]]) for up, down in zip(parts[::2], parts[1::2], strict=True)], axis=1)
    return (out * scale).astype(B.dtype)


def prefix_gains(values: Array, nonnegative: bool) -> list[float]:
    """‖y_1..m‖² − ‖y_1..m − fit‖² for the rising fit of every prefix, m = 0, …, d.

    Pool adjacent violators keeps the fit of the current prefix as blocks; a block of n entries with
    sum s gains s²/n, or nothing where a nonnegative fit holds it at zero.
    """
    sums: list[float] = []
    counts: list[int] = []
    gains = [0.0]
    """Of the blocks so far, beginning with none of them."""
    found = [0.0]
    for value in values.tolist():
        total, count = value, 1
        while sums and sums[-1] * count >= total * counts[-1]:
            total += sums.pop()
            count += counts.pop()
            gains.pop()
        sums.append(total)
        counts.append(count)
        gains.append(gains[-1] + (0.0 if nonnegative and total <= 0 else total * total / count))
        found.append(gains[-1])
    return found


def smooth(B: Array, bound: float) -> Array:
    """argmin ‖Z − B‖ over columns with Σ_i (z_{i+1} − z_i)² ≤ bound.

    Where the bound is exceeded Z = (I + λ DᵀD)⁻¹ B with ‖D z‖² = bound. The cosine transform (DCT-II)
    diagonalises DᵀD with eigenvalues w_i = 4 sin²(πi/2d), which leaves one equation for λ.
    """
    d = len(B)
    if d == 1:
        return B.copy()
    scale = binary_scale(B)
    target = np.sqrt(bound) / scale
    steps = np.diff(B / scale, axis=0)
    moved = np.sqrt(np.einsum("ij,ij->j", steps, steps)) > target
    out = B.copy()
    if not moved.any():
        return out
    scale, target = scale[moved], target[moved]
    w = 4 * np.sin(np.pi * np.arange(d) / (2 * d))[:, None] ** 2
    C = dct(B[:, moved] / scale, type=2, norm="ortho", axis=0)
    # Beside entries of order one, so small a bound leaves the mean alone.
    level = target < 1e-140
    C[1:, level] = 0
    C[:, ~level] /= 1 + w * _smoothing_weight(np.sqrt(w[1:]) * C[1:, ~level], w[1:], target[~level])
    out[:, moved] = idct(C, type=2, norm="ortho", axis=0) * scale
    return out


def _smoothing_weight(R: Array, w: Array, target: Array) -> Array:
    """λ with ‖r/(1 + λw)‖ = target for each column r of R, where ‖r‖ > target > 0.

    1/‖r/(1 + λw)‖ is concave and increasing in λ, so Newton's method on it, begun left of the root,
    moves to the root from the left and needs few steps.
    """
    weight = np.maximum(np.sqrt(np.einsum("ij,ij->j", R, R)) / target - 1, 0) / w[-1]
    for _ in range(100):
        shrunk = R / (1 + weight * w)
        norm = np.sqrt(np.einsum("ij,ij->j", shrunk, shrunk))
        slope = np.einsum("ij,ij->j", shrunk, shrunk * (w / (1 + weight * w)))
        step = norm * norm / slope * (norm / target - 1)
        weight = weight + np.maximum(step, 0)
        if np.all(step <= 4 * np.finfo(np.float64).eps * weight):
            break
    return weight
