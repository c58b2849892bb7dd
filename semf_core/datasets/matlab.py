"""MAT files of version 5 (MATLAB's -v6 and -v7): plain and sparse numeric matrices, nothing else.

The format is read here because scipy's parser, written for trusted files, crashes the process on
damaged ones, and an upload is not to be trusted. A file is a header and elements; an element is a
tag (type, bytes) and a body; a matrix is an element of elements: flags, sizes, name, values.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.datasets.base import Array
from semf_core.datasets.reading import EXTRAS, Limits, Raw, check_array, choose_member, shown
from semf_core.parameters import InvalidInput

HEADER_BYTES = 128
HEAD_BYTES = 1024
"""More than flags, sizes and name of any variable that MATLAB writes."""
MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""numpy's name of each numeric element type."""
SPARSE_CLASS = 5
NUMERIC_CLASSES = range(SPARSE_CLASS, 16)
"""mxSPARSE, mxDOUBLE, mxSINGLE and the eight integers; cells, structs, text, objects and functions are not."""
OPAQUE_CLASS = 17
COMPLEX_FLAG = 0x0800


class _Damaged(Exception):
    """The bytes do not follow the format."""


@dataclass(frozen=True)
class _Variable:
    name: str
    array_class: int
    is_complex: bool
    shape: tuple[int, ...]
    body: memoryview
    compressed: bool
    values_at: int
    """Where the values begin in the (unpacked) body."""


def read_mat(name: str, content: bytes, member: str | None, limits: Limits) -> Raw:
    """The chosen matrix of a MAT file and what describes it."""
    order = _byte_order(name, content)
    try:
        variables = list(_variables(name, content, order, limits))
        numeric = {v.name: v for v in variables if v.array_class in NUMERIC_CLASSES}
        others = [v.name for v in variables if v.name not in numeric]
        if others and (not numeric or member in others):
            asked = shown(member if member in others else others[0])
            raise InvalidInput(name, f"its variable {asked} is a cell, struct, text or object; save a plain numeric matrix")
        chosen = choose_member(name, {key: v.shape for key, v in numeric.items()}, member)
        data = _matrix(name, numeric[chosen], order, limits)
        described = [k for k in EXTRAS if k in numeric and k != chosen and numeric[k].array_class != SPARSE_CLASS]
        extras = {k: _values(name, numeric[k], order, limits) for k in described if not numeric[k].is_complex}
    except _Damaged:
        raise InvalidInput(name, "is not a readable MAT file; save it in MATLAB with -v7") from None
    return Raw(data, extras=extras)


def _byte_order(name: str, content: bytes) -> str:
    if content[:8] == b"\x89HDF\r\n\x1a\n" or content[:10] == b"MATLAB 7.3":
        raise InvalidInput(name, "is a MAT file of version 7.3 (HDF5), which is not read; save it in MATLAB with -v7")
    order = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}.get(content[124:128])
    if order is None:
        raise InvalidInput(name, "is not a MAT file of version 5; save it in MATLAB with -v7")
    return order


def _variables(name: str, content: bytes, order: str, limits: Limits) -> Iterator[_Variable]:
    """The heads of all variables; of a compressed one no more than the head is unpacked."""
    view, position, count = memoryview(content), HEADER_BYTES, 0
    while position + 8 <= len(content):
        kind, size = struct.unpack_from(order + "II", content, position)
        body = view[position + 8 : position + 8 + size]
        position += 8 + size
        count += 1
        limits.check_members(name, count)
        if kind == COMPRESSED:
            head = _unpack(body, HEAD_BYTES)
            if len(head) >= 8 and struct.unpack_from(order + "I", head)[0] == MATRIX:
                yield _variable(head, 8, body, True, order)
        elif kind == MATRIX:
            yield _variable(bytes(body[:HEAD_BYTES]), 0, body, False, order)


def _variable(head: bytes, start: int, body: memoryview, compressed: bool, order: str) -> _Variable:
    flags, position = _element(head, start, order)
    if flags.size < 2:
        raise _Damaged
    word = int(flags[0])
    shape: tuple[int, ...] = ()
    if word & 0xFF != OPAQUE_CLASS:  # the one class whose name follows at once
        sizes, position = _element(head, position, order)
        if not 2 <= sizes.size <= 64 or sizes.min() < 0:
            raise _Damaged
        shape = tuple(int(s) for s in sizes)
    text, position = _element(head, position, order)
    title = text.tobytes().decode("latin-1")
    return _Variable(title, word & 0xFF, bool(word & COMPLEX_FLAG), shape, body, compressed, position)


def _matrix(name: str, variable: _Variable, order: str, limits: Limits) -> Any:
    """The variable as an array or as a sparse matrix, within the limits."""
    place = f"{name}, {shown(variable.name)}"
    if variable.array_class != SPARSE_CLASS:
        check_array(place, np.dtype(complex if variable.is_complex else float), variable.shape, limits)
        return _values(name, variable, order, limits)
    check_array(place, np.dtype(complex if variable.is_complex else float), (max(variable.shape), 1), limits)
    body = _body(name, variable, limits)
    rows, position = _element(body, variable.values_at, order)
    starts, position = _element(body, position, order)
    values, _ = _element(body, position, order)
    count = int(starts[-1]) if starts.size else -1
    if len(variable.shape) != 2 or starts.size != variable.shape[1] + 1 or not 0 <= count <= min(rows.size, values.size):
        raise _Damaged
    try:  # rows may have spare room at the end; what the indices point to is checked by Dataset
        return sparse.csc_array((values[:count].astype(float), rows[:count], starts), shape=variable.shape)
    except ValueError:
        raise _Damaged from None


def _values(name: str, variable: _Variable, order: str, limits: Limits) -> Array:
    limits.check_entries(name, math.prod(variable.shape), 1)
    values, _ = _element(_body(name, variable, limits), variable.values_at, order)
    if values.size != math.prod(variable.shape):
        raise _Damaged
    return values.reshape(variable.shape, order="F")


def _body(name: str, variable: _Variable, limits: Limits) -> memoryview | bytes:
    if not variable.compressed:
        return variable.body
    body = _unpack(variable.body, limits.max_bytes + 1)
    limits.check_bytes(name, len(body), unpacked=True)
    return body


def _unpack(body: memoryview, at_most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(body, at_most)
    except zlib.error:
        raise _Damaged from None


def _element(body: memoryview | bytes, position: int, order: str) -> tuple[Array, int]:
    """The numbers of the element at `position`, without a copy, and the position after it.

    Up to four bytes are kept in the second half of the tag; otherwise the body follows, filled to
    a multiple of eight.
    """
    if position + 8 > len(body):
        raise _Damaged
    kind, size = struct.unpack_from(order + "II", body, position)
    start = position + 8
    after = start + size + -size % 8
    if kind >> 16:
        kind, size, start, after = kind & 0xFFFF, kind >> 16, position + 4, position + 8
    if kind not in TYPES or start + size > len(body) or (after == position + 8 and size > 4):
        raise _Damaged
    dtype = np.dtype(order + TYPES[kind])
    return np.frombuffer(body, dtype, size // dtype.itemsize, start), after
