"""The components of a factorization as HTML: curves over their axis, pictures, or ranked lists, with their names.

One drawing for the report, the workbench and notebooks. Nothing here needs a script or an inline style.
"""

from __future__ import annotations

import base64
import html
import math
from collections.abc import Sequence

import numpy as np

from semf_core.datasets import Axes, Axis
from semf_core.datasets.axes import moment
from semf_core.drawing import pictures
from semf_core.drawing.top import plural, strongest

Array = np.ndarray
MOST = 30
"""Components that are drawn; the others are in the tables."""
LISTED = 8
POINTS = 360
WIDTH, HEIGHT = 360, 120
LEFT, RIGHT, TOP, BOTTOM = 6, 6, 6, 30
TICKS = 5
INK = {"light": "#57606a", "dark": "#b3bac2", "any": "#7d8590"}
"""Axes and their texts on a page of this theme, or of any."""
LINE = {"light": "#1f6fb2", "dark": "#56b4e9", "any": "#3b8fd0"}
STYLE = """
.semf-components { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fill, minmax(min(100%, 22rem), 1fr)); }
.semf-component { margin: 0; min-width: 0; padding-top: .5rem; border-top: 1px solid #8886; }
.semf-component h3 { margin: 0 0 .4rem; font-size: 1rem; font-weight: 600; overflow-wrap: anywhere; }
.semf-component h4 { margin: .4rem 0 .2rem; font-size: .8rem; font-weight: 400; opacity: .75; }
.semf-component img { image-rendering: pixelated; width: 100%; max-width: 14rem; display: block; height: auto; }
.semf-component img.semf-curve { image-rendering: auto; max-width: 40rem; }
.semf-component ol { margin: 0; padding-left: 1.6rem; font-size: .85rem; }
.semf-component li { overflow-wrap: anywhere; }
.semf-component li span { float: right; padding-left: .6rem; font-variant-numeric: tabular-nums; opacity: .75; }
"""


def has_view(axes: Axes) -> bool:
    """Whether names or axes say more of the components than a montage of U does."""
    return bool(axes.to_dict())


def components_html(
    U: Array, V: Array, axes: Axes, image_shape: tuple[int, int] | None, names: Sequence[str], theme: str = "any"
) -> str:
    """A block for each component: its column of U, and its row of V."""
    blocks = []
    for k, name in enumerate(names[:MOST]):
        column = _side(U[:, k], axes.rows, image_shape, f"{name}: column of U", "row", theme)
        row = _side(V[k], axes.columns, axes.map_shape, f"{name}: row of V", "sample", theme)
        blocks.append(f'<article class="semf-component"><h3>{html.escape(name)}</h3>{column}{row}</article>')
    more = f"<p>{len(names) - MOST} more components are in the tables.</p>" if len(names) > MOST else ""
    return f'<div class="semf-components">{"".join(blocks)}</div>{more}'


def _side(values: Array, axis: Axis, shape: tuple[int, int] | None, words: str, kind: str, theme: str) -> str:
    """A picture, a curve over the axis, a ranked list, or a curve over the numbers, whichever fits."""
    values = np.asarray(values, dtype=float)
    if shape is not None:
        drawn = pictures.basis(values[:, None], shape, theme="dark" if theme == "dark" else "light")
        return f'<img src="{drawn.url}" width="{drawn.width}" height="{drawn.height}" alt="{html.escape(words, quote=True)}">'
    if axis.ordered:
        return curve(values, axis, words, theme)
    if axis.names is not None and not axis.numbered:
        return ranked(values, axis, kind)
    return curve(values, Axis(f"number of the {kind}", values=np.arange(1, len(values) + 1)), words, theme)


def ranked(values: Array, axis: Axis, kind: str, most: int = LISTED) -> str:
    """The strongest entries with their scores."""
    found = strongest(values, most)
    lines = "".join(f"<li><span>{_score(values[i])}</span>{html.escape(axis.label(int(i), kind))}</li>" for i in found)
    return f"<h4>top {html.escape(plural(axis.title or kind))}</h4><ol>{lines}</ol>" if len(found) else "<h4>all zero</h4>"


def _score(value: float) -> str:
    """Three digits; thousands are written out, as intensities and counts are."""
    return f"{float(f'{value:.3g}'):,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


# -- curves ------------------------------------------------------------------------------------


def curve(values: Array, axis: Axis, words: str, theme: str = "any") -> str:
    """A line over the places of an axis, with its ticks and its heading; gaps where a value is missing.

    It is SVG inside an image: pages that take out foreign SVG leave images alone.
    """
    assert axis.values is not None
    order = np.argsort(axis.values)
    places, heights = axis.values[order], values[order]
    places, heights = _thinned(places, heights)
    low, high = float(np.nanmin(heights, initial=0.0)), float(np.nanmax(heights, initial=0.0))
    span, first, last = (high - low) or 1.0, float(places[0]), float(places[-1])
    x = LEFT + (places - first) / ((last - first) or 1.0) * (WIDTH - LEFT - RIGHT)
    base = HEIGHT - BOTTOM
    y = base - (heights - low) / span * (base - TOP)
    steps = [f"{'L' if k and np.isfinite(y[k - 1]) else 'M'}{x[k]:.1f} {y[k]:.1f}" for k in range(len(x)) if np.isfinite(y[k])]
    zero = base + low / span * (base - TOP)
    peak = int(np.nanargmax(np.abs(values))) if np.isfinite(values).any() else 0
    alt = f"{words}, from {low:.3g} to {high:.3g}, strongest at {axis.label(peak)} {axis.unit}".strip()
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'font-family="sans-serif" font-size="10" fill="{INK[theme]}">'
        f'<path d="M{LEFT} {zero:.1f}H{WIDTH - RIGHT}" stroke="{INK[theme]}" stroke-opacity=".5" fill="none"/>'
        f'<path d="{"".join(steps)}" stroke="{LINE[theme]}" stroke-width="1.6" stroke-linejoin="round" fill="none"/>'
        f'<g stroke="none">{_ticks(first, last, axis, base)}</g></svg>'
    )
    url = "data:image/svg+xml;base64," + base64.b64encode(drawn.encode()).decode()
    return f'<img class="semf-curve" src="{url}" width="{WIDTH}" height="{HEIGHT}" alt="{html.escape(alt, quote=True)}">'


def _thinned(places: Array, heights: Array) -> tuple[Array, Array]:
    """At most twice POINTS points: lowest and highest of every stretch, so that no peak is lost."""
    if len(places) <= 2 * POINTS:
        return places, heights
    kept = []
    for part in np.array_split(np.arange(len(places)), POINTS):
        there = part[np.isfinite(heights[part])]
        ends = (there[heights[there].argmin()], there[heights[there].argmax()]) if len(there) else part[:1]
        kept += sorted({int(i) for i in ends})
    return places[kept], heights[kept]


def _ticks(first: float, last: float, axis: Axis, base: float) -> str:
    marks = []
    for place in _nice(first, last) if not axis.calendar else np.linspace(first, last, 3):
        x = LEFT + (place - first) / ((last - first) or 1.0) * (WIDTH - LEFT - RIGHT)
        anchor = "start" if x < 0.1 * WIDTH else "end" if x > 0.9 * WIDTH else "middle"
        text = moment(round(place)) if axis.calendar else f"{place:.6g}"
        marks.append(
            f'<rect x="{x - 0.5:.1f}" y="{base}" width="1" height="3"/>'
            f'<text x="{x:.1f}" y="{base + 13}" text-anchor="{anchor}">{html.escape(text)}</text>'
        )
    heading = html.escape(axis.heading)
    middle = f'<text x="{WIDTH / 2}" y="{HEIGHT - 4}" text-anchor="middle">{heading}</text>'
    return "".join(marks) + (middle if heading else "")


def _nice(first: float, last: float) -> Array:
    """A few round numbers between two places."""
    step = (last - first) / TICKS
    if not step > 0 or not math.isfinite(step):
        return np.array([first])
    size = 10.0 ** math.floor(math.log10(step))
    step = next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= step)
    return np.arange(math.ceil(first / step), math.floor(last / step) + 1) * step
