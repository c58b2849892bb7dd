"""The numbers of a run on disk, read while a worker writes them.

`scalars.bin` holds the rows that stay (`History.kept`), `end.bin` where the run stands once rows are thinned out
(`History.end`); it is there before the first row that stands for several iterations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from semf_core.drawing import downsample
from semf_core.runs.files import DamagedFile
from semf_core.solvers.base import Case
from semf_core.solvers.history import CASE, COLUMNS, END, FULL, iteration_of, iterations_of, rows_after

Array = np.ndarray
ROW_BYTES = 8 * len(COLUMNS)
SECONDS, START = COLUMNS.index("seconds"), COLUMNS.index("start")
CASES = [int(case) for case in Case]
MOST_ITERATIONS = 2**53
"""Beyond, a float64 does not count on."""
BLOCK_ROWS = 4096
"""Rows in memory while a long history is thinned out for a viewer."""


@dataclass(frozen=True)
class Rows:
    """One row for each of these iterations, one column for each of COLUMNS."""

    iterations: Array
    values: Array

    def __len__(self) -> int:
        return len(self.iterations)


@dataclass(frozen=True)
class RowFile:
    """Both files."""

    scalars: Path
    end: Path

    def iterations(self) -> int:
        """Iterations that are recorded."""
        end = self._end()
        return max(0 if end is None else int(end[0]), self._iteration_of(self.count() - 1))

    def read(self, since: int = 0, stride: int = 1) -> Rows:
        """The rows after iteration `since`: the last of every `stride` iterations, and the newest.

        A row that stands for several iterations tells what was decided in them (`downsample.decisions`). However long the
        history is, only a block of it and what is returned are in memory.
        """
        found: list[Rows] = []
        rest = Rows(np.empty(0, np.int64), np.empty((0, len(COLUMNS))))
        for block in self._blocks(since):
            block = _joined([rest, block])
            whole = int(np.searchsorted(block.iterations, block.iterations[-1] // stride * stride, side="right"))
            found.append(_thinned(Rows(block.iterations[:whole], block.values[:whole]), stride))
            rest = Rows(block.iterations[whole:], block.values[whole:])
        return _joined([*found, _thinned(rest, stride)])

    def last(self, count: int) -> Rows:
        """The newest rows, at most so many and the newest iteration's."""
        first = self.count() - count
        return self.read(self._iteration_of(first - 1) if first > 0 else 0)

    def at(self, iteration: int) -> Array | None:
        """The row of this very iteration, if there is one."""
        for block in self._blocks(iteration - 1, most=1):
            if iteration > 0 and block.iterations[0] == iteration:
                return block.values[0]
        return None

    def seconds(self, iteration: int) -> float:
        """Run time at the last row that stays, at or before an iteration; 0 before the first."""
        row = self._rows_until(iteration) - 1
        found = next(self._pieces(row, row + 1, 1), None) if row >= 0 else None
        return 0.0 if found is None else float(found[0][SECONDS])

    def kept(self, iteration: int) -> Array:
        """The rows that stay (`History.kept`) of so many iterations."""
        rows = self._rows_until(iteration)
        return np.concatenate([np.empty((0, len(COLUMNS))), *self._pieces(0, rows, max(1, rows))])

    # -- files -------------------------------------------------------------------------------

    def _rows_until(self, iteration: int) -> int:
        return min(self.count(), rows_after(iteration) if self._is_thinned(self.count()) else iteration)

    def count(self) -> int:
        """Rows in the file."""
        try:
            return os.stat(self.scalars).st_size // ROW_BYTES
        except FileNotFoundError:
            return 0

    def _end(self) -> Array | None:
        """None where there is none, or where it is damaged: then the rows that stay tell what they can."""
        try:
            data = self.end.read_bytes()
        except FileNotFoundError:
            return None
        found = np.frombuffer(data) if len(data) == 8 * END else np.full(END, np.nan)
        return found if 0 <= found[0] <= MOST_ITERATIONS and _are_of_a_run(found[None, END - len(COLUMNS) :]) else None

    def _is_thinned(self, rows: int) -> bool:
        """Whether rows beyond the first FULL stand for several iterations; files of earlier versions have them all."""
        return rows > FULL and self.end.exists()

    def _iteration_of(self, row: int) -> int:
        return iteration_of(row) if self._is_thinned(row + 1) else row + 1

    def _blocks(self, since: int, most: int = BLOCK_ROWS) -> Iterator[Rows]:
        """Everything after an iteration, in pieces of at most so many rows."""
        end, count = self._end(), self.count()  # in this order: the end is never newer than the rows
        thinned = self._is_thinned(count)
        row = rows_after(since) if thinned else since
        newest = since
        for values in self._pieces(row, count, most):
            numbers = np.arange(row, row + len(values))
            row += len(values)
            block = Rows(iterations_of(numbers) if thinned else numbers + 1, values)
            newest = int(block.iterations[-1])
            yield block
        if end is not None and end[0] > newest:
            yield Rows(end[:1].astype(np.int64), end[None, END - len(COLUMNS) :])

    def _pieces(self, first: int, count: int, most: int) -> Iterator[Array]:
        try:
            with open(self.scalars, "rb", buffering=0) as file:
                file.seek(first * ROW_BYTES)
                while first < count:
                    data = file.read(min(most, count - first) * ROW_BYTES)
                    whole = len(data) // ROW_BYTES
                    if not whole:  # cut meanwhile: the run began afresh
                        return
                    rows = np.frombuffer(data[: whole * ROW_BYTES]).reshape(-1, len(COLUMNS))
                    if not _are_of_a_run(rows):
                        raise DamagedFile(self.scalars)
                    yield rows
                    first += whole
                    if whole < most:
                        file.seek(first * ROW_BYTES)
        except FileNotFoundError:
            return


def _are_of_a_run(rows: Array) -> bool:
    """Whether these are numbers that a run has written: they count cases, starts and seconds."""
    case, start, seconds = rows[:, CASE], rows[:, START], rows[:, SECONDS]
    return bool(np.isin(case, CASES).all() and (start >= 0).all() and (start == np.rint(start)).all() and (seconds >= 0).all())


def _joined(parts: list[Rows]) -> Rows:
    return Rows(np.concatenate([p.iterations for p in parts]), np.concatenate([p.values for p in parts]))


def _thinned(rows: Rows, stride: int) -> Rows:
    """The last row of every stretch of iterations."""
    if stride == 1 or not len(rows):
        return rows
    ends = downsample.stretch_ends(rows.iterations, stride)
    values = rows.values[ends]
    values[:, CASE] = downsample.decisions(rows.values[:, CASE], ends)
    return Rows(rows.iterations[ends], values)
