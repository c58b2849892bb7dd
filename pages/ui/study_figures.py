"""Figures of studies: rates, curves with bands, heat maps, with the paper's figures beside the measured ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pages.ui.charts import logarithmic
from semf_core.exports.curves import COLOURS, series_colour
from semf_core.studies import Claim
from semf_core.studies.views import Drawing, Grid, Series

MARGIN = {"l": 10, "r": 10, "t": 30, "b": 10}
LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
PAPER = "reported in the paper"
MOST_REPORTED = 1000
"""Diamonds in a figure."""
LAST = 1001
"""In a legend: traces have 1000 where nothing is said."""
GROUP = 0.8
"""What the bars of one setting take of the place between it and the next."""
MODES = {"table": "markers", "histories": "lines"}
"""Settings of a table need not follow on one another, like seeds; the points of a history are too many to mark."""
MANY_LABELS = 12
LOG_SPAN = 50.0
"""Positive numbers that span more than this ratio get a logarithmic axis."""


def figure_of(drawing: Drawing, claim: Claim) -> go.Figure:
    """The drawing of a view."""
    if drawing.grid is not None:
        return heat_map(drawing.grid, drawing)
    figure = go.Figure()
    bars = drawing.view.name in ("rates", "table", "needed") and not _many(drawing)
    ordered = all(s.ordered for s in drawing.series)
    apart = bars or not (ordered or _many(drawing))
    mode = MODES.get(drawing.view.name, "lines+markers" if ordered else "markers")
    reported = _reported(drawing, claim)
    for number, series in enumerate(drawing.series):
        colour = series_colour(number)
        places = _side_by_side(drawing, number) if apart else _places(series)
        if bars:
            _bar(figure, series, colour, places, GROUP / len(drawing.series))
        elif apart:
            _dots(figure, series, colour, places)
        else:
            _line(figure, series, colour, places, mode)
        _claimed(figure, [(places[i], value, words) for i, value, words in reported[number]], colour)
    _axes(figure, drawing, bars, apart)
    return figure


def _many(drawing: Drawing) -> bool:
    return any(len(s.x) > MANY_LABELS for s in drawing.series)


def _side_by_side(drawing: Drawing, number: int) -> list[Any]:
    """The middles of the bars or dots of one series: those of a setting stand side by side around its number."""
    count = len(drawing.series)
    return [i + (number - (count - 1) / 2) * GROUP / count for i in range(len(drawing.series[number].x))]


def _places(series: Series) -> list[Any]:
    """Where the points of a line lie: numbers, but labels where these are shares and the numbers are the counts of them."""
    shares = all(label.endswith("%") for label in series.x)
    return list(series.x if shares or series.numbers is None else series.numbers)


def _told(series: Series, places: Iterable[int]) -> dict[str, Any]:
    """What is said of each point under the pointer. A series without a label has no entry in the legend."""
    cells = np.full(len(series.x), -1) if series.cells is None else series.cells
    said = [[int(cells[i]), series.x[i], f"{int(series.counts[i])} runs"] for i in places]
    words = "%{customdata[1]}: %{y:.4g}<br>%{customdata[2]}<extra>" + series.label + "</extra>"
    return {"customdata": said, "hovertemplate": words, "name": series.label, "showlegend": bool(series.label)}


def _bar(figure: go.Figure, series: Series, colour: str, places: list[Any], width: float) -> None:
    pale = {"color": colour, "opacity": 0.7}  # so that a diamond in the same colour is seen on it
    told = _told(series, range(len(series.x)))
    figure.add_trace(go.Bar(x=places, y=series.middle, width=width, marker=pale, error_y=_spread(series), **told))


def _dots(figure: go.Figure, series: Series, colour: str, places: list[Any]) -> None:
    """Settings that are names: no line joins them, as there is nothing between two of them."""
    told = _told(series, range(len(series.x)))
    marker = {"color": colour, "size": 9}
    figure.add_trace(go.Scatter(x=places, y=series.middle, mode="markers", marker=marker, error_y=_spread(series), **told))


def _spread(series: Series) -> dict[str, Any]:
    return {"array": series.high - series.middle, "arrayminus": series.middle - series.low, "thickness": 1.2}


def _line(figure: go.Figure, series: Series, colour: str, places: list[Any], mode: str) -> None:
    known = np.flatnonzero(~np.isnan(series.middle))
    band = {"fill": "toself", "mode": "none", "hoverinfo": "skip", "showlegend": False, "opacity": 0.18, "fillcolor": colour}
    x = [places[i] for i in known]
    if len(known) > 1 and not np.array_equal(series.low, series.high):
        outline = np.concatenate((series.low[known], series.high[known][::-1]))
        figure.add_trace(go.Scatter(x=x + x[::-1], y=outline, name=series.label, **band))
    figure.add_trace(go.Scatter(x=x, y=series.middle[known], mode=mode, line_color=colour, **_told(series, known)))


def _reported(drawing: Drawing, claim: Claim) -> list[list[tuple[int, float, str]]]:
    """What the paper reports of each series: position, value and whose it is."""
    view = drawing.view
    found: list[list[tuple[int, float, str]]] = [[] for _ in drawing.series]
    for value in claim.values:
        if value["measure"] != view.measure:
            continue
        named = (n for n, s in enumerate(drawing.series) if all(str(value.get(a, s.label)) in s.label for a in view.split()))
        if (number := next(named, None)) is not None:
            labels, whose = drawing.series[number].x, drawing.series[number].label
            at = [i for i, label in enumerate(labels) if value.get(view.x, label) == label]
            words = ((i, value["value"], ", ".join(filter(None, (whose, labels[i])))) for i in at)
            found[number] += islice(words, MOST_REPORTED - sum(map(len, found)))
    return found


def _claimed(figure: go.Figure, reported: list[tuple[Any, float, str]], colour: str) -> None:
    """Figures of the paper as open diamonds in the colour of their series; one entry of the legend stands for all."""
    if not reported:
        return
    x, y, names = zip(*reported, strict=True)
    told = [[-1, name] for name in names]  # no run stands behind it
    shown = {"mode": "markers", "name": PAPER, "legendgroup": PAPER}  # a click on the legend hides all of them
    marker = {"symbol": "diamond", "size": 12, "color": "white", "line": {"width": 2.5, "color": colour}}
    words = "paper: %{y:.4g}<br>%{customdata[1]}<extra></extra>"
    if not any(trace.name == PAPER for trace in figure.data):
        neutral = marker | {"line": {"width": 2.5, "color": COLOURS["light"]["grey"]}}
        figure.add_trace(go.Scatter(x=[None], y=[None], marker=neutral, legendrank=LAST, **shown))
    figure.add_trace(go.Scatter(x=x, y=y, marker=marker, customdata=told, hovertemplate=words, showlegend=False, **shown))


def _axes(figure: go.Figure, drawing: Drawing, bars: bool, apart: bool) -> None:
    reported = [t.y for t in figure.data if t.name == PAPER and t.customdata is not None]
    values = np.concatenate([np.empty(0), *(s.middle for s in drawing.series), *reported])
    known = values[~np.isnan(values)]
    if drawing.rate:
        figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    elif drawing.log and len(known) and known.min() > 0 and known.max() / known.min() > LOG_SPAN and not bars:
        figure.update_yaxes(logarithmic(known.min(), known.max()))
    if drawing.series:
        figure.update_xaxes(**_x_axis(drawing.series[0], apart))
    figure.update_yaxes(title=drawing.y_title)
    figure.update_xaxes(title=drawing.x_title)
    entries = [trace.name for trace in figure.data if trace.showlegend is not False]
    shown = len(entries) > 1 or PAPER in entries
    figure.update_layout(height=420, margin=MARGIN, legend=LEGEND, barmode="overlay", showlegend=shown)


def _x_axis(series: Series, apart: bool) -> dict[str, Any]:
    """Labels are never left to be guessed at: "33 %" and "0.05" would be read as numbers."""
    if apart:
        places = list(range(len(series.x)))
        return {"tickvals": places, "ticktext": list(series.x), "range": [-0.5, len(places) - 0.5]}
    places = _places(series)
    if places == list(series.x):
        return {"type": "category", "categoryorder": "array", "categoryarray": places}
    wide = min(places) > 0 and max(places) / min(places) > LOG_SPAN
    return logarithmic(min(places), max(places)) if wide else {}


def heat_map(grid: Grid, drawing: Drawing) -> go.Figure:
    """Colours with invisible markers above them: clicks are reported for markers, not for colours.

    The marker nearest to the pointer counts, however far it is, and that is the one of the field below the pointer:
    so fields without a result have one too.
    """
    scale = {"zmin": 0.0, "zmax": 1.0} if drawing.rate else {}
    bar = {"title": drawing.title, "title_side": "right"}
    columns, rows = list(range(len(grid.x))), list(range(len(grid.y)))
    colours = go.Heatmap(z=grid.middle, x=columns, y=rows, hoverinfo="skip", colorscale="Viridis", colorbar=bar, **scale)
    figure = go.Figure([colours, _markers(grid, drawing)])
    figure.update_xaxes(title=drawing.x_title, tickvals=columns, ticktext=list(grid.x), range=[-0.5, len(columns) - 0.5])
    figure.update_yaxes(title=drawing.y_title, tickvals=rows, ticktext=list(grid.y), range=[-0.5, len(rows) - 0.5])
    figure.update_layout(height=460, margin=MARGIN, dragmode=False, hovermode="closest", hoverdistance=-1)
    return figure


def _markers(grid: Grid, drawing: Drawing) -> go.Scatter:
    """One in the middle of each field, with the number of its cell, or −1."""
    places = [(i, j) for j in range(len(grid.y)) for i in range(len(grid.x))]
    names = [f"{drawing.x_title} = {grid.x[i]}, {drawing.y_title} = {grid.y[j]}" for i, j in places]
    known = [f"{grid.middle[j, i]:.4g} ({grid.counts[j, i]} runs)" for i, j in places]
    values = [words if grid.cells[j, i] >= 0 else "no result yet" for words, (i, j) in zip(known, places, strict=True)]
    return go.Scatter(
        x=[i for i, _ in places],
        y=[j for _, j in places],
        mode="markers",
        marker={"symbol": "square", "size": 20, "opacity": 0},
        selected={"marker": {"opacity": 0}},
        unselected={"marker": {"opacity": 0}},
        customdata=[int(grid.cells[j, i]) for i, j in places],
        text=[f"{name}: {value}" for name, value in zip(names, values, strict=True)],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )


def marked(figure: go.Figure, place: tuple[int, int], word: str, symbol: str) -> None:
    """A sign on the field of a heat map in this column and row; what lies below it takes the pointer."""
    marker = {"symbol": symbol, "size": 16, "color": "white", "line": {"width": 2, "color": "black"}}
    figure.add_trace(go.Scatter(x=[place[0]], y=[place[1]], mode="markers", marker=marker, name=word, hoverinfo="skip"))
    figure.update_layout(showlegend=True, legend=LEGEND)


def stability_bars(stability: np.ndarray, names: Sequence[str]) -> go.Figure:
    """How surely each component comes back."""
    numbers = list(range(1, len(stability) + 1))
    figure = go.Figure(go.Bar(x=numbers, y=stability, marker_color=series_colour(0)))
    if any(names):
        labels = [f"{k} {name}".strip().replace("<", "‹") for k, name in zip(numbers, names, strict=True)]
        figure.update_xaxes(tickvals=numbers, ticktext=labels)
    figure.update_yaxes(title="mean |cosine| with other runs", range=[0, 1.02])
    figure.update_xaxes(title="component of the best run", dtick=1 if len(stability) <= 30 else None)
    figure.update_layout(height=260, margin=MARGIN)
    return figure


def description(drawing: Drawing) -> str:
    """The figure for those who cannot see it."""
    rows = [row for row in drawing.rows() if row["runs"]]
    if not rows:
        return f"{drawing.title}: nothing is known yet"
    value = drawing.title if drawing.grid is not None else drawing.y_title
    known = [row[value] for row in rows if row[value] is not None]
    if not known:
        return f"{drawing.title}: nothing is known yet"
    return f"{drawing.title} over {drawing.x_title}: from {min(known):.4g} to {max(known):.4g} in {len(known)} places"
