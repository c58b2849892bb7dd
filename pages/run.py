"""Run: watch a factorization, steer it, look back."""

import streamlit as st

from pages.ui import memory, presets, running, session
from pages.ui.guard import guarded
from pages.ui.live import live_view

with guarded():
    status, refusal = running.chosen_run()
    if status is None:
        running.no_run(refusal)
    else:
        key = session.key_for(status.id)
        st.title(status.title or "Run", anchor=False)
        if status.spec.watch:
            st.markdown(status.spec.watch)
        running.say_flash()
        running.controls(status, key)
        running.pending_change(status, key)
        live_view(status, autoplay=st.session_state.get(presets.FRESH) == status.id)
        running.certificate(status)
        running.own_runs(status.id)
    memory.sync()
