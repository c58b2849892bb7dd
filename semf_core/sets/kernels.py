"""Projections as pure functions of an array whose columns are the vectors to project.

Every kernel returns a new array of the input's dtype and leaves its input alone. Each docstring
opens with the problem that is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

Array = np.ndarray


def binary_scale(B: Array) -> Array:
    """For each column the power of two just above its largest entry (1 for a zero column).

    Dividing by it rounds nothing and keeps the squares of huge and tiny columns in range.
    """
    largest = np.maximum(B.max(axis=0), -B.min(axis=0)).astype(np.float64)
    _, exponent = np.frexp(largest)
    return np.ldexp(1.0, np.clip(exponent, -1000, 1000))


def norms(P: Array) -> Array:
    """‖p_j‖₂ of every column in double precision, also where its square leaves the range of floating point."""
    with np.errstate(over="ignore"):
        found = np.sqrt(np.einsum("ij,ij->j", P, P, dtype=np.float64))
    doubtful = (found < 1e-140) | ~np.isfinite(found)
    if doubtful.any():
        part = P[:, doubtful]
        scale = binary_scale(part)
        found[doubtful] = scale * np.linalg.norm(part / scale, axis=0)
    return found


def clip_nonnegative(B: Array) -> Array:
    """argmin ‖Z − B‖ over Z ≥ 0."""
    return np.maximum(B, 0)


def top_mask(key: Array, k: int) -> Array:
    """True at the k largest entries of each column of `key`; of equal entries the first wins."""
    d, n = key.shape
    if k >= d:
        return np.ones(key.shape, dtype=bool)
    if k == 1:
        mask = np.zeros(key.shape, dtype=bool)
        mask[key.argmax(axis=0), np.arange(n)] = True
        return mask
    threshold = np.partition(key, d - k, axis=0)[d - k]
    mask = key >= threshold
    tied = np.flatnonzero(np.count_nonzero(mask, axis=0) > k)
    if tied.size:
        order = np.argsort(-key[:, tied], axis=0, kind="stable")[:k]
        mask[:, tied] = False
        mask[order, tied] = True
    return mask


def keep_largest(B: Array, k: int) -> Array:
    """argmin ‖Z − B‖ over columns with at most k nonzeros (SeMF eq. 15)."""
    return B * top_mask(np.abs(B), k)


def keep_largest_nonnegative(B: Array, k: int) -> Array:
    """argmin ‖Z − B‖ over Z ≥ 0 with at most k nonzeros a column (SeMF Prop. 1): clip, then keep k."""
    P = np.maximum(B, 0)
    d = P.shape[0]
    if k >= d:
        return P
    if k == 1:
        return P * top_mask(P, 1)
    threshold = np.partition(P, d - k, axis=0)[d - k]
    mask = threshold <= P
    # Ties at zero need no breaking: what is kept there is zero anyway.
    if (np.count_nonzero(mask, axis=0) > k)[threshold > 0].any():
        mask = top_mask(P, k)
    P *= mask
    return P


@lru_cache(maxsize=256)
def _groups_by_size(groups: tuple[tuple[int, ...], ...], ks: tuple[int, ...]) -> list[tuple[Array, int]]:
    """Groups of equal size and count stacked, so that one call serves all of them."""
    stacks: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for group, k in zip(groups, ks, strict=True):
        stacks.setdefault((len(group), min(k, len(group))), []).append(group)
    return [(np.array(members), k) for (_, k), members in stacks.items()]


def group_top_mask(key: Array, groups: tuple[tuple[int, ...], ...], ks: tuple[int, ...]) -> Array:
    """True at the k_t largest entries of each group G_t in each column of `key`."""
    mask = np.zeros(key.shape, dtype=bool)
    columns = np.arange(key.shape[1])
    for members, k in _groups_by_size(groups, ks):
        count, size = members.shape
        if k == size:
            mask[members.ravel()] = True
        elif k == 1:
            best = key[members].argmax(axis=1)
            mask[members[np.arange(count)[:, None], best], columns] = True
        else:
            for group in members:
                mask[group] = top_mask(key[group], k)
    return mask


def equal_on_top(B: Array, allowed: Array | None, k: int | None) -> Array:
    """argmin ‖Z − B‖ over columns that are a on k allowed entries, 0 elsewhere, a ≥ 0 (SeMF Prop. 2)."""
    if k is None:
        return _equal_on_any(B, allowed)
    mask = top_mask(B if allowed is None else np.where(allowed, B, -np.inf), k)
    level = np.maximum(np.where(mask, B, 0).sum(axis=0, dtype=np.float64) / k, 0)
    return mask * level.astype(B.dtype)


def _equal_on_any(B: Array, allowed: Array | None) -> Array:
    """As `equal_on_top` with any number of entries.

    c entries cost ‖b‖² − (sum of the c largest)²/c, so the best c is the one that maximises that gain.
    """
    scale = binary_scale(B)
    scaled = B / scale
    key = scaled if allowed is None else np.where(allowed, scaled, -np.inf)
    order = np.argsort(-key, axis=0, kind="stable")
    ranked = np.take_along_axis(key, order, axis=0)
    sums = np.cumsum(np.where(np.isneginf(ranked), 0, ranked), axis=0)
    counts = np.arange(1, len(B) + 1)[:, None]
    gain = np.where(np.isneginf(ranked) | (sums <= 0), 0, sums * sums / counts)
    best = gain.argmax(axis=0)[None]
    level = np.maximum(np.take_along_axis(sums, best, axis=0) / (best + 1), 0) * scale
    out = np.zeros_like(B)
    np.put_along_axis(out, order, (level * (counts <= best + 1)).astype(B.dtype), axis=0)
    return out


def normalise(P: Array) -> Array:
    """Columns scaled to unit norm (SeMF eq. 17); a zero column stays zero."""
    length = norms(P)
    return (P / np.where(length == 0, 1, length)).astype(P.dtype, copy=False)


def on_sphere(P: Array, B: Array, best_direction: Callable[[Array], Array]) -> Array:
    """argmin ‖Z − B‖ over unit columns of a closed cone K, from P = P_K(B).

    With u the unit vector of K that makes uᵀb largest, P_K(b) = max(uᵀb, 0)·u; so where P_K(b) ≠ 0 it
    points to u. Where it is zero uᵀb ≤ 0 for all of K, and `best_direction` finds u.
    """
    out = normalise(P)
    empty = ~P.any(axis=0)
    if empty.any():
        out[:, empty] = best_direction(B[:, empty])
    return out


def one_hot_at_largest(key: Array) -> Array:
    """The unit vector at the largest entry of each column."""
    return top_mask(key, 1).astype(key.dtype)


def shrink_to_ball(P: Array, radius: float) -> Array:
    """argmin ‖Z − P‖ over ‖Z_j‖₂ ≤ radius."""
    length = norms(P)
    factor = np.where(length > radius, radius / np.maximum(length, radius), 1)
    return (P * factor).astype(P.dtype, copy=False)


def simplex(B: Array, total: float) -> Array:
    """argmin ‖Z − B‖ over Z ≥ 0 whose columns sum to `total`: subtract one threshold and clip.

    The answer does not change when a constant is added to a column, so its largest entry is taken as
    zero: then `total` is not lost beside huge entries. −∞ marks an entry that must vanish.
    """
    drop = B.astype(np.float64) - B.max(axis=0)
    ranked = -np.sort(-drop, axis=0)
    excess = np.cumsum(ranked, axis=0) - total
    counts = np.arange(1, len(B) + 1)[:, None]
    support = np.count_nonzero(ranked * counts > excess, axis=0)
    threshold = np.take_along_axis(excess, support[None] - 1, axis=0) / support
    return np.maximum(drop - threshold, 0).astype(B.dtype)


def l1_ball(B: Array, radius: float) -> Array:
    """argmin ‖Z − B‖ over ‖Z_j‖₁ ≤ radius: columns outside go to the simplex of |B|, signs kept."""
    out = B.copy()
    outside = np.abs(B).sum(axis=0, dtype=np.float64) > radius
    if outside.any():
        out[:, outside] = np.copysign(simplex(np.abs(B[:, outside]), radius), B[:, outside])
    return out


def remove_component(A: Array, column: int) -> Array:
    """Every column made orthogonal to the given one, which stays as it is (SeMF eq. 16)."""
    reference = A[:, [column]].astype(np.float64)
    w = normalise(reference)[:, 0]
    along = w @ A
    along[column] = 0
    return (A - np.outer(w, along)).astype(A.dtype)


def orthogonal_pair(A: Array, column: int) -> Array:
    """argmin ‖Z − A‖ over Z with Z_j ⊥ Z_c for all j ≠ c, column c free to move.

    For a unit direction w of column c the cost is Σ_{j≠c}(wᵀa_j)² + ‖a_c‖² − (wᵀa_c)², so w is the
    eigenvector of the smallest eigenvalue of Σ_{j≠c} a_j a_jᵀ − a_c a_cᵀ; column c is zero where
    that eigenvalue is not negative.
    """
    signs = np.ones(A.shape[1])
    signs[column] = -1
    scaled = A / binary_scale(A).max()
    basis, triangle = np.linalg.qr(scaled)
    values, vectors = np.linalg.eigh((triangle * signs) @ triangle.T)
    if values[0] >= 0:
        out = A.copy()
        out[:, column] = 0
        return out
    w = basis @ vectors[:, 0]
    along = w @ A
    kept = along[column]
    along[column] = 0
    out = (A - np.outer(w, along)).astype(A.dtype)
    out[:, column] = w * kept
    return out


def polar(A: Array) -> Array:
    """argmin ‖Z − A‖ over ZᵀZ = I: the polar factor UVᵀ of A = UΣVᵀ (orthogonal Procrustes)."""
    left, _, right = np.linalg.svd(A, full_matrices=False)
    return left @ right


def clear_shared_support(P: Array, column: int, k: int | None) -> Array:
    """Nonnegative columns kept off the support of one column, which holds its k largest entries."""
    out = P.copy()
    if k is not None:
        out[:, [column]] = keep_largest_nonnegative(P[:, [column]], k)
    occupied = out[:, column] > 0
    kept = out[occupied, column]
    out[occupied] = 0
    out[occupied, column] = kept
    return out


def share_rows_with_column(P: Array, column: int, k: int | None) -> Array:
    """argmin ‖Z − P‖ over Z ≥ 0 whose other columns vanish on the support of one column (P ≥ 0).

    Rows decide alone: giving row i to the column costs the others' squares there, not giving it
    costs the column's. The column takes the (at most k) rows with the largest positive difference.
    """
    scaled = P / binary_scale(P).max()
    own = scaled[:, column] ** 2
    gain = 2 * own - np.einsum("ij,ij->i", scaled, scaled)
    taken = gain > 0
    if k is not None:
        taken &= top_mask(gain[:, None], k)[:, 0]
    out = P.copy()
    out[taken] = 0
    out[:, column] = np.where(taken, P[:, column], 0)
    return out


def as_counts(k: int | Sequence[int], groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """One count per group."""
    return (k,) * len(groups) if isinstance(k, int) else tuple(k)
