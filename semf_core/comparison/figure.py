"""The comparison as a figure to keep: overlaid residuals and aligned components, as PNG, SVG or an interactive HTML file."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
import numpy as np
import plotly.graph_objects as go
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from semf_core.comparison.scores import Curve
from semf_core.drawing.pictures import Picture
from semf_core.exports.curves import BOUND, COMPARED, ERROR, LOWEST, MATCHED, SERIES_COLOURS, SOFT, series_colour
from semf_core.exports.document import plotly_script
from semf_core.exports.figures import DPI, MATPLOTLIB, STYLE

DASHES = ("solid", "dash", "dot")
MATPLOTLIB_DASHES = {"solid": "-", "dash": "--", "dot": ":"}
ACROSS = 4
WIDE_TITLE, WIDE_LABEL, WIDE_CAPTION, CAPTION_LINES = 26, 30, 46, 6
"""Letters that fit over a montage, beside the curves and below a montage."""


@dataclass(frozen=True, eq=False)
class Montage:
    """Components of one factorization as a picture."""

    title: str
    picture: Picture
    columns: tuple[int, ...]
    """Which column of U stands at which place; −1 where none does."""
    found: tuple[int, ...] = ()
    """Places of those that are a component of the reference: they are framed."""
    mixed: tuple[int, ...] = ()
    """Those of them in which something else can be seen besides: their frames are dashed."""
    names: tuple[str, ...] = ()
    """What somebody has called the component at each place; empty where nobody has."""
    words: Sequence[Sequence[tuple[str, float]]] | None = None
    """The strongest rows of the component at each place, where rows are words."""

    def caption(self) -> str:
        """The named components with their places, and where rows are words the strongest of each."""
        lists = self.words or [()] * len(self.names)
        said = [
            f"{place + 1}{' ' + name if name else ''}{': ' + ', '.join(word for word, _ in top) if top else ''}"
            for place, (name, top) in enumerate(zip(self.names, lists, strict=True))
            if name or top
        ]
        return "; ".join(said)


@dataclass(frozen=True)
class Shown:
    """Everything that a figure holds."""

    curves: Sequence[Curve]
    montages: Sequence[Montage]
    axis: str = "iterations"
    lower_bound: tuple[float, int] | None = None
    """The Eckart–Young bound on ‖M−UV‖/‖M‖ and its rank, where there is one above zero."""


def style_of(index: int) -> tuple[str, str]:
    """Colour and dash of the curve at a place in the list.

    Parameters
    ----------
    index : int
        The place, from 0.

    Returns
    -------
    colour, dash : str
        The colour as #rrggbb; "solid", "dash" or "dot".

    Examples
    --------
    >>> from semf_core.comparison import style_of
    >>> style_of(0), style_of(12)
    (('#0072B2', 'solid'), ('#0072B2', 'dash'))
    """
    return series_colour(index), DASHES[index // len(SERIES_COLOURS) % len(DASHES)]


def figure_image(shown: Shown, form: str) -> bytes:
    r"""Curves above, components below, as a picture.

    Parameters
    ----------
    shown : Shown
        The curves and components.
    form : {'png', 'svg'}
        What kind of file.

    Returns
    -------
    bytes
        The file.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.comparison import Curve, Shown, figure_image
    >>> curve = Curve("SeMF", np.arange(1, 4), np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.1, 0.01]))
    >>> figure_image(Shown([curve], []), "png")[:4]
    b'\x89PNG'
    """
    rows = -(-len(shown.montages) // ACROSS)
    with MATPLOTLIB, matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.6 + 2.1 * rows), layout="constrained")
        grid = figure.add_gridspec(1 + rows, ACROSS, height_ratios=[4.6, *[2.1] * rows])
        _curves(figure.add_subplot(grid[0, :]), shown)
        for place, montage in enumerate(shown.montages):
            _montage(figure.add_subplot(grid[1 + place // ACROSS, place % ACROSS]), montage)
        file = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        figure.savefig(file, format=form, dpi=DPI, metadata=metadata)
    return file.getvalue()


def _montage(axes: Any, montage: Montage) -> None:
    axes.imshow(montage.picture.fitted(600, 600), interpolation="none")
    axes.set_title(_lines(montage.title, WIDE_TITLE), parse_math=False, fontsize=8)
    axes.axis("off")
    if caption := montage.caption():
        text = _lines(caption, WIDE_CAPTION, CAPTION_LINES)
        axes.text(0.5, -0.02, text, transform=axes.transAxes, ha="center", va="top", fontsize=6, parse_math=False)
    for place, *box in montage.picture.tiles:
        if place in montage.found:
            left, top, width, height = (v / 100 for v in box)
            corner, where = (left, 1 - top - height), axes.transAxes
            line = "--" if place in montage.mixed else "-"
            axes.add_patch(
                Rectangle(corner, width, height, transform=where, fill=False, edgecolor=MATCHED, linewidth=1.2, linestyle=line)
            )


def _lines(title: str, width: int, most: int = 2) -> str:
    """A title that does not reach into what stands beside it: so many lines, what is longer ends with …"""
    return "\n".join(textwrap.wrap(title, width, max_lines=most, placeholder=" …"))


def _curves(axes: Any, shown: Shown) -> None:
    for index, curve in enumerate(shown.curves):
        colour, dash = style_of(index)
        label = _lines(curve.title, WIDE_LABEL).replace("$", r"\$")
        x, y = getattr(curve, shown.axis), np.maximum(curve.error, LOWEST)
        axes.plot(x, y, MATPLOTLIB_DASHES[dash], color=colour, linewidth=1.6, label=label)
    if shown.lower_bound:
        value, rank = shown.lower_bound
        axes.axhline(value, color=SOFT, linestyle="--", linewidth=1, label=BOUND.format(rank=rank))
    axes.set_yscale("log")
    axes.set_xscale("log")
    axes.set_xlabel(COMPARED[shown.axis])
    axes.set_ylabel(ERROR)
    axes.set_title(_headline(shown), loc="left", fontsize=11)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _headline(shown: Shown) -> str:
    """What the chart shows; a logarithmic axis has no zero, so what is drawn elsewhere is said."""
    clamped = any((curve.error < LOWEST).any() for curve in shown.curves)
    return "Residual of the feasible factors" + (f" (below {LOWEST:.0e} drawn at {LOWEST:.0e})" if clamped else "")


def figure_html(shown: Shown) -> str:
    """One HTML file with interactive curves and the components, which needs no network.

    Parameters
    ----------
    shown : Shown
        The curves and components.

    Returns
    -------
    str
        The file.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.comparison import Curve, Shown, figure_html
    >>> curve = Curve("SeMF", np.arange(1, 4), np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.1, 0.01]))
    >>> figure_html(Shown([curve], [])).startswith("<!doctype html>")
    True
    """
    figure = go.Figure()
    for index, curve in enumerate(shown.curves):
        colour, dash = style_of(index)
        x, label = getattr(curve, shown.axis), escape(curve.title)
        hover = f"%{{x}}: %{{y:.4g}}<extra>{label}</extra>"
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_scatter(x=x, y=np.maximum(curve.error, LOWEST), mode="lines", name=label, line=line, hovertemplate=hover)
    if shown.lower_bound:
        figure.add_hline(shown.lower_bound[0], line_dash="dash", annotation_text=BOUND.format(rank=shown.lower_bound[1]))
    figure.update_layout(
        title=_headline(shown), template="plotly_white", height=520, hovermode="closest",
        xaxis={"title": COMPARED[shown.axis], "type": "log"}, yaxis={"title": ERROR, "type": "log", "exponentformat": "power"},
    )  # fmt: skip
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, config={"displaylogo": False})
    chart = f"<script>{plotly_script()}</script>{drawn}"
    tiles = "".join(map(_tile_html, shown.montages))
    return _HTML.replace("{matched}", MATCHED).replace("{chart}", chart).replace("{tiles}", tiles)


def _tile_html(montage: Montage) -> str:
    title = escape(montage.title)
    frames = "".join(
        f"<i{' class=mixed' if place in montage.mixed else ''}"
        f' style="left:{left:.3f}%;top:{top:.3f}%;width:{width:.3f}%;height:{height:.3f}%"></i>'
        for place, left, top, width, height in montage.picture.tiles
        if place in montage.found
    )
    image = f'<img src="{montage.picture.url}" alt="{title}: basis images">'
    named = f"<p>{escape(montage.caption())}</p>" if montage.caption() else ""
    return f"<figure><div>{image}{frames}</div><figcaption>{title}</figcaption>{named}</figure>"


_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Comparison · SeMF Studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font-family: system-ui, sans-serif; margin: 1.5rem auto; max-width: 1200px; padding: 0 1rem; color: #1b1f24; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 1rem; }
figure { margin: 0; } img { width: 100%; image-rendering: pixelated; } figcaption { font-weight: 600; }
figure p { margin: .2rem 0; font-size: .85rem; overflow-wrap: anywhere; }
figure div { position: relative; } figure i { position: absolute; box-sizing: border-box; outline: 2px solid {matched}; }
figure i.mixed { outline-style: dashed; }
</style></head><body>
<h1>Comparison</h1>{chart}
<h2>Components, aligned by best match; framed where they are one of the reference, dashed: with something else beside it</h2>
<div class="tiles">{tiles}</div>
</body></html>
"""
