"""The figures of a study that names none."""

from __future__ import annotations

from collections.abc import Sequence

from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure
from semf_core.studies.views import VIEWS, View

FIRST = ("solved", "held_out_error", "parts_found", "recovered_share", "relative_error")
"""Measures that say most, where a study has several."""
MOST = 3


def standard_views(axes: Sequence[Axis], measures: Sequence[Measure]) -> tuple[View, ...]:
    """One figure for each of the measures that say most, at most three.

    Over one setting a curve, or rates of a yes or no; over two a heat map; over more a curve with a line for each
    combination of the others. Repetitions alone are points.
    """
    if not axes:
        return ()
    ordered = sorted(measures, key=lambda m: FIRST.index(m.name) if m.name in FIRST else len(FIRST))
    settings = [axis.name for axis in axes if not axis.repeats]
    return tuple(_view(settings, axes[0].name, measure) for measure in ordered[:MOST])


def _view(settings: list[str], repeat: str, measure: Measure) -> View:
    if not settings:
        return VIEWS.build({"name": "table", "measure": measure.key, "x": repeat})
    x, *others = settings
    kind = "heat_map" if len(others) == 1 else "rates" if measure.yes_no else "curve"
    return VIEWS.build({"name": kind, "measure": measure.key, "x": x, "by": "+".join(others)})
