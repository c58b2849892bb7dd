"""A figure of a study that was run, as a PNG for the pages.

    python -m docs.generate.study_figures NAME VIEW FILE.png

draws the view of that number (from 0) of the built-in study NAME at full size, from the results so far.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from semf_core.exports.curves import series_colour
from semf_core.studies.catalogue import builtin_sized
from semf_core.studies.store import StudyStore
from semf_core.studies.views import Drawing, Grid

SIZE = (7.2, 3.4)
GROUP = 0.8
"""What the bars of one setting take of the place between it and the next."""


def draw(name: str, number: int) -> Figure:
    """The view of that number, with the runs that are there."""
    study = builtin_sized(name, "full")
    drawing = study.views[number].draw(StudyStore.place(study).table(study))
    figure = Figure(figsize=SIZE, dpi=110, layout="constrained")
    axes = figure.add_subplot()
    if drawing.grid is not None:
        _heat_map(figure, axes, drawing, drawing.grid)
    elif drawing.view.name in ("rates", "needed"):
        _bars(axes, drawing)
    else:
        _curves(axes, drawing)
    return figure


def _heat_map(figure: Figure, axes: Any, drawing: Drawing, grid: Grid) -> None:
    image = axes.imshow(grid.middle, origin="lower", aspect="auto", cmap="cividis")
    axes.set_xticks(range(len(grid.x)), grid.x)
    axes.set_yticks(range(len(grid.y)), grid.y)
    axes.set(xlabel=drawing.x_title, ylabel=drawing.y_title)
    figure.colorbar(image, label=drawing.title)


def _bars(axes: Any, drawing: Drawing) -> None:
    width = GROUP / len(drawing.series)
    for i, series in enumerate(drawing.series):
        places = np.arange(len(series.x)) + (i - (len(drawing.series) - 1) / 2) * width
        heights = np.asarray(series.middle, float)
        spread = np.abs(np.stack((heights - series.low, series.high - heights)))
        axes.bar(
            places, heights, width, color=series_colour(i), label=series.label, yerr=np.nan_to_num(spread), error_kw={"lw": 0.7}
        )
    axes.set_xticks(range(len(drawing.series[0].x)), drawing.series[0].x)
    _named(axes, drawing)


def _curves(axes: Any, drawing: Drawing) -> None:
    for i, series in enumerate(drawing.series):
        places, colour = np.arange(len(series.x)), series_colour(i)
        axes.plot(places, series.middle, "o-", ms=3, lw=1.2, color=colour, label=series.label)
        axes.fill_between(places, series.low, series.high, color=colour, alpha=0.15, lw=0)
    axes.set_xticks(range(len(drawing.series[0].x)), drawing.series[0].x)
    _named(axes, drawing)


def _named(axes: Any, drawing: Drawing) -> None:
    axes.set(xlabel=drawing.x_title, ylabel=drawing.y_title)
    axes.legend(fontsize=8, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)


def main(argv: Sequence[str]) -> None:
    name, number, target = argv
    mpl.rcParams["font.size"] = 9
    draw(name, int(number)).savefig(Path(target), pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main(sys.argv[1:])
