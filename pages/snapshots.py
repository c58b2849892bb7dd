"""Snapshots: a gallery of saved runs, and each of them opened."""

import streamlit as st

from pages.ui import gallery, snapshot_views
from pages.ui.error_boundary import error_boundary

with error_boundary():
    snapshot_id = snapshot_views.chosen()
    if snapshot_id is None:
        st.title("Snapshots", anchor=False)
        gallery.show()
    else:
        snapshot_views.show(snapshot_id)
