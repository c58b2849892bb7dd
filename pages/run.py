"""Run: watch a factorization, steer it, look back."""

import streamlit as st

from pages.ui import memory, params, presets, running, saving, session
from pages.ui.guard import guarded
from pages.ui.live import live_view
from pages.ui.places import go

with guarded():
    status, refusal = running.chosen_run()
    if status is None:
        running.no_run(refusal)
    elif status.is_snapshot:
        go("snapshots", snapshot=status.id)
    else:
        key = session.key_for(status.id)
        st.title(params.plain(status.title or "Run"), anchor=False)
        if status.spec.watch:
            st.markdown(params.plain(status.spec.watch))
        running.say_flash()
        saving.say_saved(status.id)
        running.controls(status, key)
        running.pending_change(status, key)
        live_view(status, autoplay=st.session_state.get(presets.FRESH) == status.id)
        running.certificate(status)
        running.own_runs(status.id)
    memory.sync()
