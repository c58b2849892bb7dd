"""A page that carries out one command of the workbench's view, as its component would."""

import streamlit as st

from pages.ui import workbench_state

if "test_command" in st.session_state:
    workbench_state.obey(st.session_state.pop("test_command"))
