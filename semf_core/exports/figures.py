"""The figures of a run as PNG and SVG: curves, basis, coefficients."""

from __future__ import annotations

import io
from collections.abc import Callable
from threading import Lock
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import FuncNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from semf_core.common.errors import InvalidInput
from semf_core.drawing.pictures import HALF, Picture, heat_map, palette
from semf_core.exports.curves import COLOURS, SIGNS, SOFT, Panel, panels
from semf_core.exports.story import Story
from semf_core.solvers import COLUMNS
from semf_core.solvers.penalties import CASE_WORDS

INK = COLOURS["light"]
DPI = 160
WIDTH, HEIGHT = 7.0, 4.2
MOST_CURVES, MOST_NAMES = 12, 60
"""Rows of V that are drawn as curves, and components whose names stand beside the heat map."""
MOST_LINES = 60
"""Vertical lines for events at most."""
STYLE: dict[Any, Any] = {"svg.hashsalt": "semf", "svg.fonttype": "path", "font.size": 10, "axes.grid": True, "grid.alpha": 0.25}
MATPLOTLIB = Lock()
"""matplotlib's settings belong to the process."""


def names(splits: bool) -> tuple[str, ...]:
    """The figures that a run has."""
    return (*(panel.name for panel in panels(splits)), "basis", "coefficients")


def draw(story: Story, name: str, form: str) -> bytes:
    """One figure as "png" or "svg"; the same run gives the same bytes."""
    if name not in names(story.splits):
        raise InvalidInput("figure", f"there is no {name} of this run: its algorithm does not split its factors", whole=True)
    with MATPLOTLIB, matplotlib.rc_context(STYLE):
        figure = _FIGURES[name](story) if name in _FIGURES else _curves(story, _panel(story, name))
        file = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        figure.savefig(file, format=form, dpi=DPI, bbox_inches="tight", metadata={"Title": story.title, **metadata})
    return file.getvalue()


def _panel(story: Story, name: str) -> Panel:
    return next(panel for panel in panels(story.splits) if panel.name == name)


def _titled(axes: Axes, story: Story, title: str) -> None:
    """The user's words are text, never formulas."""
    axes.set_title(f"{story.title}\n" + title, parse_math=False, loc="left", fontsize=11)


# -- curves ------------------------------------------------------------------------------------


def _curves(story: Story, panel: Panel) -> Figure:
    figure = Figure(figsize=(WIDTH, HEIGHT))
    axes = figure.subplots()
    x = story.numbers
    positive = False
    for line in panel.lines:
        y = story.rows[:, COLUMNS.index(line.column)]
        y = np.where(np.isfinite(y) & (y > 0), y, np.nan)
        positive |= bool(np.isfinite(y).any())
        axes.plot(x, y, color=INK[line.colour], linestyle=line.dash, linewidth=1.6, label=line.label)
    if panel.name == "penalties":
        _cases(story, axes)
    for event in story.events[-MOST_LINES:]:
        axes.axvline(event.iteration, color=INK["vermilion"], linewidth=0.8, linestyle=(0, (1, 2)))
    if positive:
        axes.set_yscale("log")
    axes.set_xlabel("iteration" + (" (dotted lines: kicks, new starts, changes)" if story.events else ""))
    axes.set_ylabel(panel.unit)
    axes.margins(x=0.01)
    _titled(axes, story, panel.title)
    if panel.name == "penalties":
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    else:
        axes.legend(fontsize=8, loc="best")
    return figure


def _cases(story: Story, axes: Axes) -> None:
    """A mark wherever Algorithm 2 changed a penalty, one kind for each case."""
    cases = story.rows[:, COLUMNS.index("case")]
    for case, sign in SIGNS.items():
        at = np.flatnonzero(cases == case)
        if len(at):
            colour = INK["orange" if sign.column == "alpha" else "purple"]
            y = story.rows[at, COLUMNS.index(sign.column)]
            face = colour if sign.column == "alpha" else "none"
            axes.plot(story.numbers[at], y, sign.marker, color=colour, markerfacecolor=face, markersize=5, label=CASE_WORDS[case])


# -- pictures ----------------------------------------------------------------------------------


def _basis(story: Story) -> Figure:
    picture = story.basis(story.final.U)
    figure = _pictured(story, picture, "Basis U" + _where(story), 1.0, "share of the image's largest entry")
    axes = figure.axes[0]
    for column, left, top, _, _ in picture.tiles:
        corner = (left * picture.width / 100 - 0.5, top * picture.height / 100 - 0.5)
        axes.annotate(_label(story, column), corner, xytext=(1, -1), textcoords="offset points", fontsize=6, va="top", color=SOFT)
    axes.set_axis_off()
    return figure


def _label(story: Story, column: int) -> str:
    """The number of a component, and its name where somebody has given it one."""
    typed = story.typed_names[column] if column < len(story.typed_names) else ""
    return f"{column + 1} {typed}".strip().replace("$", r"\$")


def _coefficients(story: Story) -> Figure:
    if story.axes.columns.ordered and len(story.final.V) <= MOST_CURVES:
        return _rows_over_axis(story)
    picture = heat_map(story.final.V)
    figure = _pictured(story, picture, "Coefficients V" + _where(story), picture.high, "coefficient")
    axes = figure.axes[0]
    p, n = story.final.V.shape
    axes.set(aspect="auto", xlabel=(story.axes.columns.heading or "sample").replace("$", r"\$"), ylabel="component")
    axes.images[0].set_extent((0.5, n + 0.5, p + 0.5, 0.5))
    if any(story.typed_names) and p <= MOST_NAMES:
        axes.set_yticks(np.arange(1, p + 1), [_label(story, k) for k in range(p)], fontsize=7)
    else:
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False)
    return figure


def _rows_over_axis(story: Story) -> Figure:
    """The rows of V as curves over the axis of the samples, one below the other."""
    axis, V = story.axes.columns, story.final.V
    assert axis.values is not None
    places = axis.values.astype("datetime64[s]") if axis.calendar else axis.values
    figure = Figure(figsize=(WIDTH, 1.2 + 0.8 * len(V)), layout="constrained")
    every = figure.subplots(len(V), 1, sharex=True, squeeze=False)[:, 0]
    for k, axes in enumerate(every):
        axes.plot(places, V[k], color=INK["blue"], linewidth=1.2)
        axes.set_ylabel(_label(story, k), rotation=0, ha="right", va="center", fontsize=8)
        axes.margins(x=0.01)
    every[-1].set_xlabel(axis.heading.replace("$", r"\$"))
    _titled(every[0], story, "Coefficients V" + _where(story))
    return figure


def _where(story: Story) -> str:
    return f", iteration {story.final.iteration:,}"


def _pictured(story: Story, picture: Picture, title: str, peak: float, unit: str) -> Figure:
    """A picture with its colour bar: colours follow the square root of the value."""
    ratio = picture.height / picture.width
    figure = Figure(figsize=(WIDTH, min(10.0, max(2.6, 0.85 * WIDTH * ratio))))
    axes = figure.subplots()
    colours = np.asarray(picture.fitted(picture.width, picture.height))
    axes.imshow(colours, interpolation="none")
    entries = np.frombuffer(palette("light"), np.uint8).reshape(256, 3)[:, :] / 255
    ramp = ListedColormap(entries[HALF : 2 * HALF] if picture.signed else entries[:HALF])
    peak = peak or 1.0
    norm = FuncNorm((_rooted, _squared), vmin=-peak if picture.signed else 0.0, vmax=peak)
    figure.colorbar(ScalarMappable(norm, ramp), ax=axes, label=f"{unit} (square-root scale)", shrink=0.8)
    _titled(axes, story, title)
    return figure


def _rooted(value: Any) -> Any:
    return np.sign(value) * np.sqrt(np.abs(value))


def _squared(value: Any) -> Any:
    return np.sign(value) * np.square(value)


_FIGURES: dict[str, Callable[[Story], Figure]] = {"basis": _basis, "coefficients": _coefficients}
