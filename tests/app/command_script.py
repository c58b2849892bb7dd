"""A page that carries out one command of the workbench's view, as its component would."""

import streamlit as st

from pages.ui import benches

if "test_command" in st.session_state:
    benches.obey(st.session_state.pop("test_command"))
