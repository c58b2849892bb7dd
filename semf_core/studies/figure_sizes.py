"""What drawing the figures of a study costs, known before anything is read: strangers bring studies too."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from semf_core.common.errors import InvalidInput
from semf_core.studies.axes import Axis
from semf_core.studies.histories import Histories
from semf_core.studies.kept_arrays import POINTS
from semf_core.studies.views import HeatMap, SortedGroups, View

MOST = 24_000
"""What the figures of one page may cost together: about four seconds."""
LINE = 60
"""A line takes as long as so many fields of a heat map."""


@dataclass(frozen=True)
class FigureRoom:
    """What the figures of one page may still cost."""

    left: int = MOST

    def after(self, view: View, axes: Sequence[Axis]) -> FigureRoom:
        """What is left once a figure is drawn; one that does not fit is rejected in words."""
        left = self.left - cost(view, axes)
        if left < 0:
            told = f"that of {view.measure} over {view.x} is more than the page can draw"
            raise InvalidInput("views", told, "the results can be downloaded; fewer values or views can be drawn", whole=True)
        return FigureRoom(left)


def cost(view: View, axes: Sequence[Axis]) -> int:
    """In fields of a heat map."""
    fields = math.prod(_length(axes, name) for name in view.axes())
    if isinstance(view, HeatMap):
        return fields
    if isinstance(view, Histories):
        return fields * (LINE + POINTS)
    groups = view.groups if isinstance(view, SortedGroups) else 1
    return groups * (fields + LINE * math.prod(_length(axes, name) for name in view.split()))


def _length(axes: Sequence[Axis], name: str) -> int:
    return next(len(axis) for axis in axes if axis.name == name)
