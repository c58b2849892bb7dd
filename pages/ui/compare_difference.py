"""Two components of compared runs beside each other, and their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import params
from pages.ui.compare_feed import reader
from pages.ui.previews import theme
from semf_core.comparison.alignment import align
from semf_core.drawing.pictures import basis
from semf_core.mathematics.metrics import FOUND

LINKED = "compare.linked"
"""The choice that the number of B was last set for."""
_LABELS = "".join(f"<b>{label}</b>" for label in ("A", "B", "A − B"))
_TILES = """<div style="width:min(100%,720px)">
<div style="display:grid;grid-template-columns:repeat(3,1fr);text-align:center">{labels}</div>
<img src="{url}" alt="{alt}" style="width:100%;image-rendering:pixelated;display:block"></div>"""


def difference(run_ids: Sequence[str]) -> None:
    """A and B are numbered as in the gallery, and drawn as there: turned towards the reference, scaled to their largest entry."""
    read = reader()
    reference = read.reference(run_ids)
    aligned = {run_id: read.components(run_id, read.frame(run_id), reference) for run_id in run_ids}
    components = {run_id: found[1] for run_id, found in aligned.items() if found is not None}
    if not components:
        return
    names = read.names(list(components))
    left, right = st.columns(2)
    with left:
        run_a = _run(0, names, next(iter(names)))
        a = _component(0, components[run_a], _typed(aligned[run_a], run_a))
    with right:
        others = [run_id for run_id in names if run_id != run_a]
        run_b = _run(1, names, others[0]) if others else _only_run(names)
        if len(components[run_b]) == len(components[run_a]):
            _follow(components, (run_a, a, run_b))
        b = _component(1, components[run_b], _typed(aligned[run_b], run_b))
    if len(components[run_a]) != len(components[run_b]):
        st.info("These two runs have different data, so their components cannot be subtracted.", icon=":material/info:")
        return
    _show(components[run_a][:, a], components[run_b][:, b], read.service.column_shape(run_a))


def _run(place: int, names: Mapping[str, str], first: str) -> str:
    key = f"compare.run{place}"
    if st.session_state.get(key) not in names:  # nothing was chosen, or it was taken out since
        st.session_state[key] = first
    return str(st.selectbox(f"Run {'AB'[place]}", list(names), format_func=params.shown_as(names), key=key))


def _only_run(names: Mapping[str, str]) -> str:
    """B where there is no other run; it is not remembered as if somebody had chosen it."""
    return str(st.selectbox("Run B", list(names), format_func=params.shown_as(names), key="compare.run1.only", disabled=True))


def _typed(found: Any, run_id: str) -> list[str]:
    """What the components are called, in the order of the gallery; empty where nobody has named one."""
    typed = reader().service.component_names(run_id)
    return [typed[c] if 0 <= c < len(typed) else "" for c in found[0].columns]


def _component(place: int, columns: Any, names: Sequence[str]) -> int:
    """Which component, counted from 0; the widget counts from 1, as the gallery does."""
    key, count = f"compare.component{place}", columns.shape[1]
    first = int(columns.any(axis=0).argmax()) + 1
    st.session_state[key] = min(st.session_state.get(key, first), count)
    chosen = int(st.number_input(f"Component of {'AB'[place]}, of {count}", 1, count, key=key)) - 1
    if names[chosen]:
        params.note(names[chosen])
    return chosen


def _follow(components: Mapping[str, Any], choice: tuple[str, int, str]) -> None:
    """When A or B's run changes, B becomes the component that is most like A."""
    if st.session_state.get(LINKED) == choice:
        return
    run_a, a, run_b = choice
    others = components[run_b].copy()
    if run_a == run_b:
        others[:, a] = 0  # itself
    found = align(others, components[run_a][:, [a]])
    st.session_state["compare.component1"] = 1 + (found.columns[0] if found.cosines[0] else a)
    st.session_state[LINKED] = choice


def _show(a: Any, b: Any, shape: Any) -> None:
    found = align(b[:, None], a[:, None])  # neither may have a match in the reference that says where it points
    b, cosine = found.of(b[:, None])[:, 0], found.cosines[0]
    picture = basis(np.stack([a, b, a - b], axis=1), shape, ((0, 1, 2),), theme(), one_scale=True)
    colours = f"one scale of colours, from {picture.low:.3g} to {picture.high:.3g}"
    text = f"A, B and A − B, each component scaled to its largest entry; cosine {cosine:.4f}; {colours}"
    st.html(_TILES.format(labels=_LABELS, url=picture.url, alt=escape(text)))
    params.note(text + (", the same part." if cosine > FOUND else "."))
    if not a.any() or not b.any():
        params.note("A blank component stands where the run found nothing that belongs to this place of the reference.")
