"""The visitor's own runs, strips and snapshots outlive the session: the browser keeps their control keys,
and how far he is in the lessons.

The address of a run holds no key, so it can be given away. What a browser has is known to the server until that is
restarted, in memory only, so the first page after a reload is right at once. A browser says what it has only if the
server does not know it, and never on Home, which does not need it: what a page sends by itself names that page, and
undoes a press that goes to another one. The key of a control link comes from the browser too (pages/ui/links.py), and
counts if it fits.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from functools import cache
from typing import Any

import streamlit as st

from pages.ui import session
from pages.ui.flash import say
from pages.ui.places import ASSETS
from pages.ui.visitors import is_known, visitor
from semf_core.common.errors import InvalidInput
from semf_core.service import get_service

GONE, RECALLED = "semf_gone_runs", "semf_recalled"
KEY = "memory"
WORDS = {"bench": "workbench"}
MOST_BYTES, MOST_OF_ONE = 16 << 20, 1 << 18
"""What is kept for all browsers and for one: a key and its id are a hundred bytes."""


class Browsers:
    """What each browser is known to have, as JSON; those that were here longest ago go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, str] = OrderedDict()
        self._bytes = 0

    def get(self, who: str) -> Any:
        return json.loads(self._kept.get(who, "{}"))

    def add(self, who: str, known: dict[str, dict[str, str]], gone: set[str]) -> None:
        """What one of its tabs knows and what it has thrown away; another tab may know more."""
        with self._lock:
            before = self.get(who)
            both = {kind: before.get(kind, {}) | here for kind, here in known.items()}
            text = json.dumps({kind: {one: key for one, key in all_.items() if one not in gone} for kind, all_ in both.items()})
            if not is_known(who) or len(text) > MOST_OF_ONE:
                return
            self._bytes += len(text) - len(self._kept.pop(who, ""))
            self._kept[who] = text
            while self._bytes > MOST_BYTES:
                self._bytes -= len(self._kept.popitem(last=False)[1])


BROWSERS = Browsers()


@cache
def _component() -> Any:
    return st.components.v2.component("semf_memory", js=(ASSETS / "live" / "memory.js").read_text(encoding="utf-8"))


def recall() -> None:
    """A new session has what its browser is known to have."""
    if RECALLED not in st.session_state:
        st.session_state[RECALLED] = True
        _take(BROWSERS.get(visitor(person=False)))


def sync(asks: bool) -> None:
    """Store what this session knows in the browser; one that `asks` takes over what the browser knows beside it."""
    known, gone = _known(), st.session_state.get(GONE, set())
    BROWSERS.add(visitor(person=False), known, gone)
    data = known | {"gone": sorted(gone), "asks": asks}
    _component()(key=KEY, data=data, height=1, on_known_change=_told, on_arrived_change=_arrive)


def _known() -> dict[str, dict[str, str]]:
    """What a browser keeps, by its kind."""
    known = {"runs": session.runs(), "snapshots": session.snapshots(), "strips": session.strips()}
    return known | {"lessons": session.lessons()}


def _told() -> None:
    _take((st.session_state.get(KEY) or {}).get("known"))


def _take(known: Any) -> None:
    """Add what a browser has to what this session knows, as far as it is what it should be."""
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
