"""Walk a large matrix in pieces, so that nothing of its full size is ever allocated."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_ENTRIES = 1 << 19
"""Entries of one block: 4 MB of float64, which stays in cache and hides the cost of the Python loop."""


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices that cut 0..rows into runs of at most BLOCK_ENTRIES entries (at least one row each)."""
    step = max(1, BLOCK_ENTRIES // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
