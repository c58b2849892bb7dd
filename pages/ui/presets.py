"""A card for each preset: picture, title, what to watch for, one click to run it."""

from __future__ import annotations

import streamlit as st

from pages.ui import workbench_state
from pages.ui.params import show_error
from pages.ui.places import ASSETS, go
from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.service import get_service

ACROSS = 3


def cards() -> None:
    """The presets of one family of algorithms, or of all, in rows of equal height; on a phone one below the other."""
    st.subheader("Start from a preset", anchor=False)
    family_of = {name: preset(name).solver.family for name in preset_names()}
    families = list(dict.fromkeys(family_of.values()))
    none = "Choose none to see them all."
    chosen = st.pills("Kind of algorithm", families, default=families[0], key="preset-family", help=none)
    names = [name for name, family in family_of.items() if chosen in (None, family)]
    for first in range(0, len(names), ACROSS):
        for column, name in zip(st.columns(ACROSS), names[first : first + ACROSS], strict=False):
            with column:
                card(name, preset(name))


def card(name: str, spec: ModelSpec) -> None:
    with st.container(border=True, height="stretch"):
        picture = ASSETS / "presets" / f"{name}.png"
        if picture.exists():
            st.image(picture, width="stretch", alt=f"{spec.title}: the parts that the run finds")
        st.markdown(f"**{spec.title}**")
        st.markdown(spec.watch)
        off = get_service().read_only
        if st.button("Run", key=f"preset-{name}", icon=":material/play_arrow:", width="stretch", disabled=off):
            run(spec)


def run(spec: ModelSpec) -> None:
    """Start a run of the visitor's own and watch it."""
    try:
        shown = workbench_state.run(spec)
    except InvalidInput as error:
        show_error(error)
        return
    st.session_state[workbench_state.FRESH] = shown.status.id
    go("workbench", bench=shown.strip.id if shown.strip else "", run=shown.status.id)
