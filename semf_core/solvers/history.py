"""The numbers of a run, iteration by iteration, at a size that an endless run cannot exceed by much.

A bounded history keeps every one of the first FULL iterations and then fewer and fewer: between FULL·2^k and
FULL·2^(k+1) the last of every 2^(k+1). Ten million iterations are 170,000 rows. Which rows are kept follows from
the number of iterations alone, so a run that is repeated or resumed keeps the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semf_core.solvers.base import Array, Case, Frame

COLUMNS = ("residual_xy", "residual_uv", "alpha", "beta", "gap_x", "gap_y", "change", "case", "seconds", "start")
NONE, SKIP = int(Case.NONE), int(Case.SKIP)
CASE, RESIDUAL = COLUMNS.index("case"), COLUMNS.index("residual_uv")
FULL = 1 << 15
HALF = FULL // 2
END = 2 + len(COLUMNS)
"""Numbers that say where a bounded history stands: iterations, the decision since its last row, and the last iteration's row."""


@dataclass(frozen=True)
class Event:
    """Something that happened between two iterations: a kick, a new start, an edit, a polish."""

    iteration: int
    kind: str
    text: str = ""


def rows_after(iterations: int) -> int:
    """Rows that a bounded history keeps of so many iterations."""
    if iterations <= FULL:
        return iterations
    level = ((iterations - 1) // FULL).bit_length() - 1
    return FULL + level * HALF + (iterations - (FULL << level)) // (2 << level)


def iteration_of(row: int) -> int:
    """The iteration of a row, numbered from 0, of a bounded history."""
    if row < FULL:
        return row + 1
    level, place = divmod(row - FULL, HALF)
    return (FULL << level) + (place + 1) * (2 << level)


def iterations_of(rows: Array) -> Array:
    """The same for many rows."""
    later = np.maximum(rows - FULL, 0)
    level = later // HALF
    return np.where(rows < FULL, rows + 1, (FULL << level) + (later % HALF + 1) * (2 << level))


class History:
    """One row of numbers for every iteration, 80 bytes each, or a bounded number of rows; columns are arrays.

    In a bounded history a row that stands for several iterations holds the numbers of the last one; its `case` is the
    last decision among them that changed a penalty, if any did.

    Parameters
    ----------
    rows : array, optional
        Those of all iterations so far; a bounded history thins them out.
    bounded : bool
        Keep every row of the first 32,768 iterations, then ever fewer.

    Examples
    --------
    >>> from semf_core import factorize
    >>> history = factorize([[1.0, 2.0], [3.0, 4.0]], 1, max_iter=50).history
    >>> history.iterations == len(history["residual_uv"])
    True
    >>> from semf_core.solvers import COLUMNS
    >>> COLUMNS
    ('residual_xy', 'residual_uv', 'alpha', 'beta', 'gap_x', 'gap_y', 'change', 'case', 'seconds', 'start')
    """

    def __init__(self, rows: Array | None = None, bounded: bool = False) -> None:
        """`rows` are those of all iterations so far; a bounded history thins them out."""
        given = np.empty((0, len(COLUMNS))) if rows is None else rows
        whole = given[:FULL] if bounded else given
        self.bounded = bounded
        self._rows = np.empty((max(256, len(whole)), len(COLUMNS)))
        self._rows[: len(whole)] = whole
        self.iterations = self._kept = self._row_end = len(whole)
        self._numbers: Array | None = None
        self._next = FULL + 2
        self._case: float = NONE
        self._last: Sequence[float] | Array = ()
        self._recent = _Recent()
        for row in given[len(whole) :]:
            self._add(row)

    @classmethod
    def stored(cls, iterations: Array, rows: Array) -> History:
        """What was recorded of a run, to look at: the rows of these iterations."""
        history = cls(rows)
        history._numbers = iterations
        history.iterations = history._row_end = int(iterations[-1]) if len(iterations) else 0
        return history

    # -- writing -----------------------------------------------------------------------------

    def append(self, frame: Frame, seconds: float, start: int) -> None:
        f = frame
        self._add((f.residual_xy, f.residual_uv, f.alpha, f.beta, f.gap_x, f.gap_y, f.change, f.case, seconds, start))

    def _add(self, row: Sequence[float] | Array) -> None:
        if not self.bounded or self.iterations < FULL:
            self.iterations += 1
            self._keep(row)
            return
        if self.iterations == FULL:
            self._recent.extend(self._rows[: self._kept, RESIDUAL])
        self.iterations += 1
        self._recent.append(row[RESIDUAL])
        if row[CASE] > SKIP or self._case == NONE:
            self._case = row[CASE]
        self._last = row
        if self.iterations == self._next:
            self._keep(self._last_row())
            self._case, self._next = NONE, iteration_of(self._kept)

    def _keep(self, row: Sequence[float] | Array) -> None:
        if self._kept == len(self._rows):  # a new array, so that tables handed out earlier stay as they are
            self._rows = np.concatenate((self._rows, np.empty_like(self._rows)))
        self._rows[self._kept] = row
        self._kept += 1
        self._row_end = self.iterations

    def _last_row(self) -> Array:
        """The row of the last iteration, with what was decided since the row before it."""
        row = np.array(self._last, dtype=np.float64)
        row[CASE] = self._case
        return row

    def remember(self, count: int) -> None:
        """Have the last `count` values of ‖M−UV‖ at hand from now on."""
        self._recent.resize(count)

    # -- reading -----------------------------------------------------------------------------

    def __len__(self) -> int:
        """Rows in the table."""
        return self._kept + (self._row_end != self.iterations)

    def kept(self, first: int = 0) -> Array:
        """The rows from number `first` on that will stay; a view that later iterations leave alone."""
        rows = self._rows[first : self._kept]
        rows.flags.writeable = False
        return rows

    def table(self) -> Array:
        """All rows, one column for each of COLUMNS; the last one is that of the last iteration."""
        kept = self.kept()
        return kept if self._row_end == self.iterations else np.concatenate((kept, self._last_row()[None]))

    @property
    def iteration(self) -> Array:
        """The iterations that the rows of the table are of, counted from 1."""
        if self._numbers is not None:
            return self._numbers
        rows = np.arange(self._kept)
        numbers = iterations_of(rows) if self.bounded else rows + 1
        return numbers if self._row_end == self.iterations else np.append(numbers, self.iterations)

    def column(self, name: str) -> Array:
        values = self.table()[:, COLUMNS.index(name)]
        return values.astype(np.int64 if name in {"case", "start"} else np.float64)

    def last(self, name: str) -> float:
        row = self._rows[self._kept - 1] if self._row_end == self.iterations else self._last
        return float(row[COLUMNS.index(name)])

    def recent(self, count: int) -> Array:
        """The last values of ‖M−UV‖, of every iteration; at most as many as are to be remembered."""
        return self._recent.last(count) if len(self._recent) else self._rows[self._kept - count : self._kept, RESIDUAL]

    def __getattr__(self, name: str) -> Array:
        if name in COLUMNS:
            return self.column(name)
        raise AttributeError(name)

    def __getitem__(self, name: str) -> Array:
        return self.column(name)

    # -- checkpoints -------------------------------------------------------------------------

    def end(self) -> Array | None:
        """Where a bounded history stands; None while it has every iteration."""
        if not self.bounded or self.iterations <= FULL:
            return None
        return np.array([self.iterations, self._case, *self._last_row()])

    def packed(self) -> dict[str, Array]:
        """Everything, as named arrays."""
        arrays, end = {"history": self.kept()}, self.end()
        return arrays if end is None else arrays | {"history_end": end, "history_recent": self._recent.last()}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array], bounded: bool = False) -> History:
        """What `packed` gave; one that was bounded stays so."""
        end = arrays.get("history_end")
        if end is None:
            return cls(arrays["history"], bounded)
        history = cls(bounded=True)
        history._rows = np.array(arrays["history"])
        history._kept = len(history._rows)
        history.iterations, history._row_end = int(end[0]), iteration_of(history._kept - 1)
        history._case, history._last, history._next = float(end[1]), end[2:], iteration_of(history._kept)
        history.remember(len(arrays["history_recent"]))
        history._recent.extend(arrays["history_recent"])
        return history


class _Recent:
    """The last values of a sequence, next to each other in memory."""

    def __init__(self) -> None:
        self._capacity = self._end = 0
        self._values = np.empty(0)

    def __len__(self) -> int:
        return min(self._end, self._capacity)

    def resize(self, capacity: int) -> None:
        known = self.last()
        self._capacity = max(capacity, len(known))
        self._values, self._end = np.empty(2 * self._capacity), 0
        self.extend(known)

    def extend(self, values: Array) -> None:
        for value in values[max(0, len(values) - self._capacity) :]:
            self.append(value)

    def append(self, value: float) -> None:
        if not self._capacity:
            return
        if self._end == len(self._values):
            self._values[: self._capacity] = self._values[self._capacity :]
            self._end = self._capacity
        self._values[self._end] = value
        self._end += 1

    def last(self, count: int | None = None) -> Array:
        return self._values[self._end - (len(self) if count is None else count) : self._end]
