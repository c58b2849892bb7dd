"""Sparse-opt: linear functions on the vectors of a given L1/L2 ratio (Potluru et al. 2013, eq. 5, Algorithms 3 and 4).

Hoyer's sparseness of a vector of d entries is (√d − ‖x‖₁/‖x‖₂)/(√d − 1), so a wanted sparseness is a
wanted ratio k = ‖x‖₁/‖x‖₂ between 1 and √d. For a vector b

    f(k) = max bᵀy  over  y ≥ 0, 1ᵀy = k, ‖y‖₂ = 1

has the maximiser y = (b − θ)₊/‖(b − θ)₊‖ with the threshold θ that gives the ratio k. The ratio falls
as θ rises; with support p, mean c and v = Σ(b_i − c)² over the p largest entries

    θ = c − k √(v/(p (p − k²))),        f(k) = c k + √v √(1 − k²/p),        f′(k) = θ,

so f is concave. The paper prints these with mixed indices; here they are derived and, in the tests,
compared with brute force. If the q largest entries tie and k² < q, no threshold reaches k: every
y on the tied entries is optimal then, f(k) = k·max b, and one of them is built.

Vectors are measured down from their largest entry (`gaps`): nearly equal entries lose no digits.
"""

from __future__ import annotations

import numpy as np

from semf_core.sets.kernels import binary_scale

Array = np.ndarray
ROUNDING = 8 * float(np.finfo(np.float64).eps)
CACHED_ENTRIES = 1 << 15
"""Vectors are taken together up to this many entries: then all temporaries stay in the processor's cache."""


LONG = 2048
"""From this length on a vector is quicker taken alone than sorted."""


def ratio_of(sparseness: float, length: int) -> float:
    """The ratio ‖x‖₁/‖x‖₂ of a vector of this length and sparseness."""
    root = float(np.sqrt(length))
    return root - sparseness * (root - 1)


def sparse_opt(B: Array, k: float | Array) -> Array:
    """argmax bᵀy over y ≥ 0, 1ᵀy = k, ‖y‖₂ = 1 for each column b of B (eq. 5, Algorithm 4)."""
    rows = np.ascontiguousarray(B.T, dtype=np.float64) / binary_scale(B)[:, None]
    return _best_rows(rows, np.broadcast_to(np.asarray(k, dtype=np.float64), len(rows))).T


def best_vector(b: Array, k: float) -> Array:
    """Sparse-opt for one long vector without a sort.

    The threshold that belongs to a set of entries larger than the support lies below the right one, so
    entries at or below it can go; what remains when no more go is the support.
    """
    gaps = b.max() - b
    spread = float(gaps.max())
    if spread > 0:
        gaps /= spread
        kept = gaps
        while (room := len(kept) - k * k) > ROUNDING * len(kept):
            mean = float(kept.mean())
            deviation = kept - mean
            reach = mean + k * float(np.sqrt((deviation @ deviation) / (len(kept) * room)))
            inside = kept < reach
            if inside.all():
                # In place: fresh pages for each temporary would cost more than the arithmetic.
                y = np.subtract(reach, gaps, out=gaps)
                np.maximum(y, 0, out=y)
                y /= np.sqrt(y @ y)
                return y
            kept = kept[inside]
    return _by_sorting(b[None] / binary_scale(b[:, None])[:, None], np.array([k]))[0]


def _best_rows(rows: Array, k: Array) -> Array:
    """Sparse-opt for vectors of ordinary size, as rows."""
    if rows.shape[1] < LONG:
        return _by_sorting(rows, k)
    return np.stack([best_vector(row, float(ratio)) for row, ratio in zip(rows, k, strict=True)])


def _by_sorting(rows: Array, k: Array) -> Array:
    """Sparse-opt for all rows together."""
    d = rows.shape[1]
    k = np.clip(k, 1, np.sqrt(d))
    gaps = rows.max(axis=1, keepdims=True) - rows
    tied = k * k <= np.count_nonzero(gaps == 0, axis=1) * (1 + ROUNDING)
    flat = d - k * k <= ROUNDING * d
    usual = ~(tied | flat)
    levels = _on_ties(gaps[tied] == 0, k[tied])
    reach = np.ones(len(rows))
    if usual.any():
        reach[usual] = _reach(gaps if usual.all() else gaps[usual], k[usual])
    # In place, as above.
    Y = np.subtract(reach[:, None], gaps, out=gaps)
    np.maximum(Y, 0, out=Y)
    Y[flat] = 1
    Y[tied] = levels
    Y /= np.sqrt(np.einsum("ij,ij->i", Y, Y))[:, None]
    return Y


def _reach(gaps: Array, k: Array) -> Array:
    """How far below the largest entry the threshold lies, for each row."""
    ranked = np.sort(gaps, axis=1)
    support = _supports(ranked, k)
    widest = int(support.max())
    kept = ranked[:, :widest]
    # The deviations themselves are squared: a difference of sums of squares would cancel.
    inside = np.arange(widest) < support[:, None]
    mean = np.einsum("ij,ij->i", kept, inside) / support
    deviation = np.subtract(kept, mean[:, None], out=kept)
    deviation *= inside
    spread = np.einsum("ij,ij->i", deviation, deviation)
    return mean + k * np.sqrt(spread / (support * (support - k * k)))


def _supports(ranked: Array, k: Array) -> Array:
    """The number of entries above the threshold, for each row.

    The ratio where the threshold meets entry p+1 never falls with p (Algorithm 3's path), so the
    first p with a ratio of at least k is found by halving.
    """
    n, d = ranked.shape
    sums, squares = np.cumsum(ranked, axis=1), np.square(ranked)
    np.cumsum(squares, axis=1, out=squares)
    row, first, last = np.arange(n), np.floor(k * k).astype(int) + 1, np.full(n, d)
    while (first < last).any():
        p = (first + last) // 2
        i = np.minimum(p, d - 1)
        gap, part = ranked[row, i], sums[row, i - 1]
        l1 = p * gap - part
        enough = (p == d) | (l1 * l1 >= k * k * (squares[row, i - 1] + gap * (l1 - part)))
        first, last = np.where(enough, first, p + 1), np.where(enough, p, last)
    return last


def _on_ties(largest: Array, k: Array) -> Array:
    """Unit vectors with 1ᵀy = k on the first ⌈k²⌉ of the tied entries: one larger, the others equal."""
    used = np.maximum(np.ceil(k * k * (1 - ROUNDING)), 1)
    rank = np.cumsum(largest, axis=1)
    step = np.sqrt(np.maximum(1 - k * k / used, 0) / (used * np.maximum(used - 1, 1)))
    level = np.where(rank == 1, (k / used + (used - 1) * step)[:, None], (k / used - step)[:, None])
    return np.where(largest & (rank <= used[:, None]), np.maximum(level, 0), 0)


def within_ratios(B: Array, least: float, most: float, nonnegative: bool) -> Array:
    """argmin ‖Z − B‖ over columns with least ≤ ‖z‖₁/‖z‖₂ ≤ most or z = 0 (and z ≥ 0).

    The set is a cone, so the nearest point is max(uᵀb, 0)·u for the best unit vector u of it. f is
    concave with its largest value at the ratio of b₊, so the best ratio is the allowed one next to it.
    """
    out = np.empty_like(B)
    step = max(CACHED_ENTRIES // len(B), 1)
    for first in range(0, B.shape[1], step):
        part = slice(first, first + step)
        out[:, part] = _within_ratios(B[:, part], least, most, nonnegative)
    return out


def _within_ratios(B: Array, least: float, most: float, nonnegative: bool) -> Array:
    rows, scale = np.ascontiguousarray(B.T, dtype=np.float64), binary_scale(B)[:, None]
    rows = (rows if nonnegative else np.abs(rows)) / scale
    P = np.maximum(rows, 0)
    norms = np.sqrt(np.einsum("ij,ij->i", P, P))
    own = P.sum(axis=1) / np.where(norms == 0, 1, norms)
    wanted = np.clip(own, least, most)
    # What is a member up to the rounding of its entries stays as it is.
    slack = 8 * np.finfo(B.dtype).eps * wanted
    moved = (own > 0) & (np.abs(own - wanted) > slack)
    if moved.any():
        chosen = rows if moved.all() else rows[moved]
        Y = _best_rows(chosen, wanted[moved])
        Y *= np.maximum(np.einsum("ij,ij->i", Y, chosen), 0)[:, None]
        P[moved] = Y
    P *= scale
    return P.T if nonnegative else np.where(B < 0, -P.T, P.T)


def sparsest_direction(B: Array, least: float) -> Array:
    """The best nonnegative unit vector of ratio at least `least` for columns without a positive entry.

    There f falls with k, so the least ratio is the best.
    """
    return sparse_opt(B, least).astype(B.dtype)
