"""Learn: lessons on the live engine, stage by stage."""

import streamlit as st

from pages.ui import learning
from pages.ui.guard import guarded
from pages.ui.places import ASSETS

with guarded():
    st.html(ASSETS / "learn.css")
    lesson = learning.chosen()
    if lesson is None:
        learning.contents()
    else:
        learning.stage_of(lesson)
