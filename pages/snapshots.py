"""Snapshots: a gallery of saved runs, and each of them opened."""

import streamlit as st

from pages.ui import gallery, memory, shelf
from pages.ui.guard import guarded

with guarded():
    snapshot_id = shelf.chosen()
    if snapshot_id is None:
        st.title("Snapshots", anchor=False)
        gallery.show()
    else:
        shelf.show(snapshot_id)
    memory.sync()
