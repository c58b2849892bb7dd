"""A figure of what one would get who runs several starts and keeps the one that a second measure prefers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import VIEWS, Curve, Drawing

Array = np.ndarray


@VIEWS.register
class Picked(Curve):
    """Along one axis of repetitions only the run counts that is best by another measure.

    A choice by what is reported would flatter: errors on validation data choose, errors on test data are drawn.
    """

    name, title = "picked", "Mean of the runs that another measure chooses"

    band: str = param("choice", "error", choices=("quartiles", "deviation", "error"), help="what is drawn around the middle")
    by_measure: str = param("text", "", help="the measure that chooses")
    among: str = param("text", "", help="the axis along which one run is chosen")

    @property
    def caption(self) -> str:
        return f"{super().caption}; of each {self.among}, only the best by {self.by_measure}"

    def axes(self) -> tuple[str, ...]:
        return (*super().axes(), self.among)

    def check(self, axes: Sequence[Axis], measures: Sequence[Measure]) -> None:
        super().check(axes, measures)
        if not any(m.key == self.by_measure and m.better for m in measures):
            raise InvalidInput("views", f"{self.name} needs a measure to choose by, of which low or high is better", whole=True)

    def draw(self, table: ResultTable) -> Drawing:
        return super().draw(replace(table, columns={**table.columns, self.measure: self._chosen(table)}))

    def _chosen(self, table: ResultTable) -> Array:
        """The column of the measure, NaN in all runs that are not chosen."""
        others = [a.name for a in table.axes if a.name != self.among]
        values, cells = table.arranged(self.by_measure, others), table.arranged_cells(others)
        cost = np.where(np.isnan(values), np.inf, values if table.better(self.by_measure) == "low" else -values)
        best = np.take_along_axis(cells, cost.argmin(axis=-1)[..., None], axis=-1).ravel()
        kept: Array = np.full(len(table.done), np.nan)
        kept[best] = table.columns[self.measure][best]
        return kept
