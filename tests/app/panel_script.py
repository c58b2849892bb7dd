"""A page that is only the workbench's panel, for the tests of its widgets."""

from types import SimpleNamespace
from typing import Any, cast

import streamlit as st

from pages.ui import panel, session
from pages.ui.workbench_state import Bench

first = st.session_state.setdefault("first", session.spec())
status = cast(Any, SimpleNamespace(id="A" * 22, spec=first))
with st.sidebar:
    st.session_state["ready"] = panel.draw(Bench(status, open_to_all=True))
