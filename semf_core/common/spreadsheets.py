"""Text in a CSV file that would be taken for a formula or a number is marked as text; the one place that does so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""A cell of text that begins like this is taken for a formula by spreadsheets."""


def safe_cell(value: Any) -> Any:
    """A value for a cell; numbers, also those that are written as text, stay as they are."""
    if not isinstance(value, str) or not value.lstrip(" ").startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


ERRORS = ("#n/a", "#na", "#div/0!", "#ref!", "#value!", "#num!", "#name?", "#null!")
"""What spreadsheets write for a value that cannot be computed."""
MISSING_WORDS = ("", "na", "n/a", "null", "none", "nan", "<na>", "n.a.", "n.d.", "nd", "-", "--", ".", "..", "?", *ERRORS)
"""Cells, in lower case, where a number is missing."""
MARK = "'"
DATE = re.compile(
    r"\d[\dTWZ:./ +-]{6,39}(?:[AaPp][Mm])?|\d{1,2}:\d\d[\d:., AaPpMm]{0,13}"
    r"|(?:\d{1,2}[ -])?[A-Za-z]{3,9}[ -]\d{2,4}|\d{4}[ -]?Q[1-4]"
)
"""What a date, a month, a quarter or a time of day may be written with."""
QUANTITY = re.compile(r"(\d+(?:[.,]\d+)?)( (?:[^\W\d_]|[°%‰])[^\s,;()\[\]\"']{0,7}|[nµμu]m|ms|min|[kM]?Hz|cm\^?-1)")
"""A number and its unit, which stands close to it only where nothing else is meant."""


def text_cell(name: str) -> str:
    """A name for a cell: with an apostrophe before it if it would be taken for a number, a gap, a formula or marked text."""
    return MARK + name if _is_taken_for_another(name) else name


def unmarked(cell: str) -> str:
    """The name that `text_cell` or `safe_cell` has written."""
    return cell[1:] if is_marked(cell) else cell


def is_marked(cell: str) -> bool:
    """Whether an apostrophe says that this is text."""
    forms = (DATE, QUANTITY)
    return cell.startswith(MARK) and (_is_taken_for_another(cell[1:]) or any(form.fullmatch(cell[1:]) for form in forms))


def _is_taken_for_another(name: str) -> bool:
    if name.lstrip(" ").startswith((MARK, *FORMULA)) or name.lower() in MISSING_WORDS:
        return True
    try:
        float(name)
    except ValueError:
        return False
    return True


def csv_text(lines: Iterable[Iterable[Any]]) -> str:
    """A table of numbers and text: no cell is taken for a formula, and None is an empty one."""
    return "".join(csv_line("" if cell is None else safe_cell(cell) for cell in line) for line in lines)


def csv_line(cells: Iterable[Any]) -> str:
    """Cells between commas; quotes also around what would be taken for a remark or for another separator."""
    return ",".join(_quoted(str(cell)) for cell in cells) + "\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(sign in cell for sign in ',;\t"#\r\n') else cell
