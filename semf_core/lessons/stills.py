"""The drawings of lessons without their sliders, as one picture each: every set, or every step, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from semf_core.exports.curves import COLOURS
from semf_core.lessons import figures
from semf_core.lessons.figures import FIRST, PLANE, STARTS, VECTOR
from semf_core.sets import combine

INK = COLOURS["light"]
POINT = np.array([0.6, 1.4])
SPARSENESS = 0.6
SIZE = (10.0, 6.6)
WORDS = {
    "plane": f"The point ({POINT[0]:g}, {POINT[1]:g}) and a grid of points with their projections onto each set",
    "vector": "A vector (grey) and its projection onto each set (blue), with its distance",
    "tangent-plane": f"The tangent-plane method for a least sparseness of {SPARSENESS:g}, from three best fits, all steps",
}


def still(name: str, figure: Figure | SubFigure) -> None:
    """Draw one of the figures that a stage may name into a figure."""
    _DRAW[name](figure)


def _grid(figure: Figure | SubFigure, count: int, across: int) -> list[Axes]:
    axes = figure.subplots(-(-count // across), across, squeeze=False).ravel().tolist()
    for unused in axes[count:]:
        unused.set_axis_off()
    return axes[:count]


def _plane(figure: Figure | SubFigure) -> None:
    for axes, (name, sets) in zip(_grid(figure, len(PLANE), 3), PLANE.items(), strict=True):
        points, targets = figures.field(sets)
        for a, b in zip(points, targets, strict=True):
            axes.plot(*np.array([a, b]).T, color=INK["grey"], linewidth=0.5, alpha=0.6)
        axes.plot(*targets.T, ".", color=INK["blue"], markersize=4)
        axes.plot(*np.array([POINT, figures.projected(POINT[None], sets)[0]]).T, "o-", color=INK["orange"], linewidth=2)
        axes.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3), aspect="equal", xticks=(-2, 0, 2), yticks=(-2, 0, 2))
        axes.set_title(name, fontsize=10)


def _vector(figure: Figure | SubFigure) -> None:
    given, entries = np.array(FIRST), np.arange(1, len(FIRST) + 1)
    for number, (axes, (name, sets)) in enumerate(zip(_grid(figure, len(VECTOR), 3), VECTOR.items(), strict=True)):
        nearest = figures.projected(given[None], sets)[0]
        axes.bar(entries - 0.2, given, 0.4, color=INK["grey"])
        axes.bar(entries + 0.2, nearest, 0.4, color=INK["blue"])
        kind = "exact" if combine(sets).exact else "approximate"
        axes.set_title(f"{name}\n{kind}, distance {np.linalg.norm(given - nearest):.3g}", fontsize=10)
        axes.set(ylim=(-2, 2), xticks=entries[::2])
        axes.tick_params(labelleft=number % 3 == 0)  # all have the same axis


def _tangent(figure: Figure | SubFigure) -> None:
    turn = np.linspace(0, 2 * np.pi, 181)
    for axes, (name, start) in zip(_grid(figure, len(STARTS), 3), STARTS.items(), strict=True):
        found = figures.tangent_steps(SPARSENESS, figures.in_plane(np.array(start)))
        axes.fill(*found.triangle.T, facecolor="none", edgecolor=INK["grey"])
        axes.fill(found.radius * np.cos(turn), found.radius * np.sin(turn), color=INK["blue"], alpha=0.25)
        for step in found.steps:
            along = np.array([-step.normal[1], step.normal[0]])
            ends = np.array([step.touching - 2 * along, step.touching + 2 * along])
            axes.plot(*ends.T, "--", color=INK["orange"], linewidth=0.8)
        way = np.array([found.steps[0].point, *(step.following for step in found.steps)])
        axes.plot(*way.T, "o-", color=INK["green"], markersize=4)
        axes.set(xlim=(-0.95, 0.95), ylim=(-0.75, 0.95), aspect="equal", xticks=(), yticks=())
        axes.set_title(f"{name}\n{len(found.steps)} steps, misfit {found.steps[-1].value:.3g}", fontsize=9)


_DRAW: dict[str, Callable[[Figure | SubFigure], None]] = {"plane": _plane, "vector": _vector, "tangent-plane": _tangent}
