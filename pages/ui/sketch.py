"""A question that is answered by drawing a curve: the empty chart, and then the run's own laid over it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from pages.ui.places import ASSETS
from semf_core.exports.curves import COLOURS
from semf_core.exports.document import chart_script, page_file
from semf_core.lessons import Sketch, sketches
from semf_core.service import RunStatus, get_service

DRAWN = "semf_drawn_curves"
LARGE, SMALL = 520, 260
"""Pixels of height at most, before and after the answer."""


@cache
def _component() -> Any:
    """The drawing of lessons to take home, with an entry for this page."""
    colours = "".join(
        f'.semf-sketch[data-theme="{theme}"] {{ {" ".join(f"--{name}: {value};" for name, value in table.items())} }}\n'
        for theme, table in COLOURS.items()
    )
    script = "\n".join([chart_script(("curves.js",)), page_file("sketch.js"), _asset("sketch.js")])
    style = "\n".join([colours, page_file("sketch.css"), _asset("sketch.css")])
    return st.components.v2.component("semf_sketch", css=style, js=script, isolate_styles=False)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def drawn(place: str) -> list[float] | None:
    """The curve that this visitor drew for a stage."""
    return st.session_state.get(DRAWN, {}).get(place)


def draw(place: str, sketch: Sketch, status: RunStatus, on_drawn: Callable[[], None]) -> None:
    """The chart of a run that has come to rest; its curve is sent once there is an answer."""
    history = get_service().history(status.id)
    if not len(history):
        return
    curve = drawn(place)
    data = sketches.chart(sketch, history.values, history.iterations, place)
    truth = data.pop("truth")
    shown = {"drawn": curve, "truth": truth, "tallest": SMALL} if curve is not None else {"tallest": LARGE}
    key = f"sketch-{'seen' if curve is not None else 'open'}"

    def keep() -> None:
        told = (st.session_state.get(key) or {}).get("drawn")
        values = sketches.checked_curve(told.get("curve")) if isinstance(told, dict) and told.get("name") == place else None
        if values is not None:
            st.session_state.setdefault(DRAWN, {})[place] = values
            on_drawn()

    _component()(key=key, data=data | shown, on_drawn_change=keep)
