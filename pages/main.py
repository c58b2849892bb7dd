"""The page table."""

import streamlit as st

from pages.ui import memory, navigation
from pages.ui.capacity import drawing
from pages.ui.error_boundary import error_boundary
from pages.ui.login import require_login
from pages.ui.messages import READ_ONLY
from pages.ui.places import ASSETS, page_table
from pages.ui.visitors import visitor
from semf_core.service import get_service

HOME = ""
PANEL_WIDTH = 380  # pixels, on the workbench

st.set_page_config(page_icon=str(ASSETS / "icon.png"), layout="wide", initial_sidebar_state=PANEL_WIDTH)
st.logo(ASSETS / "logo.svg", icon_image=ASSETS / "icon.svg", size="large")
page = st.navigation(page_table(), position="top")
st.set_page_config(page_title=f"{page.title} · SeMF Studio", page_icon=str(ASSETS / "icon.png"))
st.html(ASSETS / "page.css")
navigation.attend()
require_login()
if get_service().read_only:
    st.info(READ_ONLY, icon=":material/visibility:")
with error_boundary(), drawing(visitor(person=False)):
    memory.recall()
    page.run()
    memory.sync(asks=page.url_path != HOME)
