"""Studies on pages: which one is open, its progress and figures, and what was best so far."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.ui import glossary, links, presets, session, study_figures
from pages.ui.charts import chart
from pages.ui.error_boundary import error_boundary
from pages.ui.flash import say_flash
from pages.ui.live import address
from pages.ui.params import note, plain, show_error
from pages.ui.study_views import CLICKED, atlas_view, choice_axes, choice_view, click_chart, shows_choice
from pages.ui.workbench_state import command
from semf_core.common.errors import InvalidInput
from semf_core.common.notation import FIRST
from semf_core.service import get_service
from semf_core.studies import Progress, Study
from semf_core.studies.best import Setting
from semf_core.studies.figure_sizes import FigureRoom
from semf_core.studies.service import StudyHandle
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import Drawing

SHOWN = "semf_study_shown"
REFRESH_SECONDS, WATCH_SECONDS = 2.0, 8.0
STATES = {
    "new": "Not started",
    "queued": "Waits for its turn",
    "running": "Running",
    "pausing": "Finishing the runs that have begun",
    "paused": "Paused",
    "cancelled": "Cancelled",
    "interrupted": "Interrupted",
    "finished": "Finished",
}


# -- which study -------------------------------------------------------------------------------


def chosen() -> str | None:
    """The study in the address, or the one that was open before.

    One that cannot be had is rejected in words, and the list follows: a link that leads nowhere is no dead end.
    """
    links.reject_key_in_query()
    study_id = st.query_params.get("study") or st.session_state.get(session.STUDY)
    if not study_id:
        return None
    try:
        get_service().studies.progress(study_id)  # rejects an unknown one
    except InvalidInput as error:
        close_study()
        show_error(error)
        return None
    open_study(study_id)
    return study_id


def open_study(study_id: str) -> None:
    st.session_state[session.STUDY] = study_id
    st.query_params["study"] = study_id


def close_study() -> None:
    st.session_state.pop(session.STUDY, None)
    st.query_params.pop("study", None)


def start(study: Study) -> None:
    """Start a study, or go on with it, and look at it."""
    look_at(lambda: get_service().studies.start(study, session.visitor()))


def look_at(make: Callable[[], StudyHandle]) -> None:
    """Open the study that is made, or say why there is none."""
    try:
        handle = make()
    except InvalidInput as error:
        show_error(error)
        return
    if handle.key or handle.id not in session.runs():
        session.runs()[handle.id] = handle.key  # kept by the browser as the keys of runs are; empty if it was there before
    open_study(handle.id)
    st.rerun()


# -- one study ---------------------------------------------------------------------------------


def detail(study_id: str) -> None:
    if CLICKED in st.session_state:
        open_cell(study_id, st.session_state.pop(CLICKED))
    study = get_service().studies.study(study_id)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("All studies", icon=":material/arrow_back:", on_click=close_study)
    st.title(plain(study.title), anchor=False)
    if study.summary:
        st.markdown(plain(study.summary))
    if study.claim.text:
        st.info(f"**{source_words(study)}**: {plain(study.claim.text)}", icon=":material/menu_book:")
    say_flash()
    controls(study_id)
    progress = get_service().studies.progress(study_id)
    moving = progress.moving
    st.fragment(results, run_every=REFRESH_SECONDS if moving else None)(study_id, moving)
    if not moving and progress.done < progress.total:
        st.fragment(watch, run_every=WATCH_SECONDS)(study_id)
    st.divider()
    export(study_id, study)


def source_words(study: Study) -> str:
    """Where the claim stands, at the beginning of a line."""
    source = study.claim.source
    return plain(source[:1].upper() + source[1:])


def controls(study_id: str) -> None:
    studies, key, closed = get_service().studies, session.key_for(study_id), get_service().read_only
    progress = studies.progress(study_id)
    failed = progress.state == "finished" and progress.failed > 0
    with st.container(horizontal=True, gap="small"):
        goes = failed or progress.state in {"new", "paused", "cancelled", "interrupted"}
        word = "Start" if progress.state == "new" else "Run the failed ones again" if failed else "Resume"
        again, off = (studies.resume, study_id, session.visitor()), closed or not goes
        st.button(word, icon=":material/play_arrow:", type="primary", disabled=off, on_click=command, args=again)
        if key is not None and not closed:
            pauses = progress.state in {"queued", "running"}
            ways = (("Pause", "pause", studies.pause, pauses), ("Cancel", "stop", studies.cancel, progress.moving))
            for label, icon, action, enabled in ways:
                st.button(label, icon=f":material/{icon}:", disabled=not enabled, on_click=command, args=(action, study_id, key))
        with st.popover("Share", icon=":material/share:"):
            share(study_id, key)
        glossary.meanings(measure.name for measure in studies.study(study_id).measures)


def share(study_id: str, key: str | None) -> None:
    st.markdown("**To look**")
    st.code(links.looking("study", study_id), language=None, wrap_lines=True)
    if key is not None:
        st.markdown("**To pause and cancel as well**")
        st.code(links.controlling("study", study_id, key), language=None, wrap_lines=True)


@error_boundary()
def results(study_id: str, was_moving: bool) -> None:
    """Progress and figures; a fragment that runs by itself while there is news to come."""
    studies = get_service().studies
    progress = studies.progress(study_id)
    if was_moving and not progress.moving:
        st.rerun()
    show_progress(progress)
    study, table = studies.study(study_id), shown_table(study_id, progress)
    if not table.done.any():
        st.markdown("The first results appear here as soon as they are there.")
        return
    names = choice_axes(table)
    if names:
        choice_view(study_id, table, names)
    room = FigureRoom()
    for number, view in enumerate(study.views):
        if not (names and shows_choice(view, names)):
            with error_boundary():
                room = room.after(view, study.axes)
                figure(study_id, studies.drawing(study_id, view, table), number)
    if "factors" in study.keep and not progress.moving:
        atlas_view(study_id)


@error_boundary()
def watch(study_id: str) -> None:
    """Draws the page anew once somebody else starts what is at rest."""
    if get_service().studies.progress(study_id).moving:
        st.rerun()


def shown_table(study_id: str, progress: Progress) -> ResultTable:
    """The results to draw. While more come, a chart is drawn anew only for every tenth of them: each time it is built afresh."""
    known = st.session_state.get(SHOWN)
    step = max(1, progress.total // 10)
    if progress.moving and known and known[0] == study_id and 0 < known[1] <= progress.done < known[1] + step:
        return known[2]
    table = get_service().studies.table(study_id)
    st.session_state[SHOWN] = (study_id, progress.done, table)
    return table


def show_progress(progress: Progress) -> None:
    words = f"{STATES[progress.state]}: {progress.done} of {progress.total} runs"
    if progress.failed:
        words += f", {progress.failed} failed"
    if progress.state == "running" and progress.seconds_left is not None:
        words += f", about {duration(progress.seconds_left)} left"
    st.progress((progress.done + progress.failed) / max(1, progress.total), text=words)
    if progress.message:
        st.warning(plain(progress.message), icon=":material/warning:")


def duration(seconds: float) -> str:
    """A time in its natural unit."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def figure(study_id: str, drawing: Drawing, number: int) -> None:
    """A view; a click on a field, bar or point opens the run that stands for it."""
    study = get_service().studies.study(study_id)
    drawn = study_figures.figure_of(drawing, study.claim)
    st.subheader(plain(drawing.title), anchor=False)
    if drawing.view.caption != drawing.title:
        note(drawing.view.caption)
    words = study_figures.description(drawing)
    key = f"view-{study_id}-{number}"
    if drawing.clickable:
        click_chart(drawn, words, key, "field" if drawing.grid is not None else "bar or point")
    else:
        chart(drawn, words, key)


def open_cell(study_id: str, number: int) -> None:
    service = get_service()
    try:
        presets.run(service.studies.cell_model(study_id, number, service.add_upload))
    except InvalidInput as error:
        show_error(error)


def export(study_id: str, study: Study) -> None:
    """CSV, the study itself, a run by its number, and what failed."""
    studies = get_service().studies
    with st.container(horizontal=True, vertical_alignment="bottom"):
        titles = {"csv": "Results as CSV", "json": "Study as JSON", "whole": "Study with its results"}
        more = {"whole": "One file with all results and kept factors; open it on any server, under Your studies."}
        for kind, title in titles.items():
            where = address(f"download/study/{study_id}/{kind}")
            st.link_button(title, where, icon=":material/download:", help=more.get(kind))
        counting = "Counted from 1; the column `cell` of the CSV counts from 0."
        number = st.number_input("Run number", FIRST, study.count - 1 + FIRST, width=160, key="study-cell", help=counting)
        if st.button("Open this run", icon=":material/play_arrow:", disabled=get_service().read_only):
            open_cell(study_id, int(number) - FIRST)
    failures = studies.failures(study_id)
    if failures:
        with st.expander(f"Failed runs ({len(failures)})"):
            st.table([{"Run": n + FIRST, "Why": plain(error)} for n, error in failures])


# -- what was best -----------------------------------------------------------------------------


def best() -> None:
    """The settings that did best, for each data set, with one click to open each on the workbench."""
    found = get_service().studies.best(session.runs())
    if not found:
        st.markdown("No study has results to compare yet.")
        return
    for number, setting in enumerate(found):
        with st.container(border=True):
            words, button = st.columns([4, 1], vertical_alignment="center")
        with words:
            st.markdown(setting_words(setting))
        with button:
            closed = get_service().read_only
            if st.button("Open", key=f"best-{number}", icon=":material/tune:", width="stretch", disabled=closed):
                presets.run(setting.spec)


def setting_words(setting: Setting) -> str:
    """Data, score, what was set, and the study it comes from."""
    value, labels = setting.judged.value, ", ".join(f"{name} {label}" for name, label in setting.labels.items())
    score = f"{value:.0%}" if setting.judged_rate else f"{value:.4g} on average"
    penalties = f", α₀ = {setting.alpha0:g}, β₀ = {setting.beta0:g}" if setting.alpha0 is not None else ""
    head = f"**{plain(setting.data)}**: {plain(setting.judged_by)} {score} over {setting.judged.runs} runs"
    sets = f"rank {setting.rank}{penalties}; X: {plain(setting.x)}; Y: {plain(setting.y)}"
    return f"{head}  \n{plain(labels)}  \n:small[{sets}]  \n:small[{plain(setting.study)}]"
