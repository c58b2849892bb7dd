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
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
PLACES = np.zeros(64, np.int64)
PLACES[[((int(SEQUENCE) << i) % 2**64) >> 58 for i in range(64)]] = range(64)
"""Where the one bit of 2ⁱ is, by the top six bits of 2ⁱ times a sequence of de Bruijn, which are different for every i."""
SIGNATURES = {
    "free": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "target": "void(T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "place": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64)",
    "settle": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T, int64, float64[:,::1])",
    "settle_largest": "void(T[:,::1], T[:,::1], T[:,::1], T[:,::1], T[::1], int64, boolean, int64, float64[:,::1])",
    "keep_largest": "void(T[:,::1], int64, boolean, T[:,::1])",
    "kth_largest": "void(T[:,::1], int64, T[::1])",
    "keep_from": "void(T[:,::1], T[::1], T[:,::1], int64[::1])",
    "clear_support": "void(T[:,::1], T[::1], int64, T[:,::1])",
    "largest_of_groups": "void(T[:,::1], int64[:,::1], boolean, boolean, T[:,::1])",
    "simplex": "void(T[:,::1], float64, T[:,::1])",
    "sparse_residual": "void(T[:,::1], int64, T[:,::1], T[:,::1], int64, int64, float64[::1])",
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


def settle_largest(
    new: Array, old: Array, work: Array, multiplier: Array, scales: Array, k: int, clip: bool, first: int, sums: Array
) -> None:
    """`place` with the addend (lower half of old) − inverse·multiplier, `keep_largest` and `settle`; scales: inverse and step."""
    p, width = work.shape
    inverse, step = scales[0], scales[1]
    fours = k // 4 + 1
    largest, key = np.empty((4 * fours, LANES), work.dtype), np.zeros(LANES, work.dtype)
    for begin in range(0, width, LANES):
        lanes = min(LANES, width - begin)
        here, there = slice(begin, begin + lanes), slice(first + begin, first + begin + lanes)
        gap, moved = sums[0, here], sums[1, here]
        for j in range(lanes):
            gap[j] = 0
            moved[j] = 0
        largest[:] = 0
        for i in range(p):
            o, a, c, found, before = work[i, here], old[p + i, there], multiplier[i, there], new[i, there], old[i, there]
            for j in range(lanes):
                y = o[j] + (a[j] - c[j] * inverse)
                found[j] = y
                x = y + c[j] * inverse
                o[j] = x
                key[j] = max(x, 0) if clip else abs(x)
            for j in range(lanes):
                d = found[j] - before[j]
                moved[j] += np.float64(d) * np.float64(d)
            for f in range(fours):  # as in `keep_largest`
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
        for j in range(lanes):
            if next_one[j] == least[j] and least[j] > 0:
                left = k
                for i in range(p):
                    left -= (work[i, begin + j] if clip else abs(work[i, begin + j])) > least[j]
                for i in range(p):  # of the equal ones the first stay
                    if (work[i, begin + j] if clip else abs(work[i, begin + j])) == least[j]:
                        left -= 1
                        if left < 0:
                            work[i, begin + j] = 0
        for i in range(p):
            o, c, found, below = work[i, here], multiplier[i, there], new[i, there], new[p + i, there]
            for j in range(lanes):
                x = o[j] if clip else abs(o[j])
                below[j] = o[j] if x >= least[j] and x > 0 else 0.0
                g = found[j] - below[j]
                c[j] += g * step
                gap[j] += np.float64(g) * np.float64(g)


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


def sparse_residual(V: Array, k: int, Mt: Array, Ut: Array, first: int, width: int, sums: Array) -> None:
    """sums ← the squares of M − UV in each row, over `width` columns from `first` on, in which V has at most k nonzeros each.

    A bit for every nonzero is set by rows and read by columns: then few entries of V are looked at one by one.
    """
    p, m, threes = len(V), Mt.shape[1], (k + 2) // 3
    bits = np.zeros(((p + 63) // 64, width), np.uint64)
    for i in range(p):
        row, v, one = bits[i // 64], V[i, first : first + width], np.uint64(1) << np.uint64(i % 64)
        for j in range(width):
            row[j] |= one if v[j] != 0 else np.uint64(0)
    zero, product = np.zeros(m, V.dtype), np.empty(m, V.dtype)
    rows, values = np.empty(3 * threes, np.int64), np.empty(3 * threes, V.dtype)
    sums[:] = 0
    for j in range(width):
        rows[:], values[:], count = 0, 0, 0
        for word in range(len(bits)):
            left = bits[word, j]
            while left:
                low = left & (~left + np.uint64(1))
                left ^= low
                rows[count] = 64 * word + PLACES[(low * SEQUENCE) >> np.uint64(58)]
                values[count] = V[rows[count], first + j]
                count += 1
        before, column = zero, Mt[first + j]
        for c in range(0, 3 * threes, 3):  # what fills up the last three is zero
            u, v, w = Ut[rows[c]], Ut[rows[c + 1]], Ut[rows[c + 2]]
            a, b, d = values[c], values[c + 1], values[c + 2]
            for r in range(m):
                product[r] = ((before[r] + a * u[r]) + b * v[r]) + d * w[r]
            before = product
        for r in range(m):
            d = column[r] - product[r]
            sums[r] += np.float64(d) * np.float64(d)
