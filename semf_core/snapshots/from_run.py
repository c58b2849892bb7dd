"""From the folder of a run at rest to the content of a snapshot."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.exports import thumbnail
from semf_core.factorization.ending import Ending
from semf_core.factorization.scores import truth_scores
from semf_core.model import ModelSpec
from semf_core.runs.files import read_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import NUMBERS
from semf_core.runs.uploads import public_source
from semf_core.snapshots.content import RESULT_FACTORS, Checkpoint, Content, DataFacts, Outcome, Revision, versions
from semf_core.snapshots.keyframes import packed_keyframes
from semf_core.snapshots.label import Label
from semf_core.solvers import COLUMNS

Array = np.ndarray


@dataclass(frozen=True)
class Story:
    """What is known of a run beside the files in its folder."""

    created: float
    remark: str = ""
    """What the run did not record, and why."""


def from_run(folder: RunFolder, dataset: Dataset, label: Label, story: Story, include_data: bool = False) -> Content:
    """Everything that a run at rest has recorded; rejected if it goes on meanwhile."""
    moved = InvalidInput("run", "went on while it was saved", "pause it and save it again")
    try:
        content = _gathered(folder, dataset, label, story, include_data)
    except FileNotFoundError:  # reset or deleted
        raise moved from None
    if folder.iterations() != content.iterations or len(folder.events()) != len(content.events):
        raise moved
    return content


def _gathered(folder: RunFolder, dataset: Dataset, label: Label, story: Story, include_data: bool) -> Content:
    recorded = folder.history()
    if not len(recorded):
        raise InvalidInput("run", "has not iterated yet, so there is nothing to save", "let it run for a moment")
    events = tuple(folder.events())
    edits = sum(e.kind == "edit" for e in events)
    revisions = tuple(Revision(_public(folder.spec(k)), folder.numbers(k) if k else {}) for k in range(edits + 1))
    spec = revisions[-1].spec
    outcome = _outcome(folder)
    _check_range(recorded.values, outcome)
    keyframes = packed_keyframes(folder, dataset.shape, spec.rank)
    kept = outcome.factors if outcome is not None else vars(folder.frame())
    return Content(
        label=label.titled(spec.title or dataset.title or "Run"),
        created=story.created,
        message=Ending.from_dict(outcome.numbers).text if outcome is not None else "",
        remark=story.remark,
        data=DataFacts(dataset.title, dataset.shape, dataset.fingerprint(), dataset.image_shape),
        versions=versions(),
        truth=truth_scores(dataset, kept["U"], kept["V"], spec.y_set),
        revisions=revisions,
        history=recorded.values,
        iterations=int(recorded.iterations[-1]),
        events=events,
        keyframes=keyframes,
        result=outcome,
        start=folder.start(),
        checkpoint=_checkpoint(folder, int(recorded.iterations[-1]), len(events)),
        dataset=dataset if include_data else None,
        axes=dataset.axes,
        components=folder.component_names(),
        thumbnail=thumbnail(folder, dataset),
    )


def _check_range(history: np.ndarray, outcome: Outcome | None) -> None:
    """Reject a run whose numbers no file can hold: those of data from 10¹⁵⁴ on have no squares."""
    size = history[0, COLUMNS.index("residual_uv")] if outcome is None else outcome.numbers["norm"]
    if not np.isfinite(size):
        raise InvalidInput("run", "has numbers beyond floating point, which no file can hold", "rescale the data")


def _outcome(folder: RunFolder) -> Outcome | None:
    try:
        stored = read_json(folder.result)
    except FileNotFoundError:
        return None
    with np.load(folder.result_factors, allow_pickle=False) as file:
        factors = {name: file[name] for name in RESULT_FACTORS}
    return Outcome(str(stored["state"]), {name: stored[name] for name in (*NUMBERS, "ending") if name in stored}, factors)


def _checkpoint(folder: RunFolder, recorded: int, events: int) -> Checkpoint | None:
    """The checkpoint without the history and the events, which are there already."""
    try:
        with np.load(folder.checkpoint, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return None
    meta: dict[str, Any] = json.loads(arrays.pop("meta").tobytes())
    rows, seen = len(arrays.pop("history")), len(meta.pop("events"))
    iterations = int(arrays["history_end"][0]) if "history_end" in arrays else rows
    if iterations > recorded or seen > events:  # a file system that lost the end of a file
        return None
    return Checkpoint(iterations, seen, meta, arrays)


def _public(spec: ModelSpec) -> ModelSpec:
    return replace(spec, dataset=public_source(spec.dataset))
