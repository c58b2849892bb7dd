"""A run as an AnnData file: samples are observations, rows of M are variables, and the factors are their loadings.

Written with h5py in the published encoding of AnnData 0.8 and later, which anndata and scanpy open.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.extras import optional
from semf_core.datasets import Axis, Dataset
from semf_core.datasets.single_cell import SLASH
from semf_core.exports.story import from_run
from semf_core.model.codegen import readable_json
from semf_core.runs.folder import RunFolder

LABEL = "label"
"""The column of obs with the classes of the samples, where they have no title of their own."""
LOADINGS = "SeMF"
"""The factors under obsm (V transposed) and varm (U)."""


def h5ad(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """Data where they are at hand, U as varm, V as obsm, names everywhere, the model in uns."""
    with optional():
        import h5py

    story = from_run(folder, dataset)
    factors = story.factors()
    file = io.BytesIO()
    with h5py.File(file, "w") as out:
        _encode(out, "anndata", "0.1.0")
        if dataset is not None:
            _matrix(out, "X", dataset.data.T)
        _frame(out, "obs", story.axes.columns, factors["V"].shape[1], story.axes.columns.values)
        if dataset is not None and dataset.labels is not None:
            _classes(out["obs"], dataset.labels, dataset.labels_title.replace("/", SLASH) or LABEL)
        _frame(out, "var", story.axes.rows, len(factors["U"]), story.axes.rows.values)
        for name, arrays in (("obsm", {LOADINGS: factors["V"].T}), ("varm", {LOADINGS: factors["U"]})):
            group = _group(out, name)
            for key, array in arrays.items():
                _matrix(group, key, array)
        for name in ("layers", "obsp", "varp"):
            _group(out, name)
        told = _group(_group(out, "uns"), "semf")
        _strings(told, "components", story.component_names)
        _strings(told, "model", readable_json(story.spec.to_dict()))
    return file.getvalue()


def _encode(thing: Any, kind: str, version: str) -> None:
    thing.attrs["encoding-type"], thing.attrs["encoding-version"] = kind, version


def _group(out: Any, name: str) -> Any:
    group = out.create_group(name)
    _encode(group, "dict", "0.1.0")
    return group


def _strings(out: Any, name: str, texts: Any) -> None:
    alone = isinstance(texts, str)
    found = out.create_dataset(name, data=texts if alone else np.array(list(texts), dtype=object), dtype=_text())
    _encode(found, "string" if alone else "string-array", "0.2.0")


def _text() -> Any:
    import h5py

    return h5py.string_dtype()


def _matrix(out: Any, name: str, A: Any) -> None:
    if not sparse.issparse(A):
        _encode(out.create_dataset(name, data=np.ascontiguousarray(A), compression="gzip", compression_opts=1), "array", "0.2.0")
        return
    group = out.create_group(name)
    _encode(group, f"{A.format}_matrix", "0.1.0")
    group.attrs["shape"] = np.array(A.shape, np.int64)
    for piece in ("data", "indices", "indptr"):
        group.create_dataset(piece, data=getattr(A, piece), compression="gzip", compression_opts=1)


def _classes(obs: Any, labels: np.ndarray, title: str) -> None:
    """The classes of the samples as a column of categories."""
    words, codes = np.unique(labels.astype(str), return_inverse=True)
    if title in obs:
        return
    group = obs.create_group(title)
    _encode(group, "categorical", "0.2.0")
    group.attrs["ordered"] = False
    _strings(group, "categories", words)
    _encode(group.create_dataset("codes", data=codes.astype(np.int32)), "array", "0.2.0")
    obs.attrs["column-order"] = np.array([*obs.attrs["column-order"], title], dtype=_text())


def _frame(out: Any, name: str, axis: Axis, count: int, values: np.ndarray | None) -> None:
    """obs or var: the names, and the places on an axis as a column."""
    group = out.create_group(name)
    _encode(group, "dataframe", "0.2.0")
    column = (axis.heading or "axis").replace("/", SLASH)
    names = (axis.heading or "name").replace("/", SLASH)
    index = names if values is None and axis.names is not None else "_index"
    group.attrs["_index"] = index
    group.attrs["column-order"] = np.array([] if values is None else [column], dtype=_text())
    _strings(group, index, axis.cells() or [str(i + 1) for i in range(count)])
    if values is not None:
        _encode(group.create_dataset(column, data=values), "array", "0.2.0")
