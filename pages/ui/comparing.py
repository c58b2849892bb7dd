"""The Compare page's parts: what is pinned, ways to pin more, the table, and files to keep."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.ui import params, session
from pages.ui.compare_feed import reader
from pages.ui.words import sentence
from semf_core.comparing import SCORES, Comparison, Shown, comparison, comparison_names, figure_html, figure_image, table_csv
from semf_core.comparing.reading import MOST_RUNS
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.runs.ids import ID
from semf_core.service import get_service
from semf_core.solvers import SOLVERS

MOST_ROWS = 20
"""Of the table; more of them are scrolled."""
ROW_PIXELS, LETTER_PIXELS, WIDEST_NAME = 35, 6, 280
PINS, FLASH = "semf_pins", "semf_compare_flash"


# -- pins --------------------------------------------------------------------------------------


def pins() -> list[str]:
    """Ids of the runs and snapshots that are compared; those in the address come first."""
    named = [p for p in st.query_params.get("pin", "").split(",") if p]
    kept = st.session_state.setdefault(PINS, [])
    wanted = list(dict.fromkeys([*kept, *named]))
    kept[:] = reader().existing([p for p in wanted if ID.fullmatch(p)])
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
    refused = []
    for model in models:
        try:
            handle = get_service().start(model)
        except InvalidInput as refusal:
            refused.append(f"{model.title or model.solver.title}: {sentence(refusal)}")
            continue
        session.runs()[handle.id] = handle.key
        pin([handle.id])
    if refused:
        _say(" ".join(refused))


def ready_made(expanded: bool) -> None:
    """One click for each comparison that comes with the library."""
    closed = get_service().read_only
    with st.expander("Ready comparisons, one click each", icon=":material/bolt:", expanded=expanded):
        for index, name in enumerate(comparison_names()):
            plan: Comparison = comparison(name)
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.button(
                    f"Compare {len(plan.models)} models",
                    key=f"ready-{name}",
                    type="primary" if index == 0 else "secondary",
                    icon=":material/play_arrow:",
                    disabled=closed,
                    on_click=start,
                    args=(plan.models, True),
                )
                st.markdown(f"**{plan.title}.** {plan.watch}", width="stretch")


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
    st.markdown(f"Data: **{name}**, rank {spec.rank}, seed {spec.seed}. Others are chosen on the pages Data and Model.")
    titles = {cls.name: cls.title for cls in SOLVERS if not cls.takes_sets}
    key = "compare.algorithms"
    chosen = st.multiselect("Algorithms with their default options", list(titles), format_func=titles.get, key=key)
    with st.container(horizontal=True):
        off = get_service().read_only
        st.button("Start them", key="compare.start", icon=":material/play_arrow:", on_click=_start_chosen,
                  disabled=off or not chosen)  # fmt: skip
        st.button("Start the current model", key="compare.model", icon=":material/tune:", on_click=start, args=([spec],),
                  disabled=off, help=f"{spec.solver.title} with the options and constraints of the Model page.")  # fmt: skip


def _start_chosen() -> None:
    spec = session.spec()
    chosen = [SOLVERS.get(name) for name in st.session_state.get("compare.algorithms", ())]
    limits = replace(spec.limits, polish=0, kick=False)  # those are of the current model, not of these algorithms
    start([replace(spec, solver=cls(), x=(), y=(), limits=limits, title=cls.title, watch="") for cls in chosen])


def _own_runs() -> None:
    pinned = set(st.session_state.get(PINS, ()))
    own = {s.id: f"{s.title or 'Run'} ({s.iterations} iterations)" for s in get_service().list_runs(reversed(session.runs()))}
    free = [run_id for run_id in own if run_id not in pinned]
    if not free:
        params.note("There are no other runs of yours in this browser.")
        return
    chosen = st.multiselect("Runs that you started", free, format_func=own.get, key="compare.own")
    st.button("Pin them", key="compare.pin", icon=":material/keep:", disabled=not chosen, on_click=pin, args=(chosen,))


def _take_out(run_ids: Sequence[str]) -> None:
    statuses = {s.id: s for s in get_service().list_runs(run_ids)}
    labels = reader().names(list(statuses))
    out = st.multiselect("Runs on this page", list(labels), format_func=labels.get, key="compare.out")
    moving = [run_id for run_id, s in statuses.items() if s.moving and session.key_for(run_id)]
    with st.container(horizontal=True):
        st.button("Take out", key="compare.remove", disabled=not out, on_click=unpin, args=(out,), icon=":material/close:")
        st.button("Stop all", key="compare.stop", disabled=not moving, on_click=_stop, args=(moving,), icon=":material/stop:")


def _stop(run_ids: Sequence[str]) -> None:
    for run_id in run_ids:
        try:
            get_service().stop(run_id, session.key_for(run_id) or "")
        except InvalidInput as refusal:  # it has just come to its end
            _say(sentence(refusal))


def _pin_link() -> None:
    text = st.session_state.get("compare.link", "")
    found = [word for word in re.findall(r"[A-Za-z0-9_-]+", text) if ID.fullmatch(word)]
    there = reader().existing(found)
    if there:
        pin(there)
        st.session_state["compare.link"] = ""
    else:
        _say("This is no link or id of a run that exists here; copy it from the Share menu of a run.")


# -- what is seen ------------------------------------------------------------------------------


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


# -- files -------------------------------------------------------------------------------------


def files(run_ids: Sequence[str]) -> None:
    """The table and the figure to keep; a figure is drawn when somebody wants it."""
    by_time = st.toggle("Figures against seconds instead of iterations", key="compare.seconds")
    axis = "seconds" if by_time else "iterations"
    kinds: tuple[tuple[str, str, str, Callable[[], Any]], ...] = (
        ("Table (CSV)", "comparison.csv", "text/csv", lambda: table_csv(reader().scores(run_ids))),
        ("Figure (PNG)", "comparison.png", "image/png", lambda: figure_image(shown(run_ids, axis), "png")),
        ("Figure (SVG)", "comparison.svg", "image/svg+xml", lambda: figure_image(shown(run_ids, axis), "svg")),
        ("Figure (HTML)", "comparison.html", "text/html", lambda: figure_html(shown(run_ids, axis))),
    )
    with st.container(horizontal=True):
        for label, name, mime, make in kinds:
            st.download_button(label, make, name, mime, key=f"compare.{name}", icon=":material/download:", on_click="ignore")


def shown(run_ids: Sequence[str], axis: str) -> Shown:
    """What the figure holds: light ground, whatever the page's theme."""
    read = reader()
    reference = read.reference(run_ids)
    montages = [read.truth(reference, "light")]
    named = read.names(run_ids).items()
    montages += [read.montage(run_id, read.frame(run_id), name, reference, "light") for run_id, name in named]
    floor = read.floor(run_ids)
    return Shown(read.curves(run_ids), [m for m in montages if m is not None], axis, None if floor is None else floor[0])
