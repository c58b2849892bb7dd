"""Data of a user's own, kept on the server under an id that cannot be guessed."""

from __future__ import annotations

import mmap
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.parameters import InvalidInput, param, params_of
from semf_core.common.visitors import current_visitor
from semf_core.datasets import DATASETS, Axes, Dataset, DatasetSource, FileSource, Reading
from semf_core.datasets.base import as_image_shape
from semf_core.datasets.preparation import prepared
from semf_core.runs.files import read_json, reading, remove_folder, whole_or_nothing, write_json
from semf_core.runs.home import MB, Quota, default_home, number_from_env
from semf_core.runs.ids import checked_id, new_id

MAPPED_BYTES = 256 * MB
"""A dense matrix above this is left on disk and mapped by whoever computes with it; below, memory is faster."""
LOOKED_AT_BYTES = 8 * MB
"""The same for a server that only looks at it."""
TRUTH = ("parts", "activations", "labels")
_ID = re.compile(rb'"([A-Za-z0-9_-]{22})"')
AXES = "axes.json"
"""Names, units and places of rows and columns: of a dataset, or of the data of a run whose data are not there."""
INFO = ("title", "image_shape", "groups", "note")
LABELS_TITLE = "labels_title"
"""Told beside them, where it is known."""
SPARSE = ("data", "indices", "indptr", "shape")
"""The arrays of a sparse matrix, a file each, so that they can be mapped."""


@DATASETS.register
class Upload(DatasetSource, Reading):
    """What was uploaded; whoever knows the id may read it.

    The data are stored as they were read from `file`. How that was done is told here, so that a run can be repeated from
    the file itself; only `prepare` (and the `image_shape` that it needs) acts when they are loaded.
    """

    name = "upload"
    title = "Upload"
    summary = "Data that was uploaded to this server."
    built_in = False

    id: str = param("text", help="the id that the upload was given")
    file: str = param("text", "", help="the name of the file that it was read from")

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_id("id", self.id)

    def load(self) -> Dataset:
        return self.load_from(default_home())

    def folder(self, home: Path) -> Path:
        return home / "data" / self.id

    def load_from(self, home: Path, mapped_above: int = MAPPED_BYTES) -> Dataset:
        try:
            raw = read_dataset(self.folder(home), mapped_above)
        except FileNotFoundError:
            raise no_longer_here() from None
        if not self.prepare:
            return raw
        if self.image_shape is not None:
            raw = replace(raw, image_shape=as_image_shape(self.image_shape, raw.shape[0]))
        return prepared(raw, self.prepare)


def no_longer_here() -> InvalidInput:
    return InvalidInput("dataset", "the uploaded data is no longer on this server", "upload it again", whole=True)


UNNAMED = Upload("-" * 22)
"""An upload whose id is not told."""


def public_form(value: Any) -> Any:
    """JSON types for a document that is handed on: an upload's id opens the data, and a path is nobody else's business."""
    if isinstance(value, Mapping):
        if value.get("name") == Upload.name and "id" in value:
            return {**value, "id": UNNAMED.id}
        form = {key: public_form(item) for key, item in value.items()}
        if value.get("name") == FileSource.name and "path" in value:
            form["path"] = Path(str(value["path"])).name
        return form
    return [public_form(item) for item in value] if isinstance(value, list | tuple) else value


def file_again(source: Upload | FileSource, path: str) -> FileSource:
    """The same data, read and prepared anew from a file."""
    return FileSource(path=path, **{p.name: getattr(source, p.name) for p in params_of(Reading)})


def public_source(source: DatasetSource) -> DatasetSource:
    """The same for the source of a model's data."""
    return DATASETS.build(public_form(source.to_dict()))


def load_source(source: DatasetSource, home: Path) -> Dataset:
    """Any dataset; an upload is looked for below `home`."""
    return source.load_from(home) if isinstance(source, Upload) else source.load()


def add_upload(dataset: Dataset, home: Path | None = None, quota: Quota | None = None) -> Upload:
    """Store a dataset; the source that is returned loads it again, in this process or another."""
    home = home or default_home()
    size = checked_size(dataset)
    source = Upload(new_id())
    folder = source.folder(home)
    quota = quota or Quota(home)
    with quota.reserved(size), whole_or_nothing(folder) as aside:
        quota.shares.add(current_visitor(), "data", source.id)
        aside.mkdir(parents=True, mode=0o700)
        write_dataset(dataset, aside)
    return source


def most_decoded_bytes() -> int:
    """The largest matrix that is made from an uploaded file."""
    return int(min(number_from_env("SEMF_MAX_UPLOAD_MB", 500) * MB, sys.maxsize))


def checked_size(dataset: Dataset) -> int:
    """The bytes that a dataset takes, if it may be stored."""
    size, limit = stored_bytes(dataset), most_decoded_bytes()
    if size > limit:
        sizes = f"takes {size / MB:.0f} MB, and an upload may take {limit / MB:.0f} MB"
        raise InvalidInput("data", sizes, "send fewer or smaller samples")
    return size


def write_dataset(dataset: Dataset, folder: Path) -> None:
    """The files of a dataset: its matrix, what is known of its truth, and the rest."""
    if sparse.issparse(dataset.data):
        for name in SPARSE:
            np.save(folder / f"sparse-{name}.npy", np.asarray(getattr(dataset.data, name)), allow_pickle=False)
    else:
        np.save(folder / "data.npy", dataset.data, allow_pickle=False)
    for name in TRUTH:
        if getattr(dataset, name) is not None:
            np.save(folder / f"{name}.npy", getattr(dataset, name), allow_pickle=False)
    if named := dataset.axes.to_dict():
        write_json(folder / AXES, named)
    write_json(folder / "info.json", info_of(dataset), durable=True)


def info_of(dataset: Dataset) -> dict[str, Any]:
    """What is told of a dataset beside its arrays and its axes, as JSON types."""
    titled = {LABELS_TITLE: dataset.labels_title} if dataset.labels_title else {}
    return {name: getattr(dataset, name) for name in INFO} | titled


def read_dataset(folder: Path, mapped_above: int = MAPPED_BYTES) -> Dataset:
    """What `write_dataset` wrote, a dense matrix of more bytes mapped; FileNotFoundError if it is not there."""
    with reading(folder):
        info = read_json(folder / "info.json")
        data, truth = _read_matrix(folder, mapped_above), _read_truth(folder, mapped_above)
        dataset = Dataset(data, **info, axes=read_axes(folder, data.shape), **truth)
        for array in (data, *truth.values()):
            if isinstance(array, np.memmap) and sys.platform == "linux":  # checked entry by entry, and in memory since then
                array._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
        return dataset


def read_axes(folder: Path, shape: tuple[int, int]) -> Axes:
    """The names in a folder, for a matrix of this shape; none if they are not there."""
    path = folder / AXES
    return Axes.from_dict(read_json(path), shape) if path.exists() else Axes()


def _read_truth(folder: Path, mapped_above: int) -> dict[str, Any]:
    if (folder / "truth.npz").exists():  # as earlier versions wrote it
        with np.load(folder / "truth.npz", allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    there = [name for name in TRUTH if (folder / f"{name}.npy").exists()]
    return {name: _read_array(folder / f"{name}.npy", mapped_above) for name in there}


def remove_unused(home: Path, candidates: Iterable[str]) -> int:
    """Delete those of the uploads that no run, no study and no snapshot uses; how many."""
    candidates = list(candidates)
    if not candidates:
        return 0
    named = [*home.glob("runs/*/spec*.json"), *home.glob("studies/*/study.json"), *home.glob("snapshots/*/*.json")]
    used = {upload for file in named for upload in _ids_in(file)}
    removed = 0
    for upload in candidates:
        folder = home / "data" / checked_id("id", upload)
        if upload not in used and folder.is_dir():
            remove_folder(folder, home / "trash")
            removed += 1
    return removed


def _ids_in(file: Path) -> list[str]:
    """Everything in a file that might be the id of an upload, whether the file is otherwise in order or not."""
    try:
        return [found.decode() for found in _ID.findall(file.read_bytes())]
    except FileNotFoundError:  # it was deleted meanwhile
        return []


def stored_bytes(dataset: Dataset) -> int:
    """What the arrays of a dataset take on disk."""
    arrays: list[Any] = [getattr(dataset, name) for name in TRUTH]
    if sparse.issparse(dataset.data):
        arrays += [dataset.data.data, dataset.data.indices, dataset.data.indptr]
    else:
        arrays.append(dataset.data)
    return sum(a.nbytes for a in arrays if a is not None)


def _read_matrix(folder: Path, mapped_above: int) -> Any:
    if (folder / "data.npz").exists():  # as earlier versions wrote a sparse matrix
        return sparse.load_npz(folder / "data.npz")
    if (folder / "data.npy").exists():
        return _read_array(folder / "data.npy", mapped_above)
    values, indices, indptr, shape = (_read_array(folder / f"sparse-{name}.npy", mapped_above) for name in SPARSE)
    return sparse.csc_array((values, indices, indptr), shape=tuple(shape.tolist()))


def _read_array(path: Path, mapped_above: int) -> Any:
    array = np.load(path, mmap_mode="r" if path.stat().st_size > mapped_above else None, allow_pickle=False)
    array.flags.writeable = False
    return array
