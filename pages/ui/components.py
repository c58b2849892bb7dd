"""The components of a run at rest: curves, maps or ranked lists, and the names that somebody gives them."""

from __future__ import annotations

import streamlit as st

from pages.ui import flash, session
from pages.ui.params import sentence
from pages.ui.previews import theme
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes
from semf_core.datasets.axes import component_names
from semf_core.drawing.components import STYLE, components_html, has_view
from semf_core.model import ModelSpec
from semf_core.runs.uploads import Upload
from semf_core.service import RunStatus, get_service

MOST_NAMED, AT_ONCE = 60, 30
"""Components with a field for their name, and those whose fields are in sight without a press."""
ACROSS = 5


def show(status: RunStatus) -> None:
    """What each component is, as far as names and axes tell it."""
    if status.moving or not status.iterations:
        return
    service = get_service()
    try:
        axes, shape = service.axes(status.id), service.image_shape(status.id)
        frame = service.factors(status.id)
    except InvalidInput:  # the data is gone, or nothing is recorded
        axes, shape, frame = Axes(), None, None
    if frame is None:
        return
    typed = service.component_names(status.id)
    names = component_names(typed, status.spec.rank)
    opened = in_sight(status.spec, axes, typed)
    with st.expander("Components: curves, top rows and samples, names", icon=":material/category:", expanded=opened):
        st.html(f"<style>{STYLE}</style>{components_html(frame.U, frame.V, axes, shape, names, theme())}")
        key = session.own_key(status)
        if key and not status.is_snapshot and not service.read_only:
            _naming(status, key, typed)


def in_sight(spec: ModelSpec, axes: Axes, typed: tuple[str, ...]) -> bool:
    """Whether there is more to see than the live view shows, or to name: of one's own data every component is somebody's."""
    return has_view(axes) or bool(typed) or isinstance(spec.dataset, Upload)


def _naming(status: RunStatus, key: str, typed: tuple[str, ...]) -> None:
    """Fields for the names; they stay with the run, its snapshots and its exports."""
    count = min(status.spec.rank, MOST_NAMED)
    place = st.popover("Name the components", icon=":material/edit:") if count > AT_ONCE else st.container()
    with place, st.form("component-names", border=False):
        if count <= AT_ONCE:
            st.markdown("**Name the components**: type, and press Enter.")
        given = []
        for first in range(0, count, ACROSS):
            for k, cell in zip(range(first, min(first + ACROSS, count)), st.columns(ACROSS), strict=False):
                with cell:
                    before = typed[k] if k < len(typed) else ""
                    given.append(st.text_input(f"Component {k + 1}", before, key=f"component.{status.id}.{k}", max_chars=200))
        if st.form_submit_button("Keep these names", type="primary", icon=":material/check:"):
            try:
                get_service().name_components(status.id, key, given)
            except InvalidInput as error:
                flash.say(sentence(error))
            st.rerun()
