"""The data behind a snapshot: in it, on this server, or made again from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, DatasetSource, FileSource
from semf_core.model import ModelSpec
from semf_core.runs.datasets import Loaded
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import LOOKED_AT_BYTES, Upload, read_dataset
from semf_core.snapshots.cards import Card
from semf_core.snapshots.to_run_folder import data_folder


def has_recipe(spec: ModelSpec) -> bool:
    """Whether the model itself says how to make its data. A file's word on uploads and paths is not taken."""
    return not isinstance(spec.dataset, Upload | FileSource)


def snapshot_dataset(card: Card, spec: ModelSpec, folder: RunFolder, load: Callable[[DatasetSource], Loaded]) -> Dataset:
    """The data that the run was made from, and no other; `load` rejects recipes that this server does not follow."""
    if card.holds_data:
        return read_dataset(data_folder(folder), LOOKED_AT_BYTES)
    if card.upload:
        there = load(_upload(card, spec))
    elif has_recipe(spec):
        there = load(spec.dataset)
    else:
        raise InvalidInput("dataset", "is not in this snapshot and not on this server", "ask for a snapshot that holds its data")
    if (there.fingerprint, there.dataset.shape) != (card.fingerprint, card.shape):  # a file may lie about its shape
        raise InvalidInput("dataset", "is made differently by this version", "ask for a snapshot that holds its data")
    return there.dataset


def _upload(card: Card, spec: ModelSpec) -> Upload:
    """The upload on this server, prepared as the model says."""
    return replace(spec.dataset, id=card.upload) if isinstance(spec.dataset, Upload) else Upload(card.upload)


def snapshot_source(card: Card, spec: ModelSpec, dataset: Dataset, keep: Callable[[Dataset], Upload]) -> DatasetSource:
    """Where a run that goes on from the snapshot takes its data from; `keep` stores what only the snapshot holds."""
    if card.upload:
        return _upload(card, spec)
    if has_recipe(spec) and not card.holds_data:
        return spec.dataset
    return keep(dataset)
