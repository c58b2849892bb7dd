"""Data of a user's own, kept on the server under an id that cannot be guessed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.datasets import DATASETS, Dataset, DatasetSource
from semf_core.parameters import InvalidInput, param
from semf_core.runs.files import read_json, remove_folder, write_json
from semf_core.runs.home import MB, Quota, default_home, number_from_env
from semf_core.runs.ids import checked_id, new_id

MAPPED_BYTES = 256 * MB
"""A dense matrix above this is left on disk and mapped; below, memory is faster."""
TRUTH = ("parts", "activations", "labels")
INFO = ("title", "image_shape", "groups", "note")


@DATASETS.register
@dataclass(frozen=True, eq=False)
class Upload(DatasetSource):
    """What `add_upload` stored; whoever knows the id may read it."""

    name = "upload"
    title = "Upload"
    summary = "Data that was uploaded to this server."
    built_in = False

    id: str = param("text", help="the id that the upload was given")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id("id", self.id)

    def load(self) -> Dataset:
        return self.load_from(default_home())

    def load_from(self, home: Path) -> Dataset:
        try:
            return read_dataset(home / "data" / self.id)
        except FileNotFoundError:
            raise InvalidInput("dataset", "the uploaded data is no longer on this server; upload it again") from None


UNNAMED = Upload("-" * 22)
"""An upload whose id is not told."""


def load_source(source: DatasetSource, home: Path) -> Dataset:
    """Any dataset; an upload is looked for below `home`."""
    return source.load_from(home) if isinstance(source, Upload) else source.load()


def add_upload(dataset: Dataset, home: Path | None = None, quota: Quota | None = None) -> Upload:
    """Store a dataset; the source that is returned loads it again, in this process or another."""
    home = home or default_home()
    size = _stored_bytes(dataset)
    limit = number_from_env("SEMF_MAX_UPLOAD_MB", 500)
    if size > limit * MB:
        sizes = f"takes {size / MB:.0f} MB, and an upload may take {limit:.0f} MB"
        raise InvalidInput("data", f"{sizes}; send fewer or smaller samples")
    (quota or Quota(home)).check(size)
    source = Upload(new_id())
    folder = home / "data" / source.id
    folder.mkdir(parents=True, mode=0o700)
    write_dataset(dataset, folder)
    return source


def write_dataset(dataset: Dataset, folder: Path) -> None:
    """The files of a dataset: its matrix, what is known of its truth, and the rest."""
    if sparse.issparse(dataset.data):
        sparse.save_npz(folder / "data.npz", dataset.data)
    else:
        np.save(folder / "data.npy", dataset.data, allow_pickle=False)
    truth = {name: getattr(dataset, name) for name in TRUTH if getattr(dataset, name) is not None}
    np.savez(folder / "truth.npz", **truth)
    write_json(folder / "info.json", {name: getattr(dataset, name) for name in INFO})


def read_dataset(folder: Path) -> Dataset:
    """What `write_dataset` wrote; FileNotFoundError if it is not there."""
    info = read_json(folder / "info.json")
    data = _read_matrix(folder)
    with np.load(folder / "truth.npz", allow_pickle=False) as stored:
        truth = {name: stored[name] for name in stored.files}
    return Dataset(data, **info, **truth)


def remove_unused(home: Path, candidates: Iterable[str]) -> int:
    """Delete those of the uploads that no run and no snapshot uses; how many."""
    used = {upload for spec in (home / "runs").glob("*/spec*.json") if (upload := _upload_of(spec))}
    used |= {str(read_json(card)["upload"]) for card in (home / "snapshots").glob("*/*.json")}
    removed = 0
    for upload in candidates:
        folder = home / "data" / checked_id("id", upload)
        if upload not in used and folder.is_dir():
            remove_folder(folder, home / "trash")
            removed += 1
    return removed


def _upload_of(spec: Path) -> str | None:
    try:
        dataset = read_json(spec)["dataset"]
    except FileNotFoundError:  # the run was deleted meanwhile
        return None
    return dataset["id"] if dataset["name"] == Upload.name else None


def _stored_bytes(dataset: Dataset) -> int:
    arrays: list[Any] = [getattr(dataset, name) for name in TRUTH]
    if sparse.issparse(dataset.data):
        arrays += [dataset.data.data, dataset.data.indices, dataset.data.indptr]
    else:
        arrays.append(dataset.data)
    return sum(a.nbytes for a in arrays if a is not None)


def _read_matrix(folder: Path) -> Any:
    if (folder / "data.npz").exists():
        return sparse.load_npz(folder / "data.npz")
    path = folder / "data.npy"
    return np.load(path, mmap_mode="r" if path.stat().st_size > MAPPED_BYTES else None, allow_pickle=False)
