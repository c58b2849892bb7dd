"""A sentence that a command leaves for the next drawing of the page."""

from __future__ import annotations

import streamlit as st

FLASH = "semf_run_flash"


def say(text: str) -> None:
    st.session_state[FLASH] = text


def say_flash() -> None:
    text = st.session_state.pop(FLASH, None)
    if text:
        st.warning(text, icon=":material/info:")
