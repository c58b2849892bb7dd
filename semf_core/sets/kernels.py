"""Projections as pure functions of an array whose columns are the vectors to project.

Every kernel returns a new array of the input's dtype and leaves its input alone. Each docstring
opens with the problem that is solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from semf_core.mathematics.compiled import loops

Array = np.ndarray
Stacks = list[tuple[Array, int]]
"""Groups of one size, a row of indices each, and the nonzeros that each of them may have."""
LONG, SAMPLE, MARGIN = 2048, 256, 32
"""From this length on a sample of so many entries tells, within so many of them, where the k-th largest is."""
FEW, MANY = 16, 64
"""The compiled loops take this many nonzeros a column at most, and this many columns at least."""


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
    if not (found.min(initial=np.inf) >= 1e-140 and found.max(initial=0) < np.inf):
        doubtful = (found < 1e-140) | ~np.isfinite(found)
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
    mask = key >= kth_largest(key, k)
    tied = np.flatnonzero(np.count_nonzero(mask, axis=0) > k)
    if tied.size:
        order = np.argsort(-key[:, tied], axis=0, kind="stable")[:k]
        mask[:, tied] = False
        mask[order, tied] = True
    return mask


def kth_largest(key: Array, k: int) -> Array:
    """The k-th largest entry of each column, k at most its length."""
    rows = np.ascontiguousarray(key.T)
    if rows.shape[1] < LONG:
        return np.partition(rows, -k, axis=1)[:, -k]
    compiled, found = loops(key.size), np.empty(len(rows), key.dtype)
    if compiled:
        compiled.kth_largest(rows, k, found)
    else:
        found[:] = [_kth_of_long(row, k) for row in rows]
    return found


def _kth_of_long(row: Array, k: int) -> np.floating:
    """The k-th largest entry: only those between two quantiles of a sample, which nearly always enclose it, are sorted."""
    sample = np.sort(row[:: len(row) // SAMPLE])
    place = round((1 - k / len(row)) * len(sample))
    low, high = sample[max(place - MARGIN, 0)], sample[min(place + MARGIN, len(sample) - 1)]
    above = np.count_nonzero(row > high)
    between = row[(row >= low) & (row <= high)]
    if not above < k <= above + len(between):
        return np.partition(row, -k)[-k]
    return high if low == high else np.sort(between)[above - k]


def keep_largest(B: Array, k: int) -> Array:
    """argmin ‖Z − B‖ over columns with at most k nonzeros (SeMF eq. 15)."""
    if k >= len(B):
        return B.copy()
    found = _kept_by_loops(B, k, clip=False)
    return found if found is not None else np.where(top_mask(np.abs(B), k), B, 0) + 0.0


def keep_largest_nonnegative(B: Array, k: int) -> Array:
    """argmin ‖Z − B‖ over Z ≥ 0 with at most k nonzeros a column (SeMF Prop. 1): clip, then keep k."""
    if k >= len(B):
        return clip_nonnegative(B)
    found = _kept_by_loops(B, k, clip=True)
    if found is None and len(B) >= LONG and B.flags.f_contiguous:
        found = _kept_of_long(B, k)
    if found is not None:
        return found
    P = clip_nonnegative(B)
    if k == 1:
        return P * top_mask(P, 1)
    threshold = kth_largest(P, k)
    mask = threshold <= P
    # Ties at zero need no breaking: what is kept there is zero anyway.
    if np.count_nonzero(mask) > mask.shape[1] * k and (np.count_nonzero(mask, axis=0) > k)[threshold > 0].any():
        mask = top_mask(P, k)
    P *= mask
    return P


def _kept_by_loops(B: Array, k: int, clip: bool) -> Array | None:
    """The k largest of many short columns by the compiled loops; None where they are not there or not made for it."""
    compiled = loops(B.size) if k <= FEW and B.shape[1] >= MANY and B.flags.c_contiguous else None
    if compiled is None:
        return None
    out = np.empty_like(B)
    compiled.keep_largest(B, k, clip, out)
    return out


def _kept_of_long(B: Array, k: int) -> Array | None:
    """The k largest positive entries of long columns by the compiled loops; None where they are not there, or with ties."""
    compiled = loops(B.size)
    if compiled is None:
        return None
    out, count = np.empty_like(B), np.empty(B.shape[1], np.int64)
    compiled.keep_from(B.T, kth_largest(B, k), out.T, count)
    return out if count.max() <= k else None


def groups_by_size(groups: Sequence[Sequence[int]], ks: tuple[int, ...]) -> Stacks:
    """Groups of equal size and count stacked, so that one call serves all of them."""
    stacks: dict[tuple[int, int], list[Sequence[int]]] = {}
    for group, k in zip(groups, ks, strict=True):
        stacks.setdefault((len(group), min(k, len(group))), []).append(group)
    return [(np.array(members), k) for (_, k), members in stacks.items()]


def group_top_mask(key: Array, stacks: Stacks) -> Array:
    """True at the k_t largest entries of each group G_t in each column of `key`."""
    mask = np.zeros(key.shape, dtype=bool)
    columns = np.arange(key.shape[1])
    for members, k in stacks:
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


def keep_largest_of_groups(B: Array, stacks: Stacks, clip: bool) -> Array:
    """argmin ‖Z − B‖ over columns with at most k_t nonzeros in each group G_t (SeMF eqs. 18-20), and with `clip` over Z ≥ 0."""
    simple = B.flags.c_contiguous and all(k in (1, members.shape[1]) for members, k in stacks)
    compiled = loops(B.size) if simple else None
    if compiled:
        out = np.zeros_like(B)
        for members, k in stacks:
            compiled.largest_of_groups(B, members, clip, k == members.shape[1], out)
        return out
    P = clip_nonnegative(B) if clip else B
    return P * group_top_mask(P if clip else np.abs(B), stacks)


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
    return _divided(P, norms(P))


def _divided(P: Array, length: Array) -> Array:
    """Each column divided by its length, unless that is zero."""
    if not length.all():
        length = np.where(length == 0, 1, length)
    return (P / length).astype(P.dtype, copy=False)


def on_sphere(P: Array, B: Array, best_direction: Callable[[Array], Array]) -> Array:
    """argmin ‖Z − B‖ over unit columns of a closed cone K, from P = P_K(B).

    With u the unit vector of K that makes uᵀb largest, P_K(b) = max(uᵀb, 0)·u; so where P_K(b) ≠ 0 it
    points to u. Where it is zero uᵀb ≤ 0 for all of K, and `best_direction` finds u.
    """
    length = norms(P)
    out = _divided(P, length)
    if not length.all():
        empty = length == 0
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
    The threshold rises from one that is surely too low, those below it leave, until nobody does (Michelot 1986).
    """
    compiled = loops(B.size) if B.shape[1] >= MANY and B.flags.c_contiguous else None
    if compiled:
        out = np.empty_like(B)
        compiled.simplex(B, total, out)
        return out
    drop = np.subtract(B, B.max(axis=0), dtype=np.float64)
    threshold, last = np.full(B.shape[1], -float(total)), np.zeros(B.shape[1])
    while True:
        inside = drop > threshold
        count = np.count_nonzero(inside, axis=0)
        threshold = np.maximum(threshold, (np.add.reduce(np.where(inside, drop, 0), axis=0) - total) / count)
        if np.array_equal(count, last):
            return np.maximum(drop - threshold, 0).astype(B.dtype)
        last = count


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
    own = P[:, column]
    if k is not None and k < len(own):
        own = _largest_of_one(own, k)
    compiled = loops(P.size) if P.flags.f_contiguous else None
    if compiled:
        out = np.empty_like(P)
        compiled.clear_support(P.T, own, column, out.T)
        return out
    out = P * (own <= 0)[:, None]
    out[:, column] = own
    return out


def _largest_of_one(column: Array, k: int) -> Array:
    """`keep_largest_nonnegative` for one column that is nonnegative."""
    least = np.partition(column, -k)[-k]
    kept = np.where(column >= least, column, 0)
    tied = least > 0 and np.count_nonzero(kept) > k
    return keep_largest_nonnegative(column[:, None], k)[:, 0] if tied else kept


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
