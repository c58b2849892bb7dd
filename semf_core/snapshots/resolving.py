"""The data behind a snapshot: in it, on this server, or made again from its recipe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from semf_core.datasets import Dataset, DatasetSource, FileSource
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import Upload, read_dataset
from semf_core.snapshots.cards import Card
from semf_core.snapshots.opened import data_folder


def has_recipe(spec: ModelSpec) -> bool:
    """Whether the model itself says how to make its data. A file's word on uploads and paths is not taken."""
    return not isinstance(spec.dataset, Upload | FileSource)


def snapshot_dataset(
    card: Card, spec: ModelSpec, folder: RunFolder, home: Path, check: Callable[[DatasetSource], None]
) -> Dataset:
    """The data that the run was made from, and no other; `check` refuses recipes that this server does not follow."""
    if card.holds_data:
        return read_dataset(data_folder(folder))
    if card.upload:
        dataset = Upload(card.upload).load_from(home)
    elif has_recipe(spec):
        check(spec.dataset)
        dataset = spec.dataset.load()
    else:
        raise InvalidInput("dataset", "is not in this snapshot and not on this server; ask for a snapshot that holds its data")
    if dataset.fingerprint() != card.fingerprint:
        raise InvalidInput("dataset", "is made differently by this version; ask for a snapshot that holds its data")
    return dataset


def snapshot_source(card: Card, spec: ModelSpec, dataset: Dataset, keep: Callable[[Dataset], Upload]) -> DatasetSource:
    """Where a run that goes on from the snapshot takes its data from; `keep` stores what only the snapshot holds."""
    if card.upload:
        return Upload(card.upload)
    if has_recipe(spec) and not card.holds_data:
        return spec.dataset
    return keep(dataset)
