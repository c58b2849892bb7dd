"""Run: watch a factorization, steer it, look back."""

import streamlit as st

from pages.ui import memory, presets, running, session
from pages.ui.guard import guarded
from pages.ui.live import live_view
from semf_core.service import get_service

with guarded():
    run_id = running.chosen_run()
    if run_id is None:
        st.title("Run", anchor=False)
        running.no_run()
    else:
        status = get_service().status(run_id)
        key = session.key_for(run_id)
        st.title(status.title or "Run", anchor=False)
        if status.spec.watch:
            st.markdown(status.spec.watch)
        running.say_flash()
        running.controls(status, key)
        running.pending_change(status, key)
        live_view(status, autoplay=st.session_state.get(presets.FRESH) == run_id)
        running.certificate(status)
        running.own_runs(run_id)
    memory.sync()
