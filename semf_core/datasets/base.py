"""What a dataset is: a matrix whose columns are samples, and what is known of its true parts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from semf_core.common.parameters import InvalidInput, Parametrized
from semf_core.common.registry import Registry
from semf_core.datasets.axes import LONGEST_TITLE, Axes, clean
from semf_core.mathematics.blocks import row_blocks

Array = np.ndarray
Groups = tuple[tuple[int, ...], ...]

MAX_ENTRIES = 200_000_000
"""The largest dense matrix that is built or read into memory (1.6 GB of float64)."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """M (m×n, columns are samples) with, where known, its truth M ≈ parts · activations. Arrays are kept read-only.

    Parameters
    ----------
    data : array, memory map or scipy.sparse matrix
        M, stored in float32 or float64; NaN in a dense matrix means a missing entry.
    title : str
        What it is called.
    image_shape : (int, int), optional
        Height and width, where a sample is an image.
    parts, activations : array, optional
        The true factors, m × p and p × n.
    groups : sequence of sequences of int, optional
        A partition of the columns of `parts`: every sample uses one part (or none) of each group.
    labels : array, optional
        The class of each sample.
    note : str
        Where it comes from, or what was done to it.
    axes : Axes
        Names, units and places of rows and columns, where known.
    labels_title : str
        What the labels are called in their file.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.datasets import Dataset
    >>> data = Dataset(np.array([[1.0, np.nan], [2.0, 3.0]]), title="Two samples")
    >>> data.shape, data.missing
    ((2, 2), 1)
    """

    data: Any
    title: str = ""
    image_shape: tuple[int, int] | None = None
    parts: Array | None = None
    activations: Array | None = None
    groups: Groups | None = None
    labels: Array | None = None
    note: str = ""
    axes: Axes = field(default_factory=Axes)
    """Names, units and places of rows and columns, where known."""
    labels_title: str = ""
    missing: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        keep = object.__setattr__
        if sparse.issparse(self.data):
            keep(self, "data", sparse_matrix(self.data))
        else:
            keep(self, "data", real_matrix("data", self.data))
            keep(self, "missing", _count_missing(self.data))
        m, n = self.data.shape
        keep(self, "image_shape", as_image_shape(self.image_shape, m))
        keep(self, "parts", as_truth("parts", self.parts, rows=m))
        keep(self, "activations", as_truth("activations", self.activations, columns=n))
        if self.parts is not None and self.activations is not None and self.parts.shape[1] != len(self.activations):
            raise InvalidInput("activations", f"has {len(self.activations)} rows, but there are {self.parts.shape[1]} parts")
        keep(self, "groups", as_groups(self.groups, self.part_count))
        keep(self, "labels", as_labels(self.labels, n))
        keep(self, "labels_title", clean(self.labels_title, LONGEST_TITLE) if self.labels is not None else "")
        self.axes.checked((m, n))

    @property
    def shape(self) -> tuple[int, int]:
        m, n = self.data.shape
        return int(m), int(n)

    @property
    def part_count(self) -> int | None:
        """How many true parts are known, or None."""
        if self.parts is not None:
            return int(self.parts.shape[1])
        return None if self.activations is None else len(self.activations)

    def fingerprint(self) -> str:
        """SHA-256 over shape, dtype and the entries in row order (for a sparse matrix: its CSC arrays).

        Returns
        -------
        str
            The same for the same data, on any computer.
        """
        digest = hashlib.sha256(f"{self.shape} {self.data.dtype.str}".encode())
        if sparse.issparse(self.data):
            for piece in (self.data.indptr.astype("<i8"), self.data.indices.astype("<i8"), self.data.data):
                digest.update(piece.tobytes())
        else:
            for rows in row_blocks(*self.shape):
                digest.update(np.ascontiguousarray(self.data[rows]).data)
        return digest.hexdigest()


class DatasetSource(Parametrized):
    """A recipe for a dataset; its parameters (seed included) determine every entry.

    Examples
    --------
    >>> from semf_core.datasets import DATASETS, Swimmer
    >>> Swimmer(noise=0.1).load().shape
    (1024, 256)
    >>> DATASETS.parse("swimmer:noise=0.1") == Swimmer(noise=0.1)
    True
    """

    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    example: ClassVar[dict[str, Any]] = {}
    """Parameters of a small instance: generic tests and listings use them."""
    built_in: ClassVar[bool] = True
    """Made or shipped here: needs neither a file nor the network."""

    def load(self) -> Dataset:
        """Build or read the data.

        Returns
        -------
        Dataset
            The same at every call.
        """
        raise NotImplementedError

    def arrays(self) -> dict[str, tuple[int, int]]:
        """Shapes of the largest arrays that `load` builds, each under the parameter to lower; none if they are read or fixed."""
        return {}

    def check_entries(self, most: int = MAX_ENTRIES) -> None:
        """Reject, before anything is built, what would not fit in memory."""
        for name, (rows, columns) in self.arrays().items():
            if rows * columns > most:
                raise InvalidInput(
                    name, f"{rows} × {columns} is more than {most:,} entries", "ask for a smaller matrix", whole=True
                )


DATASETS: Registry[DatasetSource] = Registry("dataset")


def real_matrix(field_name: str, value: Any) -> Array:
    """A read-only 2-D view of `value` in native float32 or float64, copied only where the type demands it."""
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    check_real(field_name, array.dtype)
    check_two_dimensional(field_name, array.shape)
    native = array.dtype in (np.dtype(np.float32), np.dtype(np.float64))
    view = array.view() if native else array.astype(np.float64)
    view.flags.writeable = False
    return view


def check_real(field_name: str, dtype: np.dtype[Any]) -> None:
    """Reject everything that is not a real number."""
    if dtype.kind == "c":
        raise InvalidInput(field_name, "holds complex numbers", "store the real part, the imaginary part or the modulus instead")
    if dtype.kind == "O":
        raise InvalidInput(field_name, "holds Python objects, which are not opened", "store a plain table of numbers")
    if dtype.kind not in "fiub":
        raise InvalidInput(field_name, f"holds {dtype.name} values, not numbers", "store a plain table of numbers")


def check_two_dimensional(field_name: str, shape: Sequence[int]) -> None:
    """Reject everything that is not a matrix with at least one entry."""
    if len(shape) != 2:
        raise InvalidInput(
            field_name, f"is {len(shape)}-dimensional", "make it a matrix with one column (or row) for each sample"
        )
    if min(shape) < 1:
        raise InvalidInput(
            field_name, f"is empty (its shape is {shape[0]} × {shape[1]})", "supply at least one row and one column"
        )


def _count_missing(data: Array) -> int:
    """The number of NaN entries; infinite ones are rejected by position."""
    missing = 0
    for rows in row_blocks(*data.shape):
        block = data[rows]
        if np.isfinite(block).all():
            continue
        if np.isinf(block).any():
            i, j = np.argwhere(np.isinf(block))[0]
            place = f"row {rows.start + i + 1}, column {j + 1}"
            raise InvalidInput("data", f"is infinite at {place}", "put a number there, or NaN for a missing entry")
        missing += int(np.isnan(block).sum())
    if missing == data.size:
        raise InvalidInput("data", "every entry is missing (NaN)", "supply at least one number", whole=True)
    return missing


def sparse_matrix(data: Any) -> Any:
    """Canonical CSC with checked indices: wrong ones would crash compiled code later."""
    check_two_dimensional("data", data.shape)
    check_real("data", data.dtype)
    kept = np.float32 if data.dtype == np.float32 else np.float64
    try:
        if hasattr(data, "check_format"):
            data.check_format(full_check=True)
            if (np.diff(data.indptr) < 0).any():  # scipy does not look at these where the last is zero
                raise ValueError("index pointers decrease")
        if _is_final(data):
            return data
        matrix = sparse.csc_array(data, dtype=kept, copy=True)
    except ValueError as error:
        raise InvalidInput("data", f"is not a valid sparse matrix ({error})", "build it again") from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.isfinite(matrix.data).all():
        raise InvalidInput("data", "a sparse matrix holds NaN or infinity", "missing entries need a dense matrix", whole=True)
    for piece in (matrix.data, matrix.indices, matrix.indptr):
        piece.flags.writeable = False
    return matrix


def _is_final(data: Any) -> bool:
    """Whether nothing remains to be done: then a matrix whose arrays are mapped from files is not read into memory."""
    if data.format != "csc" or data.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        return False
    if any(piece.flags.writeable for piece in (data.data, data.indices, data.indptr)) or not data.has_canonical_format:
        return False
    pieces = (data.data[rows] for rows in row_blocks(len(data.data), 1))
    return all(np.isfinite(piece).all() and piece.all() for piece in pieces)


def as_image_shape(value: Any, rows: int) -> tuple[int, int] | None:
    """A pair (height, width) that fits samples with `rows` entries."""
    if value is None:
        return None
    try:
        height, width = (int(v) for v in value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput("image_shape", "must be a pair (height, width)") from None
    if min(height, width) < 1 or height * width != rows:
        raise InvalidInput(
            "image_shape", f"{height} × {width} = {height * width} pixels, but a sample has {rows} entries", whole=True
        )
    return height, width


def as_truth(name: str, value: Any, rows: int | None = None, columns: int | None = None) -> Array | None:
    """A finite matrix with the stated number of rows or columns."""
    if value is None:
        return None
    array = real_matrix(name, value)
    if array.shape != (rows or array.shape[0], columns or array.shape[1]):
        wanted = f"{rows} rows" if rows is not None else f"{columns} columns"
        raise InvalidInput(name, f"is {array.shape[0]} × {array.shape[1]} and needs {wanted} to fit the data")
    if not np.isfinite(array).all():
        raise InvalidInput(name, "holds a value that is not finite")
    return array


def as_groups(value: Any, part_count: int | None) -> Groups | None:
    """Disjoint groups of indices below `part_count`."""
    if value is None:
        return None
    if part_count is None:
        raise InvalidInput("groups", "needs the parts that it groups")
    groups = tuple(tuple(int(i) for i in group) for group in value)
    flat = [i for group in groups for i in group]
    if not groups or not all(groups):
        raise InvalidInput("groups", "must hold at least one group, and no empty one")
    if len(set(flat)) < len(flat):
        raise InvalidInput("groups", "overlap; every part belongs to one group")
    if min(flat) < 0 or max(flat) >= part_count:
        raise InvalidInput("groups", f"name a part outside 0..{part_count - 1}")
    return groups


def as_labels(value: Any, columns: int) -> Array | None:
    """One number or word for each sample."""
    if value is None:
        return None
    labels = np.array(value)
    if labels.shape != (columns,) or labels.dtype.kind not in "iufbU":
        raise InvalidInput("labels", f"must be one number or word for each of the {columns} samples")
    labels.flags.writeable = False
    return labels
