"""The drawings of lessons as charts, each from a small state: the same on the page, and for those who follow it.

A state is the name of a set or a start, then numbers: `(set, x₁, x₂)` of a plane, `(set, x₁ … x₈)` of a vector,
`(start, s, steps)` of tangent planes, and for a question that is answered by a curve nothing, or what was drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pages.ui.charts import logarithmic
from semf_core.exports.curves import COLOURS
from semf_core.lessons import figures
from semf_core.lessons.figures import FIRST, LARGEST_ENTRY, PLANE, STARTS, VECTOR
from semf_core.sets import StructureSet

State = tuple[Any, ...]
BLUE, ORANGE, GREEN, GREY = (COLOURS["light"][name] for name in ("blue", "orange", "green", "grey"))
POINT = (0.6, 1.4)
LEAST, MOST, SPARSENESS = 0.2, 0.9, 0.6
"""Of the sparseness that a reader can choose, and where it begins."""


@dataclass(frozen=True)
class Drawn:
    """A chart, what it says, and the sets that it projects onto."""

    chart: go.Figure
    words: str
    sets: tuple[StructureSet, ...] = ()


def drawn(figure: str, state: Sequence[Any]) -> Drawn:
    """The figure that a stage names; a state that it cannot have is its first one."""
    first, fits, make = _FIGURES[figure]
    given = tuple(state)
    return make(given if fits(given) else first)


def first_state(figure: str) -> State:
    """How a figure looks before anybody has moved anything."""
    return _FIGURES[figure][0]


def _numbers(values: State, count: int, low: float, high: float) -> bool:
    fine = all(isinstance(v, int | float) and not isinstance(v, bool) and low <= v <= high for v in values)
    return len(values) == count and fine


# -- projections -------------------------------------------------------------------------------


def _plane(state: State) -> Drawn:
    name, x, y = state
    sets = PLANE[name]
    points, targets = figures.field(sets)
    chart = _square(2.3)
    gaps = np.array([[a, b, [np.nan, np.nan]] for a, b in zip(points, targets, strict=True)]).reshape(-1, 2)
    chart.add_scatter(x=gaps[:, 0], y=gaps[:, 1], mode="lines", line={"color": GREY, "width": 1}, name="way", hoverinfo="skip")
    chart.add_scatter(
        x=targets[:, 0], y=targets[:, 1], mode="markers", marker={"color": BLUE, "size": 6}, name="points of the set"
    )
    point = np.array([x, y])
    nearest = figures.projected(point[None], sets)[0]
    both = np.array([point, nearest])
    chart.add_scatter(x=both[:, 0], y=both[:, 1], mode="lines+markers", line={"color": ORANGE, "width": 3}, marker={"size": 11},
                      name="your point")  # fmt: skip
    distance = float(np.linalg.norm(point - nearest))
    words = f"({x:g}, {y:g}) is projected to ({_listed(nearest)}), at a distance of {distance:.3g}"
    return Drawn(chart, words, sets)


def _listed(entries: np.ndarray) -> str:
    """To three decimals: what projections in turn leave of a zero is one, not 8.85e-11."""
    return ", ".join(f"{round(float(entry), 3) + 0.0:g}" for entry in entries)


def _vector(state: State) -> Drawn:
    name, given = state[0], np.array(state[1:], float)
    sets = VECTOR[name]
    nearest = figures.projected(given[None], sets)[0]
    layout = {"height": 340, "margin": {"l": 30, "r": 10, "t": 10, "b": 30}, "barmode": "group", "dragmode": False}
    chart = go.Figure(layout=layout | {"legend": {"orientation": "h"}})
    chart.update_yaxes(range=[-1.06 * LARGEST_ENTRY, 1.06 * LARGEST_ENTRY], fixedrange=True)
    chart.update_xaxes(type="category", fixedrange=True)
    entries = [str(i + 1) for i in range(len(given))]
    chart.add_bar(x=entries, y=given, name="the vector", marker_color=GREY)
    chart.add_bar(x=entries, y=nearest, name="its projection", marker_color=BLUE)
    best = figures.NEAREST[name](given) if name in figures.NEAREST else None
    if best is not None:
        chart.add_bar(x=entries, y=best, name="the nearest of all", marker_color=GREEN)
    more = "" if best is None else f"; the nearest member is at {np.linalg.norm(given - best):.3g}"
    words = f"The projection is ({_listed(nearest)}), at a distance of {np.linalg.norm(given - nearest):.3g}{more}"
    return Drawn(chart, words, sets)


# -- tangent planes ----------------------------------------------------------------------------


def steps_of(start: str, s: float) -> figures.TangentFigure:
    """The tangent-plane method from one of the starts."""
    return figures.tangent_steps(s, figures.in_plane(np.array(STARTS[start])))


def _tangent(state: State) -> Drawn:
    start, s, wanted = state
    found = steps_of(start, s)
    shown = min(int(wanted), len(found.steps))
    chart = _square(0.95)
    corners = np.vstack([found.triangle, found.triangle[:1]])
    turn = np.linspace(0, 2 * np.pi, 181)
    chart.add_scatter(x=corners[:, 0], y=corners[:, 1], mode="lines", line={"color": GREY}, name="x ≥ 0, sum 1")
    chart.add_scatter(x=found.radius * np.cos(turn), y=found.radius * np.sin(turn), mode="lines", fill="toself",
                      line={"color": BLUE}, name="not sparse enough")  # fmt: skip
    for level in (0.02, 0.06, 0.12, 0.2):
        ring = found.goal + np.sqrt(level) * np.c_[np.cos(turn), np.sin(turn) / np.sqrt(found.shape[1, 1])]
        chart.add_scatter(x=ring[:, 0], y=ring[:, 1], mode="lines", line={"color": GREY, "width": 1, "dash": "dot"},
                          showlegend=level == 0.02, name="equal misfit", hoverinfo="skip")  # fmt: skip
    _steps(chart, found, shown)
    values = [step.value for step in found.steps[:shown]]
    return Drawn(chart, f"Misfit after each step: {', '.join(f'{v:.4g}' for v in values)}" if values else _before(found))


def _steps(chart: go.Figure, found: figures.TangentFigure, shown: int) -> None:
    """The points so far, and the tangent of the last step."""
    first = found.steps[0].point if found.steps else found.goal
    way = np.array([first, *(step.following for step in found.steps[:shown])])
    if shown:
        last = found.steps[shown - 1]
        along = np.array([-last.normal[1], last.normal[0]])
        line = np.array([last.touching - 2 * along, last.touching + 2 * along])
        chart.add_scatter(x=line[:, 0], y=line[:, 1], mode="lines", line={"color": ORANGE, "dash": "dash"}, name="tangent")
    chart.add_scatter(x=way[:, 0], y=way[:, 1], mode="lines+markers", line={"color": GREEN, "width": 2}, marker={"size": 9},
                      name="points")  # fmt: skip


def _before(found: figures.TangentFigure) -> str:
    return "The best fit is not sparse enough" if found.steps else "The best fit is sparse enough: nothing is to be done"


def _square(reach: float) -> go.Figure:
    """Axes of one scale."""
    layout = {"height": 460, "margin": {"l": 30, "r": 10, "t": 10, "b": 30}, "legend": {"orientation": "h"}, "dragmode": False}
    chart = go.Figure(layout=layout)
    chart.update_xaxes(range=[-reach, reach], constrain="domain", fixedrange=True)
    chart.update_yaxes(range=[-reach, reach], constrain="domain", scaleanchor="x", fixedrange=True)
    return chart


# -- a curve that was drawn --------------------------------------------------------------------


def sketched(data: dict[str, Any], curve: Sequence[float] | None) -> Drawn:
    """The chart of `semf_core.lessons.sketches` without its answer, or with it and the curve that was drawn."""
    label, colour = data["label"], COLOURS["light"][data["colour"]]
    margin = {"l": 50, "r": 10, "t": 10, "b": 40}
    chart = go.Figure(layout={"height": 340, "margin": margin, "legend": {"orientation": "h", "y": 1.1}, "dragmode": False})
    chart.update_xaxes(range=[0, data["last"]], title="iteration", fixedrange=True)
    axis = logarithmic(10 ** data["low"], 10 ** data["high"])
    chart.update_yaxes(axis, range=[data["low"], data["high"]], title=label, fixedrange=True)
    if data["start"] > 0:
        start = {"color": GREY, "size": 11}
        chart.add_scatter(x=[1], y=[data["start"]], mode="markers", marker=start, name=f"where {label} starts")
    if curve is None:
        return Drawn(chart, f"How will {label} go on from the dot? Draw it on paper, or try it yourself")
    truth = data["truth"]
    chart.add_scatter(x=truth["x"], y=[y or None for y in truth["y"]], mode="lines", line={"color": colour, "width": 3},
                      name=f"{label} of the run")  # fmt: skip
    at = np.linspace(0, data["last"], len(curve))
    chart.add_scatter(x=at, y=[10.0**power for power in curve], mode="lines", line={"color": GREY, "width": 3, "dash": "dash"},
                      name="the lecturer's sketch")  # fmt: skip
    return Drawn(chart, f"{label} as the lecturer drew it, and as it was")


_FIGURES: dict[str, tuple[State, Callable[[State], bool], Callable[[State], Drawn]]] = {
    "plane": (
        (next(iter(PLANE)), *POINT),
        lambda s: len(s) > 0 and s[0] in PLANE and _numbers(s[1:], 2, -LARGEST_ENTRY, LARGEST_ENTRY),
        _plane,
    ),
    "vector": (
        ("x ≥ 0, 3 largest", *FIRST),
        lambda s: len(s) > 0 and s[0] in VECTOR and _numbers(s[1:], len(FIRST), -LARGEST_ENTRY, LARGEST_ENTRY),
        _vector,
    ),
    "tangent-plane": (
        (next(iter(STARTS)), SPARSENESS, 1),
        lambda s: len(s) == 3 and s[0] in STARTS and _numbers(s[1:2], 1, LEAST, MOST) and _numbers(s[2:], 1, 0, math.inf),
        _tangent,
    ),
}
"""The first state of each figure, what a state must be, and the chart of one."""
