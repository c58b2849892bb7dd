"""Preparation of uploaded data: a list of steps that can be added, changed and taken back; the raw data stay as they are."""

from __future__ import annotations

import dataclasses

import streamlit as st

from pages.ui import params
from semf_core.datasets.preparation import STEPS, Step, steps_of
from semf_core.runs.uploads import Upload

KEY, BEGUN = "semf_data_steps", "semf_data_steps_of"
ADD = "data.step.add"


def _steps() -> list[tuple[int, Step]]:
    """The steps in their order, each with a number of its own for its widgets."""
    return st.session_state.setdefault(KEY, [])


def start(source: Upload) -> None:
    """Begin with the steps that this upload was prepared with before."""
    if st.session_state.get(BEGUN) != source.id:
        st.session_state[BEGUN] = source.id
        st.session_state[KEY] = list(enumerate(steps_of(source.prepare)))


def forget() -> None:
    for key in (KEY, BEGUN):
        st.session_state.pop(key, None)


def edit() -> str:
    """The steps as widgets; what they spell."""
    steps = _steps()
    words = ", ".join(step.title for _, step in steps)
    with st.expander(f"Preparation: {words or 'none'}", icon=":material/tune:", expanded=bool(steps)):
        for place, (number, step) in enumerate(list(steps)):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{place + 1}. {step.title}**", help=step.summary, width="stretch")
                st.button("Remove", icon=":material/close:", key=f"data.step.{number}.remove", on_click=_remove, args=(number,),
                          type="tertiary")  # fmt: skip
            if dataclasses.fields(step):
                steps[place] = (number, params.edit(step, f"data.step.{number}", columns=3))
        titles = {cls.name: f"{cls.title}: {cls.summary}" for cls in STEPS}
        st.selectbox("Add a step", list(titles), index=None, format_func=params.shown_as(titles), key=ADD, on_change=_add,
                     placeholder="a step …")  # fmt: skip
        params.note("The uploaded data stay as they are; the steps are part of the model and can be taken back here.")
    return " ".join(step.word() for _, step in steps)


def _add() -> None:
    name = st.session_state.get(ADD)
    if name is not None:
        steps = _steps()
        steps.append((max((number for number, _ in steps), default=-1) + 1, STEPS.get(name)()))
    st.session_state[ADD] = None


def _remove(number: int) -> None:
    st.session_state[KEY] = [(n, step) for n, step in _steps() if n != number]
