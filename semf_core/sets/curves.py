"""Projections of vectors seen as curves: monotone, unimodal and smooth ones.

As in `kernels`, the columns of an array are the vectors and a new array of its dtype is returned.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy

from semf_core.mathematics import curve_loops as uncompiled
from semf_core.mathematics.compiled import loops
from semf_core.sets.kernels import binary_scale, clip_nonnegative

Array = np.ndarray
BATCH = 32
"""Isotonic problems solved in one call; each lies above the one before, which costs log₂ 96 bits of the 53."""
LEVEL = 1e-140
"""Beside entries of order one, a bound on differences below this leaves the mean alone."""
BOLD, STEPS = 30, 1000
"""Steps in which the free entries and the weight of a smooth nonnegative curve may change together, and steps in all."""


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
        blocks = scipy.optimize.isotonic_regression(lifted).blocks
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
    C = scipy.fft.dct(B[:, moved] / scale, type=2, norm="ortho", axis=0)
    level = target < LEVEL
    C[1:, level] = 0
    C[:, ~level] /= 1 + w * _smoothing_weight(np.sqrt(w[1:]) * C[1:, ~level], w[1:], target[~level])
    out[:, moved] = scipy.fft.idct(C, type=2, norm="ortho", axis=0) * scale
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


def smooth_nonnegative(B: Array, bound: float) -> Array:
    """argmin ‖Z − B‖ over Z ≥ 0 with Σ_i (z_{i+1} − z_i)² ≤ bound.

    Clipping makes no difference of neighbours larger; where it does not suffice, Z is for some weight λ the
    minimiser of ‖z − b‖² + λ‖Dz‖² over z ≥ 0, and ‖D z‖² = bound.
    """
    out = clip_nonnegative(B)
    scale = binary_scale(B)
    target = np.sqrt(bound) / scale
    steps = np.diff(out / scale, axis=0)
    for j in np.flatnonzero(np.sqrt(np.einsum("ij,ij->j", steps, steps)) > target):
        b = B[:, j] / scale[j]
        out[:, j] = scale[j] * (max(b.mean(), 0) if target[j] < LEVEL else _string_on_the_floor(b, target[j]))
    return out


def _string_on_the_floor(b: Array, target: float) -> Array:
    """argmin ‖z − b‖ over z ≥ 0 with ‖Dz‖ = target, which is too small for the clipped b.

    The matrices I + λDᵀD have no positive entry off the diagonal, so that for a fixed λ binding negative entries and
    freeing those that would rise ends at the minimiser; λ is moved by Newton's method on 1/‖Dz‖ at the same time.
    """
    compiled = loops()
    kernels = compiled or uncompiled
    make = np.array if compiled else list  # lists are what plain Python is fastest on
    d, entries = len(b), make(b)
    free, z, pivots, reduced, found = make([True] * d), make(b), make(b), make(b), make([0.0, 0.0])
    low, high, weight = 0.0, np.inf, (float(np.linalg.norm(np.diff(b))) / target - 1) / 4
    for step in range(STEPS):
        kernels.smooth_where_free(entries, weight, free, z, pivots, reduced, found)
        size = np.sqrt(found[0])
        best = np.maximum(z, 0)
        changes = kernels.move_contact(entries, weight, free, z, step >= BOLD)
        if not changes:
            rounding = np.finfo(float).eps * (20 * target + np.sqrt(d) * best.max())
            low, high = (weight, high) if size > target else (low, weight)
            if abs(size - target) <= rounding:
                break
        elif step >= BOLD:
            continue
        moved = weight + found[0] / found[1] * (size / target - 1) if found[1] > 0 else low
        moved = low + (weight - low) / 8 if moved <= low else (weight + high) / 2 if moved >= high else moved
        if moved == weight and not changes:
            break
        weight = moved
    return best * (target / size) if size > target else best
