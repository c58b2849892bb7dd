"""The data of a run inside its snapshot: the matrix, dense or sparse, and what is known of its truth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.runs.uploads import INFO, LABELS_TITLE, SPARSE, TRUTH, info_of

Array = np.ndarray


def bundled(dataset: Dataset) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of a dataset by name, and the rest as JSON types."""
    arrays = {name: np.asarray(getattr(dataset, name)) for name in TRUTH if getattr(dataset, name) is not None}
    if sparse.issparse(dataset.data):
        M = dataset.data
        arrays |= {"data": M.data, "indices": M.indices, "indptr": M.indptr, "shape": np.array(M.shape, np.int64)}
    else:
        arrays["matrix"] = np.asarray(dataset.data)
    return arrays, info_of(dataset)


def unbundled(arrays: Mapping[str, Array], info: object) -> Dataset:
    """The dataset that a file holds; whatever is wrong with it is rejected as for any upload."""
    if not isinstance(info, Mapping) or set(info) - {LABELS_TITLE} != set(INFO):
        raise InvalidInput("data", "is described incompletely", "save the run again with its data")
    if not all(isinstance(info.get(name, ""), str) for name in ("title", "note", LABELS_TITLE)):
        raise InvalidInput("data", "has a title or a note that is not text", "save the run again with its data")
    known: dict[str, Any] = {name: arrays[name] for name in TRUTH if name in arrays} | dict(info)
    rest = set(arrays) - set(TRUTH)
    if rest == {"matrix"}:
        return Dataset(arrays["matrix"], **known)
    if rest != set(SPARSE):
        raise InvalidInput("data", "holds no matrix, or more than one", "save the run again with its data")
    sides = arrays["shape"]
    if sides.shape != (2,) or sides.dtype.kind not in "iu" or not (sides > 0).all() or (sides > 2**40).any():
        raise InvalidInput("data", "names a shape that no matrix has")
    try:
        matrix = sparse.csc_array(tuple(arrays[name] for name in SPARSE[:3]), shape=tuple(int(s) for s in sides))
    except (ValueError, TypeError, IndexError, OverflowError):
        raise InvalidInput("data", "is not a valid sparse matrix", "save the run again with its data") from None
    return Dataset(matrix, **known)
