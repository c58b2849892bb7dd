"""The Compare page's parts: what is pinned, ways to pin more, the table, and files to keep."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.ui import glossary, params, session
from pages.ui.compare_feed import reader
from pages.ui.error_boundary import error_boundary
from pages.ui.live import address
from semf_core.common.errors import InvalidInput
from semf_core.comparison import SCORES, Comparison, comparison, comparison_names
from semf_core.comparison.reading import MOST_RUNS
from semf_core.model import ModelSpec
from semf_core.service import get_service
from semf_core.service.public import may_be_run
from semf_core.solvers import SOLVERS

MOST_ROWS = 20
"""Of the table; more of them are scrolled."""
ROW_PIXELS, LETTER_PIXELS, WIDEST_NAME = 35, 6, 280
PINS, FLASH, SAME_START = "semf_pins", "semf_compare_flash", "compare.same_start"


# -- pins --------------------------------------------------------------------------------------


def pins() -> list[str]:
    """Ids of the runs and snapshots that are compared; those in the address come first."""
    named = [p for p in st.query_params.get("pin", "").split(",") if p]
    kept = st.session_state.setdefault(PINS, [])
    wanted = list(dict.fromkeys([*kept, *named]))
    kept[:] = reader().existing([p for p in wanted if may_be_run(p)])
    if len(kept) < min(len(wanted), MOST_RUNS):
        _say("Not everything in this link is here any more: a run may have been deleted, or the link is not whole.")
    _remember()
    return list(kept)


def _remember() -> None:
    """The address shows what is pinned, so that it can be given away."""
    kept = st.session_state[PINS]
    if kept:
        st.query_params["pin"] = ",".join(kept)
    elif "pin" in st.query_params:
        del st.query_params["pin"]


def pin(run_ids: Sequence[str]) -> None:
    """Put runs beside those that are pinned already."""
    kept = st.session_state.setdefault(PINS, [])
    kept += [run_id for run_id in run_ids if run_id not in kept]
    if len(kept) > MOST_RUNS:
        _say(f"At most {MOST_RUNS} runs are compared at a time; the first of them were taken out.")
        del kept[:-MOST_RUNS]
    _remember()


def unpin(run_ids: Sequence[str]) -> None:
    kept = st.session_state.setdefault(PINS, [])
    kept[:] = [run_id for run_id in kept if run_id not in run_ids]
    _remember()


def _say(text: str) -> None:
    st.session_state[FLASH] = text


def say_flash() -> None:
    text = st.session_state.pop(FLASH, None)
    if text:
        st.warning(text, icon=":material/info:")


# -- starting ----------------------------------------------------------------------------------


def start(models: Sequence[ModelSpec], afresh: bool = False) -> None:
    """Queue a run of each model and pin it; those that do not fit the data are named with the reason."""
    if afresh:
        unpin(list(st.session_state.get(PINS, ())))
    rejected = []
    for model in models:
        try:
            handle = get_service().start(model, visitor=session.visitor())
        except InvalidInput as error:
            rejected.append(f"{params.plain(model.title or model.solver.title)}: {params.sentence(error)}")
            continue
        session.runs()[handle.id] = handle.key
        pin([handle.id])
    if rejected:
        _say(" ".join(rejected))


def ready_made(expanded: bool) -> None:
    """One click for each comparison that comes with the library."""
    closed = get_service().read_only
    with st.expander("Ready comparisons, one click each", icon=":material/bolt:", expanded=expanded):
        for index, name in enumerate(comparison_names()):
            plan: Comparison = comparison(name)
            press, words = st.columns([1, 5], vertical_alignment="center")
            press.button(
                f"Compare {len(plan.models)} models",
                key=f"ready-{name}",
                type="primary" if index == 0 else "secondary",
                icon=":material/play_arrow:",
                disabled=closed,
                on_click=start,
                args=(plan.models, True),
                width="stretch",
            )
            words.markdown(f"**{plan.title}.** {plan.watch}")


def choosing(run_ids: Sequence[str]) -> None:
    """Ways to pin more (algorithms on the current data, own runs, a link) and to take out what is pinned."""
    with st.expander("Add or take out", icon=":material/playlist_add:", expanded=not run_ids):
        algorithms, runs, link, out = st.tabs(["Algorithms on the current data", "Your runs", "By link", "Take out"])
        with algorithms:
            _algorithms()
        with runs:
            _own_runs()
        with link:
            st.text_input("Link or id of a run or snapshot", key="compare.link", on_change=_pin_link)
        with out:
            _take_out(run_ids)


def _algorithms() -> None:
    spec = session.spec()
    name = params.plain(session.loaded().dataset.title or spec.dataset.title)
    st.markdown(f"Data: **{name}**, rank {spec.rank}, seed {spec.seed}. Others are chosen on Data and on the workbench.")
    titles = {cls.name: cls.title for cls in SOLVERS if not cls.takes_sets}
    key = "compare.algorithms"
    chosen = st.multiselect("Algorithms with their default options", list(titles), format_func=params.shown_as(titles), key=key)
    same = st.toggle(
        "The same random start for all", True, key=SAME_START, help="One seed, one X and Y in the units of the data."
    )
    others = [f"{titles[name]} ({SOLVERS.get(name).own_start})" for name in chosen if SOLVERS.get(name).own_start]
    if same and others:
        params.note(f"With a start of their own: {'; '.join(others)}.")
    with st.container(horizontal=True):
        off = get_service().read_only
        st.button("Start them", key="compare.start", icon=":material/play_arrow:", on_click=_start_chosen,
                  disabled=off or not chosen)  # fmt: skip
        st.button("Start the current model", key="compare.model", icon=":material/tune:", on_click=_start_model,
                  disabled=off, help=f"{spec.solver.title} with the options and constraints of the workbench.")  # fmt: skip


def _start_model() -> None:
    spec = session.spec()
    start([replace(spec, limits=replace(spec.limits, common_start=bool(st.session_state.get(SAME_START))))])


def _start_chosen() -> None:
    spec = session.spec()
    chosen = [SOLVERS.get(name) for name in st.session_state.get("compare.algorithms", ())]
    same = bool(st.session_state.get(SAME_START))
    limits = replace(spec.limits, polish=0, kick=None, common_start=same)  # the others are of the current model
    start([replace(spec, solver=cls(), x=(), y=(), limits=limits, title=cls.title, watch="") for cls in chosen])


def _own_runs() -> None:
    pinned = set(st.session_state.get(PINS, ()))
    statuses = get_service().list_runs(session.own_runs())
    names = reader().names([s.id for s in statuses])
    own = {s.id: f"{names[s.id]} ({s.iterations} iterations)" for s in statuses}
    free = [run_id for run_id in own if run_id not in pinned]
    if not free:
        params.note("There are no other runs of yours in this browser.")
        return
    chosen = st.multiselect("Runs that you started", free, format_func=params.shown_as(own), key="compare.own")
    st.button("Pin them", key="compare.pin", icon=":material/keep:", disabled=not chosen, on_click=pin, args=(chosen,))


def _take_out(run_ids: Sequence[str]) -> None:
    statuses = {s.id: s for s in get_service().list_runs(run_ids)}
    labels = reader().names(list(statuses))
    out = st.multiselect("Runs on this page", list(labels), format_func=params.shown_as(labels), key="compare.out")
    moving = [run_id for run_id, s in statuses.items() if s.moving and session.key_for(run_id)]
    with st.container(horizontal=True):
        st.button("Take out", key="compare.remove", disabled=not out, on_click=unpin, args=(out,), icon=":material/close:")
        st.button("Stop all", key="compare.stop", disabled=not moving, on_click=_stop, args=(moving,), icon=":material/stop:")


def _stop(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        try:
            get_service().stop(run_id, session.key_for(run_id) or "")
        except InvalidInput as error:  # it has just come to its end
            _say(params.sentence(error))


def _pin_link() -> None:
    text = st.session_state.get("compare.link", "")
    found = [word for word in re.findall(r"[A-Za-z0-9_.-]+", text) if may_be_run(word)]
    there = reader().existing(found)
    if there:
        pin(there)
        st.session_state["compare.link"] = ""
    else:
        _say("This is no link or id of a run that exists here; copy it from the Share menu of a run.")


# -- what is seen ------------------------------------------------------------------------------


@error_boundary()
def table(run_ids: Sequence[str]) -> None:
    """All scores, sortable; refreshed by the page's fragment while runs move."""
    rows = reader().scores(run_ids)
    columns = [c for c in SCORES if any(getattr(row, c.name) is not None for row in rows)]
    numeric = {c.title: st.column_config.NumberColumn(c.title, help=c.help, format=c.form) for c in columns[3:]}
    words = {c.title: st.column_config.TextColumn(c.title, help=c.help) for c in columns[1:3]}
    longest = max(len(row.title) for row in rows)
    name = columns[0]
    width = min(WIDEST_NAME, LETTER_PIXELS * (longest + 5))
    words[name.title] = st.column_config.TextColumn(name.title, help=name.help, pinned=True, width=width)
    data = {c.title: [getattr(row, c.name) for row in rows] for c in columns}
    st.dataframe(
        data,
        height=ROW_PIXELS * (1 + min(len(rows), MOST_ROWS)) + 2,
        hide_index=True,
        column_config={**words, **numeric},
        key="compare.table",
        row_height=ROW_PIXELS,
        alt=f"Scores of {len(rows)} compared runs",
        placeholder="–",
    )
    glossary.meanings(c.name for c in columns)


# -- files -------------------------------------------------------------------------------------


def files(run_ids: Sequence[str]) -> None:
    """Links to the table and the figure; a file is made when somebody asks for it."""
    by_time = st.toggle("Figures against seconds instead of iterations", key="compare.seconds")
    query = f"?runs={','.join(run_ids)}&axis={'seconds' if by_time else 'iterations'}"
    titles = {"csv": "Table (CSV)", "png": "Figure (PNG)", "svg": "Figure (SVG)", "html": "Figure (HTML)"}
    with st.container(horizontal=True):
        for kind, title in titles.items():
            st.link_button(title, address(f"download/comparison.{kind}{query}"), icon=":material/download:")
