"""Figures of studies: rates, curves with bands, heat maps, with the paper's figures beside the measured ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from semf_core.studies import Claim
from semf_core.studies.views import Drawing, Grid, Series

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#8C6D31")
"""Okabe and Ito's colours, which differ for colour-blind readers too."""
MARGIN = {"l": 10, "r": 10, "t": 30, "b": 10}
MANY_LABELS = 12
LOG_SPAN = 50.0
"""Positive numbers that span more than this ratio get a logarithmic axis."""


def figure_of(drawing: Drawing, claim: Claim) -> go.Figure:
    """The drawing of a view."""
    if drawing.grid is not None:
        return heat_map(drawing.grid, drawing)
    figure = go.Figure()
    bars = drawing.view.name in ("rates", "table", "needed") and not _many(drawing)
    draw = _bar if bars else _points if drawing.view.name == "table" else _line
    for number, series in enumerate(drawing.series):
        draw(figure, series, COLOURS[number % len(COLOURS)])
    _claimed(figure, drawing, claim, bars)
    _axes(figure, drawing, bars)
    return figure


def _many(drawing: Drawing) -> bool:
    return any(len(s.x) > MANY_LABELS for s in drawing.series)


def _bar(figure: go.Figure, series: Series, colour: str) -> None:
    error = {"array": series.high - series.middle, "arrayminus": series.middle - series.low, "thickness": 1.2}
    text = [f"{int(c)} runs" for c in series.counts]
    bar = go.Bar(x=list(series.x), y=series.middle, name=series.label, marker_color=colour, error_y=error, customdata=text)
    bar.hovertemplate = "%{x}: %{y:.4g}<br>%{customdata}<extra>" + series.label + "</extra>"
    figure.add_trace(bar)


def _points(figure: go.Figure, series: Series, colour: str) -> None:
    """Settings that do not follow on one another, like seeds."""
    _line(figure, series, colour, mode="markers")


def _line(figure: go.Figure, series: Series, colour: str, mode: str = "lines+markers") -> None:
    x: list[Any] = list(series.numbers or series.x)
    known = ~np.isnan(series.middle)
    band = {"fill": "toself", "mode": "none", "hoverinfo": "skip", "showlegend": False, "opacity": 0.18, "fillcolor": colour}
    places = [v for v, k in zip(x, known, strict=True) if k]
    if known.sum() > 1 and not np.array_equal(series.low, series.high):
        outline = np.concatenate((series.low[known], series.high[known][::-1]))
        figure.add_trace(go.Scatter(x=places + places[::-1], y=outline, name=series.label, **band))
    text = [f"{int(c)} runs" for c in series.counts[known]]
    shown = {"mode": mode, "name": series.label, "line_color": colour}
    line = go.Scatter(x=places, y=series.middle[known], customdata=text, **shown)
    line.hovertemplate = "%{x}: %{y:.4g}<br>%{customdata}<extra>" + series.label + "</extra>"
    figure.add_trace(line)


def _claimed(figure: go.Figure, drawing: Drawing, claim: Claim, bars: bool) -> None:
    """What the paper reports, as open diamonds."""
    view, x, y, names = drawing.view, [], [], []
    for value in claim.values:
        if value["measure"] != view.measure:
            continue
        series = [s for s in drawing.series if all(str(value.get(a, s.label)) in s.label for a in view.split())]
        for s in series[:1]:
            at = range(len(s.x)) if view.x not in value else [i for i, label in enumerate(s.x) if label == value[view.x]]
            for i in at:
                x.append(s.x[i] if bars or s.numbers is None else s.numbers[i])
                y.append(value["value"])
                names.append(s.label)
    if x:
        marker = {"symbol": "diamond", "size": 12, "color": "white", "line": {"width": 2, "color": "black"}}
        diamonds = go.Scatter(x=x, y=y, mode="markers", name="reported in the paper", marker=marker, customdata=names)
        diamonds.hovertemplate = "paper: %{y:.4g}<br>%{customdata}<extra></extra>"
        figure.add_trace(diamonds)


def _axes(figure: go.Figure, drawing: Drawing, bars: bool) -> None:
    values = np.concatenate([s.middle for s in drawing.series]) if drawing.series else np.empty(0)
    known = values[~np.isnan(values)]
    if drawing.rate:
        figure.update_yaxes(range=[0, 1.05], tickformat=".0%")
    elif drawing.log and len(known) and known.min() > 0 and known.max() / known.min() > LOG_SPAN and not bars:
        figure.update_yaxes(type="log", exponentformat="power")
    numbers = next((s.numbers for s in drawing.series if s.numbers), None)
    if not bars and numbers and min(numbers) > 0 and max(numbers) / min(numbers) > LOG_SPAN:
        figure.update_xaxes(type="log", exponentformat="power")
    figure.update_yaxes(title=drawing.y_title)
    figure.update_xaxes(title=drawing.x_title)
    legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}
    figure.update_layout(height=420, margin=MARGIN, legend=legend, barmode="group", showlegend=len(figure.data) > 1)


def heat_map(grid: Grid, drawing: Drawing) -> go.Figure:
    """Colours with invisible markers above them: clicks are reported for markers, not for colours.

    The marker nearest to the pointer counts, however far it is, and that is the one of the field below the pointer.
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
    """One in the middle of each field, with the number of its cell."""
    places = [(i, j) for j in range(len(grid.y)) for i in range(len(grid.x)) if grid.cells[j, i] >= 0]
    names = [f"{drawing.x_title} = {grid.x[i]}, {drawing.y_title} = {grid.y[j]}" for i, j in places]
    values = [f"{grid.middle[j, i]:.4g} ({grid.counts[j, i]} runs)" for i, j in places]
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
    """A sign on the field of a heat map in this column and row."""
    marker = {"symbol": symbol, "size": 16, "color": "white", "line": {"width": 2, "color": "black"}}
    figure.add_trace(go.Scatter(x=[place[0]], y=[place[1]], mode="markers", marker=marker, name=word, hoverinfo="name"))
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0})


def stability_bars(stability: np.ndarray) -> go.Figure:
    """How surely each component comes back."""
    figure = go.Figure(go.Bar(x=list(range(1, len(stability) + 1)), y=stability, marker_color=COLOURS[0]))
    figure.update_yaxes(title="mean |cosine| with other runs", range=[0, 1.02])
    figure.update_xaxes(title="component of the best run", dtick=1 if len(stability) <= 30 else None)
    figure.update_layout(height=260, margin=MARGIN)
    return figure


def in_words(drawing: Drawing) -> str:
    """The figure for those who cannot see it."""
    rows = [row for row in drawing.rows() if row["runs"]]
    if not rows:
        return f"{drawing.title}: nothing is known yet"
    value = drawing.title if drawing.grid is not None else drawing.y_title
    known = [row[value] for row in rows if row[value] is not None]
    if not known:
        return f"{drawing.title}: nothing is known yet"
    return f"{drawing.title} over {drawing.x_title}: from {min(known):.4g} to {max(known):.4g} in {len(known)} places"
