"""Convergence as a figure: how far runs have come after each iteration, from the histories that they kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import ClassVar

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.studies.axes import Axis
from semf_core.studies.kept_arrays import POINTS
from semf_core.studies.measures import Measure
from semf_core.studies.tables import History, ResultTable
from semf_core.studies.views import VIEWS, Drawing, Series, View

Array = np.ndarray
CURVES = {"residual_xy": "‖M − XY‖", "residual_uv": "‖M − UV‖"}


@VIEWS.register
class Histories(View):
    """‖M − XY‖ or ‖M − UV‖ over the iterations (SeMF Figure 1): a line for each value of x and of by.

    A line is the median of the repetitions. A run that has ended counts with its last value, so that the others
    do not change the line when it ends.
    """

    name, title = "histories", "Median of the runs after each iteration, and their quartiles"
    needs: ClassVar[str] = "history"
    most_rows: ClassVar[int | None] = 6

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        self.check_axes(axes)
        if self.measure not in CURVES:
            raise InvalidInput("views", f"{self.name} shows {' or '.join(CURVES)}, not {self.measure!r}", whole=True)

    def draw(self, table: ResultTable) -> Drawing:
        names = (*self.split(), self.x)
        cells = table.arranged_cells(names)
        labels = [table.axis(name).labels for name in names]
        series = []
        for index in product(*map(range, cells.shape[:-1])):
            words = [labels[i][position] for i, position in enumerate(index)]
            kept = table.histories([int(n) for n in cells[index] if table.done[n]])
            series.append(self._line(", ".join([*words[:-1], f"{self.x} {words[-1]}"]), list(kept.values())))
        curve = CURVES[self.measure]
        return Drawing(self, f"Convergence of {curve}", "iteration", curve, tuple(series), log=True)

    def _line(self, label: str, kept: list[History]) -> Series:
        if not kept:
            nothing = np.empty(0)
            return Series(label, (), (), nothing, nothing, nothing, nothing)
        last = max(int(history["iteration"][-1]) for history in kept)
        at = np.unique(np.geomspace(1, last, POINTS).astype(int))
        values = np.array([_held(history["iteration"], history[self.measure], at) for history in kept])
        low, middle, high = (_positive(v) for v in np.percentile(values, (25, 50, 75), axis=0))
        return Series(label, tuple(map(str, at)), tuple(map(float, at)), middle, low, high, np.full(len(at), len(kept)))


def _held(iterations: Array, values: Array, at: Array) -> Array:
    """The value after the last iteration that is known up to each of these."""
    return values[np.searchsorted(iterations, at, side="right") - 1]


def _positive(values: Array) -> Array:
    """Without zeros, which have no place on a logarithmic axis."""
    return np.where(values > 0, values, np.nan)
