"""Pictures of data and constraints for the pages that build a model, each with its text alternative."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.ui import images
from pages.ui.charts import chart, logarithmic
from semf_core.common.notation import FIRST
from semf_core.datasets import Dataset, DatasetSource
from semf_core.datasets.summary import Spectrum
from semf_core.drawing.overview import shown_bands, shown_part, shown_samples, way_of
from semf_core.drawing.preview import preview_projection
from semf_core.service import get_service
from semf_core.service.public import Cache
from semf_core.sets import StructureSet

Array = np.ndarray
TALLEST = 480
"""Pixels that a picture may be high."""
FLATTEST = 96
"""Pixels that a table is high at least, so that the cells of a few rows can be told apart."""
CELLS = 256
"""Partitions of longer vectors are drawn as one bar for each group."""
COLOURS = ("#a6cee3", "#fdbf6f", "#b2df8a", "#fb9a99", "#cab2d6", "#ffff99", "#80cdc1", "#d9d9d9")
"""Light enough for black figures, in both themes."""


def theme() -> str:
    """light or dark, as the visitor sees the page."""
    return getattr(st.context.theme, "type", None) or "light"


def some(values: Sequence[int], most: int = 12) -> str:
    """A few values of a list: 1, 2, 3, … 17."""
    if len(values) <= most:
        return ", ".join(map(str, values))
    return ", ".join(map(str, values[: most - 2])) + f", … {values[-1]}"


def describe_matrix(value: Array | None) -> str:
    if value is None:
        return "none"
    m, n = value.shape
    if value.dtype == bool:
        return f"{m} × {n}, {int(value.sum()):,} of {value.size:,} entries set"
    return f"{m} × {n}, from {value.min():.4g} to {value.max():.4g}"


# -- partitions --------------------------------------------------------------------------------


def partition(groups: Sequence[Sequence[int]], length: int | None) -> str:
    """HTML: a coloured cell for every entry, in the colour of its group."""
    total = max(length or 0, 1 + max((max(g) for g in groups), default=-1))
    free = total - sum(len(g) for g in groups)
    words = f"{len(groups)} groups of {_sizes(groups)} entries" + (f"; {free} in no group" if free else "")
    box = "display:flex;flex-wrap:wrap;gap:2px;font:11px/20px sans-serif;text-align:center;color:#111"
    if total <= CELLS:
        group_of = {i: t for t, group in enumerate(groups) for i in group}
        cells = "".join(_cell(str(i + FIRST), group_of.get(i), 26) for i in range(total))
    else:
        cells = "".join(_cell(str(len(g)), t, max(26, round(600 * len(g) / total))) for t, g in enumerate(groups[:CELLS]))
    label = html.escape(f"Partition: {words}", quote=True)
    return f'<div role="img" aria-label="{label}" style="{box}">{cells}</div><div style="font-size:.8rem">{words}</div>'


def _cell(text: str, group: int | None, width: int) -> str:
    colour = "transparent;color:inherit;outline:1px dashed #888" if group is None else COLOURS[group % len(COLOURS)]
    return f'<span style="width:{width}px;height:20px;border-radius:3px;background:{colour}">{text}</span>'


def _sizes(groups: Sequence[Sequence[int]]) -> str:
    sizes = [len(g) for g in groups]
    return str(sizes[0]) if len(set(sizes)) == 1 else some(sizes)


# -- pictures ----------------------------------------------------------------------------------


def picture(shown: images.Picture, alt: str, caption: str = "", width: int | None = None) -> None:
    """A small picture, enlarged by whole pixels."""
    largest = width or min(900, shown.width * max(1, 360 // max(shown.width, shown.height) + 1))
    ratio = shown.width / shown.height
    style = f"--ratio:{ratio:.4g};width:100%;image-rendering:pixelated;display:block"
    if shown.tiles:  # pictures keep their proportions
        largest = min(largest, int(TALLEST * ratio))
    elif largest > TALLEST * ratio:  # a tall table keeps its place on the page
        style += f";height:{TALLEST}px"
    elif largest < FLATTEST * ratio:
        style += f";height:{FLATTEST}px"
    style += f";max-width:{largest}px"
    note = f'<div style="font-size:.8rem">{html.escape(caption)}</div>' if caption else ""
    kind = "" if shown.tiles else ' class="semf-table"'
    st.html(f'<img{kind} src="{shown.url}" alt="{html.escape(alt, quote=True)}" style="{style}">{note}')


def show_data(source: DatasetSource, data: Dataset, shape: tuple[int, int] | None) -> None:
    """Samples as pictures or curves, bands as pictures, otherwise the matrix as a heat map, with words that say which."""
    gaps = "; missing entries are hatched" if data.missing else ""
    words, scale = _drawn_words(data, shape)
    drawn = get_service().datasets.draw(source, shape, theme())
    pictures = way_of(shape, data.axes) in ("pictures", "bands")  # which are not to be stretched
    width = min(900, round(TALLEST * drawn.width / drawn.height)) if pictures else 900
    picture(drawn, words, f"{words}{scale}{gaps}.", width=width)


def _drawn_words(data: Dataset, shape: tuple[int, int] | None) -> tuple[str, str]:
    """What the picture of the data shows, and how to read it."""
    (m, n), axes, own = data.shape, data.axes, ", each scaled to its own maximum"
    way = way_of(shape, axes)
    if way == "pictures" and shape is not None:
        return f"{len(shown_samples(n))} of {n} samples as pictures of {shape[0]} × {shape[1]} pixels", own
    if way == "bands" and axes.map_shape is not None:
        chosen = shown_bands(m)
        ends = f" ({axes.rows.label_with_unit(chosen[0])} to {axes.rows.label_with_unit(chosen[-1])})" if len(axes.rows) else ""
        return f"{len(chosen)} of {m} bands{ends} as pictures of {axes.map_shape[0]} × {axes.map_shape[1]} pixels", own
    if way == "curves":
        return f"{len(shown_samples(n))} of {n} samples as curves over {axes.rows.heading or 'the axis of the rows'}", own
    rows, columns = (len(part) for part in shown_part(data.shape))
    thinned = f" ({rows} rows and {columns} columns of it)" if rows * columns < m * n else ""
    if way == "spectrogram":
        up, right = (axis.heading or word for axis, word in ((axes.rows, "the rows' axis"), (axes.columns, "the samples' axis")))
        return f"The {m} × {n} matrix as a heat map{thinned}", f": {up} goes up, {right} goes to the right"
    return f"The {m} × {n} matrix as a heat map{thinned}", "; one column is one sample"


def data_thumbnail(source: DatasetSource, shape: tuple[int, int] | None) -> None:
    """A few samples, small."""
    drawn = get_service().datasets.draw(source, shape, theme(), small=True)
    st.html(f'<img src="{drawn.url}" alt="Some samples of the data">', width="content")


def show_spectrum(shown: Spectrum) -> None:
    """σ_i on a logarithmic axis, as far as they are more than rounding error."""
    if not len(shown.values):
        st.markdown(f"{shown.describe()} {shown.note}")
        return
    values = shown.values[: max(shown.rank, 1)]
    few = len(values) <= 80
    mode = "lines+markers" if few else "lines"
    figure = go.Figure(go.Scatter(x=np.arange(1, len(values) + 1), y=values, mode=mode, marker={"size": 5}, name="σ"))
    figure.update_yaxes(title="singular value σᵢ")
    if values[-1] > 0:
        figure.update_yaxes(logarithmic(values[-1], values[0]))
    figure.update_xaxes(title="i, from the largest on", rangemode="tozero")
    title = "Singular values of M (logarithmic)"
    figure.update_layout(title=title, height=320, margin={"l": 10, "r": 10, "t": 40, "b": 10}, showlegend=False)
    chart(figure, f"Singular values: {shown.describe()}", "spectrum")
    st.markdown(f":small[{shown.describe()} {shown.note}]")


# -- projections -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Projected:
    """What a projection does, as it is shown: two small pictures and three numbers."""

    pictures: tuple[images.Picture, images.Picture]
    zeros: tuple[float, float]
    distance: float
    seconds: float


_PROJECTED: Cache[tuple[Any, ...], Projected] = Cache()


def projected(key: tuple[Any, ...], dataset: Dataset, structure: StructureSet) -> Projected:
    """The preview of a projection; `key` = (fingerprint, rank, factor, kind, JSON of the sets)."""

    def make() -> Projected:
        _, rank, factor, kind, _ = key
        found = preview_projection(dataset, rank, factor, structure, kind)
        before, after = (_factor_picture(A, factor, dataset.image_shape) for A in (found.shown, found.after))
        return Projected((before, after), found.zeros, found.distance, found.seconds)

    return _PROJECTED.get(key, make)


def show_projection(shown: Projected, factor: str) -> None:
    """Before and after, side by side."""
    for cell, word, drawn, zeros in zip(st.columns(2), ("before", "after"), shown.pictures, shown.zeros, strict=True):
        with cell:
            alt = f"{factor} {word} the projection: {100 * zeros:.0f} % zeros"
            picture(replace(drawn, theme=theme()), alt, f"{word}: {100 * zeros:.0f} % zeros", width=420)
    took = f"{1e3 * shown.seconds:.2g} ms" if shown.seconds < 1 else f"{shown.seconds:.2g} s"
    st.markdown(f":small[The projection moves this matrix by {100 * shown.distance:.3g} % of its norm and takes {took}.]")


def _factor_picture(A: Array, factor: str, shape: tuple[int, int] | None) -> images.Picture:
    if factor == "X" and shape is not None:
        return images.basis(A[:, :64], shape)
    rows = np.unique(np.linspace(0, len(A) - 1, min(len(A), 128)).astype(int))
    return images.heat_map(A[rows][:, :128])
