"""Learn: lessons on the live engine, stage by stage."""

import streamlit as st

from pages.ui import learn_page
from pages.ui.error_boundary import error_boundary
from pages.ui.places import ASSETS

with error_boundary():
    st.html(ASSETS / "learn.css")
    lesson = learn_page.chosen()
    if lesson is None:
        learn_page.contents()
    else:
        learn_page.stage_of(lesson)
