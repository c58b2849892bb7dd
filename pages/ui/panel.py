"""The workbench's panel: the data, the model with its constraints, how a change is run, and the model as text."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from pages.ui import algorithms, constraints, params, places, previews, proposal, session, sweep, workbench_state
from pages.ui.messages import READ_ONLY
from pages.ui.workbench_state import AGAIN, ON, PAUSED, WARM, Bench
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.factorization.api import SEED
from semf_core.factorization.problem import MAX_RANK, scale_warning
from semf_core.model import ModelSpec
from semf_core.model.codegen import python_code, readable_json
from semf_core.runs import Upload
from semf_core.runs.uploads import UNNAMED
from semf_core.service import get_service
from semf_core.service.public import public_form
from semf_core.sets import combine

RANK = Param("integer", 17, low=1, high=MAX_RANK, symbol="p", help="columns of X and rows of Y: how many parts", name="rank")
DTYPE = Param("choice", None, choices=("float32", "float64"), optional=True, help="automatic: as the data", name="dtype")
FLASH, PASTE = "semf_model_flash", "semf_paste"
OPTIONS, LIMITS, TEXT = "panel-options", "panel-limits", "panel-text"
LONGEST = 8_000


def draw(shown: Bench) -> bool:
    """The whole panel; whether its model can be run."""
    if not shown.changeable:
        _read_only(shown)
        return False
    loaded = _data(shown)
    at_the_top = st.container()  # filled when the fields below have had their say
    _say_flash()
    if loaded is None:
        return False
    _on_change()
    _row(RANK, SEED)
    beside_rank = st.container()
    _note_on_rank(loaded.dataset.shape)
    takes_sets = algorithms.choose()
    if not takes_sets:
        algorithms.own_structure(loaded.dataset.shape)
    ready = constraints.stacks(loaded) if takes_sets else True
    if ready and takes_sets:
        _warn_of_scale()
    if not ready:
        with beside_rank:
            _say_what_stays(shown)
    st.container(key="rejected-model")
    sweep.several()
    options()
    proposal.presets(shown)
    as_text()
    with at_the_top:
        proposal.say()
    return ready


def after_change() -> None:
    """Why a model that every field accepts cannot be run all the same."""
    text = st.session_state.get(workbench_state.REJECTED)
    if text:
        st.sidebar.error(f"{text} The last good result stays.", icon=":material/block:")


def _read_only(shown: Bench) -> None:
    """What somebody else's run was made from, and the way to a copy."""
    spec = shown.status.spec
    st.markdown(f"**{params.plain(get_service().data_title(shown.status.id))}** · rank {spec.rank} · seed {spec.seed}")
    for factor in ("X", "Y") if spec.solver.takes_sets else ():
        constraints.formula_of(factor, getattr(spec, factor.lower()))
    st.markdown(f"{spec.solver.title}: {spec.solver.summary}.")
    if get_service().read_only:
        params.note(READ_ONLY)
        return
    st.button("Make changes on a copy", type="primary", icon=":material/fork_right:", key="bench-copy",
              on_click=workbench_state.copy_to_change, args=(shown.status.id,),
              help="A workbench of your own that begins with this run.")  # fmt: skip


def _data(shown: Bench) -> session.Loaded | None:
    """The data in one line with a thumbnail; where it cannot be had, a sentence and the way to other data."""
    try:
        loaded = session.loaded()
    except InvalidInput as error:
        params.show_error(error)
        places.link("data", "Choose other data")
        return None
    m, n = loaded.dataset.shape
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="data-line"):
        previews.data_thumbnail(session.source(), loaded.dataset.image_shape)
        name = params.plain(loaded.dataset.title or session.source().title)
        st.markdown(f"**{name}**  \n:small[{m:,} × {n:,}]", width="stretch")
        if st.button("Data", icon=":material/database:", type="tertiary", help="Choose or upload other data.", key="bench-data"):
            places.go("data")
    return loaded


def _on_change() -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False, key="on-change"):
        params.keep(WARM, AGAIN)
        help_text = "A change of the model starts a fresh run with the same seed, or goes on from the factors on show."
        st.segmented_control("On a change", [AGAIN, ON], key=WARM, required=True, help=help_text, label_visibility="collapsed",
                             persist_state="session")  # fmt: skip
        st.toggle("Paused", key=PAUSED, help="A changed model waits for Play.", persist_state="session")


def _row(*fields: Param) -> None:
    with st.container(key="numbers"):
        cells = st.columns(len(fields), wrap=False)
    for cell, p in zip(cells, fields, strict=True):
        _field(p, cell)


def _note_on_rank(shape: tuple[int, int]) -> None:
    """A rank above both sides of the data is allowed, and only rarely meant."""
    if session.spec().rank > min(shape):
        side = "rows" if shape[0] <= shape[1] else "columns"
        use = "right for a dictionary with few atoms a sample, too many for parts"
        params.note(f"There are more components than the data has {side} ({min(shape)}): {use}.")


def _say_what_stays(shown: Bench) -> None:
    """A new rank that the constraints do not fit has its sentence where it was typed; theirs are further down."""
    rank, last = session.spec().rank, shown.status.spec.rank
    if rank != last:
        text = f"Rank {rank} does not fit the constraints that are marked below. The last good result, of rank {last}, stays."
        st.error(text, icon=":material/block:")


def _field(p: Param, cell: Any) -> None:
    """One field of the spec in its cell; rejected values leave it as it was, and the sentence has the whole width below it."""
    current = getattr(session.spec(), p.name)
    try:
        with cell:
            value = params.value_widget(p, current, f"spec{session.stamp()}.{p.name}")
    except InvalidInput as error:
        params.show_error(error, params.still(p, current))
        return
    if value != current:
        session.update_spec(**{p.name: value})


def options() -> None:
    """The solver's options and the limits of a run, all from their descriptions; drawn where somebody looks at them."""
    stamp = session.stamp()
    solver = current = session.spec().solver
    limits = session.spec().limits
    if params_of(type(current)):  # plain NMF has none: no empty box
        box = st.expander(f"Options of {current.title}", icon=":material/tune:", key=OPTIONS, on_change="rerun")
        if box.open:
            with box:
                solver = params.edit(current, f"solver{stamp}.{current.name}", columns=1)
    label = "Limits: iterations, tolerance, restarts, kicks, polish"
    box = st.expander(label, icon=":material/timer:", key=LIMITS, on_change="rerun")
    if box.open:
        with box:
            limits = params.edit(limits, f"limits{stamp}", columns=1)
            _field(DTYPE, st.container())
    if (solver, limits) != (session.spec().solver, session.spec().limits):
        session.update_spec(solver=solver, limits=limits)


def _warn_of_scale() -> None:
    sentence = scale_warning(session.spec().x_set, session.spec().y_set)
    if sentence:
        st.warning(sentence[:1].upper() + sentence[1:] + ".", icon=":material/balance:")


# -- the model as text -------------------------------------------------------------------------


def _say_flash() -> None:
    """What the last callback had to say."""
    kind, text = st.session_state.pop(FLASH, (None, ""))
    if kind == "error":
        st.error(text, icon=":material/block:")
    elif kind:
        st.success(text, icon=":material/check:")


def as_text() -> None:
    """JSON to copy, JSON to paste, and the same in Python; text is coloured letter by letter, so only where somebody reads it."""
    box = st.expander("This model as JSON and as Python", icon=":material/code:", key=TEXT, on_change="rerun")
    with box:
        params.note("Rows, columns and groups are counted from 1 on this page; JSON and Python count from 0.")
        out, back, code = st.tabs(["JSON", "Paste JSON", "Python"])
        spec = session.spec()
        if box.open:
            with out:
                _text(readable_json(public_form(spec.to_dict())), "json", "model.json")
            with code:
                _text(python_code(spec), "python", "model.py")
        with back:
            st.text_area("A model as JSON", key=PASTE, height=240, placeholder='{"dataset": {"name": "swimmer"}, "rank": 17, …}')
            st.button("Use this model", on_click=_take_pasted, icon=":material/input:", key="paste.use")


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
            raise InvalidInput("the text", "is empty", "paste a model into it first")
        new = _on_data_here(ModelSpec.from_json(params.pasted(text)))
        combine(new.x), combine(new.y)
        session.load(new.dataset)
        session.set_spec(new)
    except InvalidInput as error:
        st.session_state[FLASH] = ("error", f"{params.sentence(error)} The model on this page is unchanged.")
    else:
        st.session_state[PASTE] = ""
        st.session_state[FLASH] = ("success", "The pasted model is in use.")


def _on_data_here(model: ModelSpec) -> ModelSpec:
    """A model of uploaded data does not say where these are: it is taken for those in use."""
    if getattr(model.dataset, "id", "") != UNNAMED.id:
        return model
    source = session.source()
    if not isinstance(source, Upload):
        raise InvalidInput("dataset", "was uploaded and is not part of the text", "choose your data on the Data page first")
    prepare = getattr(model.dataset, "prepare", "")
    return dataclasses.replace(model, dataset=dataclasses.replace(source, prepare=prepare))
