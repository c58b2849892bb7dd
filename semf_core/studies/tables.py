"""The results of a study as columns over its grid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.common.spreadsheets import csv_text
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
        return f"{measure.heading} ({measure.unit})" if measure.unit else measure.heading

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

    def representatives(self, key: str, names: Sequence[str]) -> Array:
        """For each place on the named axes the number of the run that stands for it, or −1 if none has a value.

        It is the best run where the measure says which way is better, otherwise the one nearest to their median.
        """
        values, better = self.arranged(key, names), self.better(key)
        known = ~np.isnan(values)
        if better:
            distance = values if better == "low" else -values
        else:
            some = np.where(known.any(axis=-1, keepdims=True), values, 0.0)
            distance = np.abs(values - np.nanmedian(some, axis=-1, keepdims=True))
        nearest = np.where(known, distance, np.inf).argmin(axis=-1)[..., None]
        cells = np.take_along_axis(self.arranged_cells(names), nearest, axis=-1)[..., 0]
        return np.where(known.any(axis=-1), cells, -1)

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
        names = ["cell", *(a.name for a in self.axes), *self.columns]
        return csv_text([names, *([record[name] for name in names] for record in self.records())])
