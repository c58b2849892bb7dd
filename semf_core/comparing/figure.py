"""The comparison as a figure to keep: overlaid residuals and aligned components, as PNG, SVG or an interactive HTML file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
import plotly.graph_objects as go
from matplotlib.figure import Figure

from semf_core.comparing.scores import Curve
from semf_core.exports.figures import DPI, MATPLOTLIB, STYLE
from semf_core.pictures import Picture

PALETTE = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F6000", "#6A3D9A",
    "#444444", "#B2182B", "#1B7837", "#8C510A",
)  # fmt: skip
"""Okabe and Ito's colours, then others of unlike lightness; after the last the dashes change."""
DASHES = ("solid", "dash", "dot")
MATPLOTLIB_DASHES = {"solid": "-", "dash": "--", "dot": ":"}
AXES = {"iterations": "iteration", "seconds": "time (s)"}
ERROR = "‖M−UV‖ / ‖M‖"
ACROSS = 4


@dataclass(frozen=True)
class Shown:
    """Everything that a figure holds."""

    curves: Sequence[Curve]
    montages: Sequence[tuple[str, Picture]]
    axis: str = "iterations"
    floor: float | None = None
    """The Eckart–Young bound on ‖M−UV‖/‖M‖, where there is one above zero."""


def style_of(index: int) -> tuple[str, str]:
    """Colour and dash of the curve at a place in the list."""
    return PALETTE[index % len(PALETTE)], DASHES[index // len(PALETTE) % len(DASHES)]


def figure_image(shown: Shown, form: str) -> bytes:
    """Curves above, montages below, as "png" or "svg"."""
    rows = -(-len(shown.montages) // ACROSS)
    with MATPLOTLIB, matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(10, 4.6 + 2.7 * rows), layout="constrained")
        grid = figure.add_gridspec(1 + rows, ACROSS, height_ratios=[4.6, *[2.7] * rows])
        _curves(figure.add_subplot(grid[0, :]), shown)
        for place, (title, picture) in enumerate(shown.montages):
            axes = figure.add_subplot(grid[1 + place // ACROSS, place % ACROSS])
            axes.imshow(picture.fitted(600, 600), interpolation="none")
            axes.set_title(title, parse_math=False, fontsize=9)
            axes.axis("off")
        file = io.BytesIO()
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        figure.savefig(file, format=form, dpi=DPI, metadata=metadata)
    return file.getvalue()


def _curves(axes: Any, shown: Shown) -> None:
    for index, curve in enumerate(shown.curves):
        colour, dash = style_of(index)
        label = curve.title.replace("$", r"\$")
        axes.plot(getattr(curve, shown.axis), curve.error, MATPLOTLIB_DASHES[dash], color=colour, linewidth=1.6, label=label)
    if shown.floor:
        axes.axhline(shown.floor, color="#555555", linestyle="--", linewidth=1, label="best possible at this rank (Eckart–Young)")
    if any((curve.error > 0).any() for curve in shown.curves):
        axes.set_yscale("log")
    axes.set_xscale("log")
    axes.set_xlabel(AXES[shown.axis])
    axes.set_ylabel(ERROR)
    axes.set_title("Residual of the feasible factors", loc="left", fontsize=11)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def figure_html(shown: Shown) -> str:
    """One HTML file with interactive curves and the montages, which needs no network."""
    figure = go.Figure()
    for index, curve in enumerate(shown.curves):
        colour, dash = style_of(index)
        x, label = getattr(curve, shown.axis), escape(curve.title)
        hover = f"%{{x}}: %{{y:.4g}}<extra>{label}</extra>"
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_scatter(x=x, y=curve.error, mode="lines", name=label, line=line, hovertemplate=hover)
    if shown.floor:
        figure.add_hline(shown.floor, line_dash="dash", annotation_text="best possible at this rank (Eckart–Young)")
    figure.update_layout(
        title="Residual of the feasible factors", template="plotly_white", height=520, hovermode="closest",
        xaxis={"title": AXES[shown.axis], "type": "log"}, yaxis={"title": ERROR, "type": "log", "exponentformat": "power"},
    )  # fmt: skip
    chart = figure.to_html(full_html=False, include_plotlyjs="inline", config={"displaylogo": False})
    tiles = "".join(
        f'<figure><img src="{picture.url}" alt="{escape(title)}: basis images"><figcaption>{escape(title)}</figcaption></figure>'
        for title, picture in shown.montages
    )
    return _HTML.replace("{chart}", chart).replace("{tiles}", tiles)


_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Comparison · SeMF Studio</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font-family: system-ui, sans-serif; margin: 1.5rem auto; max-width: 1200px; padding: 0 1rem; color: #1b1f24; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 1rem; }
figure { margin: 0; } img { width: 100%; image-rendering: pixelated; } figcaption { font-weight: 600; }
</style></head><body>
<h1>Comparison</h1>{chart}<h2>Components, aligned by best match</h2><div class="tiles">{tiles}</div>
</body></html>
"""
