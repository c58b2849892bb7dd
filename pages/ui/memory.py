"""The visitor's own runs outlive the session: the browser keeps their control keys.

The address of a run holds no key, so it can be given away; a reload finds the key in the browser.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from pages.ui import session
from pages.ui.places import ASSETS

GONE = "semf_gone_runs"
KEY = "memory"


@cache
def _component() -> Any:
    return st.components.v2.component("semf_memory", js=(ASSETS / "live" / "memory.js").read_text(encoding="utf-8"))


def sync() -> None:
    """Store what this session knows in the browser, and take over what the browser knows."""
    data = {"runs": session.runs(), "gone": sorted(st.session_state.get(GONE, ()))}
    _component()(key=KEY, data=data, height=1, on_known_change=_take)


def _take() -> None:
    known = (st.session_state.get(KEY) or {}).get("known")
    if isinstance(known, dict):
        for run_id, key in known.items():
            if isinstance(run_id, str) and isinstance(key, str) and run_id not in st.session_state.get(GONE, ()):
                session.runs().setdefault(run_id, key)


def forget(run_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(run_id)
    session.forget_run(run_id)
