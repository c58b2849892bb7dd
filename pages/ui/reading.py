"""How files become data: what was judged from them, said as a question, and the widgets that say otherwise."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import streamlit as st

from pages.ui import params, session
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Reading
from semf_core.datasets.images import is_image
from semf_core.datasets.reading import LARGEST, STACKS
from semf_core.datasets.text_encoding import ENCODINGS
from semf_core.runs.uploads import Upload
from semf_core.service import get_service

TOLD = "semf_data_told"
"""What reading the files has told, and of which files."""
TOLD_GAP = "semf_data_gap"
"""The number that was judged to stand for a missing entry, which stays to be chosen once that was denied."""
KEY = "data.reading."
CHOICES = ("orientation", "member", "header", "index", "stack", "encoding", "missing", "colour")
SAMPLES = {"columns": "columns", "rows": "rows"}
FIRST = {
    "names": "names of the rows",
    "axis": "the axis of the rows",
    "labels": "the class of each row",
    "data": "data like the others",
    "long": "a place: one number a line",
}
FIRST_LINE = {"names": "names of the columns", "axis": "the axis of the columns", "data": "data like the others"}
STACK_WORDS = {
    "pictures-first": "pictures: n × height × width",
    "pictures-last": "pictures: height × width × n",
    "bands-first": "one picture: bands × height × width",
    "bands-last": "one picture: height × width × bands",
}


def wanted(ids: tuple[str, ...]) -> Reading:
    """As the visitor has said for these very files, otherwise as they look."""
    if st.session_state.get(TOLD, ((), {}))[0] != ids:
        st.session_state[TOLD] = (ids, {})
        for name in CHOICES:
            st.session_state.pop(KEY + name, None)
    told = st.session_state[TOLD][1]
    known = {key: value for key, value in told["reading"].items() if key != "name"} if told else {}
    said = {name: st.session_state.get(KEY + name) for name in CHOICES}
    given = {name: value for name, value in said.items() if value is not None}
    if not told or given.get("member", known.get("member")) != known.get("member"):
        for name in set(CHOICES) - {"member"}:  # another array is looked at afresh
            st.session_state.pop(KEY + name, None)
        return Reading(orientation="auto", colour="auto", member=given.get("member", LARGEST))
    return Reading(**known | given)


def remember(ids: tuple[str, ...], told: dict[str, Any]) -> Reading:
    """Keep what reading the files has told; how they were read."""
    st.session_state[TOLD] = (ids, told)
    return Reading.from_params({key: value for key, value in told["reading"].items() if key != "name"})


def widgets(names: list[str], ids: tuple[str, ...]) -> None:
    """What was found in the files, each with a way to say that it is otherwise."""
    told = st.session_state.get(TOLD, ((), {}))[1]
    if not told:
        return
    known = told["reading"]
    cells = itertools.cycle(st.columns(3))
    if told["orientable"]:
        params.keep(KEY + "orientation", known.get("orientation", "columns"))
        with next(cells):
            st.segmented_control("The samples are the", list(SAMPLES), key=KEY + "orientation", required=True,
                                 help="One sample is one column of M; a table with samples in rows is turned.")  # fmt: skip
    members = {name: shape for name, shape in told["members"]}
    if len(members) > 1:
        params.keep(KEY + "member", known.get("member"))
        with next(cells):
            words = {name: f"{name} ({' × '.join(map(str, shape))})" if shape else name for name, shape in members.items()}
            st.selectbox("Which of them", list(members), format_func=params.shown_as(words), key=KEY + "member")
    if known.get("header", "auto") != "auto":
        params.keep(KEY + "header", known["header"])
        with next(cells):
            st.selectbox("The first line is", list(FIRST_LINE), format_func=params.shown_as(FIRST_LINE), key=KEY + "header")
    if known.get("index", "auto") != "auto":
        params.keep(KEY + "index", known["index"])
        with next(cells):
            st.selectbox("The first column is", list(FIRST), format_func=params.shown_as(FIRST), key=KEY + "index")
    if known.get("stack", "auto") != "auto":
        params.keep(KEY + "stack", known["stack"])
        with next(cells):
            st.selectbox("The array holds", STACKS[1:], format_func=params.shown_as(STACK_WORDS), key=KEY + "stack")
    if known.get("encoding", "auto") != "auto":
        params.keep(KEY + "encoding", known["encoding"])
        with next(cells):
            st.selectbox("Its letters are", list(ENCODINGS), format_func=params.shown_as(ENCODINGS), key=KEY + "encoding")
    if (gap := known.get("missing", "auto")) != "auto":
        number = gap if gap != "none" else st.session_state[TOLD_GAP]
        st.session_state[TOLD_GAP] = number
        params.keep(KEY + "missing", gap)
        with next(cells):
            words = {number: "a missing entry", "none": "a number like the others"}
            st.selectbox(f"{number} is", list(words), format_func=params.shown_as(words), key=KEY + "missing")
    if all(is_image(name) or name.lower().endswith(".zip") for name in names):
        params.keep(KEY + "colour", known.get("colour", "grey"))
        with next(cells):
            st.segmented_control("Colour pictures become", ["grey", "channels"], key=KEY + "colour", required=True)
    for sentence in [f"{told['question']}: samples are {known.get('orientation', 'columns')}?"] if told["question"] else []:
        params.note(sentence)
    for sentence in told["remarks"]:
        params.note(sentence)


def _in_strips() -> list[str]:
    """The runs on the visitor's own workbenches."""
    found: list[str] = []
    for strip_id in session.strips():
        with contextlib.suppress(InvalidInput):  # deleted
            found += [variant.run for variant in get_service().strips.get(strip_id).shown]
    return found


def earlier_uploads() -> dict[Upload, str]:
    """Uploads behind the visitor's own runs and snapshots, newest first, each with its words."""
    found: dict[str, tuple[Upload, str]] = {}
    service = get_service()
    for run in service.list_runs(reversed([*session.runs(), *_in_strips(), *session.snapshots()])):
        source = run.spec.dataset
        if not isinstance(source, Upload) or source.id in found:
            continue
        try:
            data = service.datasets.dataset(source)
        except InvalidInput:  # its data is no longer here
            continue
        named = source.file or data.title or "data"
        found[source.id] = (source, f"{named}: {data.shape[0]:,} × {data.shape[1]:,}, used in “{run.title or 'Run'}”")
    return dict(found.values())
