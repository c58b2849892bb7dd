"""Pictures of data and constraints for the pages that build a model, each with its text alternative."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from pages.ui import images
from pages.ui.session import Loaded
from semf_core.preview import Projection, preview_projection
from semf_core.sets import StructureSet
from semf_core.spelling import FIRST
from semf_core.summary import Facts, Spectrum, facts, spectrum

Array = np.ndarray
CELLS = 256
"""Partitions of longer vectors are drawn as one bar for each group."""
SAMPLES = 60
ROWS = 400
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
    style = f"width:100%;max-width:{largest}px;image-rendering:pixelated;display:block"
    note = f'<div style="font-size:.8rem">{html.escape(caption)}</div>' if caption else ""
    st.html(f'<img src="{shown.url}" alt="{html.escape(alt, quote=True)}" style="{style}">{note}')


def show_data(loaded: Loaded, shape: tuple[int, int] | None) -> None:
    """Samples as a montage if they are pictures, otherwise the matrix as a heat map."""
    m, n = loaded.dataset.shape
    if shape is not None:
        chosen = np.unique(np.linspace(0, n - 1, min(n, SAMPLES)).astype(int))
        tiles = np.nan_to_num(images.columns_of(loaded.dataset.data, chosen))
        words = f"{len(chosen)} of {n} samples as pictures of {shape[0]} × {shape[1]} pixels"
        picture(images.basis(tiles, shape, theme=theme()), words, words + ", each scaled to its own maximum.", width=900)
        return
    rows, columns = (np.unique(np.linspace(0, k - 1, min(k, ROWS)).astype(int)) for k in (m, n))
    part = np.nan_to_num(images.columns_of(loaded.dataset.data, columns)[rows])
    thinned = f" ({len(rows)} rows and {len(columns)} columns of it)" if part.size < m * n else ""
    words = f"The {m} × {n} matrix as a heat map{thinned}"
    picture(images.heat_map(part, theme()), words, words + "; one column is one sample.", width=900)


@st.cache_data(max_entries=32, show_spinner="Looking at the data …")
def data_facts(fingerprint: str, _loaded: Loaded) -> tuple[Facts, Spectrum]:
    """Numbers of a dataset, worked out once for its content."""
    return facts(_loaded.dataset), spectrum(_loaded.dataset.data)


def show_spectrum(shown: Spectrum) -> None:
    """σ_i on a logarithmic axis, as far as they are more than rounding error."""
    values = shown.values[: max(shown.rank, 1)]
    few = len(values) <= 80
    mode = "lines+markers" if few else "lines"
    figure = go.Figure(go.Scatter(x=np.arange(1, len(values) + 1), y=values, mode=mode, marker={"size": 5}, name="σ"))
    figure.update_yaxes(type="log", title="singular value σᵢ", exponentformat="power")
    figure.update_xaxes(title="i, from the largest on", rangemode="tozero")
    title = "Singular values of M (logarithmic)"
    figure.update_layout(title=title, height=320, margin={"l": 10, "r": 10, "t": 40, "b": 10}, showlegend=False)
    st.plotly_chart(figure, config={"displayModeBar": False}, alt=f"Singular values: {shown.describe()}", key="spectrum")
    st.markdown(f":small[{shown.describe()} {shown.note}]")


# -- projections -------------------------------------------------------------------------------


@st.cache_data(max_entries=64, show_spinner=False)
def projected(key: tuple[Any, ...], _loaded: Loaded, _structure: StructureSet) -> Projection:
    """The preview of a projection; `key` = (fingerprint, rank, factor, kind, JSON of the sets)."""
    _, rank, factor, kind, _ = key
    return preview_projection(_loaded.dataset, rank, factor, _structure, kind)


def show_projection(shown: Projection, factor: str, shape: tuple[int, int] | None) -> None:
    """Before and after, side by side."""
    words = {"before": shown.before, "after": shown.after}
    zeros = dict(zip(words, shown.zeros, strict=True))
    for cell, (word, matrix) in zip(st.columns(2), words.items(), strict=True):
        drawn = _factor_picture(matrix, factor, shape)
        alt = f"{factor} {word} the projection: {100 * zeros[word]:.0f} % zeros"
        with cell:
            picture(drawn, alt, f"{word}: {100 * zeros[word]:.0f} % zeros", width=420)
    st.markdown(f":small[The projection moves this matrix by {100 * shown.distance:.3g} % of its norm.]")


def _factor_picture(A: Array, factor: str, shape: tuple[int, int] | None) -> images.Picture:
    if factor == "X" and shape is not None:
        return images.basis(A[:, :64], shape, theme=theme())
    rows = np.unique(np.linspace(0, len(A) - 1, min(len(A), 128)).astype(int))
    return images.heat_map(A[rows][:, :128], theme())
