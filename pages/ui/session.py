"""What one visitor has chosen, typed: the model with its data, and the runs started here.

Everything lives under plain keys of `st.session_state`, so it survives page changes (widget keys do
not). The model is always a whole `ModelSpec`; its dataset is the current data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import secrets

import streamlit as st

from pages.ui import visitors
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, DatasetSource
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.runs.datasets import Loaded
from semf_core.service import RunStatus, check_visitors_source, get_service

SPEC, STAMP, RUNS, CURRENT = "semf_spec", "semf_spec_stamp", "semf_runs", "semf_run"
SNAPSHOTS, STRIPS, STRIP, VISITOR = "semf_snapshots", "semf_strips", "semf_strip", "semf_visitor"
LESSONS, STUDY = "semf_lessons", "semf_study"
_SECRET = secrets.token_bytes(32)


# -- the model ---------------------------------------------------------------------------------


def spec() -> ModelSpec:
    """The current model; at first the first preset."""
    if SPEC not in st.session_state:
        st.session_state[SPEC] = preset(preset_names()[0])
    return st.session_state[SPEC]


def set_spec(new: ModelSpec) -> None:
    """Replace the whole model (a preset, a pasted spec, a fork); its widgets start afresh."""
    check_source(new.dataset)
    st.session_state[SPEC] = new
    st.session_state[STAMP] = stamp() + 1


def update_spec(**changes: object) -> ModelSpec:
    """Change fields of the model while its widgets stay as they are."""
    st.session_state[SPEC] = dataclasses.replace(spec(), **changes)  # type: ignore[arg-type]
    return st.session_state[SPEC]


def stamp() -> int:
    """Changes whenever the model was replaced from outside its widgets: part of their keys."""
    return int(st.session_state.get(STAMP, 0))


def leave_what_is_open() -> None:
    """The list of a page instead of the one thing that it shows: a snapshot or a study."""
    st.session_state.pop(STUDY, None)
    st.query_params.clear()


# -- the data ----------------------------------------------------------------------------------


def source() -> DatasetSource:
    """Where the current data comes from."""
    return spec().dataset


def check_source(new: DatasetSource) -> None:
    """Reject sources that would read the server's own files or fill its memory."""
    check_visitors_source(new)


def loaded() -> Loaded:
    """The current data; raises InvalidInput with a sentence where it cannot be had (an upload that is gone)."""
    return load(source())


def dataset() -> Dataset:
    return loaded().dataset


def load(which: DatasetSource) -> Loaded:
    """The data of a source, shared by all sessions that look at the same."""
    check_source(which)
    return get_service().datasets.loaded(which)


# -- who it is ---------------------------------------------------------------------------------


def visitor() -> str:
    """A name by which the server tells visitors apart, for turns and limits: address and browser, neither to be read from it."""
    who = visitors.visitor()
    if who.startswith(visitors.PERSON):  # the same one wherever he is
        return who
    mine = who or st.session_state.setdefault(VISITOR, secrets.token_hex(8))
    return f"{_named(st.context.ip_address)}/{mine}"


def _named(address: object) -> str:
    """The same for the same address; empty where there is none, as on one's own computer."""
    return hashlib.blake2b(address.encode(), key=_SECRET, digest_size=8).hexdigest() if isinstance(address, str) else ""


# -- runs --------------------------------------------------------------------------------------


def runs() -> dict[str, str]:
    """Runs that this session started, with the keys that control them: {id: key}."""
    return st.session_state.setdefault(RUNS, {})


def add_run(run_id: str, key: str) -> None:
    """Remember a run of one's own and look at it."""
    runs()[run_id] = key
    st.session_state[CURRENT] = run_id


def forget_run(run_id: str) -> None:
    runs().pop(run_id, None)
    if current_run() == run_id:
        st.session_state.pop(CURRENT, None)


def current_run() -> str | None:
    """The run that was looked at last."""
    return st.session_state.get(CURRENT)


def set_current_run(run_id: str | None) -> None:
    st.session_state[CURRENT] = run_id


def key_for(run_id: str) -> str | None:
    """The control key of a run, if this session has it."""
    return runs().get(run_id) or None


def own_key(status: RunStatus) -> str | None:
    """The key that controls a run: its own, or that of the strip it was started in."""
    return next((key for key in (key_for(status.id), *strips().values()) if key and status.owner_ok(key)), None)


# -- strips of variants ------------------------------------------------------------------------


def strips() -> dict[str, str]:
    """Strips of the visitor's own, with the keys that control them and their runs: {id: key}."""
    return st.session_state.setdefault(STRIPS, {})


def own_runs() -> list[str]:
    """The visitor's runs, then those of the visitor's strips, the newest first."""
    found = list(reversed(runs()))
    for strip_id in reversed(strips()):
        with contextlib.suppress(InvalidInput):  # deleted
            found += [variant.run for variant in reversed(get_service().strips.get(strip_id).shown)]
    return list(dict.fromkeys(found))


def add_strip(strip_id: str, key: str) -> None:
    """Remember a strip of one's own and work on it."""
    strips()[strip_id] = key
    st.session_state[STRIP] = strip_id


def current_strip() -> str | None:
    """The strip that was worked on last; after a reload the newest that the browser knows of."""
    return st.session_state.get(STRIP) or next(reversed(strips()), None)


# -- snapshots ---------------------------------------------------------------------------------


def snapshots() -> dict[str, str]:
    """Snapshots of the visitor's own, with the keys that control them: {id: key}."""
    return st.session_state.setdefault(SNAPSHOTS, {})


def add_snapshot(snapshot_id: str, key: str) -> None:
    snapshots()[snapshot_id] = key


# -- lessons -----------------------------------------------------------------------------------


def lessons() -> dict[str, str]:
    """How far this visitor is: {lesson: stage}, and {lesson/stage: best attempts as JSON}."""
    return st.session_state.setdefault(LESSONS, {})
