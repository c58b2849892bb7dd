"""What one visitor has chosen, typed: the model with its data, and the runs started here.

Everything lives under plain keys of `st.session_state`, so it survives page changes (widget keys do
not). The model is always a whole `ModelSpec`; its dataset is the current data.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

import streamlit as st

from semf_core.datasets import Dataset, DatasetSource
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.service import check_visitors_source

SPEC, STAMP, RUNS, CURRENT = "semf_spec", "semf_spec_stamp", "semf_runs", "semf_run"
SNAPSHOTS = "semf_snapshots"
SERVER_FILES = "file"
"""The dataset source that reads a path: right for the command line, wrong for a visitor of a server."""


@dataclass(frozen=True)
class Loaded:
    """A dataset in memory with its fingerprint, which keys everything derived from it."""

    dataset: Dataset
    fingerprint: str


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


# -- the data ----------------------------------------------------------------------------------


def source() -> DatasetSource:
    """Where the current data comes from."""
    return spec().dataset


def set_source(new: DatasetSource) -> None:
    """Take other data for the current model; title and hint belonged to the old data."""
    check_source(new)
    if new != source():
        update_spec(dataset=new, title="", watch="")


def check_source(new: DatasetSource) -> None:
    """Refuse sources that would read the server's own files or fill its memory."""
    check_visitors_source(new)


def loaded() -> Loaded:
    """The current data; raises InvalidInput with a sentence where it cannot be had (an upload that is gone)."""
    return load(source())


def dataset() -> Dataset:
    return loaded().dataset


def load(which: DatasetSource) -> Loaded:
    """The data of a source, shared by all sessions that look at the same."""
    check_source(which)
    return _load(json.dumps(which.to_dict(), sort_keys=True), which)


@st.cache_resource(max_entries=8, show_spinner="Loading the data …")
def _load(key: str, _source: DatasetSource) -> Loaded:
    data = _source.load()
    return Loaded(data, data.fingerprint())


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


# -- snapshots ---------------------------------------------------------------------------------


def snapshots() -> dict[str, str]:
    """Snapshots of the visitor's own, with the keys that control them: {id: key}."""
    return st.session_state.setdefault(SNAPSHOTS, {})


def add_snapshot(snapshot_id: str, key: str) -> None:
    snapshots()[snapshot_id] = key
