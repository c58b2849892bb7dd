"""NPY and NPZ files: headers are read and judged first, pickled objects never."""

from __future__ import annotations

import io
import math
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets.archives import broken_member, content_members, is_archive, open_archive
from semf_core.datasets.base import Array, check_real, check_two_dimensional
from semf_core.datasets.companions import describes
from semf_core.datasets.reading import Limits, Raw, check_array, choose_member, is_readable, shown
from semf_core.datasets.stacks import matrix_or_stack

MOST_DIMENSIONS = 32
"""Every version of numpy can make an array of so many."""
MOST_ENTRIES = 2**50
"""More than any memory holds, and far from where sizes overflow."""
WRITE_AGAIN = "write it again with scipy.sparse.save_npz"
SPARSE = frozenset(("format", "shape", "data"))
"""What every file of scipy.sparse.save_npz holds."""
SPARSE_FORMS = {
    "csr": (sparse.csr_array, ("indices", "indptr")),
    "csc": (sparse.csc_array, ("indices", "indptr")),
    "coo": (sparse.coo_array, ("row", "col")),
}


class Header(NamedTuple):
    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(name: str, content: bytes, limits: Limits) -> Array:
    """The array of an NPY file in memory, without a copy."""
    header = _header(name, io.BytesIO(content))
    check_array(name, header.dtype, header.shape, limits)
    return _decoded(name, header, content)


def decode_npy(name: str, content: bytes) -> Array:
    """The plain numbers or words of an NPY file in memory, of any shape, read-only."""
    header = _header(name, io.BytesIO(content))
    if header.dtype.kind not in "biufU" or not header.dtype.itemsize:
        raise InvalidInput(name, f"holds {header.dtype.name} values, neither numbers nor words", "save it again")
    return _decoded(name, header, content)


def _decoded(name: str, header: Header, content: bytes) -> Array:
    _check_length(name, header, len(content))
    flat = np.frombuffer(content, header.dtype, math.prod(header.shape), header.offset)
    return flat.reshape(header.shape, order="F" if header.fortran_order else "C")


def map_npy(path: Path, limits: Limits) -> Array:
    """The array of an NPY file on disk, memory-mapped.

    A mapped array of floats takes no memory, so no limit of size applies to it; other types are
    going to be converted, and then it does.
    """
    name = path.name
    with path.open("rb") as stream:
        header = _header(name, stream)
    check_real(name, header.dtype)
    if len(header.shape) == 2 or not is_readable(header.shape):
        check_two_dimensional(name, header.shape)
    if header.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        limits.check_entries(name, header.shape[0], math.prod(header.shape[1:]))
    _check_length(name, header, os.path.getsize(path))
    order = "F" if header.fortran_order else "C"
    return np.memmap(path, header.dtype, "r", header.offset, header.shape, order)  # type: ignore[call-overload]


def read_npz(name: str, stream: IO[bytes], member: str | None, stack: str, limits: Limits) -> Raw:
    """The chosen matrix of an NPZ archive and what describes it."""
    with open_archive(name, stream, limits) as archive:
        infos = {}
        for info in content_members(archive):
            if is_archive(info.filename):
                raise InvalidInput(name, f"holds another archive ({shown(info.filename)})", "unpack that first")
            if info.filename.endswith(".npy"):
                infos[info.filename.removesuffix(".npy")] = info
        headers = {key: _member_header(name, archive, info) for key, info in infos.items()}
        if set(headers) >= SPARSE:
            return Raw(_sparse(name, archive, infos, headers, limits))
        shapes = {key: header.shape for key, header in headers.items()}
        chosen = choose_member(name, shapes, member)
        check_array(_place(name, chosen), headers[chosen].dtype, headers[chosen].shape, limits)
        data = _read_member_array(name, archive, infos[chosen])
        known = [k for k, h in headers.items() if k != chosen and describes(k, h.dtype.kind, h.shape)]
        plain = [k for k in known if math.prod(headers[k].shape) <= limits.max_entries]
        extras = {key: _read_member_array(name, archive, infos[key]) for key in plain}
    listed = {key: shape for key, shape in shapes.items() if headers[key].dtype.kind in "fiub" and is_readable(shape)}
    raw = matrix_or_stack(data, extras, stack)
    objects = [key for key, header in headers.items() if header.dtype.kind == "O" and key != chosen]
    unread = f"Not opened, because it could run programs: {', '.join(map(shown, objects[:5]))}; save names with .astype(str)."
    return replace(raw, members=listed, member=chosen, remarks=raw.remarks + ((unread,) if objects else ()))


def _sparse(
    name: str, archive: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], headers: dict[str, Header], limits: Limits
) -> Any:
    """The matrix that `scipy.sparse.save_npz` wrote."""

    def read(key: str) -> Array:
        if key not in headers or headers[key].dtype.kind not in "biufSU" or len(headers[key].shape) > 1:
            raise InvalidInput(name, f"is a sparse matrix without a readable {key}", WRITE_AGAIN)
        limits.check_entries(name, math.prod(headers[key].shape), 1)
        return _read_member_array(name, archive, infos[key])

    told: Any = read("format")[()]
    form = told.decode("ascii", "replace") if isinstance(told, bytes) else str(told)
    if form not in SPARSE_FORMS:
        raise InvalidInput(name, f"is a sparse matrix in the form {shown(form)}", "convert it with .tocsr() and save it again")
    maker, keys = SPARSE_FORMS[form]
    shape, values, places = read("shape"), read("data"), [read(key) for key in keys]
    check_real(name, values.dtype)
    if shape.shape != (2,) or any(place.dtype.kind not in "iu" for place in (shape, *places)):
        raise InvalidInput(name, "is not a valid sparse matrix", WRITE_AGAIN)
    try:
        sides = (int(shape[0]), int(shape[1]))
        return maker((values, tuple(places)) if form == "coo" else (values, *places), shape=sides)
    except (ValueError, OverflowError):
        raise InvalidInput(name, "is not a valid sparse matrix", WRITE_AGAIN) from None


def _member_header(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    try:
        stream = archive.open(info)
    except Exception:
        raise broken_member(name, info.filename) from None
    with stream:
        header = _header(_place(name, info.filename), stream)
    # Objects have no fixed length; they are rejected if chosen and ignored otherwise.
    if header.dtype.kind != "O":
        _check_length(_place(name, info.filename), header, info.file_size)
    return header


def _read_member_array(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array:
    try:
        with archive.open(info) as stream:
            array: Array = npy.read_array(stream, allow_pickle=False)
            stream.read(1)  # the checksum is compared at the end of the stream
    except MemoryError:
        raise
    except Exception:
        raise broken_member(name, info.filename) from None
    return array


def _header(name: str, stream: IO[bytes]) -> Header:
    """Shape, order and dtype of an NPY stream, whose data stay unread."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    try:
        shape, fortran_order, dtype = readers[npy.read_magic(stream)](stream)
        offset = stream.tell()
    except Exception:  # any failure of the parser on foreign bytes is the same error
        raise InvalidInput(name, "is not a readable NPY array", "save it again with numpy.save") from None
    if len(shape) > MOST_DIMENSIONS:
        raise InvalidInput(name, f"has {len(shape)} dimensions", "store a matrix")
    # True is an int, but no size; an empty array of endless sides overflows although nothing is stored.
    whole = all(type(side) is int and side >= 0 for side in shape)
    if not whole or math.prod(side for side in shape if side) > MOST_ENTRIES:
        raise InvalidInput(name, "declares a size that no array has", "save it again with numpy.save")
    return Header(shape, fortran_order, dtype, offset)


def _check_length(name: str, header: Header, size: int) -> None:
    if header.nbytes > size - header.offset:
        raise InvalidInput(name, "is cut off: it declares more entries than it holds", "copy or save it again")


def _place(name: str, member: str) -> str:
    return f"{name}, {shown(member)}"
