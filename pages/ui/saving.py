"""Saving a run as a snapshot, and what is written on it."""

from __future__ import annotations

import streamlit as st

from pages.ui import params, session
from pages.ui.places import go
from semf_core.parameters import InvalidInput, params_of
from semf_core.service import RunStatus, get_service
from semf_core.snapshots.label import Label

SAVED = "semf_saved_snapshot"
"""(run, snapshot) of what was saved last."""
HINTS = {"title": "A title", "tags": "faces, sparse, first try", "note": "What is worth knowing about it"}


def label_fields(key: str, current: Label) -> dict[str, str]:
    """Fields for title, tags and note."""
    values = {}
    for p in params_of(Label):
        field = st.text_area if p.name == "note" else st.text_input
        values[p.name] = field(p.name.capitalize(), getattr(current, p.name), key=f"{key}.{p.name}", placeholder=HINTS[p.name])
    return values


def save_button(status: RunStatus) -> None:
    """Opens a form; a run that moves has to be paused first."""
    why = "Pause the run first: a snapshot is of a run at rest." if status.moving else "Keep the run as it is now, to share it."
    with st.popover("Save", icon=":material/photo_camera:", disabled=status.moving or not status.iterations, help=why):
        with st.form("save-snapshot", border=False):
            values = label_fields(f"save.{status.id}", Label(title=status.title[:200]))
            include = st.checkbox("Include the data", key="save.data", help="Needed by others if you have uploaded it.")
            sent = st.form_submit_button("Save snapshot", type="primary", icon=":material/photo_camera:")
        if sent:
            _save(status.id, values, include)


def _save(run_id: str, values: dict[str, str], include: bool) -> None:
    try:
        handle = get_service().save(run_id, Label(**values), include)
    except InvalidInput as refusal:
        st.error(params.sentence(refusal))
        return
    session.add_snapshot(handle.id, handle.key)
    st.session_state[SAVED] = (run_id, handle.id)
    st.rerun()


def say_saved(run_id: str) -> None:
    """Where the snapshot is that was just saved."""
    of, snapshot_id = st.session_state.get(SAVED, ("", ""))
    if of != run_id:
        return
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.markdown(":material/check_circle: The run is saved as a snapshot.", width="content")
        if st.button("Open the snapshot", icon=":material/photo_library:"):
            st.session_state.pop(SAVED, None)
            go("snapshots", snapshot=snapshot_id)
