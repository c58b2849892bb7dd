"""Formulas of the sets on a factor, broken into lines that fit a page."""

from __future__ import annotations

import re
from collections.abc import Iterable

LINES = 8
WIDTH = 34
SCRIPT = {"X": r"\mathcal{X}", "Y": r"\mathcal{Y}"}


def formula(symbol: str, conditions: Iterable[str], environment: str = "aligned") -> str:
    r"""LaTeX of 𝒳 = { X : conditions }, one condition a line."""
    lines = r",\\ ".join(f"& {broken(c)}" for c in dict.fromkeys(conditions)) or r"& \text{no constraint}"
    return rf"{SCRIPT[symbol]} = \left\{{ {symbol} : \begin{{{environment}}} {lines} \end{{{environment}}} \right\}}"


def boxed(condition: str) -> str:
    """LaTeX of a condition with a frame around what it says first: a frame cannot be broken into lines."""
    head, comma, rest = condition.partition(r",\;")
    whole = head.count("{") == head.count("}") and head.count(r"\left") == head.count(r"\right")
    return rf"\boxed{{{head}}}{comma}{rest}" if whole else condition


def broken(condition: str, width: int = WIDTH) -> str:
    """LaTeX of a condition with line breaks after commas where it grows wide, and its middle left out if it is very long."""
    pieces = [p for p in re.split(r"(?<=,)\\;", condition) if p.strip()]
    lines, room = [""], width
    for piece in pieces:
        size = len(re.sub(r"\\[a-zA-Z]+ ?|[{}^\\$;]", ".", piece)) - piece.count("{") - piece.count("}")
        if lines[-1] and size > room:
            lines.append("")
            room = width
        lines[-1] += (r"\;" if lines[-1] else "") + piece
        room -= size
    if len(lines) > LINES:
        lines = [*lines[: LINES - 2], r"\dots,", lines[-1]]
    return r"\\ & \quad ".join(lines)
