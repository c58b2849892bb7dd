"""Lines that stand before a table and are no part of it: what an instrument, GEO or GenePattern writes there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from semf_core.common.spreadsheets import MARK
from semf_core.datasets.reading import listed, shown
from semf_core.datasets.table_layout import decoded, is_number, split

SEARCHED = 1 << 18
"""Bytes in which the table must have begun."""
MOST_LINES = 200
"""At the end, from which the separator is judged, and among which text below the table is looked for."""
FEWEST_LINES = 3
"""Lines of equal length that make a table."""
GCT = re.compile(rb"#1\.[23][^\n]*\n[^\n]*(?:\n|\Z)")
FEATURE = b"feature"
"""Heads the names of the rows in a GCT file, whose columns are always the samples."""
DESCRIPTION = b"description"
"""Heads the second column of a GCT file, whose cells may all be na."""
LINE = re.compile(rb"^(?=[+-]?[\d.])", re.M)
BANG = re.compile(rb"^!.*$", re.M)
"""What GEO writes about a series, before and after its table."""
QUOTED = re.compile(rb'"[^"]*"')


def without_preamble(table: bytes) -> tuple[bytes, tuple[str, ...]]:
    """The table with the lines that are no part of it emptied, so that the others keep their numbers; and what to say of it."""
    if table.lstrip().startswith(b"!"):
        emptied, count = BANG.subn(b"", table)
        return emptied, (f"{count} lines that begin with ! are no part of the table and left out.",)
    if found := GCT.match(table):
        rest = table[found.end() :]
        return _gct(rest, found[0].split(b"\n")[1].split()) if rest.strip() else (b"", ())
    count, first = _text_above(table)
    end, below = _text_below(table, count > 0)
    said: tuple[str, ...] = ()
    if below:
        table = table[:end] + b"\n" * table.count(b"\n", end)
        said = (_left_out("last", len(below), below[0]),)
    if not count:
        return table, said
    return _emptied(table, count), (_left_out("first", count, first), *said)


def _left_out(which: str, count: int, line: bytes) -> str:
    named = f"“{shown(decoded(line).strip())}”"
    lines = f"The {which} {count} lines ({named} …) are" if count > 1 else f"The {which} line ({named}) is"
    return f"{lines} no part of the table and left out."


def _gct(table: bytes, sizes: list[bytes]) -> tuple[bytes, tuple[str, ...]]:
    """What follows the two lines at the head of a GCT file, the second of which counts rows and columns.

    The second column describes the rows. Version 1.3 counts such columns, all of which are left out, and the lines that say
    more of the samples: the first that holds words tells their classes.
    """
    beside, below = (int(size) if size.isdigit() else 0 for size in (*sizes[2:4], b"", b"")[:2])
    lines = table.split(b"\n")
    head = split(lines[0], b"\t")
    if len(sizes) < 4:
        beside = int(len(head) > 1 and head[1].lower() == DESCRIPTION)
    said: list[str] = []
    if beside:
        says, titles = ("it says" if beside == 1 else "they say"), listed(decoded(cell) for cell in head[1 : beside + 1])
        said.append(f"Left out, because {says} more of the rows: {titles}.")
        lines = [b"\t".join(cells[:1] + cells[beside + 1 :]) for cells in (line.split(b"\t") for line in lines)]
    numbers = [i for i in range(1, min(below + 1, len(lines))) if all(is_number(c) for c in split(lines[i], b"\t")[1:])]
    if numbers:
        titles = listed(decoded(split(lines[i], b"\t")[0]) for i in numbers)
        said.append(f"Left out, because they say more of the samples: {titles}.")
    for i in numbers:
        lines[i] = b""
    lines[0] = FEATURE + b"\t" + lines[0].partition(b"\t")[2]
    rest = b"\n".join(lines[1:])
    lines[1:] = [LINE.sub(MARK.encode(), rest)]  # ids are names, also where they are numbers
    return b"\n\n" + b"\n".join(lines), tuple(said)


def _emptied(table: bytes, count: int) -> bytes:
    """The same with its first lines emptied."""
    return b"\n" * count + b"".join(table.split(b"\n", count)[count:])


def _text_below(table: bytes, headed: bool) -> tuple[int, list[bytes]]:
    """Where the lines of text below the table begin, and these lines: they begin with a word and have fewer cells.

    A blank line sets them apart; below a table that is `headed` by text they may follow it if they are as short as that.
    """
    lines = table[-SEARCHED:].split(b"\n")[0 if len(table) <= SEARCHED else 1 :]
    lines = lines[-MOST_LINES:]
    delimiter = _delimiter(lines)
    width = _width(lines, delimiter)
    count, end, short, apart = len(lines), len(table), True, False
    while count > 1 and delimiter is not None:
        line = lines[count - 1]
        cells = split(line, delimiter)
        if len(cells) >= width or line.startswith(b"#") or (line.strip() and is_number(cells[0])):
            break
        short = short and _is_short(len(cells), width)
        apart = not line.strip()
        count, end = count - 1, end - len(line) - 1
    below = [line for line in lines[count:] if line.strip()]
    return (end, below) if below and count >= FEWEST_LINES and (apart or (headed and short)) else (len(table), [])


def _is_short(size: int, width: int) -> bool:
    return size <= max(1, width // 2)


def _delimiter(lines: Sequence[bytes]) -> bytes | None:
    """Tab, semicolon or comma, the first that stands in most of the lines; None for blanks."""
    bare = [QUOTED.sub(b"", line) if b'"' in line else line for line in lines if line.strip()]
    return next((sign for sign in (b"\t", b";", b",") if 2 * sum(sign in line for line in bare) > len(bare)), None)


def _width(lines: Sequence[bytes], delimiter: bytes | None) -> int:
    """The most usual number of cells."""
    sizes = [size for line in lines if delimiter is not None and (size := _cells(line, delimiter))]
    return Counter(sizes).most_common(1)[0][0] if sizes else 0


def _text_above(table: bytes) -> tuple[int, bytes]:
    """How many lines of text stand above the table: they hold words, in at most half as many cells as its lines have."""
    head = table[:SEARCHED]
    lines = head.split(b"\n")[: None if len(head) == len(table) else -1]
    delimiter = _delimiter(lines[-MOST_LINES:])
    sizes = [] if delimiter is None else [_cells(line, delimiter) for line in lines]
    if delimiter is None or not any(sizes):
        return 0, b""
    width = _width(lines, delimiter)
    begin = sizes.index(width)
    if begin and sizes[begin - 1] == width - 1 > 1:  # a header without a cell above the names
        begin -= 1
    above = [line for line, size in zip(lines[:begin], sizes[:begin], strict=True) if size]
    short = all(_is_short(size, width) for size in sizes[:begin])
    worded = all(any(not is_number(cell) for cell in split(line, delimiter)) for line in above)
    found = above and short and worded and sizes[begin:].count(width) >= FEWEST_LINES
    return (begin, above[0]) if found else (0, b"")


def _cells(line: bytes, delimiter: bytes) -> int:
    """The number of cells in a line; 0 if it is blank or a remark."""
    bare = QUOTED.sub(b"", line) if b'"' in line else line
    return bare.count(delimiter) + 1 if bare.strip() and not bare.lstrip().startswith(b"#") else 0
