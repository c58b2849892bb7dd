"""Counts of genes in cells as HDF5: AnnData (.h5ad) as all its versions wrote it, and what 10x Genomics' Cell Ranger writes.

Observations, or cells, become the columns of M; a sparse matrix stays sparse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis, moments, titled
from semf_core.datasets.base import Array
from semf_core.datasets.hdf5 import SPARSE, content_of, is_array, loaded, opened, sparse_in, texts
from semf_core.datasets.reading import Limits, Raw, choose_member, shown
from semf_core.datasets.table_layout import is_axis_word
from semf_core.datasets.table_names import axis_of

CLASS_WORDS = ("celltype", "label", "annotation", "class", "cluster", "leiden", "louvain")
"""In the titles of columns that say what the observations of an AnnData file are, the most telling first."""
SLASH = "∕"
"""Stands for / in the titles of our own files: HDF5 would take that for a path."""
UNTITLED = ("_index", "index", "name")
"""Names of the column of names that say nothing."""
UNKNOWN = ("is HDF5 of no known layout", "save it as .h5ad (scanpy reads .loom), MAT or NPY")


def read_h5(name: str, content: bytes, member: str | None, limits: Limits) -> Raw:
    """Counts that Cell Ranger wrote (filtered_feature_bc_matrix.h5), or AnnData under another name."""
    with opened(name, content) as file:
        if "X" in file and "obs" in file:
            return read_h5ad(name, content, member, limits)
        # The group is called matrix, or before version 3 by its genome.
        groups = [key for key in file if not is_array(file[key]) and {*SPARSE, "shape", "barcodes"} <= set(file[key])]
        if not groups:
            raise InvalidInput(name, *UNKNOWN)
        members = {key: tuple(loaded(name, file[key]["shape"], limits, indices=True).ravel().tolist()) for key in groups}
        chosen = choose_member(name, members, member)
        group, sides = file[chosen], members[chosen]
        if len(sides) != 2 or min(sides) < 1:
            raise InvalidInput(name, "is not a valid sparse matrix", "save it again")
        data = sparse_in(name, group, (sides[0], sides[1]), False, limits)
        names = (("gene", key) for key in ("gene_names", "genes"))
        features = next((pair for pair in (("feature", "features/name"), *names) if pair[1] in group), None)
        rows = _list(features[0], group[features[1]], sides[0], limits) if features else Axis()
        columns = _list("barcode", group["barcodes"], sides[1], limits)
    return Raw(data, axes=Axes(rows, columns), samples_fixed=True, members=members, member=chosen)


def _list(title: str, item: Any, count: int, limits: Limits) -> Axis:
    names = texts(item, limits)
    return Axis(title, names=tuple(names)) if names is not None and len(names) == count else Axis()


# -- AnnData -----------------------------------------------------------------------------------


def read_h5ad(name: str, content: bytes, member: str | None, limits: Limits) -> Raw:
    """X, or another matrix, of an AnnData file."""
    with opened(name, content) as file:
        members = _members(file)
        if not members:
            raise InvalidInput(name, "holds no matrix X", "save it with anndata's write_h5ad")
        if not member and "X" in file and "X" not in members and _encoding(file["X"]) != "null":
            raise InvalidInput(name, "holds an X that is not understood", "open it with anndata and write it again")
        chosen = member or ("X" if "X" in members else choose_member(name, members, member))
        if chosen not in members:
            raise InvalidInput(name, f"has no member {shown(chosen)}", f"choose one of {', '.join(map(shown, members))}")
        place = f"{name}, {shown(chosen)}"
        item = file[chosen]
        if is_array(item):
            data: Any = loaded(place, item, limits)
        else:
            data = sparse_in(place, item, members[chosen][:2], _encoding(item) == "csr_matrix", limits)  # type: ignore[arg-type]
        own = "uns/semf" in file  # names in our own files are names, whatever they look like
        variables = f"{chosen[:4]}var" if chosen.startswith("raw") else "var"
        obs, var = (_frame_axis(file.get(side), limits, own) for side in ("obs", variables))
        title, labels = _classes(file, data.shape[0], limits) if not chosen.startswith("varm/") else ("", None)
        components = texts(file["uns/semf/components"], limits) if "uns/semf/components" in file else None
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
        labels_title=title.replace(SLASH, "/"),
        samples_fixed=True,
        members=members,
        member=chosen,
        remarks=remarks,
    )


def _members(file: Any) -> dict[str, tuple[int, ...]]:
    """The matrices of an AnnData file and their shapes, observations first."""
    places = [("X", file["X"])] if "X" in file else []
    for folder in ("layers", "obsm", "varm"):
        group = file.get(folder)
        places += [(f"{folder}/{key}", group[key]) for key in group] if group is not None and not is_array(group) else []
    places += [(key, file[key]) for key in ("raw/X", "raw.X") if key in file]
    found: dict[str, tuple[int, ...]] = {}
    for key, item in places:
        if is_array(item) and len(item.shape) == 2 and item.dtype.kind in "fiub":
            found[key] = tuple(int(s) for s in item.shape)
        elif not is_array(item) and _encoding(item) in ("csr_matrix", "csc_matrix"):
            rows, columns = (int(s) for s in item.attrs.get("shape", item.attrs.get("h5sparse_shape", (0, 0))))
            if min(rows, columns) > 0:
                found[key] = (rows, columns)
    return found


def _encoding(item: Any) -> str:
    """What something is; before version 0.7 sparse matrices said csr where later ones say csr_matrix."""
    found = _text(item.attrs.get("encoding-type", ""))
    return found or (f"{_text(item.attrs['h5sparse_format'])}_matrix" if "h5sparse_format" in item.attrs else "")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _columns(frame: Any) -> tuple[str, Mapping[str, Any]]:
    """Obs or var: which of its columns has the names, and its columns; before version 0.7 all were one array of records."""
    if frame is None:
        return "", {}
    if not is_array(frame):
        return _text(frame.attrs.get("_index", "_index")), frame
    records = content_of(frame)
    names = records.dtype.names or ()
    return "index" if "index" in names else "", {column: records[column] for column in names}


def _classes(file: Any, count: int, limits: Limits) -> tuple[str, Array | None]:
    """The column of classes that best labels the observations, and its title: a usual one, or the only one there is."""
    columns = _columns(file.get("obs"))[1]
    found = {key: pair for key in columns if (pair := _codes_and_words(file, key, columns[key])) is not None}
    usual = [key for word in CLASS_WORDS for key in found if word in key.lower().replace("_", "").replace(" ", "")]
    key = next(iter(usual or (found if len(found) == 1 else ())), None)
    if key is None:
        return "", None
    codes, words = _array(found[key][0]), texts(found[key][1], limits)
    if words is None or codes.shape != (count,) or codes.dtype.kind not in "iu":
        return "", None
    if not -1 <= codes.min() <= codes.max() < len(words):
        return "", None
    return key, np.array([*words, ""])[codes]  # -1 is an observation without a class


def _codes_and_words(file: Any, key: str, column: Any) -> tuple[Any, Any] | None:
    """A column of classes as each version keeps it: a group, an array that refers to its words, or words under uns."""
    if not is_array(column):
        whole = _encoding(column) == "categorical" and {"codes", "categories"} <= set(column)
        return (column["codes"], column["categories"]) if whole else None
    if "categories" in getattr(column, "attrs", ()):
        return column, file[column.attrs["categories"]]
    words = file.get(f"uns/{key}_categories")
    return (column, words) if words is not None and is_array(words) else None


def _array(column: Any) -> Array:
    """The numbers of a column, which those of records are already."""
    return column if isinstance(column, np.ndarray) else np.asarray(content_of(column))


def _frame_axis(frame: Any, limits: Limits, own: bool) -> Axis:
    """The names of observations or variables, or the axis that they stand on."""
    key, columns = _columns(frame)
    names = texts(columns[key], limits) if key in columns else None
    if names is None:
        return Axis()
    for column in columns:
        item = columns[column]
        if column == key or not is_array(item) or len(item.shape) != 1 or item.dtype.kind not in "fiu":
            continue
        values = _array(item).astype(float)
        if len(values) == len(names) and np.isfinite(values).all() and (axis := _named_axis(column, names, values)) is not None:
            return axis
    if not own and is_axis_word(key) and (axis := axis_of(names, key)).values is not None:
        return axis
    plain = key in UNTITLED[:2] and names == [str(i + 1) for i in range(len(names))]
    return Axis() if plain else titled("" if key in UNTITLED else key.replace(SLASH, "/"), names=tuple(names))


def _named_axis(column: str, names: list[str], values: Array) -> Axis | None:
    """A column of numbers that are the names again, as dates or places, or whose title is that of an axis; None for others."""
    title = "" if column == "axis" else column.replace(SLASH, "/")
    dates = moments(names)
    if dates is not None and np.array_equal(dates, values):
        return titled(title, names=tuple(names), values=values, calendar=True)
    if names == [repr(float(v)) for v in values]:
        return titled(title, values=values)
    return titled(title, names=tuple(names), values=values) if column == "axis" or is_axis_word(column) else None
