"""How a table of text is laid out: what separates its cells, its header, its columns of words.

Judged from some of the lines, so that a table of any size is judged in the same time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from semf_core.common.spreadsheets import MISSING_WORDS as GAPS
from semf_core.common.spreadsheets import is_marked, unmarked
from semf_core.datasets.axes import titled

Array = np.ndarray
MISSING_WORDS = tuple(word.encode() for word in GAPS)
COUNTED = "sample number"
"""Stands behind ACROSS, before a title, where the first line merely counts columns that have no names."""
ACROSS = "\\"
"""Stands in the first cell of a table between the heading of the first column and that of the first line."""
BAR = b"|"
QUOTED = re.compile(rb'"[^"]*"')
LOOKED_AT = 40
"""Lines that the layout is judged from."""
WORDS_SHARE = 0.25
"""Of the cells of the first column: so many words make it a column of names, though others of them are numbers (1984, nan)."""
MOST_CELLS = 5
"""Columns that a long table has at most; the second or third may hold words as well, such as the terms of texts."""
MOSTLY = 0.75
"""The same share there."""
DECIMAL_COMMA = re.compile(rb"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")
FEWEST = 8
"""Numbers in order that are taken for an axis, or an id, if nothing names them; fewer may be so by chance."""
AXIS_WORDS = frozenset(
    (
        *(
            "wavelength",
            "wavelengths",
            "wl",
            "lambda",
            "wavenumber",
            "wavenumbers",
            "raman shift",
            "shift",
            "nm",
            "cm-1",
            "cm^-1",
        ),
        *("frequency", "frequencies", "freq", "hz", "time", "times", "date", "t", "retention time", "rt", "m/z", "mz", "mass"),
        *(
            "energy",
            "ev",
            "kev",
            "ppm",
            "2theta",
            "two theta",
            "angle",
            "depth",
            "distance",
            "position",
            "axis",
            "temperature",
            "year",
        ),
    )
)
"""Titles that a column, or an array beside the matrix, has if it is an axis."""


def is_axis_word(text: str) -> bool:
    """Whether a heading has a unit, or is a usual title of an axis."""
    known = titled(text.replace("_", " ").lower())
    return bool(known.unit) or known.title in AXIS_WORDS


@dataclass(frozen=True)
class Layout:
    """How the lines of a table are written; column numbers count all cells of a line."""

    delimiter: bytes | None
    cells: int
    decimal_comma: bool
    words: tuple[int, ...] = ()
    """Columns that hold words."""
    header: tuple[str, ...] | None = None
    """A name for each cell of a line, if the first line names them."""
    annotations: tuple[tuple[str, ...], ...] = ()
    """Lines of words below the header, which say more of the columns: their classes, their places."""
    texts: bool = False
    """The first line holds names, whatever they look like."""
    across: str | None = None
    """The heading of the first line, where the first cell tells it."""

    @cached_property
    def numbers(self) -> list[int]:
        """Columns that hold numbers."""
        words = set(self.words)
        return [j for j in range(self.cells) if j not in words]


@dataclass
class Words:
    """What stands in the columns of words, from the first line of numbers on."""

    columns: dict[int, list[str]] = field(default_factory=dict)
    marked: set[int] = field(default_factory=set)
    """Columns in which an apostrophe says that what follows is a name, whatever it looks like."""

    def add(self, column: int, cell: bytes) -> None:
        """Append a cell; the apostrophe that keeps it from being taken for a formula, a number or a date is not part of it."""
        text = decoded(cell)
        if is_marked(text):
            self.marked.add(column)
        self.columns[column].append(unmarked(text))


def split(line: bytes, delimiter: bytes | None, most: int = -1) -> list[bytes]:
    """The cells of a line without their quotes; with them where they enclose no cell (of at most 128 kB, in one line)."""
    if b'"' in line:
        text = decoded(line)
        sign = " " if delimiter is None else delimiter.decode()
        with suppress(csv.Error):
            return [cell.strip().encode() for cell in next(csv.reader([text], delimiter=sign, skipinitialspace=True), [])]
    return [cell.strip() for cell in line.split(delimiter, most)]


def delimiter_of(line: bytes) -> bytes | None:
    """Tab, semicolon or comma, the first that occurs in a line of numbers outside quotes, or a bar; None for blanks."""
    bare = QUOTED.sub(b"", line) if b'"' in line else line
    plain = next((sign for sign in (b"\t", b";", b",") if sign in bare), None)
    if plain is None and BAR in bare:  # which names between blanks may hold as well: sp|P0|X 1 2
        cells = [cell for cell in split(line, BAR) if cell]
        return BAR if cells and is_number(cells[-1]) else None
    return plain


def is_number(cell: bytes) -> bool:
    """A number, or a cell where one is missing."""
    try:
        float(cell)
    except ValueError:
        return cell.lower() in MISSING_WORDS
    return True


def decoded(text: bytes) -> str:
    """UTF-8, or what older programs write instead."""
    for form in ("utf-8", "cp1252"):
        try:
            return text.decode(form)
        except UnicodeDecodeError:
            continue
    return text.decode("latin-1")


def text_of(cell: bytes) -> str:
    """A name from a cell; the apostrophe that keeps it from being taken for a formula or a number is not part of it."""
    return unmarked(decoded(cell))


def layout_of(lines: Sequence[bytes], delimiter: bytes | None, header: str, further: Sequence[bytes] = ()) -> Layout:
    """Judge the first lines of a table that are neither blank nor a remark; `header` is what the reader was told of the first.

    `further` lines from all over the table have a say in which columns hold words.
    """
    comma = _has_decimal_commas(lines[1:] or lines, delimiter)
    rows, others = ([split(line.replace(b",", b".") if comma else line, delimiter) for line in part] for part in (lines, further))
    body = rows[1:] or rows
    width = len(body[0])
    first = rows[0]
    blank = _blank_end([*body, *others], width)
    if len(first) == width - 1:  # a header without a cell above the names of the rows, or behind its last one
        first = [*first, b""] if blank else [b"", *first]
    words = _word_columns([*body, *others], width)
    empty = tuple(j for j in blank if not any(first[j:]))
    if len(rows) > 1 and len(first) == width and _names_columns(first[: width - len(empty)], body, words, header):
        words += empty
        names = split(lines[0], delimiter)
        cells = [*names, b""][:width] if blank else [b""] * (width - len(names)) + names
        if comma and all(is_number(cell) for j, cell in enumerate(first) if j not in words and j > 0):
            cells = [cell if j in words or j == 0 else first[j] for j, cell in enumerate(cells)]
        texts = any(is_marked(decoded(cell)) for cell in cells[1:])
        corner, sign, across = decoded(cells[0]).partition(ACROSS)
        header_cells = (unmarked(corner), *(text_of(cell) for cell in cells[1:]))
        told = across if sign else None
        return Layout(delimiter, width, comma, words, header_cells, _annotations(body, words), texts, told)
    words = _word_columns([*rows, *others], len(rows[0])) + _blank_end([*rows, *others], len(rows[0]))
    return Layout(delimiter, len(rows[0]), comma, words)


def _has_decimal_commas(lines: Sequence[bytes], delimiter: bytes | None) -> bool:
    """Whether 3,5 stands for 3.5, as in much of Europe: between semicolons any comma says so, between tabs such a number."""
    if delimiter == b";":
        return any(b"," in line for line in lines)
    if delimiter != b"\t":
        return False
    cells = [cell for line in lines if b"," in line for cell in split(line, delimiter) if b"," in cell]
    return any(DECIMAL_COMMA.fullmatch(cell) for cell in cells) and not any(
        is_number(cell.replace(b",", b"")) and not DECIMAL_COMMA.fullmatch(cell) for cell in cells
    )


def _word_columns(rows: Sequence[Sequence[bytes]], width: int) -> tuple[int, ...]:
    """Columns without a single number, those of a long table that hold mostly words, and the first one if it holds many.

    None if nothing else would be left.
    """
    between = MOSTLY if 3 <= width <= MOST_CELLS else 1.0
    equal = [row for row in rows if len(row) == width]
    found = []
    for j in range(width if width <= 100_000 else 0):
        cells = [row[j] for row in equal if row[j].lower() not in MISSING_WORDS]
        words = sum(not is_number(cell) for cell in cells)
        if cells and (words == len(cells) or (j < width - 1 and words >= max(2, (between if j else WORDS_SHARE) * len(cells)))):
            found.append(j)
    return tuple(found) if len(found) < width else ()


def _blank_end(rows: Sequence[Sequence[bytes]], width: int) -> tuple[int, ...]:
    """The last column, if nothing stands in it: some programs end every line with a separator."""
    ends = [row[-1] for row in rows if len(row) == width]
    return (width - 1,) if width > 1 and ends and not any(ends) else ()


def _annotations(body: Sequence[Sequence[bytes]], words: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    """The first lines below the header, as long as they hold words where the lines after them hold numbers."""
    found: list[tuple[str, ...]] = []
    for row in body:
        cells = [row[j] for j in range(len(row)) if j not in words]
        if len(row) != len(body[0]) or all(is_number(cell) for cell in cells):
            return tuple(found)
        if any(is_number(cell) and cell.lower() not in MISSING_WORDS for cell in cells):
            break  # a text among numbers is a mistake, which is said where it stands
        found.append(tuple(text_of(cell) for cell in row))
    return ()


def _names_columns(first: Sequence[bytes], body: Sequence[Sequence[bytes]], words: tuple[int, ...], header: str) -> bool:
    """Whether the first line names the columns instead of being one of the others."""
    if header in ("names", "axis") or ACROSS.encode() in first[0]:
        return True
    others = [cell for j, cell in enumerate(first) if j not in words]
    if any(not is_number(cell) for cell in others):
        return True
    if header == "data":
        return False
    numbers = [[row[j] for j in range(len(row)) if j not in words] for row in body]
    counts = others[1:] if others[:1] == [b""] else others
    if counts in ([b"%d" % (j + start) for j in range(len(counts))] for start in (0, 1)) and len(counts) > 2 and len(body) > 1:
        return not any(_in_order(row) for row in numbers)  # pandas counts columns that have no names
    if not words:
        return False
    if all(first[j].lower() in MISSING_WORDS for j in words):  # nothing stands above the names of the rows
        return True
    alike = any(_in_order(row) for row in numbers)
    named = is_axis_word(text_of(first[words[0]]))
    return _in_order(others) and len(others) >= (3 if named else FEWEST) and (named or not alike)


def _in_order(cells: Sequence[bytes]) -> bool:
    try:
        return in_order(np.array([float(cell) for cell in cells]))
    except ValueError:
        return False


def in_order(values: Array) -> bool:
    """Whether numbers go up, or down, throughout."""
    steps = np.diff(values)
    return len(values) > 1 and bool(np.isfinite(values).all() and ((steps > 0).all() or (steps < 0).all()))
