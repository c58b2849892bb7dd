"""From the folder of a run at rest to the content of a snapshot."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.datasets import Dataset, FileSource
from semf_core.exports import thumbnail
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.runs.files import read_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import NUMBERS
from semf_core.runs.uploads import UNNAMED, Upload
from semf_core.scores import truth_scores
from semf_core.snapshots.content import RESULT_FACTORS, Checkpoint, Content, DataFacts, Edition, Outcome, versions
from semf_core.snapshots.keyframes import packed_keyframes
from semf_core.snapshots.label import Label

Array = np.ndarray


@dataclass(frozen=True)
class Story:
    """What is known of a run beside the files in its folder."""

    created: float
    remark: str = ""
    """What the run did not record, and why."""


def _without_address(spec: ModelSpec) -> ModelSpec:
    """The model without the place of its data: an upload's id opens the data, and a path is nobody else's business."""
    if isinstance(spec.dataset, Upload):
        return replace(spec, dataset=UNNAMED)
    if isinstance(spec.dataset, FileSource):
        return replace(spec, dataset=replace(spec.dataset, path=Path(spec.dataset.path).name))
    return spec


def gather(folder: RunFolder, dataset: Dataset, label: Label, story: Story, include_data: bool = False) -> Content:
    """Everything that a run at rest has recorded; refused if it goes on meanwhile."""
    moved = InvalidInput("run", "went on while it was saved; pause it and save it again")
    try:
        content = _gathered(folder, dataset, label, story, include_data)
    except FileNotFoundError:  # reset or deleted
        raise moved from None
    if folder.row_count() != len(content.history) or len(folder.events()) != len(content.events):
        raise moved
    return content


def _gathered(folder: RunFolder, dataset: Dataset, label: Label, story: Story, include_data: bool) -> Content:
    rows = folder.rows()
    if not len(rows):
        raise InvalidInput("run", "has not iterated yet, so there is nothing to save; let it run for a moment")
    events = tuple(folder.events())
    edits = sum(e.kind == "edit" for e in events)
    editions = tuple(Edition(_without_address(folder.spec(k)), folder.numbers(k) if k else {}) for k in range(edits + 1))
    spec = editions[-1].spec
    outcome = _outcome(folder)
    keyframes = packed_keyframes(folder, dataset.shape, spec.rank)
    best = outcome.factors["U"] if outcome is not None else folder.frame().U
    return Content(
        label=label.titled(spec.title or dataset.title or "Run"),
        created=story.created,
        message=str(outcome.numbers["stop_reason"]) if outcome is not None else "",
        remark=story.remark,
        data=DataFacts(dataset.title, dataset.shape, dataset.fingerprint(), dataset.image_shape),
        versions=versions(),
        truth=truth_scores(dataset, best, spec.y_set),
        editions=editions,
        history=rows,
        events=events,
        keyframes=keyframes,
        result=outcome,
        start=_start(folder),
        checkpoint=_checkpoint(folder, len(rows), len(events)),
        dataset=dataset if include_data else None,
        thumbnail=thumbnail(folder, dataset),
    )


def _outcome(folder: RunFolder) -> Outcome | None:
    try:
        stored = read_json(folder.result)
    except FileNotFoundError:
        return None
    with np.load(folder.result_factors, allow_pickle=False) as file:
        factors = {name: file[name] for name in RESULT_FACTORS}
    return Outcome(str(stored["state"]), {name: stored[name] for name in NUMBERS}, factors)


def _start(folder: RunFolder) -> tuple[Array, Array] | None:
    try:
        with np.load(folder.start_factors, allow_pickle=False) as stored:
            return stored["X"], stored["Y"]
    except FileNotFoundError:
        return None


def _checkpoint(folder: RunFolder, rows: int, events: int) -> Checkpoint | None:
    """The checkpoint without the history and the events, which are there already."""
    try:
        with np.load(folder.checkpoint, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        return None
    meta: dict[str, Any] = json.loads(arrays.pop("meta").tobytes())
    iterations, seen = len(arrays.pop("history")), len(meta.pop("events"))
    if iterations > rows or seen > events:  # a file system that lost the end of a file
        return None
    return Checkpoint(iterations, seen, meta, arrays)
