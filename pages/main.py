"""The page table."""

import streamlit as st

from pages.ui.places import ASSETS, page_table
from pages.ui.words import READ_ONLY
from semf_core.service import get_service

st.set_page_config(page_icon=str(ASSETS / "icon.png"), layout="wide")
st.logo(ASSETS / "logo.svg", icon_image=ASSETS / "icon.svg", size="large")
page = st.navigation(page_table(), position="top")
st.set_page_config(page_title=f"{page.title} · SeMF Studio", page_icon=str(ASSETS / "icon.png"))
st.html(ASSETS / "page.css")
if get_service().read_only:
    st.info(READ_ONLY, icon=":material/visibility:")
page.run()
