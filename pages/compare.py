"""Compare: several algorithms or models on the same data, side by side."""

import streamlit as st

from pages.ui import compare_page
from pages.ui.compare_difference import difference
from pages.ui.compare_feed import reader
from pages.ui.error_boundary import error_boundary
from pages.ui.live import compare_view, presenter
from semf_core.service import get_service

REFRESH_SECONDS = 2.0

with error_boundary():
    st.title("Compare", anchor=False)
    st.markdown("The same data, several algorithms: what each one finds, how fast, and how well.")
    run_ids = compare_page.pins()
    compare_page.say_flash()
    compare_page.ready_made(expanded=not run_ids)
    compare_page.choosing(run_ids)
    if run_ids:
        moving = any(status.moving for status in get_service().list_runs(run_ids))
        if not reader().same_data(run_ids):
            st.info("These runs have different data: compare their shapes, not their errors.", icon=":material/info:")
        presenter("compare")
        compare_view(run_ids, moving)
        st.subheader("Scores", anchor=False)
        st.fragment(compare_page.table, run_every=REFRESH_SECONDS if moving else None)(run_ids)
        with st.expander("Difference of two components", icon=":material/difference:"):
            difference(run_ids)
        with st.expander("Keep the table and the figure", icon=":material/download:"):
            compare_page.files(run_ids)
