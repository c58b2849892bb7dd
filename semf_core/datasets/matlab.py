"""MAT files of version 5 (MATLAB's -v6 and -v7): plain and sparse numeric matrices, also as fields of structs.

The format is read here because scipy's parser, written for trusted files, crashes the process on
damaged ones, and an upload is not to be trusted. A file is a header and elements; an element is a
tag (type, bytes) and a body; a matrix is an element of elements: flags, sizes, name, values.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets.base import Array
from semf_core.datasets.companions import beside, describes
from semf_core.datasets.reading import FIELD, Limits, Raw, check_array, choose_member, is_readable, shown
from semf_core.datasets.stacks import matrix_or_stack

HEADER_BYTES = 128
HEAD_BYTES = 1024
"""More than flags, sizes and name of any variable that MATLAB writes."""
MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""numpy's name of each numeric element type."""
LETTERS = {1: "i1", 2: "u1", 4: "u2", 16: "u1", 17: "u2", 18: "u4"}
"""The same for letters: bytes, UTF-8, UTF-16 and UTF-32."""
LETTERS_AS = {1: "utf-8", 2: "utf-16-le", 4: "utf-32-le"}
CELL_CLASS, STRUCT_CLASS, CHAR_CLASS, SPARSE_CLASS = 1, 2, 4, 5
NUMERIC_CLASSES = range(SPARSE_CLASS, 16)
"""mxSPARSE, mxDOUBLE, mxSINGLE and the eight integers; cells, structs, text, objects and functions are not."""
DEEPEST = 8
"""Structs within structs that are looked into."""
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


def read_mat(name: str, content: bytes, member: str | None, stack: str, limits: Limits) -> Raw:
    """The chosen matrix of a MAT file and what describes it."""
    order = _byte_order(name, content)
    try:
        variables = _fields(name, list(_variables(name, content, order, limits)), order, limits)
        numeric = {v.name: v for v in variables if v.array_class in NUMERIC_CLASSES}
        others = [v.name for v in variables if v.name not in numeric]
        if others and (not numeric or member in others):
            asked = shown(member if member in others else others[0])
            raise InvalidInput(
                name, f"its variable {asked} is a cell, struct, text or object", "save a plain numeric matrix", whole=True
            )
        chosen = choose_member(name, {key: v.shape for key, v in numeric.items()}, member)
        data = _matrix(name, numeric[chosen], order, limits)
        extras = {}
        for key, v in beside(chosen, {v.name: v for v in variables}).items():
            if (found := _companion(name, key, v, order, limits)) is not None:
                extras[key] = found
    except _Damaged:
        raise InvalidInput(name, "is not a readable MAT file", "save it in MATLAB with -v7") from None
    listed = {k: v.shape for k, v in numeric.items() if is_readable(v.shape) and min(v.shape) > 1}
    return replace(matrix_or_stack(data, extras, stack, bands_last=True), members=listed, member=chosen)


def _companion(name: str, key: str, variable: _Variable, order: str, limits: Limits) -> Array | None:
    """The numbers or the words of a variable that may describe the matrix under this name; None for others."""
    kind, shape = variable.array_class, variable.shape
    if kind == CELL_CLASS:
        return _cell_texts(name, variable, order, limits) if describes(key, "U", shape) else None
    if kind == CHAR_CLASS:
        return _lines(name, variable, order, limits) if len(shape) == 2 and describes(key, "U", shape[:1]) else None
    plain = kind in NUMERIC_CLASSES and kind != SPARSE_CLASS and not variable.is_complex
    return _values(name, variable, order, limits) if plain and describes(key, "f", shape) else None


def _byte_order(name: str, content: bytes) -> str:
    order = {b"\x00\x01IM": "<", b"\x01\x00MI": ">"}.get(content[124:128])
    if order is None:
        raise InvalidInput(name, "is not a MAT file of version 5", "save it in MATLAB with -v7")
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


def _fields(name: str, variables: list[_Variable], order: str, limits: Limits) -> list[_Variable]:
    """The same with the fields of every 1×1 struct in its place, each called struct.field."""
    for _ in range(DEEPEST):
        found: list[_Variable] = []
        unpacked = 0
        for variable in variables:
            if variable.array_class != STRUCT_CLASS or math.prod(variable.shape) != 1:
                found.append(variable)
                continue
            body = memoryview(_body(name, variable, limits))
            unpacked += len(body) if variable.compressed else 0
            limits.check_bytes(name, unpacked, unpacked=True)
            found += _struct(variable, body, order)
            limits.check_members(name, len(found))
        if len(found) == len(variables) and all(a is b for a, b in zip(found, variables, strict=True)):
            break
        variables = found
    return variables


def _struct(variable: _Variable, body: memoryview, order: str) -> Iterator[_Variable]:
    """The fields of a struct: after the length of a name and the names, a matrix for each."""
    length, position = _element(body, variable.values_at, order)
    letters, position = _element(body, position, order)
    if length.size != 1 or length.dtype.kind not in "iu" or int(length[0]) < 1:
        raise _Damaged
    names = letters.tobytes()
    for start in range(0, len(names), int(length[0])):
        inner, position = _inner(body, position, order)
        if len(inner):
            field = names[start : start + int(length[0])].partition(b"\0")[0].decode("latin-1")
            one = _variable(bytes(inner[:HEAD_BYTES]), 0, inner, False, order)
            yield replace(one, name=f"{variable.name}{FIELD}{field}")


def _inner(body: memoryview, position: int, order: str) -> tuple[memoryview, int]:
    """The body of the matrix at `position` within a cell array or a struct, and the position after it."""
    if position + 8 > len(body):
        raise _Damaged
    kind, size = struct.unpack_from(order + "II", body, position)
    if kind != MATRIX:
        raise _Damaged
    return body[position + 8 : position + 8 + size], position + 8 + size


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


def _lines(name: str, variable: _Variable, order: str, limits: Limits) -> Array:
    """The lines of a matrix of letters, without the blanks that fill them up."""
    limits.check_entries(name, math.prod(variable.shape), 1)
    codes, _ = _element(_body(name, variable, limits), variable.values_at, order, LETTERS)
    try:
        text = codes.astype(codes.dtype.newbyteorder("<")).tobytes().decode(LETTERS_AS[codes.dtype.itemsize])
    except UnicodeDecodeError:
        raise _Damaged from None
    if len(text) != math.prod(variable.shape):
        raise _Damaged
    letters = np.array(list(text)).reshape(variable.shape, order="F")
    return np.array(["".join(line).rstrip(" \0") for line in letters])


def _cell_texts(name: str, variable: _Variable, order: str, limits: Limits) -> Array | None:
    """The texts of a cell array, which is how MATLAB keeps lists of words; None if it holds anything else."""
    body = memoryview(_body(name, variable, limits))
    position, found = variable.values_at, []
    for _ in range(math.prod(variable.shape)):
        inner, position = _inner(body, position, order)
        cell = _variable(bytes(inner[:HEAD_BYTES]), 0, inner, False, order) if len(inner) else None
        if cell is None or 0 in cell.shape:
            found.append("")
        elif cell.array_class == CHAR_CLASS and cell.shape[0] == 1:
            found.append(str(_lines(name, cell, order, limits)[0]))
        else:
            return None
    return np.array(found)


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


def _element(body: memoryview | bytes, position: int, order: str, types: Mapping[int, str] = TYPES) -> tuple[Array, int]:
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
    if kind not in types or start + size > len(body) or (after == position + 8 and size > 4):
        raise _Damaged
    dtype = np.dtype(order + types[kind])
    return np.frombuffer(body, dtype, size // dtype.itemsize, start), after
