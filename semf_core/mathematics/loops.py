"""Loops over factors for numba to compile: one pass over memory where NumPy needs several.

Each has a NumPy twin where it is used, which gives the same bits: the terms of a sum come in the order of the rows,
nothing is fused or reassociated, of equal entries the first wins. Arrays are p×N in C order; `first` is the column
of a whole factor at which a part of it begins. Nothing here is meant to run uncompiled.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
SAMPLE, MARGIN = 128, 24
"""Entries that are looked at to tell, within so many of them, where the k-th largest is: four standard deviations."""
LANES = 128
"""Columns that are worked on together, so that vector instructions go across them."""
SIGNATURES = {
    "free": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "target": "void(T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "place": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "settle": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64, float64[:,::1])",
    "keep_largest": "void(T[:,::1], int64, boolean, T[:,::1])",
    "kth_largest": "void(T[:,::1], int64, T[::1])",
    "keep_from": "void(T[:,::1], T[::1], T[:,::1], int64[::1])",
    "clear_support": "void(T[:,::1], T[::1], int64, T[:,::1])",
    "largest_of_groups": "void(T[:,::1], int64[:,::1], boolean, boolean, T[:,::1])",
    "simplex": "void(T[:,::1], float64, T[:,::1])",
    "sparse_residual": "void(T[:,::1], int64[::1], int64, T[:,::1], T[:,::1], int64, float64[::1])",
    "smooth_where_free": "void(float64[::1], float64, boolean[::1], float64[::1], float64[::1], float64[::1], float64[::1])",
    "move_contact": "int64(float64[::1], float64, boolean[::1], float64[::1], boolean)",
}
"""What is compiled, for T = float32 and float64."""


def free(out: Array, product: Array, projected: Array, multiplier: Array, penalty: float, first: int) -> None:
    """out ← penalty·projected + product − multiplier."""
    p, width = out.shape
    for i in range(p):
        o, a = out[i], product[i, first : first + width]
        b, c = projected[i, first : first + width], multiplier[i, first : first + width]
        for j in range(width):
            o[j] = (b[j] * penalty + a[j]) - c[j]


def target(out: Array, projected: Array, multiplier: Array, inverse: float, first: int) -> None:
    """out ← projected − inverse·multiplier."""
    p, width = out.shape
    for i in range(p):
        o = out[i]
        b, c = projected[i, first : first + width], multiplier[i, first : first + width]
        for j in range(width):
            o[j] = b[j] - c[j] * inverse


def place(new: Array, work: Array, addend: Array, multiplier: Array, inverse: float, first: int) -> None:
    """new ← work (+ addend, if it has rows), then work ← new + inverse·multiplier."""
    p, width = work.shape
    for i in range(p):
        o, b, c = work[i], new[i, first : first + width], multiplier[i, first : first + width]
        if len(addend):
            a = addend[i]
            for j in range(width):
                o[j] += a[j]
        for j in range(width):
            found = o[j]
            b[j] = found
            o[j] = found + c[j] * inverse


def settle(new: Array, old: Array, projected: Array, multiplier: Array, step: float, first: int, sums: Array) -> None:
    """The lower half of new ← projected, multiplier += step·(upper half − projected).

    sums ← for each column ‖upper half − projected‖² and ‖upper half of new − that of old‖².
    """
    p, width = projected.shape
    gap, moved = sums[0], sums[1]
    for j in range(width):
        gap[j] = 0
        moved[j] = 0
    for i in range(p):
        found, below, before = new[i, first : first + width], new[p + i, first : first + width], old[i, first : first + width]
        v, c = projected[i], multiplier[i, first : first + width]
        for j in range(width):
            below[j] = v[j]
            g = found[j] - v[j]
            c[j] += g * step
            d = found[j] - before[j]
            gap[j] += np.float64(g) * np.float64(g)
            moved[j] += np.float64(d) * np.float64(d)


def keep_largest(B: Array, k: int, clip: bool, out: Array) -> None:
    """out ← B with the k entries of largest size in each column (`clip`: of largest value, if positive), else zero."""
    p, n = B.shape
    fours = k // 4 + 1  # so that the one after the k-th is among them, which tells of ties
    largest, key = np.empty((4 * fours, LANES), B.dtype), np.zeros(LANES, B.dtype)
    for first in range(0, n, LANES):
        width = min(LANES, n - first)
        largest[:] = 0
        for i in range(p):
            b = B[i, first : first + width]
            for j in range(width):
                key[j] = max(b[j], 0) if clip else abs(b[j])
            for f in range(fours):  # the key takes its place among the largest and pushes the smaller ones down, four at a time
                t, u, v, w = largest[4 * f], largest[4 * f + 1], largest[4 * f + 2], largest[4 * f + 3]
                for j in range(LANES):
                    x = key[j]
                    low = min(t[j], x)
                    t[j] = max(t[j], x)
                    x = min(u[j], low)
                    u[j] = max(u[j], low)
                    low = min(v[j], x)
                    v[j] = max(v[j], x)
                    key[j] = min(w[j], low)
                    w[j] = max(w[j], low)
        least, next_one = largest[k - 1], largest[k]
        for i in range(p):
            b, o = B[i, first : first + width], out[i, first : first + width]
            for j in range(width):
                x = b[j] if clip else abs(b[j])
                o[j] = b[j] if x >= least[j] and x > 0 else 0.0
        for j in range(width):
            if next_one[j] == least[j] and least[j] > 0:
                left = k
                for i in range(p):  # those above the tie stay, then the first of the equal ones
                    left -= abs(out[i, first + j]) > least[j]
                for i in range(p):
                    if abs(out[i, first + j]) == least[j]:
                        left -= 1
                        if left < 0:
                            out[i, first + j] = 0


def kth_largest(rows: Array, k: int, out: Array) -> None:
    """out ← the k-th largest entry of each row.

    Two quantiles of an evenly spaced sample nearly always enclose it: only what is between them goes on, until little
    is left to be sorted. Where they do not, or nothing is left out, all that is left is sorted.
    """
    length = rows.shape[1]
    left, sample = np.empty(length, rows.dtype), np.empty(SAMPLE, rows.dtype)
    for r in range(len(rows)):
        row, count, wanted = rows[r], length, k
        for i in range(length):
            left[i] = row[i]
        while count > SAMPLE:
            for i in range(SAMPLE):
                sample[i] = left[i * count // SAMPLE]
            sample.sort()
            place = SAMPLE - SAMPLE * wanted // count
            low = sample[place - MARGIN] if place >= MARGIN else -np.inf
            high = sample[place + MARGIN] if place + MARGIN < SAMPLE else np.inf
            above = inside = 0
            for i in range(count):
                above += left[i] > high
                inside += left[i] >= low
            inside -= above
            if not above < wanted <= above + inside or (inside == count and low < high):
                break
            wanted -= above
            if low == high:
                left[wanted - 1], count = low, 0
                break
            inside = 0
            for i in range(count):  # a store without a branch; what it writes in vain is overwritten by the next
                x = left[i]
                left[inside] = x
                inside += (x >= low) & (x <= high)
            count = inside
        if count > 0:
            left[:count].sort()
            out[r] = left[count - wanted]
        else:
            out[r] = left[wanted - 1]


def keep_from(rows: Array, least: Array, out: Array, count: Array) -> None:
    """out ← the positive entries of each row that are not below its `least`, else zero; count ← how many there are."""
    for r in range(len(rows)):
        b, o, bound, kept = rows[r], out[r], least[r], 0
        for j in range(len(b)):
            x = b[j]
            inside = x >= bound and x > 0
            o[j] = x if inside else 0.0
            kept += inside
        count[r] = kept


def clear_support(rows: Array, own: Array, row: int, out: Array) -> None:
    """out ← nonnegative rows made zero where `own` is positive, but own in one of them."""
    for r in range(len(rows)):
        b, o = rows[r], out[r]
        for j in range(len(b)):
            o[j] = own[j] if r == row else b[j] if own[j] <= 0 else b[j] * 0.0


def largest_of_groups(B: Array, groups: Array, clip: bool, whole: bool, out: Array) -> None:
    """out ← in each group of rows B's entry of largest size in each column (`clip`: of largest value, if positive), else zero.

    `whole`: all of its entries instead, clipped or not. A group is a row of indices; rows in none of them are left alone.
    """
    n, size = B.shape[1], groups.shape[1]
    top, at = np.empty(LANES, B.dtype), np.empty(LANES, np.int64)
    for first in range(0, n, LANES):
        width = min(LANES, n - first)
        for g in range(len(groups)):
            for c in range(0 if whole else size):
                b = B[groups[g, c], first : first + width]
                for j in range(width):
                    x = max(b[j], 0) if clip else abs(b[j])
                    larger = c == 0 or x > top[j]
                    top[j] = x if larger else top[j]
                    at[j] = c if larger else at[j]
            for c in range(size):
                b, o = B[groups[g, c], first : first + width], out[groups[g, c], first : first + width]
                for j in range(width):
                    x = b[j] if b[j] > 0 or not clip else 0.0
                    o[j] = x if whole or at[j] == c else x * 0.0


def simplex(B: Array, total: float, out: Array) -> None:
    """out ← each column's nearest with nonnegative entries that add up to `total`, as in `kernels.simplex`."""
    p, n = B.shape
    drop = np.empty((p, LANES))
    top, threshold, last = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    sums, count = np.empty(LANES), np.empty(LANES)
    for first in range(0, n, LANES):
        width = min(LANES, n - first)
        for j in range(LANES):
            top[j], threshold[j], last[j] = -np.inf, -total, 0
        for i in range(p):
            b = B[i, first : first + width]
            for j in range(width):
                top[j] = max(top[j], np.float64(b[j]))
        for i in range(p):
            b, d = B[i, first : first + width], drop[i]
            for j in range(width):
                d[j] = np.float64(b[j]) - top[j]
            for j in range(width, LANES):
                d[j] = 0
        changed = True
        while changed:
            for j in range(LANES):
                sums[j], count[j] = 0, 0
            for i in range(p):
                d = drop[i]
                for j in range(LANES):
                    inside = d[j] > threshold[j]
                    sums[j] += d[j] if inside else 0.0
                    count[j] += 1.0 if inside else 0.0
            changed = False
            for j in range(LANES):
                changed |= count[j] != last[j]
                last[j] = count[j]
                threshold[j] = max(threshold[j], (sums[j] - total) / count[j])
        for i in range(p):
            d, o = drop[i], out[i, first : first + width]
            for j in range(width):
                x = d[j] - threshold[j]
                o[j] = x if x > 0 else 0.0


def sparse_residual(V: Array, places: Array, k: int, Mt: Array, Ut: Array, first: int, sums: Array) -> None:
    """sums ← the squares of M − UV in each row, over the columns of a part V with at most k nonzeros each, at `places`."""
    width, m = V.shape[1], Mt.shape[1]
    rows, values, count = np.empty((width, k), np.int64), np.empty((width, k), V.dtype), np.zeros(width, np.int64)
    flat = V.reshape(-1)
    i, row = 0, 0  # and the place at which row i begins
    for at in places:
        while at >= row + width:
            i, row = i + 1, row + width
        j = at - row
        rows[j, count[j]] = i
        values[j, count[j]] = flat[at]
        count[j] += 1
    product = np.empty(m, V.dtype)
    sums[:] = 0
    for j in range(width):
        a = Mt[first + j]
        if count[j] == 0:
            product[:] = 0
        for c in range(count[j]):
            u, v = Ut[rows[j, c]], values[j, c]
            for r in range(m):
                product[r] = v * u[r] if c == 0 else product[r] + v * u[r]
        for r in range(m):
            d = a[r] - product[r]
            sums[r] += np.float64(d) * np.float64(d)


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
