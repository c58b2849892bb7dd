"""The glossary: one file of words from which tooltips, lessons, pages and reports explain every symbol, badge and case."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from semf_core.common.errors import InvalidInput

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Word:
    """A symbol, badge, case or column."""

    name: str
    sign: str
    """As it is written on a page."""
    short: str
    """One sentence, for a tooltip."""
    more: str
    """Two more sentences."""
    equation: str
    """Its number in its paper; empty where it has none."""
    lesson: str
    """Name of the lesson that shows it."""
    drawing: str
    """A small picture of it, as SVG in the colour of the text."""


@cache
def glossary() -> dict[str, Word]:
    """All words by name.

    Returns
    -------
    dict of str to Word
        In the order of the file.

    Examples
    --------
    >>> from semf_core.glossary import glossary
    >>> "relative_error" in glossary()
    True
    """
    entries = json.loads((FOLDER / "words.json").read_text(encoding="utf-8"))
    drawings = {path.stem: path.read_text(encoding="utf-8").strip() for path in (FOLDER / "drawings").glob("*.svg")}
    return {name: Word(name, **{**entry, "drawing": drawings[entry["drawing"]]}) for name, entry in entries.items()}


def word(name: str) -> Word:
    """A word of the glossary.

    Parameters
    ----------
    name : str
        Such as "relative_error" or "snr".

    Returns
    -------
    Word
        Its sign, and what it means in one sentence and in three.

    Examples
    --------
    >>> from semf_core.glossary import word
    >>> word("snr").short
    'Signal-to-noise ratio of UV in decibels: 20 log₁₀ of ‖M‖/‖M−UV‖.'
    """
    try:
        return glossary()[name]
    except KeyError:
        raise InvalidInput(
            "word", f"there is no {name!r} in the glossary", f"known are {', '.join(glossary())}", whole=True
        ) from None
