"""Projections of columns whose entries are on different workers: a threshold, then a length, for each column.

The k-th largest entry is found by counting. A nonnegative double, read as an integer, keeps its order; so
the integers between the smallest and the largest entry are cut into BINS intervals, all workers count, and
the interval with the k-th largest is cut again. It ends when an edge has exactly k entries above it, or at
one single value, and then of equal entries the first ones are taken, as `kernels.top_mask` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from semf_core.distributed.plans import ByColumns
from semf_core.sets import kernels

Array = np.ndarray
BIN_BITS = 8
BINS = 1 << BIN_BITS
"""Counts that a worker sends for a column at a time."""


@dataclass(frozen=True)
class Cut:
    """Entries of the counted columns are kept from `edges` on; of those at an edge only the first `ties` of a part."""

    edges: Array
    ties: Array | None = None
    """−1 where all entries at the edge are kept."""


@dataclass(frozen=True)
class Measured:
    """Of each column of a part: its length, its largest entry before anything was done, and the first row with it."""

    length: Array
    largest: Array
    row: Array


@dataclass(frozen=True)
class Scaled:
    """What each column is divided by and multiplied with, and the row where a column that vanished gets a 1 (else −1)."""

    divisor: Array
    factor: Array
    hot: Array


def sizes(B: Array, plan: ByColumns) -> Array:
    """How the entries of the counted columns (rows of B) compare, as integers of the same order."""
    rows = plan.counted
    P = np.where(plan.clip[rows, None], np.maximum(B[rows], 0), B[rows])
    return np.abs(P).astype(np.float64, copy=False).view(np.int64)


class Candidates:
    """A part's entries among which the k-th largest of each counted column may still be; zeros need no counting."""

    def __init__(self, blocks: Sequence[Array], plan: ByColumns) -> None:
        columns = np.concatenate([sizes(B, plan) for B in blocks], axis=1)
        self._left: list[Array] = [column[column > 0] for column in columns]

    def extremes(self) -> Array:
        """The smallest and the largest of each column, and how many there are."""
        last = np.iinfo(np.int64).max
        return np.array([(column.min(initial=last), column.max(initial=0), len(column)) for column in self._left])

    def count(self, low: Array, high: Array, shift: Array) -> Array:
        """How many of each column are in each of the BINS intervals of 2^shift integers from `low` on, below `high`."""
        counts = np.zeros((len(low), BINS), np.int32)
        for j, column in enumerate(self._left):
            column = column[(column >= low[j]) & (column < high[j])]
            self._left[j] = column
            counts[j] = np.bincount((column - low[j]) >> shift[j], minlength=BINS)
        return counts


def find_cuts(k: Array, extremes: Sequence[Array], count: Callable[[Array, Array, Array], list[Array]]) -> list[Cut]:
    """For each part where its counted columns are cut, so that k_j entries of column j are left in all.

    `extremes` is what each part's candidates say, `count` asks all parts, both in the order of the rows.
    """
    open_columns = np.sum([e[:, 2] for e in extremes], axis=0) > k
    low = np.min([e[:, 0] for e in extremes], axis=0)
    high = np.max([e[:, 1] for e in extremes], axis=0) + 1
    low = np.minimum(low, high)
    high[~open_columns] = low[~open_columns]
    above, edges = np.zeros_like(k), np.zeros_like(low)
    ties = np.full((len(extremes), len(k)), -1)
    while open_columns.any():
        shift = np.array([max(0, int(span - 1).bit_length() - BIN_BITS) for span in np.maximum(high - low, 1)])
        by_part = count(low, high, shift)
        total = np.array(by_part).sum(axis=0, dtype=np.int64)
        for j in np.flatnonzero(open_columns):
            from_top = above[j] + np.cumsum(total[j, ::-1])[::-1]
            b = int(np.flatnonzero(from_top >= k[j])[-1])
            edges[j] = low[j] + (b << int(shift[j]))
            exactly, single = from_top[b] == k[j], shift[j] == 0
            if not exactly:
                above[j] = from_top[b] - total[j, b]
                low[j], high[j] = edges[j], min(edges[j] + (1 << int(shift[j])), high[j])
            if single and not exactly:
                ties[:, j] = _shared(int(k[j] - above[j]), np.array([counts[j, b] for counts in by_part]))
            if exactly or single:
                open_columns[j] = False
                high[j] = low[j]
    return [Cut(edges, part) for part in ties]


def _shared(needed: int, there: Array) -> Array:
    """`needed` taken from what is there, the first parts first."""
    return np.clip(needed - (np.cumsum(there) - there), 0, there)


def cut_blocks(blocks: Sequence[Array], plan: ByColumns, cut: Cut | None) -> None:
    """Signs and counts of the columns (rows of the blocks), in place; the blocks follow one another."""
    left = None if cut is None or cut.ties is None else cut.ties.copy()
    for B in blocks:
        keys = sizes(B, plan) if cut is not None else None
        B[plan.clip] = np.maximum(B[plan.clip], 0)
        if cut is None or keys is None or left is None:
            continue
        for i, j in enumerate(plan.counted):
            kept = keys[i] >= cut.edges[i]
            if cut.ties is not None and cut.ties[i] >= 0:
                equal = np.flatnonzero(keys[i] == cut.edges[i])
                kept[equal[left[i] :]] = False
                left[i] -= min(left[i], len(equal))
            B[j] *= kept


def largest(blocks: Sequence[Array], first_rows: Sequence[int]) -> tuple[Array, Array]:
    """The largest entry of each column (row of the blocks), and the first row that has it."""
    places = np.array([B.argmax(axis=1) for B in blocks])
    values = np.array([B[np.arange(len(B)), at] for B, at in zip(blocks, places, strict=True)])
    best = values.argmax(axis=0)
    columns = np.arange(values.shape[1])
    return values[best, columns], places[best, columns] + np.asarray(first_rows)[best]


def scale_for(plan: ByColumns, parts: Sequence[Measured]) -> Scaled:
    """What brings the columns to their length (SeMF eq. 17), from what the parts measured."""
    length = kernels.norms(np.array([part.length for part in parts]))
    values = np.array([part.largest for part in parts])
    first = values.argmax(axis=0)
    rows = np.array([part.row for part in parts])[first, np.arange(len(length))]
    long = length > plan.radius
    return Scaled(
        divisor=np.where(plan.unit & (length > 0), length, 1),
        factor=np.divide(plan.radius, length, out=np.ones_like(length), where=long),
        hot=np.where(plan.unit & (length == 0), rows, -1),
    )


def scale_blocks(blocks: Sequence[Array], first_rows: Sequence[int], scaled: Scaled) -> None:
    """The columns (rows of the blocks) brought to their length, in place."""
    for B, first in zip(blocks, first_rows, strict=True):
        B[:] = B / scaled.divisor[:, None] * scaled.factor[:, None]
        here = np.flatnonzero((scaled.hot >= first) & (scaled.hot < first + B.shape[1]))
        B[here, scaled.hot[here] - first] = 1
