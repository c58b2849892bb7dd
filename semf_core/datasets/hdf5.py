"""HDF5 files, read with h5py: MAT files of version 7.3, and AnnData (.h5ad), whose samples are observations."""

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
from semf_core.datasets.axes import Axes, Axis, moments, titled
from semf_core.datasets.base import Array
from semf_core.datasets.companions import beside, describes
from semf_core.datasets.reading import FIELD, Limits, Raw, check_array, choose_member, is_readable, shown
from semf_core.datasets.stacks import matrix_or_stack
from semf_core.datasets.table_layout import is_axis_word
from semf_core.datasets.table_names import axis_of

HIDDEN = "#"
"""Names that begin so are MATLAB's own."""
SPARSE = ("data", "indices", "indptr")
CLASS_WORDS = ("celltype", "label", "annotation", "class", "cluster", "leiden", "louvain")
"""In the titles of columns that say what the observations of an AnnData file are, the most telling first."""
DEEPEST = 8
"""Structs within structs that are looked into."""
MOST_CELLS, LONGEST_TEXT = 200_000, 10_000
"""Of cell arrays that are looked at as lists of words."""


@contextmanager
def _opened(name: str, content: bytes) -> Iterator[Any]:
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


def _is_array(item: Any) -> bool:
    return hasattr(item, "dtype") and hasattr(item, "shape")


def _loaded(name: str, item: Any, limits: Limits, indices: bool = False) -> Array:
    """An array of plain numbers whose size was judged by its header; what it refers to elsewhere is not followed."""
    if item.is_virtual or item.external:
        raise InvalidInput(name, "points to other files", "save the numbers themselves")
    shape = item.shape or (0,)
    check_array(name, item.dtype, shape if len(shape) in (2, 3) else (max(1, math.prod(shape)), 1), limits)
    if indices and item.dtype.kind not in "iu":
        raise InvalidInput(name, "holds indices that are not whole numbers", "save it again")
    return np.asarray(item[()])


def _texts(item: Any, limits: Limits) -> list[str] | None:
    """An array of strings; None if it is something else."""
    if not _is_array(item) or len(item.shape) != 1 or item.dtype.kind not in "OS" or item.shape[0] > limits.max_entries:
        return None
    return [text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text) for text in item[()]]


def _sparse(
    place: str, group: Any, shape: tuple[int, int], row_wise: bool, limits: Limits, names: tuple[str, ...] = SPARSE
) -> Any:
    pieces = [_loaded(place, group[key], limits, indices=key != names[0]) for key in names]
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
    with _opened(name, content) as file:
        items = _items(name, file, limits)
        shapes = {key: shape for key, item in items.items() if (shape := _mat_shape(item)) is not None}
        matrices = {key: shape for key, shape in shapes.items() if not _is_text(items[key])}
        chosen = choose_member(name, matrices, member)
        place, item = f"{name}, {shown(chosen)}", items[chosen]
        data = _mat_sparse(place, item, limits) if _is_sparse(item) else _loaded(place, item, limits).T
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
            if _is_array(item) or _is_sparse(item):
                found[before + key] = item
            elif depth:
                waiting.append((f"{before}{key}{FIELD}", item, depth - 1))
    return found


def _companion(place: str, key: str, item: Any, file: Any, limits: Limits) -> Array | None:
    """The numbers or the words of an array that may describe the matrix under this name; None for others."""
    shape = _mat_shape(item)
    if shape is None:
        return _cell_texts(item, file, limits) if _is_array(item) and describes(key, "U", item.shape) else None
    words = _is_text(item)
    kind = "U" if words else getattr(item, "dtype", np.dtype(object)).kind
    if _is_sparse(item) or not describes(key, kind, shape[:1] if words else shape):
        return None
    values = _loaded(place, item, limits)
    return _letters(values) if words else values.T


def _is_sparse(item: Any) -> bool:
    return not _is_array(item) and "MATLAB_sparse" in item.attrs


def _is_text(item: Any) -> bool:
    return _is_array(item) and bytes(item.attrs.get("MATLAB_class", b"")) == b"char"


def _mat_shape(item: Any) -> tuple[int, ...] | None:
    """The sides as MATLAB counts them; None for what is no array of numbers or letters."""
    if _is_array(item):
        return tuple(int(s) for s in reversed(item.shape)) if item.dtype.kind in "fiub" and item.shape else None
    if _is_sparse(item) and "jc" in item:
        return int(item.attrs["MATLAB_sparse"]), int(item["jc"].shape[0]) - 1
    return None


def _mat_sparse(place: str, group: Any, limits: Limits) -> Any:
    shape = _mat_shape(group)
    assert shape is not None
    if "data" not in group:  # a matrix of zeros has no entries
        raise InvalidInput(place, "is a sparse matrix without a single entry", "save one that holds numbers")
    return _sparse(place, group, (shape[0], shape[1]), False, limits, ("data", "ir", "jc"))


def _cell_texts(item: Any, file: Any, limits: Limits) -> Array | None:
    """A cell array of texts, which is how MATLAB keeps lists of words: references to what it holds. Others write strings."""
    if not (item.dtype.metadata or {}).get("ref"):
        texts = _texts(item, limits)
        return None if texts is None else np.array(texts)
    if item.size > MOST_CELLS:
        return None
    cells = [file[reference] for reference in item[()].ravel()]
    if not all(_is_text(cell) and cell.size <= LONGEST_TEXT for cell in cells):
        return None
    return np.array(["" if cell.ndim != 2 or cell.shape[1] != 1 else _letters(cell[()])[0] for cell in cells])


def _letters(values: Array) -> Array:
    """The lines of a matrix of letters, which is stored turned."""
    codes = np.atleast_2d(values).T
    return np.array(["".join(map(chr, line)).rstrip(" \0") for line in codes.tolist()])


# -- AnnData -----------------------------------------------------------------------------------


def read_h5ad(name: str, content: bytes, member: str | None, limits: Limits) -> Raw:
    """X, or another matrix, of an AnnData file; a sparse one stays sparse. Observations become the columns of M."""
    with _opened(name, content) as file:
        members = _anndata_members(file)
        if not members:
            raise InvalidInput(name, "holds no matrix X", "save it with anndata's write_h5ad")
        chosen = member or ("X" if "X" in members else choose_member(name, members, member))
        if chosen not in members:
            raise InvalidInput(name, f"has no member {shown(chosen)}", f"choose one of {', '.join(map(shown, members))}")
        place = f"{name}, {shown(chosen)}"
        item = file[chosen]
        if _is_array(item):
            data: Any = _loaded(place, item, limits)
        else:
            data = _sparse(place, item, members[chosen][:2], _encoding(item) == "csr_matrix", limits)  # type: ignore[arg-type]
        own = "uns/semf" in file  # names in our own files are names, whatever they look like
        sides = ("obs", "raw/var" if chosen.startswith("raw/") else "var")
        obs, var = (_frame_axis(file.get(side), limits, own) for side in sides)
        title, labels = _classes(file.get("obs"), data.shape[0], limits) if not chosen.startswith("varm/") else ("", None)
        components = _texts(file["uns/semf/components"], limits) if "uns/semf/components" in file else None
    if data.ndim != 2:
        raise InvalidInput(place, f"is {data.ndim}-dimensional", "choose a matrix")
    known = {"obsm": (obs, Axis()), "varm": (var, Axis())}.get(chosen.partition("/")[0], (obs, var))
    if components is not None and len(components) == data.shape[1] and not known[1]:
        known = (known[0], Axis("component", names=tuple(components)))
    rows, columns = (axis if len(axis) in (0, count) else Axis() for axis, count in zip(known, data.shape, strict=True))
    if chosen.startswith("varm/"):  # variables are the rows already
        return Raw(data, axes=Axes(rows, columns), samples_fixed=True, members=members, member=chosen)
    remarks = (f"The labels of the samples are “{shown(title)}”.",) if labels is not None else ()
    return Raw(
        data.T,
        axes=Axes(columns, rows),
        labels=labels,
        samples_fixed=True,
        members=members,
        member=chosen,
        remarks=remarks,
    )


def _classes(obs: Any, count: int, limits: Limits) -> tuple[str, Array | None]:
    """The column of classes that best labels the observations, and its title: a usual one, or the only one there is."""
    if obs is None or _is_array(obs):
        return "", None
    found = {key: obs[key] for key in obs if not _is_array(obs[key]) and _encoding(obs[key]) == "categorical"}
    usual = [key for word in CLASS_WORDS for key in found if word in key.lower().replace("_", "").replace(" ", "")]
    key = next(iter(usual or (found if len(found) == 1 else ())), None)
    if key is None or "codes" not in found[key] or "categories" not in found[key]:
        return "", None
    words = _texts(found[key]["categories"], limits)
    codes = _loaded(f"obs, {shown(key)}", found[key]["codes"], limits, indices=True)
    if words is None or codes.shape != (count,) or not -1 <= codes.min() <= codes.max() < len(words):
        return "", None
    return key, np.array([*words, ""])[codes]  # -1 is an observation without a class


def _encoding(item: Any) -> str:
    found = item.attrs.get("encoding-type", "")
    return found.decode() if isinstance(found, bytes) else str(found)


def _anndata_members(file: Any) -> dict[str, tuple[int, ...]]:
    """The matrices of an AnnData file and their shapes, observations first."""
    places = [("X", file["X"])] if "X" in file else []
    for folder in ("layers", "obsm", "varm"):
        group = file.get(folder)
        places += [(f"{folder}/{key}", group[key]) for key in group] if group is not None and not _is_array(group) else []
    if "raw/X" in file:
        places.append(("raw/X", file["raw/X"]))
    found: dict[str, tuple[int, ...]] = {}
    for key, item in places:
        if _is_array(item) and len(item.shape) == 2 and item.dtype.kind in "fiub":
            found[key] = tuple(int(s) for s in item.shape)
        elif not _is_array(item) and _encoding(item) in ("csr_matrix", "csc_matrix") and "shape" in item.attrs:
            rows, columns = (int(s) for s in item.attrs["shape"])
            if min(rows, columns) > 0:
                found[key] = (rows, columns)
    return found


SLASH = "∕"
"""Stands for / in the titles of our own files: HDF5 would take that for a path."""


def _frame_axis(group: Any, limits: Limits, own: bool) -> Axis:
    """The names of observations or variables, or the axis that they stand on."""
    if group is None or _is_array(group):
        return Axis()
    index = group.attrs.get("_index", "_index")
    key = index.decode() if isinstance(index, bytes) else str(index)
    names = _texts(group[key], limits) if key in group else None
    if names is None:
        return Axis()
    for column in group:
        item = group[column]
        if column == key or not _is_array(item) or len(item.shape) != 1 or item.dtype.kind not in "fiu":
            continue
        values = np.asarray(item[()], dtype=float)
        if len(values) == len(names) and np.isfinite(values).all() and (axis := _named_axis(column, names, values)) is not None:
            return axis
    if not own and is_axis_word(key) and (axis := axis_of(names, key)).values is not None:
        return axis
    plain = key == "_index" and names == [str(i + 1) for i in range(len(names))]
    return Axis() if plain else titled("" if key in ("_index", "name") else key.replace(SLASH, "/"), names=tuple(names))


def _named_axis(column: str, names: list[str], values: Array) -> Axis | None:
    """A column of numbers that are the names again, as dates or places, or whose title is that of an axis; None for others."""
    title = "" if column == "axis" else column.replace(SLASH, "/")
    dates = moments(names)
    if dates is not None and np.array_equal(dates, values):
        return titled(title, names=tuple(names), values=values, calendar=True)
    if names == [repr(float(v)) for v in values]:
        return titled(title, values=values)
    return titled(title, names=tuple(names), values=values) if column == "axis" or is_axis_word(column) else None
