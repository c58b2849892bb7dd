"""The model that is proposed for new data, why, and the ways out: one's own model, or a preset made for such data."""

from __future__ import annotations

import streamlit as st

from pages.ui import flash, params, session
from pages.ui.workbench_state import Bench
from semf_core.common.errors import InvalidInput
from semf_core.datasets import DatasetSource
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.model.proposals import keeps_to, presets_for, propose, ready_models
from semf_core.model.variants import same_model, titled
from semf_core.runs.uploads import Upload
from semf_core.service import get_service

WHY, KEPT, PILLS = "semf_proposal", "semf_own_model", "proposal-preset"
"""The model that was proposed and why; the model from before; the choice of a preset instead."""
MOST = 4


def model_for(source: DatasetSource) -> ModelSpec:
    """The model that new data gets; the one from before can be put back on it, and stays where only a parameter was changed."""
    before = session.spec()
    if type(source) is type(before.dataset) and source.name != Upload.name:
        return titled(keeps_to(before, source))
    known = get_service().datasets.describe(source)
    proposal = propose(source, session.load(source).dataset, known.facts, known.spectrum)
    st.session_state[WHY] = (proposal.spec, proposal.why)
    st.session_state[KEPT] = before
    return proposal.spec


def say() -> None:
    """Why the model is this one, as long as it is: of a changed model the sentence would not be true."""
    proposed, why = st.session_state.get(WHY, (None, ""))
    if proposed is None or not same_model(proposed, session.spec()):
        return
    params.note(why)
    kept = st.session_state.get(KEPT)
    with st.container(horizontal=True, gap="small"):
        if kept is not None:
            st.button("Keep my model", icon=":material/undo:", key="proposal-keep", on_click=_keep,
                      help="Rank, constraints and options from before, on this data.")  # fmt: skip
        st.button("Good", icon=":material/check:", key="proposal-good", type="tertiary", on_click=_forget)
    ready = [name for name, model in _ready().items() if not same_model(model, session.spec())]
    names = presets_for(session.source())[:MOST] or ready
    st.pills("Presets for this data", names, format_func=_short_title, key=PILLS, on_change=_take_pill)


def _ready() -> dict[str, ModelSpec]:
    """Models for data that no preset was made for."""
    if presets_for(session.source()):
        return {}
    return ready_models(session.spec(), session.dataset().shape)


def _model(name: str) -> ModelSpec:
    """A preset, or a model for the data on show."""
    return _ready().get(name) or preset(name)


def _short_title(name: str) -> str:
    """Without the name of the data, which stands above: "Digits: strokes" is "Strokes" there."""
    if name not in preset_names():
        return name
    title = preset(name).title
    short = title.partition(": ")[2] or title
    return short[:1].upper() + short[1:]


def _take_pill() -> None:
    name = st.session_state.pop(PILLS, None)
    if name is not None:
        _forget()
        session.set_spec(_model(name))


def _keep() -> None:
    kept = st.session_state.get(KEPT)
    if kept is not None:
        session.set_spec(keeps_to(kept, session.source()))
    _forget()


def _forget() -> None:
    st.session_state.pop(WHY, None)
    st.session_state.pop(KEPT, None)


def presets(shown: Bench) -> None:
    """Any preset, with its own data; those for the data on show come first, or models for it where there is none."""
    fitting = presets_for(session.source()) or list(_ready())
    names = [*fitting, *(n for n in preset_names() if n not in fitting)]
    st.selectbox(
        "Start from", names, index=None, format_func=_long_title, placeholder="a preset …", key="preset",
        on_change=_take_preset, help="Replaces the whole model; a preset brings its own data.",
    )  # fmt: skip


def _long_title(name: str) -> str:
    return preset(name).title if name in preset_names() else f"{name} (on this data)"


def _take_preset() -> None:
    name = st.session_state.get("preset")
    st.session_state["preset"] = None
    if name is None:
        return
    try:
        session.set_spec(_model(name))
    except InvalidInput as error:
        flash.say(params.sentence(error))
