"""The visitor's own runs and snapshots outlive the session: the browser keeps their control keys.

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
    data = {"runs": session.runs(), "snapshots": session.snapshots(), "gone": sorted(st.session_state.get(GONE, ()))}
    _component()(key=KEY, data=data, height=1, on_known_change=_take)


def _take() -> None:
    known = (st.session_state.get(KEY) or {}).get("known")
    for kind, here in (("runs", session.runs()), ("snapshots", session.snapshots())):
        told = known.get(kind) if isinstance(known, dict) else None
        for one, key in (told if isinstance(told, dict) else {}).items():
            if isinstance(one, str) and isinstance(key, str) and one not in st.session_state.get(GONE, ()):
                here.setdefault(one, key)


def forget(run_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(run_id)
    session.forget_run(run_id)


def remember_snapshot(snapshot_id: str, key: str) -> None:
    st.session_state.setdefault(GONE, set()).discard(snapshot_id)
    session.add_snapshot(snapshot_id, key)


def forget_snapshot(snapshot_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(snapshot_id)
    session.snapshots().pop(snapshot_id, None)
