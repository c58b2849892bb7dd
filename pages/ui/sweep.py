"""Try several: six values of one number of the model, run at once."""

from __future__ import annotations

import re

import streamlit as st

from pages.ui import flash, session
from pages.ui.params import sentence
from pages.ui.workbench_state import Bench
from semf_core.common.errors import InvalidInput
from semf_core.model.sweeps import Number, numbers_of
from semf_core.service import get_service
from semf_core.service import workbench as bench

KEY = "bench.several"


def several(shown: Bench, loaded: session.Loaded) -> None:
    """A choice of the model's numbers; choosing one starts the runs."""
    names = {n.path: _named(n) for n in numbers_of(session.spec())}
    st.selectbox(
        "Try several", list(names), index=None, key=KEY, placeholder="values of …", on_change=_start, args=(shown,),
        format_func=lambda path: names.get(path, path),
        help="Six values of one number run at once; click the one you like in the filmstrip.",
    )  # fmt: skip


def _named(number: Number) -> str:
    """With its value; the letters of an algorithm's options say little by themselves."""
    meaning = re.split("[,;:(]", number.p.help)[0].strip() if number.path.startswith("solver.") else ""
    return f"{number.words} (now {number.value:g})" + (f": {meaning}" if meaning else "")


def _start(shown: Bench) -> None:
    path = st.session_state.get(KEY)
    number = next((n for n in numbers_of(session.spec()) if n.path == path), None)
    st.session_state[KEY] = None
    if number is None:
        return
    service = get_service()
    try:
        strip, key = shown.strip, shown.key
        if strip is None or key is None:
            strip, key = bench.open_strip(service, shown.status.id)
            session.add_strip(strip.id, key)
            st.query_params["bench"] = strip.id
        bench.try_several(service, strip, key, session.spec(), number, session.visitor())
    except InvalidInput as error:
        flash.say(sentence(error))
