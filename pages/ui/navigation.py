"""What a press in the navigation means, beside what Streamlit makes of it."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from pages.ui import session
from pages.ui.places import ASSETS


@cache
def _component() -> Any:
    return st.components.v2.component("semf_navigation", js=(ASSETS / "live" / "navigation.js").read_text(encoding="utf-8"))


def attend() -> None:
    """The entry of the present page leaves what is open on it; nothing that a page sends by itself undoes a press."""
    _component()(key="navigation", height=1, on_left_change=session.leave_what_is_open)
