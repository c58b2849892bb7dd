"""The Model page beside its constraint stacks: presets, options, the model as text, and Run."""

from __future__ import annotations

import streamlit as st

from pages.ui import params, presets, session
from pages.ui.words import READ_ONLY
from semf_core.api import SEED
from semf_core.codegen import python_code, readable_json
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.parameters import InvalidInput, Param, params_of
from semf_core.problem import MAX_RANK, scale_warning
from semf_core.service import get_service
from semf_core.sets import Nonnegative, combine

RANK = Param("integer", 17, low=1, high=MAX_RANK, symbol="p", help="columns of X and rows of Y: how many parts", name="rank")
TITLE = Param("text", "", help="what a run of this model is called", name="title")
DTYPE = Param("choice", None, choices=("float32", "float64"), optional=True, help="automatic: as the data", name="dtype")
FLASH, PASTE = "semf_model_flash", "semf_paste"
PLAIN = "plain"
LONGEST = 8_000
FORMULAS = """<style>
.katex-display { overflow: visible !important; overflow-x: clip !important; }
@media (max-width: 640px) { [class*=st-key-formula_] .katex { font-size: .82em } }
</style>"""
"""Formulas are broken so that they fit; a box that scrolls could not be reached from the keyboard."""


def say_flash() -> None:
    """What the last callback had to say."""
    kind, text = st.session_state.pop(FLASH, (None, ""))
    if kind == "error":
        st.error(text, icon=":material/block:")
    elif kind:
        st.success(text, icon=":material/check:")


def _flash(kind: str, text: str) -> None:
    st.session_state[FLASH] = (kind, text)


# -- where to start ----------------------------------------------------------------------------


def starting_points() -> None:
    """A preset with its data, or plain nonnegative factors on the data at hand."""
    titles = {PLAIN: "Plain nonnegative factorization of the current data"} | {n: preset(n).title for n in preset_names()}
    key = "preset"
    st.selectbox(
        "Start from",
        list(titles),
        index=None,
        format_func=lambda n: titles.get(n, n),
        placeholder="A preset …",
        key=key,
        on_change=_take_preset,
        args=(key,),
        help="Replaces the whole model; a preset brings its own data.",
    )


def _take_preset(key: str) -> None:
    name = st.session_state.get(key)
    if name is None:
        return
    st.session_state[key] = None
    if name == PLAIN:
        both = (Nonnegative(),)
        session.set_spec(ModelSpec(session.source(), session.spec().rank, both, both))
        _flash("success", "The model is now a plain nonnegative factorization; add structure below.")
        return
    session.set_spec(preset(name))
    _flash("success", f"{session.spec().title}. {session.spec().watch}")


# -- numbers -----------------------------------------------------------------------------------


def rank_and_seed() -> None:
    """What the model is called, rank, seed and precision, in one row."""
    for cell, p in zip(st.columns([2, 1, 1, 1]), (TITLE, RANK, SEED, DTYPE), strict=True):
        with cell:
            _field(p)


def note_on_rank(shape: tuple[int, int]) -> None:
    """A rank above both sides of the data is allowed, and only rarely meant."""
    if session.spec().rank > min(shape):
        side = "rows" if shape[0] <= shape[1] else "columns"
        use = "right for a dictionary with few atoms a sample, too many for parts"
        params.note(f"There are more components than the data has {side} ({min(shape)}): {use}.")


def _field(p: Param) -> None:
    """One field of the spec; refused values leave it as it was."""
    current = getattr(session.spec(), p.name)
    try:
        value = params.value_widget(p, current, f"spec{session.stamp()}.{p.name}")
    except InvalidInput as error:
        params.say_refusal(error)
        return
    if value != current:
        session.update_spec(**{p.name: value})


def options() -> None:
    """The solver's options and the limits of a run, all from their descriptions."""
    stamp = session.stamp()
    solver = current = session.spec().solver
    if params_of(type(current)):  # plain NMF has none: no empty box
        with st.expander(f"Options of {current.title}", icon=":material/tune:", expanded=not current.takes_sets):
            solver = params.edit(current, f"solver{stamp}.{current.name}", columns=3)
    with st.expander("Limits: iterations, tolerance, restarts, kicks, polish", icon=":material/timer:"):
        limits = params.edit(session.spec().limits, f"limits{stamp}", columns=3)
    if (solver, limits) != (session.spec().solver, session.spec().limits):
        session.update_spec(solver=solver, limits=limits)


# -- the model as text -------------------------------------------------------------------------


def as_text() -> None:
    """JSON to copy, JSON to paste, and the same in Python."""
    with st.expander("This model as JSON and as Python", icon=":material/code:"):
        out, back, code = st.tabs(["JSON", "Paste JSON", "The same in Python"])
        spec = session.spec()
        with out:
            _text(readable_json(spec.to_dict()), "json", "model.json")
        with back:
            st.text_area("A model as JSON", key=PASTE, height=240, placeholder='{"dataset": {"name": "swimmer"}, "rank": 17, …}')
            st.button("Use this model", on_click=_take_pasted, icon=":material/input:", key="paste.use")
        with code:
            _text(python_code(spec), "python", "model.py")


def _text(text: str, language: str, filename: str) -> None:
    """Text to copy; long ones (a model that holds a matrix) are a file, because browsers choke on them."""
    if len(text) <= LONGEST:
        st.code(text, language=language, wrap_lines=True)  # a box that scrolls could not be reached from the keyboard
    else:
        params.note(f"This is long ({len(text) / 1000:,.0f} kB), because the model holds a matrix.")
    icon = ":material/download:"
    st.download_button(f"Download {filename}", text, filename, icon=icon, key=f"download.{language}", on_click="ignore")


def _take_pasted() -> None:
    """Replace the model by the pasted one, if it is one and its data can be had."""
    text = st.session_state.get(PASTE) or ""
    try:
        if not text.strip():
            raise InvalidInput("the text", "is empty; paste a model into it first")
        new = ModelSpec.from_json(text)
        combine(new.x), combine(new.y)
        session.load(new.dataset)
        session.set_spec(new)
    except InvalidInput as error:
        _flash("error", f"{params.sentence(error)} The model on this page is unchanged.")
    else:
        st.session_state[PASTE] = ""
        _flash("success", "The pasted model is in use.")


# -- run ---------------------------------------------------------------------------------------


def warn_of_scale() -> None:
    sentence = scale_warning(session.spec().x_set, session.spec().y_set)
    if sentence:
        st.warning(sentence[:1].upper() + sentence[1:] + ".", icon=":material/balance:")


def run_button(ready: bool, key: str = "run") -> None:
    """Start a run through the service and go to its page."""
    why = "Start the factorization and watch it." if ready else "Correct what is marked first."
    if get_service().read_only:
        ready, why = False, READ_ONLY
    if not st.button("Run", type="primary", icon=":material/play_arrow:", disabled=not ready, help=why, key=key):
        return
    presets.run(session.spec())
