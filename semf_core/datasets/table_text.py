"""The text of a table as its readers take it: one line a row, and remarks told from names that begin with #."""

from __future__ import annotations

import codecs
import re

from semf_core.common.errors import InvalidInput
from semf_core.common.spreadsheets import MISSING_WORDS
from semf_core.datasets.reading import shown
from semf_core.datasets.table_layout import decoded, delimiter_of, is_number, split
from semf_core.datasets.text_encoding import ENCODINGS, told_or_judged

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte-order marks; that of UTF-16 begins one of UTF-32 and comes after it."""
SEARCHED = 4096
"""Bytes in which zeros tell UTF-16 that has no mark."""
DOCUMENTS = (
    (b"<!doctype html", "a web page"),
    (b"<html", "a web page"),
    (b"<?xml", "an XML document"),
    (b'{"', "a JSON document"),
    (b"##title=", "a JCAMP-DX file"),
)
"""How files begin that are no table, whatever they are called."""
END = b"\x1a"
"""How DOS ended files."""
SEPARATOR = re.compile(rb"[ \t]*\"?sep=.\"?[ \t]*\n", re.I)
"""What Excel writes first: the sign between the cells, which is found without it."""
MINUS = re.compile(rb"\xe2\x88\x92(?=[0-9.,])")
"""The typographic one."""
LONGEST_CELL = 20_000
"""Bytes that a cell over several lines may have; a quote that is never closed ends there."""


def table_text(name: str, content: bytes, encoding: str = "auto") -> tuple[bytes, tuple[str, ...], str]:
    """The text without byte-order mark, its lines ended by \\n, what is to be said of it, and how its letters were encoded.

    Lines keep their numbers.
    """
    content = _utf8(content)
    content = content.removesuffix(END)
    if b"\0" in content:
        raise InvalidInput(name, "holds binary content, not a table of text", "save it as CSV")
    begin = content[:SEARCHED].lstrip().lower()
    if document := next((what for mark, what in DOCUMENTS if begin.startswith(mark)), None):
        raise InvalidInput(name, f"is {document}, not a table", "save or download the table itself as CSV")
    if b"\r" in content:
        content = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if found := SEPARATOR.match(content):
        content = b"\n" + content[found.end() :]
    content, form = told_or_judged(content, encoding)
    read_as = f"Letters beyond ASCII are not UTF-8 and were read as {ENCODINGS.get(form)}. Say so if names look wrong."
    remarks = () if form == "auto" else (read_as,)
    content = MINUS.sub(b"-", content)
    if b'"' in content:
        content = _joined(content)
    content, said = _without_hashes(content)
    return content, remarks + said, form


def _utf8(content: bytes) -> bytes:
    """The same in UTF-8, if it is UTF-16 or UTF-32."""
    form = next((form for mark, form in MARKS.items() if content.startswith(mark)), None)
    begin = content[: SEARCHED // 2 * 2]
    if form is None and len(begin) > 3:
        for first, other, unmarked in ((0, 1, "utf-16-le"), (1, 0, "utf-16-be")):
            if begin[other::2].count(0) > 0.9 * len(begin) / 2 and 0 not in begin[first::2]:
                form = unmarked
    content = content if form is None else content.decode(form, "replace").encode()
    return content.removeprefix(codecs.BOM_UTF8)


def _joined(content: bytes) -> bytes:
    """Cells in quotes that go over several lines, in one; blank lines are left behind."""
    lines = content.split(b"\n")
    if not any(line.count(b'"') % 2 for line in lines):
        return content
    place = 0
    while place < len(lines):
        end, whole = place, lines[place]
        while whole.count(b'"') % 2 and end + 1 < len(lines) and len(whole) < LONGEST_CELL:
            end += 1
            whole += b" " + lines[end]
        if end > place and whole.count(b'"') % 2 == 0:
            lines[place : end + 1] = [whole] + [b""] * (end - place)
            place = end
        place += 1
    return b"\n".join(lines)


# -- lines that begin with # -------------------------------------------------------------------


def _without_hashes(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A line of names that is commented out (numpy, biom) heads the table again; rows whose name begins with # are rows."""
    if not (content.startswith(b"#") or b"\n#" in content):
        return content, ()
    lines = content.split(b"\n")
    plain = [i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith(b"#")][:2]
    if not plain:
        return content, ()
    delimiter = delimiter_of(lines[plain[-1]])
    body = split(lines[plain[-1]], delimiter)
    if delimiter is None or len(body) < 2:
        return content, ()
    said: list[str] = []
    above = [i for i in range(plain[0]) if lines[i].startswith(b"#")]
    if above and not _is_header(split(lines[plain[0]], delimiter), body) and (names := _names(lines[above[-1]], delimiter, body)):
        said.append(f"The line “{shown(' '.join(decoded(lines[above[-1]]).split()))}” heads the columns.")
        lines[above[-1]] = delimiter.join(names)
    named = not _is_number(body[0])
    rows = 0
    for i in range(plain[0] + 1, len(lines)):
        if not lines[i].startswith(b"#") or len(cells := split(lines[i], delimiter)) != len(body):
            continue
        first, sign, rest = lines[i].partition(delimiter)
        if named or cells[0].lower().decode("ascii", "replace") in MISSING_WORDS:
            lines[i] = (b'"' + first + b'"' if named else b"") + sign + rest
            rows += named
    if rows:
        words = f"{rows} lines that begin with # have" if rows > 1 else "A line that begins with # has"
        said.append(f"{words} a name and a number in each cell: read as {'rows' if rows > 1 else 'a row'}, not as a remark.")
    return (b"\n".join(lines) if said or rows else content), tuple(said)


def _is_number(cell: bytes) -> bool:
    return is_number(cell.replace(b",", b"."))


def _is_header(first: list[bytes], body: list[bytes]) -> bool:
    """Whether the first line that is no remark names the columns already."""
    return any(not _is_number(cell) and _is_number(below) for cell, below in zip(first, body, strict=False))


def _names(line: bytes, delimiter: bytes, body: list[bytes]) -> list[bytes] | None:
    """The cells of a line that is commented out, if it has a word for each column; blank ones between may be too many."""
    cells = [cell.lstrip(b"#").strip() for cell in split(line, delimiter)]
    if len(cells) > len(body):
        cells = [cell for cell in cells if cell]
    told = cells[0].endswith((b"=", b":"))  # a setting of the instrument and its value
    if (
        told
        or len(cells) != len(body)
        or (all(_is_number(cell) for cell in cells[1:]) and all(_is_number(cell) for cell in body))
    ):
        return None
    return [b'"' + cell.replace(b'"', b'""') + b'"' if delimiter in cell or b'"' in cell else cell for cell in cells]
