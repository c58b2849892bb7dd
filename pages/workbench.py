"""Workbench: constraints on the left, the live result on the right; a change in the panel acts at once."""

import streamlit as st

from pages.ui import panel, params, results, workbench_state
from pages.ui.error_boundary import error_boundary
from pages.ui.live import presenter
from pages.ui.places import ASSETS, go


def work(shown: workbench_state.Bench) -> None:
    """Panel and result; what was changed in the panel is run before the result is drawn."""
    workbench_state.take_model(shown)
    head = st.container()  # above what the panel may have to say, though it is drawn after it
    with st.sidebar:
        ready = panel.draw(shown)
    if shown.changeable and ready and workbench_state.changed(shown):
        shown = workbench_state.act_on_change(shown)
        panel.after_change()
    workbench_state.remember(shown)
    with head:
        results.show()


with error_boundary():
    st.html(ASSETS / "workbench.css")
    presenter("workbench")
    shown, error = workbench_state.opened()
    if shown is not None and shown.status.is_snapshot:
        go("snapshots", snapshot=shown.status.id)
    if error is not None:
        params.show_error(error)
    if shown is None:
        results.nothing()
    else:
        work(shown)
