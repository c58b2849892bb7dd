"""Tables of numbers as text: CSV, TSV, semicolons or blanks between the cells, names in the first line and in columns of words.

The text stays bytes, which is a quarter of the memory, and is searched as a whole for what cannot be
a number before numpy parses it: an error should not take as long as reading.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.base import Array
from semf_core.datasets.long_tables import unfolded
from semf_core.datasets.preamble import without_preamble
from semf_core.datasets.reading import Limits, Raw, shown
from semf_core.datasets.repeated_axes import with_one_axis
from semf_core.datasets.table_layout import (
    BAR,
    LOOKED_AT,
    MISSING_WORDS,
    Layout,
    Words,
    decoded,
    delimiter_of,
    is_number,
    layout_of,
    split,
)
from semf_core.datasets.table_names import named_table
from semf_core.datasets.table_text import table_text

PLAIN = b'0123456789+-.,;"/ \t\n' + BAR + b"aefilnoutyAEFILNOUTY"
"""All that a number, a missing word, nan, inf or infinity is written with."""
PIECE = 1 << 18
"""Bytes of text that are parsed at a time (or one line, if that is longer); a hundred times as many are in use meanwhile."""
MOST_COLUMNS = 1_000_000
LOOKED_AT_CELLS = 200_000
"""Cells that the layout is judged from; of wide tables these are few lines."""
FOR_PEOPLE = re.compile(r"[$€£¥]?\s?[+-]?(?:\d{1,3}(?:[,.'’\s]\d{3})+|\d+)(?:[.,]\d+)?\s?[%‰$€£¥]?")
"""Numbers with thousands set apart, a percent sign or a currency."""
# numpy shows the cell as repr does, cut to a hundred characters without its closing quote.
BAD_CELL = re.compile(r"""could not convert string ['"](.*?)['"]? to \w+ at row (\d+), column (\d+)\.?$""", re.S)
GAPS = b"|".join(re.escape(word) for word in sorted(MISSING_WORDS, key=len, reverse=True) if word)
REMARK = re.compile(rb"^[ \t]*#|(?<=[0-9.])[ \t]*#")
UNEQUAL_LINES = re.compile(r"columns changed from (\d+) to (\d+) at row (\d+)")


def read_table(
    name: str, content: bytes, limits: Limits, header: str = "auto", index: str = "auto", encoding: str = "auto"
) -> Raw:
    """The table's numbers with their names; NaN and empty cells are missing entries.

    `header` and `index` say what the first line and the first column of numbers are: names, axis, data, or as it looks.
    """
    text, remarks, form = table_text(name, content, encoding)
    table, said = without_preamble(text)
    remarks += said
    begun = list(islice(_significant_lines(table, 0), LOOKED_AT))
    if not begun:
        raise InvalidInput(name, "holds no numbers", "supply a table with one number in each cell")
    delimiter, first = delimiter_of(begun[min(1, len(begun) - 1)][1]), delimiter_of(begun[0][1])
    if delimiter is None and first is not None and all(is_number(cell.strip()) for cell in _cells(name, *begun[0], first)):
        delimiter = first
    width = max(len(_cells(name, number, line, delimiter)) for number, line in begun[:2])
    judged = max(4, LOOKED_AT_CELLS // width)
    spread = _spread_lines(table, _offset_of_line(table, begun[0][0] + 1), min(judged, LOOKED_AT))
    layout = layout_of([line for _, line in begun[:judged]], delimiter, header, spread)
    skip = begun[len(layout.annotations)][0] + 1 if layout.header is not None else 0
    if len(begun) == 1 and not any(is_number(cell) for cell in split(begun[0][1], delimiter)):
        raise InvalidInput(name, f"holds text but no numbers in line {begun[0][0] + 1}", "supply a table of numbers")
    _check_near_numbers(name, begun[len(layout.annotations) + (layout.header is not None) : judged], layout)
    start = _offset_of_line(table, skip)
    rows = table.count(b"\n", start) + 1
    limits.check_entries(name, rows, layout.cells)
    words = Words({j: [] for j in layout.words})
    data = _read_pieces(name, table, layout, words, (start, skip), rows)
    raw = unfolded(data, layout, words, index, limits)
    if raw is None:
        data, layout, said = with_one_axis(data, layout)
        remarks += said
        raw = named_table(data, layout, words, header, index)
    return replace(raw, remarks=(*remarks, *raw.remarks), encoding=form)


def _check_near_numbers(name: str, lines: Sequence[tuple[int, bytes]], layout: Layout) -> None:
    """Reject columns of numbers that are written for people, which would be taken for words and left out."""
    if not layout.words and any(is_number(cell) for cell in split(lines[0][1] if lines else b"0", layout.delimiter)):
        return
    rows = [(number, split(line, layout.delimiter)) for number, line in lines]
    for j in layout.words or range(layout.cells):
        cells = [(number, decoded(row[j])) for number, row in rows if j < len(row) and row[j].lower() not in MISSING_WORDS]
        if j and cells and all(FOR_PEOPLE.fullmatch(cell) and not is_number(_plain(cell, layout)) for _, cell in cells):
            number, cell = cells[0]
            wanted = "write numbers with a point for decimals, without signs between thousands, % or currencies"
            raise InvalidInput(name, f"line {number + 1}, column {j + 1} holds '{shown(cell)}'; {wanted}", whole=True)


def _plain(cell: str, layout: Layout) -> bytes:
    return cell.encode().replace(b",", b".") if layout.decimal_comma else cell.encode()


def _read_pieces(name: str, table: bytes, layout: Layout, words: Words, begin: tuple[int, int], rows: int) -> Array:
    """Parse a part of the lines at a time, so that numpy's working memory is that of a piece."""
    out = np.empty((rows, len(layout.numbers)))
    filled, (position, line), missing = 0, begin, False
    while position < len(table):
        end = table.find(b"\n", min(position + PIECE, len(table)))
        end = len(table) if end < 0 else end + 1
        piece, count = table[position:end], table.count(b"\n", position, end)
        if layout.words:
            piece = _without_words(name, piece, line, layout, words)
        if b"#" in piece or piece.translate(None, PLAIN):  # gaps such as #N/A, whose rest would be a remark to numpy
            piece = _spell_missing(piece, layout.delimiter)
        if layout.decimal_comma:
            piece = piece.replace(b",", b".")
        _check_quickly(name, piece, line, layout)
        numbers, missing = _parse(name, piece, line, layout, missing)
        out[filled : filled + len(numbers)] = numbers
        filled, position, line = filled + len(numbers), end, line + count
    return out[:filled]


def _without_words(name: str, piece: bytes, before: int, layout: Layout, words: Words) -> bytes:
    """The cells of numbers alone, line by line; what stands in the others is added to `words`."""
    kept, joint = layout.numbers, layout.delimiter or b" "
    lines = []
    for number, line in enumerate(piece.split(b"\n")):
        line = without_remark(line)
        cells = split(line, layout.delimiter) if line.strip() else []
        if not cells:
            lines.append(b"")
            continue
        if len(cells) != layout.cells:
            raise _unequal_line(name, before + number + 1, len(cells), layout.cells)
        for j in layout.words:
            words.add(j, cells[j])
        rest = joint.join(cells[j] for j in kept)
        lines.append(rest if rest.strip() else b"nan")
    return b"\n".join(lines)


def without_remark(line: bytes) -> bytes:
    """A line up to its remark: a # at its beginning or behind a number. One in quotes or in a word belongs to the cell."""
    if b"#" not in line:
        return line
    for found in REMARK.finditer(line):
        if line.count(b'"', 0, found.start()) % 2 == 0:
            return line[: found.start()]
    return line


def _significant_lines(table: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Number (from 0) and text of the lines from `start` on that are neither blank nor a comment."""
    for number, line in enumerate(islice(io.BytesIO(table), start, None), start):
        line = without_remark(line).rstrip(b"\n")
        if line.strip():
            yield number, line


def _spread_lines(table: bytes, begin: int, count: int) -> list[bytes]:
    """Some lines from all over the table behind its first: a list of names may begin with those that look like numbers."""
    found = []
    for k in range(1, count):
        start = table.find(b"\n", begin + k * (len(table) - begin) // count) + 1
        end = table.find(b"\n", start)
        line = without_remark(table[start : end if end >= 0 else None])
        if start and line.strip():
            found.append(line)
    return found


def _cells(name: str, number: int, line: bytes, delimiter: bytes | None) -> list[bytes]:
    """The cells of a line, if they are not too many: then nothing of them is made."""
    cells = line.split(delimiter, MOST_COLUMNS)
    if len(cells) > MOST_COLUMNS:
        sizes = f"line {number + 1} has more than {MOST_COLUMNS:,} cells"
        raise InvalidInput(name, sizes, "write one sample a line, or save it as NPY", whole=True)
    return cells


def _check_quickly(name: str, piece: bytes, before: int, layout: Layout) -> None:
    """Reject characters that no number has, and lines with another number of cells than the first.

    `before` is the number of lines before the piece.
    """
    if b"#" in piece:  # a remark may hold anything; numpy tells remarks from cells
        return
    if strange := piece.translate(None, PLAIN)[:1]:
        place = piece.find(strange)
        start = piece.rfind(b"\n", 0, place) + 1
        column = len(_cells(name, before, piece[start:place] + strange, layout.delimiter))
        end = piece.find(b"\n", start)
        cell = piece[start : end if end >= 0 else None].split(layout.delimiter, column)[column - 1]
        place = layout.numbers[min(column, len(layout.numbers)) - 1] + 1
        raise _text_cell(name, before + piece.count(b"\n", 0, start) + 1, place, cell.decode("utf-8", "replace"))
    delimiter, columns = layout.delimiter, len(layout.numbers)
    full_lines = piece.count(b"\n") + (not piece.endswith(b"\n"))
    if delimiter is None or b'"' in piece or piece.count(delimiter) == full_lines * (columns - 1):
        return
    for number, line in _significant_lines(piece, 0):
        if line.count(delimiter) != columns - 1:
            raise _unequal_line(name, before + number + 1, line.count(delimiter) + 1, columns)


def _offset_of_line(table: bytes, number: int) -> int:
    stream = io.BytesIO(table)
    for _ in range(number):
        stream.readline()
    return stream.tell()


def _parse(name: str, piece: bytes, before: int, layout: Layout, missing: bool) -> tuple[Array, bool]:
    """The numbers of a piece, and whether missing cells had to be spelled NaN for numpy; they are if `missing` says so."""
    spelled = _spell_missing(piece, layout.delimiter) if missing else piece
    try:
        numbers = _loadtxt(spelled, layout.delimiter)
    except ValueError as error:
        bad = BAD_CELL.search(str(error))
        if not missing and bad and bad[1].strip().lower().encode() in MISSING_WORDS:
            return _parse(name, piece, before, layout, True)
        raise _failure(name, str(error), piece, before, layout) from None
    if len(numbers) and numbers.shape[1] != len(layout.numbers):
        number, _ = next(_significant_lines(piece, 0))
        raise _unequal_line(name, before + number + 1, numbers.shape[1], len(layout.numbers))
    return numbers.reshape(-1, len(layout.numbers)), missing


def _loadtxt(piece: bytes, delimiter: bytes | None) -> Array:
    lines = io.TextIOWrapper(io.BytesIO(piece), "utf-8", "replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a piece of remarks and blank lines holds no data
        return np.loadtxt(lines, delimiter=delimiter.decode() if delimiter else None, ndmin=2, quotechar='"')


def _spell_missing(piece: bytes, delimiter: bytes | None) -> bytes:
    """Write `nan` into empty cells and for NA and the like; blank lines keep their place and stay blank."""
    if delimiter is None:
        return re.sub(rb"(?<!\S)(?:" + GAPS + rb")(?!\S)", b"nan", piece, flags=re.I)
    sign = re.escape(delimiter)
    # Possessive, so that a long run of blanks is looked at once.
    cell = rb'"?+ *+(?:' + GAPS + rb')?+ *+"?+'
    inner = re.compile(b"(?<=" + sign + b")" + cell + b"(?=[" + sign + rb"\n]|\Z)", re.I)
    outer = re.compile(b"^" + cell + b"(?=" + sign + b")", re.I | re.M)
    return outer.sub(b"nan", inner.sub(b"nan", piece))


def _failure(name: str, problem: str, piece: bytes, before: int, layout: Layout) -> InvalidInput:
    """numpy's complaint with the line as an editor counts it, and the column among all cells."""
    if found := BAD_CELL.search(problem):
        place = layout.numbers[min(int(found[3]), len(layout.numbers)) - 1] + 1
        return _text_cell(name, before + _line_of_row(piece, int(found[2])), place, found[1])
    if found := UNEQUAL_LINES.search(problem):
        return _unequal_line(name, before + _line_of_row(piece, int(found[3]) - 1), int(found[2]), int(found[1]))
    return InvalidInput(name, "is not a table of numbers", "save it as CSV with one number in each cell")


def _text_cell(name: str, line: int, column: int, cell: str) -> InvalidInput:
    text = shown(cell.strip())
    return InvalidInput(
        name, f"line {line}, column {column} holds the text '{text}'", "every cell must be a number or empty", whole=True
    )


def _unequal_line(name: str, line: int, cells: int, columns: int) -> InvalidInput:
    return InvalidInput(
        name, f"line {line} has {cells} cells, the lines before {columns}", "make all lines equally long", whole=True
    )


def _line_of_row(piece: bytes, row: int) -> int:
    """The 1-based line of the row-th (from 0) line that numpy did not skip."""
    return next((number for number, _ in islice(_significant_lines(piece, 0), row, None)), 0) + 1
