"""Lists of studies: a card for each of the papers' experiments, and the visitor's own."""

from __future__ import annotations

import dataclasses

import streamlit as st

from pages.ui import session
from pages.ui.params import note, plain, show_error
from pages.ui.study_page import STATES, look_at, open_study, source_words, start
from semf_core.common.errors import InvalidInput
from semf_core.service import get_service
from semf_core.service.public import builtin_names, builtin_sized, builtin_study
from semf_core.studies import Study
from semf_core.studies.study_file import SUFFIX

ACROSS = 2
SIZES = {"quick": "Quick", "full": "Full size"}


def cards() -> None:
    """A card for every built-in study."""
    names = builtin_names()
    for first in range(0, len(names), ACROSS):
        for column, name in zip(st.columns(ACROSS), names[first : first + ACROSS], strict=False):
            with column, st.container(border=True, height="stretch"):
                card(name)


def card(name: str) -> None:
    study = builtin_study(name)
    st.markdown(f"**{plain(study.title)}**")
    st.markdown(plain(study.summary))
    st.markdown(f":small[{source_words(study)}: {plain(study.claim.text)}]")
    data = f"Otherwise it runs on its own data. In use is {plain(session.source().title)}, chosen on the Data page."
    other = takes_data(study) and st.toggle("On the data in use", key=f"study-data-{name}", help=data)
    with st.container(horizontal=True):
        for size, words in SIZES.items():
            sized = builtin_sized(name, size)
            try:
                size_button(on_data_in_use(sized) if other else sized, words)
            except InvalidInput as error:
                show_error(error)
                break


def takes_data(study: Study) -> bool:
    """Whether other data make sense: the study varies none, and its own have no planted parts that it looks for."""
    source = study.base_trial().model.dataset
    try:
        study.on(source)
    except InvalidInput:
        return False
    return session.load(source).dataset.parts is None


def on_data_in_use(study: Study) -> Study:
    source = session.source()
    return dataclasses.replace(study.on(source), title=f"{study.title}, on {source.title}")


def size_button(study: Study, words: str) -> None:
    """Starts a size that has not been run, opens one that has."""
    studies = get_service().studies
    study_id = studies.place(studies.prepare(study))
    if studies.exists(study_id):
        progress = studies.progress(study_id)
        label = f"{words}: {progress.done} of {progress.total} runs"
        icon = ":material/check_circle:" if progress.state == "finished" else ":material/monitoring:"
        st.button(label, key=f"open-{study.name}-{study.size}", icon=icon, on_click=open_study, args=(study_id,))
        return
    label, closed = f"{words}: {study.count} runs", get_service().read_only
    if st.button(label, key=f"start-{study.name}-{study.size}", icon=":material/play_arrow:", disabled=closed):
        start(study)


def own() -> None:
    """The studies that were started from this browser, the latest first; the papers' have their cards."""
    studies = get_service().studies
    shared = {studies.place(studies.prepare(builtin_sized(name, size))) for name in builtin_names() for size in SIZES}
    mine = [one for one in reversed(session.runs()) if one not in shared and studies.exists(one)]
    if not mine:
        st.markdown("Studies that you start from your model, from JSON or on your data are listed here.")
    for study_id in mine:
        try:
            title, progress = studies.study(study_id).title, studies.progress(study_id)
        except InvalidInput as error:  # its files are damaged; the others have theirs
            show_error(error)
            continue
        with st.container(border=True, horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            with st.container():
                st.markdown(f"**{plain(title)}**")
                failed = f", {progress.failed} failed" if progress.failed else ""
                note(f"{STATES[progress.state]}: {progress.done} of {progress.total} runs{failed}")
            icon = ":material/monitoring:"
            st.button("Open", key=f"own-{study_id}", icon=icon, on_click=open_study, args=(study_id,))
    if not get_service().read_only:
        opened_file()


def opened_file() -> None:
    """A study that somebody has saved with its results."""
    file = st.file_uploader("Open a study file", type=[SUFFIX.removeprefix(".")], key="study-file")
    if file is not None and st.button("Open it", key="study-file-open", icon=":material/upload_file:"):
        look_at(lambda: get_service().studies.import_(file.getvalue(), file.name))
