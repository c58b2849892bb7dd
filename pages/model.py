"""Model: rank, a stack of constraints on each factor, the solver's options, and Run."""

import streamlit as st

from pages.ui import algorithms, constraints, modelling, params, places, running, session
from pages.ui.guard import guarded
from semf_core.parameters import InvalidInput


def data_line(loaded: session.Loaded) -> None:
    """Which data the model is for, and how its factors are shaped."""
    (m, n), p = loaded.dataset.shape, session.spec().rank
    st.latex(rf"\underset{{{m}\times {n}}}{{M}} \;\approx\; \underset{{{m}\times {p}}}{{X}}\;\underset{{{p}\times {n}}}{{Y}}")


def data_or_reason() -> session.Loaded | None:
    """The current data; where it cannot be had, a sentence and the way to other data."""
    try:
        return session.loaded()
    except InvalidInput as error:
        params.say_refusal(error)
        places.link("data", "Choose other data")
        return None


with guarded():
    st.title("Model", anchor=False)
    st.html(modelling.FORMULAS)
    st.markdown(
        "Say what the factors must look like. Every constraint is enforced on the answer, not merely encouraged. "
        "Rows, columns and groups are counted from 1, as in the formulas; the JSON and Python below count from 0."
    )
    if running.EDITING in st.session_state:
        st.info("You are changing the model of a run. Go back to it to continue with the change.", icon=":material/edit:")
        places.link("run", "Back to the run")
    modelling.say_flash()
    loaded = data_or_reason()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        modelling.starting_points()
        top = st.container(width="content")
    if loaded is not None:
        with st.container(border=True):
            name, watch = params.plain(loaded.dataset.title or session.source().title), params.plain(session.spec().watch)
            st.markdown(f"**Data: {name}**" + (f" · {watch}" if watch else ""))
            formula = st.container()
            modelling.rank_and_seed()
            with formula:
                data_line(loaded)
            modelling.note_on_rank(loaded.dataset.shape)
        with st.container(border=True):
            takes_sets = algorithms.choose()
            if not takes_sets:
                algorithms.own_structure(loaded.dataset.shape)
        ready = constraints.stacks(loaded) if takes_sets else True
        if ready and takes_sets:
            modelling.warn_of_scale()
        modelling.options()
        with top:
            modelling.run_button(ready)
    modelling.as_text()
