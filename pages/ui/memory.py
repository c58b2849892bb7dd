"""The visitor's own runs, strips and snapshots outlive the session: the browser keeps their control keys,
and how far he is in the lessons.

The address of a run holds no key, so it can be given away; a reload finds the key in the browser. The key of a
control link comes from there too (pages/ui/links.py), and counts if it fits.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from pages.ui import session
from pages.ui.flash import say
from pages.ui.places import ASSETS
from semf_core.common.errors import InvalidInput
from semf_core.service import get_service

GONE = "semf_gone_runs"
KEY = "memory"
WORDS = {"bench": "workbench"}


@cache
def _component() -> Any:
    return st.components.v2.component("semf_memory", js=(ASSETS / "live" / "memory.js").read_text(encoding="utf-8"))


def sync() -> None:
    """Store what this session knows in the browser, and take over what the browser knows."""
    data = _known() | {"gone": sorted(st.session_state.get(GONE, ()))}
    _component()(key=KEY, data=data, height=1, on_known_change=_take, on_arrived_change=_arrive)


def _known() -> dict[str, dict[str, str]]:
    """What a browser keeps, by its kind."""
    known = {"runs": session.runs(), "snapshots": session.snapshots(), "strips": session.strips()}
    return known | {"lessons": session.lessons()}


def _take() -> None:
    known = (st.session_state.get(KEY) or {}).get("known")
    for kind, here in _known().items():
        told = known.get(kind) if isinstance(known, dict) else None
        for one, key in (told if isinstance(told, dict) else {}).items():
            if isinstance(one, str) and isinstance(key, str) and one not in st.session_state.get(GONE, ()):
                here.setdefault(one, key)


def _arrive() -> None:
    """The key of a control link is taken if it fits what the link opens."""
    told = (st.session_state.get(KEY) or {}).get("arrived")
    told = told if isinstance(told, dict) else {}
    kind, thing_id, key = (str(told.get(name, "")) for name in ("kind", "id", "key"))
    try:
        fits = _fits(kind, thing_id, key)
    except InvalidInput:  # there is no such thing; the page says so
        return
    if not fits:
        say(f"This control link does not fit the {WORDS.get(kind, kind)}: you can look at it, and go on from a copy.")
    elif kind == "snapshot":
        remember_snapshot(thing_id, key)
    elif kind == "bench":
        st.session_state.setdefault(GONE, set()).discard(thing_id)
        session.add_strip(thing_id, key)
    else:
        st.session_state.setdefault(GONE, set()).discard(thing_id)
        session.runs()[thing_id] = key


def _fits(kind: str, thing_id: str, key: str) -> bool:
    service = get_service()
    if kind == "snapshot":
        return service.gallery.card(thing_id).owner_ok(key)
    if kind == "bench":
        return service.strips.get(thing_id).owner_ok(key)
    if kind == "study":
        return service.studies.owner_ok(thing_id, key)
    return service.status(thing_id).owner_ok(key)


def forget(run_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(run_id)
    session.forget_run(run_id)


def forget_strip(strip_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(strip_id)
    session.strips().pop(strip_id, None)


def remember_snapshot(snapshot_id: str, key: str) -> None:
    st.session_state.setdefault(GONE, set()).discard(snapshot_id)
    session.add_snapshot(snapshot_id, key)


def forget_snapshot(snapshot_id: str) -> None:
    st.session_state.setdefault(GONE, set()).add(snapshot_id)
    session.snapshots().pop(snapshot_id, None)
