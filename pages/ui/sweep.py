"""Try several: six values of one number of the model, run at once."""

from __future__ import annotations

import streamlit as st

from pages.ui import flash, session, workbench_state
from pages.ui.params import sentence
from semf_core.common.errors import InvalidInput
from semf_core.model.sweeps import numbers_of
from semf_core.service import get_service
from semf_core.service import workbench as bench

KEY = "bench.several"


def several() -> None:
    """A choice of the model's numbers; choosing one starts the runs."""
    numbers = {n.path: n for n in numbers_of(session.spec())}
    st.selectbox(
        "Try several", list(numbers), index=None, key=KEY, placeholder="values of …", on_change=_start,
        format_func=lambda path: f"{numbers[path].words} (now {numbers[path].value:g})" if path in numbers else path,
        help="Six values of one number run at once; click the one you like in the filmstrip.",
    )  # fmt: skip


def _start() -> None:
    path = st.session_state.get(KEY)
    number = next((n for n in numbers_of(session.spec()) if n.path == path), None)
    st.session_state[KEY] = None
    shown, _ = workbench_state.opened()  # not as it was drawn: a change of the panel may have come after that
    if number is None or shown is None:
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
