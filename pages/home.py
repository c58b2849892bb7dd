"""Home: the demo runs already; a card for every preset."""

import streamlit as st

from pages.ui import presets
from pages.ui.error_boundary import error_boundary
from pages.ui.live import live_view
from pages.ui.places import go, link
from semf_core.service import get_service

DEMO = "swimmer-groups"

with error_boundary():
    st.title("See the parts that a matrix is made of", anchor=False)
    st.markdown(
        "**SeMF Studio** splits data into parts and how much of each part every sample uses. "
        "You say what the parts must look like: sparse, nonnegative, one of each group. "
        "Then you watch the factorization find them."
    )
    link("data", "Bring your own file", way="upload")
    service = get_service()
    demo = service.demo_run(DEMO)
    with st.container(border=True):
        st.markdown("**The Swimmer: 256 stick figures.** Nobody tells it the 17 parts: watch a torso and four limbs appear.")
        if demo is None:
            st.markdown("No run of it is on this server; the cards below show what comes out.")
        else:
            live_view(service.status(demo), compact=True, autoplay=True, key="home-live")
            if st.button("Open this run", icon=":material/open_in_full:"):
                go("workbench", run=demo)
    presets.cards()
