"""Tables of numbers as text: CSV, TSV, semicolons or blanks between the cells, a header line if there is one.

The text stays bytes, which is a quarter of the memory, and is searched as a whole for what cannot be
a number before numpy parses it: a refusal should not take as long as reading.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import islice

import numpy as np

from semf_core.datasets.base import Array
from semf_core.datasets.reading import Limits, shown
from semf_core.parameters import InvalidInput

MISSING_WORDS = (b"", b"na", b"n/a", b"null", b"none", b"nan")
PLAIN = b'0123456789+-.,;"/ \t\n' + b"aefilnoutyAEFILNOUTY"
"""All that a number, a missing word, nan, inf or infinity is written with."""
# numpy shows the cell as repr does, cut to a hundred characters without its closing quote.
BAD_CELL = re.compile(r"""could not convert string ['"](.*?)['"]? to \w+ at row (\d+), column (\d+)\.?$""", re.S)
UNEQUAL_LINES = re.compile(r"columns changed from (\d+) to (\d+) at row (\d+)")


def read_table(name: str, content: bytes, limits: Limits) -> Array:
    """The table's numbers; NaN and empty cells are missing entries."""
    table = _normal(name, content)
    first = next(_significant_lines(table, 0), None)
    if first is None:
        raise InvalidInput(name, "holds no numbers; supply a table with one number in each cell")
    skip, line = 0, first[1]
    if _is_header(line):
        skip = first[0] + 1
        second = next(_significant_lines(table, skip), None)
        if second is None:
            raise InvalidInput(name, f"holds text but no numbers in line {skip}; supply a table of numbers")
        line = second[1]
    delimiter = _delimiter(line)
    columns = len(line.split(delimiter))
    limits.check_entries(name, table.count(b"\n") + 1 - skip, columns)
    if delimiter == b";" and b"," in line:  # the decimal comma of many European spreadsheets
        table = table.replace(b",", b".")
    _check_quickly(name, table, skip, delimiter, columns)
    return _parse(name, table, delimiter, skip)


def _normal(name: str, content: bytes) -> bytes:
    """The text without byte-order mark, its lines ended by \\n; letters beyond ASCII occur in headers only."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        content = content.decode("utf-16", "replace").encode()
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content:
        raise InvalidInput(name, "holds binary content, not a table of text; save it as CSV")
    return content.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in content else content


def _significant_lines(table: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Number (from 0) and text of the lines from `start` on that are neither blank nor a comment."""
    for number, line in enumerate(islice(io.BytesIO(table), start, None), start):
        line = line.partition(b"#")[0].rstrip(b"\n")
        if line.strip():
            yield number, line


def _delimiter(line: bytes) -> bytes | None:
    """Tab, semicolon or comma, the first that occurs in the line; None for blanks."""
    return next((d for d in (b"\t", b";", b",") if d in line), None)


def _is_header(line: bytes) -> bool:
    """Whether a cell is neither a number nor missing."""
    delimiter = _delimiter(line)
    if delimiter == b";":
        line = line.replace(b",", b".")
    return not all(_is_number(cell.strip().strip(b'"').strip()) for cell in line.split(delimiter))


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.lower() in MISSING_WORDS
    return True


def _check_quickly(name: str, table: bytes, skip: int, delimiter: bytes | None, columns: int) -> None:
    """Refuse characters that no number has, and lines with another number of cells than the first."""
    body = table[_offset_of_line(table, skip) :] if skip else table
    if b"#" in body:  # a remark may hold anything; numpy tells remarks from cells
        return
    if strange := body.translate(None, PLAIN)[:1]:
        place = body.find(strange)
        start = body.rfind(b"\n", 0, place) + 1
        column = len((body[start:place] + strange).split(delimiter))
        end = body.find(b"\n", start)
        cell = body[start : end if end >= 0 else None].split(delimiter)[column - 1]
        raise _text_cell(name, skip + body.count(b"\n", 0, start) + 1, column, cell.decode("utf-8", "replace"))
    full_lines = body.count(b"\n") + (not body.endswith(b"\n"))
    if delimiter is None or b'"' in body or body.count(delimiter) == full_lines * (columns - 1):
        return
    for number, line in _significant_lines(table, skip):
        if line.count(delimiter) != columns - 1:
            raise _unequal_line(name, number + 1, line.count(delimiter) + 1, columns)


def _offset_of_line(table: bytes, number: int) -> int:
    stream = io.BytesIO(table)
    for _ in range(number):
        stream.readline()
    return stream.tell()


def _parse(name: str, table: bytes, delimiter: bytes | None, skip: int) -> Array:
    """numpy's parser, a second time with missing cells spelled NaN if they were what stopped it."""
    try:
        return _loadtxt(table, delimiter, skip)
    except ValueError as error:
        problem = str(error)
    if (bad := BAD_CELL.search(problem)) and bad[1].strip().lower().encode() in MISSING_WORDS:
        try:
            return _loadtxt(_spell_missing(table, delimiter), delimiter, skip)
        except ValueError as error:
            problem = str(error)
    raise _refusal(name, problem, table, skip)


def _loadtxt(table: bytes, delimiter: bytes | None, skip: int) -> Array:
    lines = io.TextIOWrapper(io.BytesIO(table), "utf-8", "replace")
    return np.loadtxt(lines, delimiter=delimiter.decode() if delimiter else None, skiprows=skip, ndmin=2, quotechar='"')


def _spell_missing(table: bytes, delimiter: bytes | None) -> bytes:
    """Write `nan` into empty cells and for NA and the like; blank lines keep their place and stay blank."""
    words = b"|".join(w for w in MISSING_WORDS if w)
    if delimiter is None:
        return re.sub(rb"(?<!\S)(?:" + words + rb")(?!\S)", b"nan", table, flags=re.I)
    cell = rb'"? *(?:' + words + rb')? *"?'
    inner = re.compile(b"(?<=" + delimiter + b")" + cell + b"(?=[" + delimiter + rb"\n]|\Z)", re.I)
    outer = re.compile(b"^" + cell + b"(?=" + delimiter + b")", re.I | re.M)
    return outer.sub(b"nan", inner.sub(b"nan", table))


def _refusal(name: str, problem: str, table: bytes, skip: int) -> InvalidInput:
    """numpy's complaint with the line as an editor counts it."""
    if found := BAD_CELL.search(problem):
        return _text_cell(name, _line_of_row(table, skip, int(found[2])), int(found[3]), found[1])
    if found := UNEQUAL_LINES.search(problem):
        return _unequal_line(name, _line_of_row(table, skip, int(found[3]) - 1), int(found[2]), int(found[1]))
    return InvalidInput(name, "is not a table of numbers; save it as CSV with one number in each cell")


def _text_cell(name: str, line: int, column: int, cell: str) -> InvalidInput:
    text = shown(cell.strip())
    return InvalidInput(name, f"line {line}, column {column} holds the text '{text}'; every cell must be a number or empty")


def _unequal_line(name: str, line: int, cells: int, columns: int) -> InvalidInput:
    return InvalidInput(name, f"line {line} has {cells} cells, the lines before {columns}; make all lines equally long")


def _line_of_row(table: bytes, skip: int, row: int) -> int:
    """The 1-based line of the row-th (from 0) line that numpy did not skip."""
    return next((number for number, _ in islice(_significant_lines(table, skip), row, None)), skip) + 1
