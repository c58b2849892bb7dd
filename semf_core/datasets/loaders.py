"""From a file of the user's to a Dataset, or to one sentence that says why not."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from semf_core.datasets.archives import content_members, is_archive, open_archive, read_member
from semf_core.datasets.arrays import map_npy, read_npy, read_npz
from semf_core.datasets.base import (
    Array,
    Dataset,
    Groups,
    as_groups,
    as_image_shape,
    as_labels,
    as_truth,
    real_matrix,
    sparse_matrix,
)
from semf_core.datasets.images import IMAGE_ENDINGS, NamedContent, is_image, read_image, stack_images
from semf_core.datasets.matlab import read_mat
from semf_core.datasets.reading import Limits, Raw, Reading, shown
from semf_core.datasets.tables import read_table
from semf_core.parameters import InvalidInput

DEFAULT_READING = Reading()
DEFAULT_LIMITS = Limits()
KINDS = dict.fromkeys((".csv", ".tsv", ".txt"), "table") | dict.fromkeys(IMAGE_ENDINGS, "picture")
KINDS |= {".npy": "NPY", ".npz": "NPZ", ".mat": "MAT", ".zip": "ZIP"}
SIGNATURES = (
    (b"\x93NUMPY", "NPY"),
    (b"PK\x03\x04", "ZIP"),
    (b"PK\x05\x06", "ZIP"),
    (b"MATLAB 5.0", "MAT"),
    (b"MATLAB 7.3", "MAT"),
    (b"\x89HDF\r\n\x1a\n", "HDF5"),
    (b"\x89PNG\r\n\x1a\n", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"II*\x00", "picture"),
    (b"MM\x00*", "picture"),
    (b"\x1f\x8b", "gzip"),
    (b"%PDF", "PDF"),
    (b"GIF8", "GIF"),
)
"""How files begin whose kind is beyond doubt."""
ENDINGS = ", ".join(KINDS)


def load_bytes(name: str, content: bytes, reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """The dataset in an uploaded file, whose kind follows from the ending of its name."""
    name = shown(name)
    limits.check_bytes(name, len(content))
    kind = _kind(name, content[:16])
    return _dataset(name, _READERS[kind](name, content, reading, limits), reading, limits)


def load_files(
    files: Sequence[tuple[str, bytes]], reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS
) -> Dataset:
    """One dataset of several uploaded pictures (a column each); a single file goes to `load_bytes`."""
    if len(files) == 1:
        return load_bytes(*files[0], reading, limits)
    if not files:
        raise InvalidInput("files", "none was chosen; choose a file")
    limits.check_bytes("files", sum(len(content) for _, content in files))
    for name, _ in files:
        if not is_image(name):
            raise InvalidInput(shown(name), "is not a picture; several files together must all be pictures, a table comes alone")
    pictures: list[NamedContent] = [(name, lambda content=content: content) for name, content in files]  # type: ignore[misc]
    return _dataset(f"{len(files)} pictures", stack_images("files", pictures, limits), reading, limits)


def load_path(path: str | Path, reading: Reading = DEFAULT_READING, limits: Limits = DEFAULT_LIMITS) -> Dataset:
    """The dataset in a file or a folder of pictures; NPY files are memory-mapped."""
    path = Path(path)
    name = shown(path.name) or "folder"
    try:
        if path.is_dir():
            return _dataset(name, _read_folder(name, path, limits), reading, limits)
        if not path.is_file():
            raise InvalidInput(name, "there is no such file; check the path")
        with path.open("rb") as stream:
            if path.suffix.lower() == ".npy":
                limits.check_bytes(name, min(1, path.stat().st_size))
                _kind(name, stream.read(16))
                return _dataset(name, Raw(map_npy(path, limits)), reading, limits)
            limits.check_bytes(name, path.stat().st_size)
            content = stream.read(limits.max_bytes + 1)  # it may have grown since it was measured
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(name, "cannot be opened; check the path and the rights to read it") from None
    return load_bytes(name, content, reading, limits)


def _kind(name: str, start: bytes) -> str:
    """The kind that the name promises, if the first bytes do not contradict it."""
    ending = Path(name).suffix.lower()
    kind = KINDS.get(ending)
    if kind is None:
        raise InvalidInput(name, f"has an ending that is not known; name it by its content: {ENDINGS}")
    found = next((k for signature, k in SIGNATURES if start.startswith(signature)), None)
    fitting = {"NPZ": ("ZIP",), "MAT": ("MAT", "HDF5")}.get(kind, (kind,))
    if found is not None and found not in fitting:
        raise InvalidInput(name, f"is named {ending} but holds {found} content; give it the ending of its content")
    if found is None and kind in ("NPY", "NPZ", "ZIP"):
        raise InvalidInput(name, f"is named {ending} but does not hold {kind} content; save it again")
    return kind


def _read_archive(name: str, stream: IO[bytes], limits: Limits) -> Raw:
    with open_archive(name, stream, limits) as archive:
        members = content_members(archive)
        for info in members:
            if is_archive(info.filename):
                raise InvalidInput(name, f"holds another archive ({shown(info.filename)}); unpack that first")
        pictures: list[NamedContent] = [
            (info.filename, lambda info=info: read_member(name, archive, info))  # type: ignore[misc]
            for info in members
            if is_image(info.filename)
        ]
        return stack_images(name, pictures, limits)


def _read_folder(name: str, folder: Path, limits: Limits) -> Raw:
    pictures: list[NamedContent] = []
    total = 0
    for count, path in enumerate(folder.rglob("*"), 1):
        limits.check_members(name, count)
        if is_image(path.name) and not path.name.startswith(".") and path.is_file():
            total += path.stat().st_size
            limits.check_bytes(name, total, unpacked=True)
            pictures.append((path.relative_to(folder).as_posix(), path.read_bytes))
    return stack_images(name, pictures, limits)


def _read_picture(name: str, content: bytes, reading: Reading, limits: Limits) -> Raw:
    values, note = read_image(name, content, limits)
    return Raw(values, note=note)


_Reader = Callable[[str, bytes, Reading, Limits], Raw]
_READERS: dict[str, _Reader] = {
    "table": lambda name, content, reading, limits: Raw(read_table(name, content, limits)),
    "NPY": lambda name, content, reading, limits: Raw(read_npy(name, content, limits)),
    "NPZ": lambda name, content, reading, limits: read_npz(name, io.BytesIO(content), reading.member, limits),
    "MAT": lambda name, content, reading, limits: read_mat(name, content, reading.member, limits),
    "ZIP": lambda name, content, reading, limits: _read_archive(name, io.BytesIO(content), limits),
    "picture": _read_picture,
}


def _dataset(name: str, raw: Raw, reading: Reading, limits: Limits) -> Dataset:
    """Orient and scale what was read, and keep of its companions those that fit."""
    try:
        return _build(name, raw, reading, limits)
    except InvalidInput as error:
        if error.field == name:
            raise
        about = error.message if error.field == "data" else f"its {error.field} {error.message}"
        raise InvalidInput(name, about) from None


def _build(name: str, raw: Raw, reading: Reading, limits: Limits) -> Dataset:
    data = sparse_matrix(raw.data) if sparse.issparse(raw.data) else real_matrix("data", raw.data)
    if reading.orientation == "rows" and not raw.samples_fixed:
        data = data.T
    extras, left_out = _fitting(raw.extras, *data.shape)
    if raw.image_shape is not None:
        extras["image_shape"] = raw.image_shape
    if reading.image_shape is not None:
        extras["image_shape"] = reading.image_shape
    if raw.labels is not None:
        extras["labels"] = raw.labels
    if reading.scaling != "none":
        if not sparse.issparse(data):
            limits.check_entries(name, *data.shape)
        factors = _scales(data, reading.scaling)
        data = _divide_columns(data, factors)
        if "activations" in extras:
            extras["activations"] = extras["activations"] / factors
    note = " ".join(filter(None, [raw.note, f"Left out because they do not fit: {', '.join(left_out)}." if left_out else ""]))
    return Dataset(data, title=Path(name).stem, note=note, **extras)


def _scales(data: Any, scaling: str) -> Array:
    """What every column is divided by; 1 where that would be zero. Missing entries do not count."""
    known = abs(data) if sparse.issparse(data) else np.abs(np.nan_to_num(data, nan=0.0, posinf=0.0, neginf=0.0))
    peaks = known.max(axis=0).toarray() if sparse.issparse(data) else known.max(axis=0)
    peaks = np.where(peaks > 0, peaks, 1.0).ravel()
    if scaling == "max":
        return np.full(data.shape[1], float(known.max()) or 1.0)
    # Divided by the peaks first, so that the squares neither overflow nor vanish.
    scaled = _divide_columns(known, peaks)
    squares = scaled.power(2).sum(axis=0) if sparse.issparse(scaled) else np.einsum("ij,ij->j", scaled, scaled)
    return peaks * np.where(squares > 0, np.sqrt(squares), 1.0)


def _divide_columns(data: Any, factors: Array) -> Any:
    if not sparse.issparse(data):
        return data / factors
    scaled = sparse.csc_array(data, copy=True)
    scaled.data = scaled.data / np.repeat(factors, np.diff(scaled.indptr))
    return scaled


def _fitting(extras: dict[str, Array], m: int, n: int) -> tuple[dict[str, Any], list[str]]:
    """The companions that fit an m×n matrix, in the form that Dataset takes, and the names of the others."""
    makers: dict[str, Callable[[Array], Any]] = {
        "image_shape": lambda value: as_image_shape(value.ravel(), m),
        "parts": lambda value: as_truth("parts", value, rows=m),
        "activations": lambda value: _as_activations(value, n, found.get("parts")),
        "groups": lambda value: _as_groups(value, found.get("parts")),
        "labels": lambda value: as_labels(value.ravel(), n),
        "label": lambda value: as_labels(value.ravel(), n),
    }
    found: dict[str, Any] = {}
    left_out = []
    for name, make in makers.items():
        if name in extras:
            try:
                found["labels" if name == "label" else name] = make(extras[name])
            except InvalidInput:
                left_out.append(name)
    return found, left_out


def _as_activations(value: Array, n: int, parts: Array | None) -> Array | None:
    return as_truth("activations", value, rows=None if parts is None else parts.shape[1], columns=n)


def _as_groups(value: Array, parts: Array | None) -> Groups | None:
    """The parts of each group, from the number of the group of each part."""
    if parts is None or value.size != parts.shape[1]:
        raise InvalidInput("groups", "must give the number of its group for each part")
    numbers = value.ravel()
    return as_groups([np.flatnonzero(numbers == g) for g in np.unique(numbers)], parts.shape[1])
