"""Rank and sparsity chosen together: held-out error over a grid, and the simplest model that is as good as the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.studies.tables import ResultTable

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Choice:
    """Mean held-out error over rank × sparsity with its standard error; NaN where nothing is known yet."""

    ranks: tuple[str, ...]
    sparsities: tuple[str, ...]
    mean: Array
    """One row for each rank."""
    error: Array
    """Standard error of the mean over the folds; NaN with one fold."""
    best: tuple[int, int] | None
    """Where the mean is smallest."""
    chosen: tuple[int, int] | None
    """The simplest model within one standard error of the best."""
    cells: Array
    """Number of one cell at each place."""


def choose(table: ResultTable, rank: str = "rank", sparsity: str = "k", key: str = "held_out_error") -> Choice:
    """The one-standard-error rule: of all models whose mean is at most best mean + its standard error, the simplest.

    Simplest is the smallest rank and, at that rank, the smallest number of nonzeros.
    """
    ranks, sparsities = table.axis(rank).numbers(), table.axis(sparsity).numbers()
    if ranks is None or sparsities is None:
        raise InvalidInput("axes", "rank and sparsity must be numbers to be chosen from", whole=True)
    values = table.arranged(key, (rank, sparsity))
    counts = (~np.isnan(values)).sum(axis=-1)
    mean = np.full(counts.shape, np.nan)
    error = np.full(counts.shape, np.nan)
    some, several = counts > 0, counts > 1
    mean[some] = np.nanmean(values[some], axis=-1)
    error[several] = np.nanstd(values[several], axis=-1, ddof=1) / np.sqrt(counts[several])
    labels = (table.axis(rank).labels, table.axis(sparsity).labels)
    cells = table.arranged_cells((rank, sparsity))[..., 0]
    if not some.any():
        return Choice(*labels, mean, error, None, None, cells)
    best = np.unravel_index(int(np.nanargmin(mean)), mean.shape)
    limit = mean[best] + np.nan_to_num(error[best])
    good = np.argwhere(mean <= limit)
    chosen = min(good, key=lambda place: (ranks[place[0]], sparsities[place[1]]))
    return Choice(*labels, mean, error, _pair(best), _pair(chosen), cells)


def _pair(place: Array | tuple[np.intp, ...]) -> tuple[int, int]:
    i, j = (int(v) for v in place)
    return i, j
