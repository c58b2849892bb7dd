"""HDF5 files, read with h5py: what their readers share, and MAT files of version 7.3."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.common.extras import optional
from semf_core.datasets.base import Array
from semf_core.datasets.companions import beside, describes
from semf_core.datasets.reading import FIELD, Limits, Raw, check_array, choose_member, is_readable, shown
from semf_core.datasets.stacks import matrix_or_stack

HIDDEN = "#"
"""Names that begin so are MATLAB's own."""
SPARSE = ("data", "indices", "indptr")
DEEPEST = 8
"""Structs within structs that are looked into."""
MOST_CELLS, LONGEST_TEXT = 200_000, 10_000
"""Of cell arrays that are looked at as lists of words."""


@contextmanager
def opened(name: str, content: bytes) -> Iterator[Any]:
    """The open file; whatever the library says of a damaged one is the same error."""
    with optional():
        import h5py
    try:
        with h5py.File(io.BytesIO(content), "r") as file:
            yield file
    except (InvalidInput, MemoryError):
        raise
    except Exception:  # h5py raises half a dozen kinds on foreign bytes
        raise InvalidInput(name, "is not a readable HDF5 file, or is damaged", "save it again") from None


def is_array(item: Any) -> bool:
    return hasattr(item, "dtype") and hasattr(item, "shape")


def loaded(name: str, item: Any, limits: Limits, indices: bool = False) -> Array:
    """An array of plain numbers whose size was judged by its header."""
    shape = item.shape or (0,)
    check_array(name, item.dtype, shape if len(shape) in (2, 3) else (max(1, math.prod(shape)), 1), limits)
    if indices and item.dtype.kind not in "iu":
        raise InvalidInput(name, "holds indices that are not whole numbers", "save it again")
    return np.asarray(content_of(item))


def content_of(item: Any) -> Any:
    """What an array holds; one that says that it lies in other files, which may be anybody's, is not followed."""
    if item.is_virtual or item.external:
        raise InvalidInput(shown(item.name or "an array"), "points to other files", "save the file with all that it holds")
    return item[()]


def texts(item: Any, limits: Limits) -> list[str] | None:
    """An array of strings; None if it is something else."""
    if not is_array(item) or len(item.shape) != 1 or item.dtype.kind not in "OS" or item.shape[0] > limits.max_entries:
        return None
    found = item if isinstance(item, np.ndarray) else content_of(item)
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in found]


def sparse_in(
    place: str, group: Any, shape: tuple[int, int], row_wise: bool, limits: Limits, names: tuple[str, ...] = SPARSE
) -> Any:
    pieces = [loaded(place, group[key], limits, indices=key != names[0]) for key in names]
    maker = sparse.csr_array if row_wise else sparse.csc_array
    if pieces[2].size != shape[0 if row_wise else 1] + 1:
        raise InvalidInput(place, "is not a valid sparse matrix", "save it again")
    try:
        return maker((pieces[0], pieces[1], pieces[2]), shape=shape)
    except ValueError:
        raise InvalidInput(place, "is not a valid sparse matrix", "save it again") from None


# -- MAT 7.3 -----------------------------------------------------------------------------------


def read_mat73(name: str, content: bytes, member: str | None, stack: str, limits: Limits) -> Raw:
    """The chosen matrix of a MAT file of version 7.3, which stores every array with its sides in reverse order."""
    with opened(name, content) as file:
        items = _items(name, file, limits)
        shapes = {key: shape for key, item in items.items() if (shape := _mat_shape(item)) is not None}
        matrices = {key: shape for key, shape in shapes.items() if not _is_text(items[key])}
        chosen = choose_member(name, matrices, member)
        place, item = f"{name}, {shown(chosen)}", items[chosen]
        data = _mat_sparse(place, item, limits) if _is_sparse(item) else loaded(place, item, limits).T
        found = {}
        for key, item in beside(chosen, items).items():
            if (values := _companion(f"{name}, {shown(key)}", key, item, file, limits)) is not None:
                found[key] = values
    raw = matrix_or_stack(data, found, stack, bands_last=True)
    listed = {key: shape for key, shape in matrices.items() if is_readable(shape) and min(shape) > 1}
    return replace(raw, members=listed, member=chosen)


def _items(name: str, file: Any, limits: Limits) -> dict[str, Any]:
    """What the file holds, the fields of a struct as struct.field; links to elsewhere are not followed."""
    found: dict[str, Any] = {}
    waiting = [("", file, DEEPEST)]
    while waiting:
        before, group, depth = waiting.pop(0)
        limits.check_members(name, len(found) + len(group))
        for key in group:
            if key.startswith(HIDDEN) or type(group.get(key, getlink=True)).__name__ != "HardLink":
                continue
            item = group[key]
            if is_array(item) or _is_sparse(item):
                found[before + key] = item
            elif depth:
                waiting.append((f"{before}{key}{FIELD}", item, depth - 1))
    return found


def _companion(place: str, key: str, item: Any, file: Any, limits: Limits) -> Array | None:
    """The numbers or the words of an array that may describe the matrix under this name; None for others."""
    shape = _mat_shape(item)
    if shape is None:
        return _cell_texts(item, file, limits) if is_array(item) and describes(key, "U", item.shape) else None
    words = _is_text(item)
    kind = "U" if words else getattr(item, "dtype", np.dtype(object)).kind
    if _is_sparse(item) or not describes(key, kind, shape[:1] if words else shape):
        return None
    values = loaded(place, item, limits)
    return _letters(values) if words else values.T


def _is_sparse(item: Any) -> bool:
    return not is_array(item) and "MATLAB_sparse" in item.attrs


def _is_text(item: Any) -> bool:
    return is_array(item) and bytes(item.attrs.get("MATLAB_class", b"")) == b"char"


def _mat_shape(item: Any) -> tuple[int, ...] | None:
    """The sides as MATLAB counts them; None for what is no array of numbers or letters."""
    if is_array(item):
        return tuple(int(s) for s in reversed(item.shape)) if item.dtype.kind in "fiub" and item.shape else None
    if _is_sparse(item) and "jc" in item:
        return int(item.attrs["MATLAB_sparse"]), int(item["jc"].shape[0]) - 1
    return None


def _mat_sparse(place: str, group: Any, limits: Limits) -> Any:
    shape = _mat_shape(group)
    assert shape is not None
    if "data" not in group:  # a matrix of zeros has no entries
        raise InvalidInput(place, "is a sparse matrix without a single entry", "save one that holds numbers")
    return sparse_in(place, group, (shape[0], shape[1]), False, limits, ("data", "ir", "jc"))


def _cell_texts(item: Any, file: Any, limits: Limits) -> Array | None:
    """A cell array of texts, which is how MATLAB keeps lists of words: references to what it holds. Others write strings."""
    if not (item.dtype.metadata or {}).get("ref"):
        words = texts(item, limits)
        return None if words is None else np.array(words)
    if item.size > MOST_CELLS:
        return None
    cells = [file[reference] for reference in content_of(item).ravel()]
    if not all(_is_text(cell) and cell.size <= LONGEST_TEXT for cell in cells):
        return None
    return np.array(["" if cell.ndim != 2 or cell.shape[1] != 1 else _letters(content_of(cell))[0] for cell in cells])


def _letters(values: Array) -> Array:
    """The lines of a matrix of letters, which is stored turned."""
    codes = np.atleast_2d(values).T
    return np.array(["".join(map(chr, line)).rstrip(" \0") for line in codes.tolist()])
