"""Nonnegative least squares for many right-hand sides that share one Gram matrix, and its sparse relatives.

A problem is min ½hᵀGh − tᵀh over h ≥ 0; the columns of H and of T belong together. Everything is
vectorised over the columns: each keeps its own passive set, the entries that may be positive.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
RIDGE = 1e-13
"""Added to the diagonal, relative to its largest entry: components that vanish or coincide stay solvable."""
TRIALS = 3
"""Full exchanges that may fail to reduce the infeasible entries before one entry at a time is exchanged."""
ROUNDS = 50
"""Rounds of full exchange; a column that is not done by then is done one entry at a time, which always ends."""
ENTRIES = 1 << 20
"""Size of the stacks of small systems that are solved together."""


def solve_on(gram: Array, target: Array, passive: Array) -> Array:
    """argmin ½hᵀGh − tᵀh over columns h that vanish outside their passive set.

    Columns with about as many passive entries are solved together, by systems no larger than needed.
    """
    p, n = target.shape
    out = np.zeros((p, n))
    counts = np.count_nonzero(passive, axis=0)
    order = np.argsort(counts, kind="stable")
    ranked = np.argsort(~passive, axis=0, kind="stable")
    ridge = RIDGE * float(np.diagonal(gram).max(initial=0)) or 1.0
    first = int(np.searchsorted(counts[order], 1))
    while first < n:
        size = int(counts[order[first]])
        last = min(int(np.searchsorted(counts[order], size, side="right")), first + max(ENTRIES // size**2, 1))
        columns = order[first:last]
        entries = ranked[:size, columns].T
        systems = gram[entries[:, :, None], entries[:, None, :]]
        systems[:, np.arange(size), np.arange(size)] += ridge
        values = np.linalg.solve(systems, target[entries, columns[:, None]][:, :, None])
        out[entries, columns[:, None]] = values[:, :, 0]
        first = last
    return out


def nnls(gram: Array, target: Array, allowed: Array | None = None, start: Array | None = None) -> Array:
    """argmin ½hᵀGh − tᵀh over h ≥ 0 for every column, by block principal pivoting (Kim and Park 2011).

    Entries outside `allowed` stay zero; `start` tells which entries are likely positive.
    """
    gram, target = gram.astype(np.float64), target.astype(np.float64)
    allowed = np.ones(target.shape, dtype=bool) if allowed is None else allowed
    passive = allowed & (np.zeros(target.shape, dtype=bool) if start is None else start > 0)
    H = solve_on(gram, target, passive)
    tolerance = 1e-12 * max(float(np.abs(target).max(initial=0)), 1e-300)
    fewest, trials = np.full(target.shape[1], len(gram) + 1), np.full(target.shape[1], TRIALS)
    open_columns = np.arange(target.shape[1])
    for turn in range(ROUNDS * (1 + len(gram))):
        part, inside = H[:, open_columns], passive[:, open_columns]
        slope = gram @ part - target[:, open_columns]
        wrong = np.where(inside, part < 0, (slope < -tolerance) & allowed[:, open_columns])
        count = np.count_nonzero(wrong, axis=0)
        left = count > 0
        if not left.any():
            break
        open_columns, wrong, count = open_columns[left], wrong[:, left], count[left]
        better = count < fewest[open_columns]
        trials[open_columns] = np.where(better, TRIALS, trials[open_columns] - 1)
        fewest[open_columns] = np.minimum(fewest[open_columns], count)
        single = (trials[open_columns] < 0) | (turn >= ROUNDS)
        last = len(gram) - 1 - wrong[::-1].argmax(axis=0)
        wrong[:, single] = np.arange(len(gram))[:, None] == last[single]
        passive[:, open_columns] ^= wrong
        H[:, open_columns] = solve_on(gram, target[:, open_columns], passive[:, open_columns])
    return np.maximum(H, 0)


def sparse_nnls(gram: Array, target: Array, most: int) -> Array:
    """A near solution with at most so many nonzeros a column: sNNLS, active-set NNLS that stops when it has them.

    Each round admits the entry of steepest descent and solves for what has been admitted; entries that
    become zero make room again. The cost falls in every round, so no set of entries comes twice.
    """
    p, n = target.shape
    H, admitted = np.zeros((p, n)), np.zeros((p, n), dtype=bool)
    tolerance = 1e-10 * max(float(np.abs(target).max(initial=0)), 1e-300)
    for _ in range(3 * p):
        gain = np.where(admitted, -np.inf, target - gram @ H)
        best = gain.argmax(axis=0)
        ready = np.flatnonzero((gain[best, np.arange(n)] > tolerance) & (np.count_nonzero(admitted, axis=0) < most))
        if not ready.size:
            break
        admitted[best[ready], ready] = True
        H[:, ready] = nnls(gram, target[:, ready], admitted[:, ready], admitted[:, ready])
        admitted[:, ready] = H[:, ready] > 0
    return H


def reverse_sparse_nnls(gram: Array, target: Array, most: int) -> Array:
    """A near solution with at most so many nonzeros a column: rsNNLS, from the full solution downwards.

    The smallest coefficient is given up and the rest is solved again, until few enough are left.
    """
    H = nnls(gram, target)
    while (crowded := np.flatnonzero(np.count_nonzero(H, axis=0) > most)).size:
        part = H[:, crowded]
        kept = part > 0
        kept[np.where(kept, part, np.inf).argmin(axis=0), np.arange(crowded.size)] = False
        H[:, crowded] = nnls(gram, target[:, crowded], kept, kept)
    return H
