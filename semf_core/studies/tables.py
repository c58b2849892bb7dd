"""The results of a study as columns over its grid."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure

Array = np.ndarray
History = Mapping[str, Array]
"""Iterations, and the residuals after them."""


@dataclass(frozen=True, eq=False)
class ResultTable:
    """One number for each measure and each cell; NaN where the cell is not done or the measure has no meaning."""

    axes: tuple[Axis, ...]
    measures: tuple[Measure, ...]
    columns: Mapping[str, Array]
    done: Array
    """Which cells have a result."""
    components: Callable[[Sequence[int]], Mapping[int, Array]] = lambda numbers: {}
    """U of those of some cells that kept it: only some views ask for it."""
    histories: Callable[[Sequence[int]], Mapping[int, History]] = lambda numbers: {}
    """The histories of those that kept them."""

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(a) for a in self.axes)

    def axis(self, name: str) -> Axis:
        return next(a for a in self.axes if a.name == name)

    def _measure(self, key: str) -> Measure:
        return next(m for m in self.measures if m.key == key)

    def title_of(self, key: str) -> str:
        measure = self._measure(key)
        title = measure.title if key == measure.name else key
        return f"{title} ({measure.unit})" if measure.unit else title

    def is_rate(self, key: str) -> bool:
        return self._measure(key).yes_no

    def is_log(self, key: str) -> bool:
        return self._measure(key).orders

    def better(self, key: str) -> str:
        return self._measure(key).better

    def arranged(self, key: str, names: Sequence[str]) -> Array:
        """A column as an array over the named axes, with the repetitions along its last."""
        return self._arranged(self.columns[key], names)

    def arranged_cells(self, names: Sequence[str]) -> Array:
        """Numbers of the cells in the same arrangement."""
        return self._arranged(np.arange(len(self.done)), names)

    def _arranged(self, column: Array, names: Sequence[str]) -> Array:
        order = [a.name for a in self.axes]
        first = [order.index(name) for name in names]
        rest = [i for i in range(len(order)) if i not in first]
        block = column.reshape(self.shape).transpose(*first, *rest)
        return block.reshape(*block.shape[: len(first)], -1)

    def labels(self, number: int) -> dict[str, str]:
        """Where a cell lies: the label on each axis."""
        positions = np.unravel_index(number, self.shape)
        return {a.name: a.labels[int(i)] for a, i in zip(self.axes, positions, strict=True)}

    def records(self) -> list[dict[str, Any]]:
        """One flat row for each finished cell."""
        numbers = np.flatnonzero(self.done)
        positions = np.unravel_index(numbers, self.shape) if self.axes else ()
        data: dict[str, Any] = {"cell": numbers.tolist()}
        for axis, places in zip(self.axes, positions, strict=True):
            data[axis.name] = [axis.labels[i] for i in places]
        for key, column in self.columns.items():
            data[key] = [None if np.isnan(v) else float(v) for v in column[numbers]]
        return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]

    def to_csv(self) -> str:
        """All finished cells, one line each, after a line of names."""
        out = io.StringIO()
        writer = csv.DictWriter(out, ["cell", *(a.name for a in self.axes), *self.columns], lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.records())
        return out.getvalue()
