"""Saving a run as a snapshot, and what is written on it."""

from __future__ import annotations

import streamlit as st

from pages.ui import params, session
from pages.ui.live import address
from pages.ui.places import go
from semf_core.common.parameters import InvalidInput, params_of
from semf_core.runs.variant_strips import Strip
from semf_core.service import RunStatus, get_service
from semf_core.snapshots.label import Label

SAVED = "semf_saved_snapshots"
"""Snapshots of runs as they stood: {(run, iterations, state): snapshot}."""
WITH_VARIANTS = "The whole strip along the bottom: whoever opens it sees every variant and can go on with all of them."
HINTS = {"title": "A title", "tags": "faces, sparse, first try", "note": "What is worth knowing about it"}


def label_fields(key: str, current: Label) -> dict[str, str]:
    """Fields for title, tags and note."""
    values = {}
    for p in params_of(Label):
        field = st.text_area if p.name == "note" else st.text_input
        values[p.name] = field(p.name.capitalize(), getattr(current, p.name), key=f"{key}.{p.name}", placeholder=HINTS[p.name])
    return values


def save_button(status: RunStatus, strip: Strip | None) -> None:
    """Opens a form; a run that moves has to be paused first. What is saved is said in the form's place, with its link."""
    why = "Pause the run first: a snapshot is of a run at rest." if status.moving else "Keep the run as it is now, to share it."
    with st.popover("Save", icon=":material/photo_camera:", disabled=status.moving or not status.iterations, help=why):
        stands = (status.id, status.iterations, status.state)
        saved = st.session_state.get(SAVED, {}).get(stands)
        if saved is not None:
            _confirm(saved, stands)
            return
        with st.form("save-snapshot", border=False):
            values = label_fields(f"save.{status.id}", Label(title=status.title[:200]))
            include = st.checkbox("Include the data", key="save.data", help="Needed by others if you have uploaded it.")
            count = len(strip.shown) if strip else 0
            every = count > 1 and st.checkbox(f"With all {count} variants", key="save.strip", help=WITH_VARIANTS)
            sent = st.form_submit_button("Save snapshot", type="primary", icon=":material/photo_camera:")
        if sent:
            _save(status, values, include, strip.id if strip and every else "")


def _save(status: RunStatus, values: dict[str, str], include: bool, strip_id: str) -> None:
    try:
        handle = get_service().save(status.id, Label(**values), include, strip_id)
    except InvalidInput as error:
        st.error(params.sentence(error))
        return
    session.add_snapshot(handle.id, handle.key)
    st.session_state.setdefault(SAVED, {})[status.id, status.iterations, status.state] = handle.id
    st.rerun()


def _confirm(snapshot_id: str, stands: tuple[str, int, str]) -> None:
    """One save, one answer: the run as it stands is kept, and this is where."""
    st.markdown(":material/check_circle: Saved as a snapshot. Its link:")
    here = str(st.context.url or "").split("?")[0].rpartition("/")[0]
    st.code(f"{here}/snapshots?snapshot={snapshot_id}", language=None, wrap_lines=True)
    if st.button("Open the snapshot", icon=":material/photo_library:"):
        go("snapshots", snapshot=snapshot_id)
    if st.button("Save once more", type="tertiary", help="With other words, with the data, or with all variants."):
        del st.session_state[SAVED][stands]
        st.rerun()


def exports(run_id: str) -> None:
    """Links to everything that can be made of a run or snapshot; it is made when somebody asks for it."""
    figures: dict[str, list[str]] = {}
    for kind in get_service().exports(run_id):
        where = address(f"download/{run_id}/{kind.name}")
        name, _, form = kind.name.rpartition("-")
        if name:
            figures.setdefault(kind.title.partition(" (")[0], []).append(f"[{form.upper()}]({where})")
        else:
            st.link_button(kind.title, where, type="tertiary")
    st.markdown("  \n".join(f":small[{title}:] {' '.join(links)}" for title, links in figures.items()))
