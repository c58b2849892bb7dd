"""Values as the text that `Param.parse` reads: 0-3+7, 0-3|4-7|16, 1+2+3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semf_core.parameters import Param

FIRST = 1
"""Formulas and texts for people count rows, columns and groups from here; Python, JSON and the command line from 0."""


def spell(p: Param, value: Any, origin: int = 0) -> str:
    """The short spelling of a value, its indices counted from `origin`; `p.parse` of both gives it back. Matrices have none."""
    if value is None:
        return ""
    if p.kind == "indices":
        return spell_indices(value, origin)
    if p.kind == "groups":
        return "|".join(spell_indices(group, origin) for group in value)
    if p.index:
        return str(value + origin)
    if p.kind in {"integers", "numbers"} and isinstance(value, tuple):
        # One number alone would be read as a number, not as a list of one.
        return "+".join(repr(v) for v in value) if len(value) > 1 else f"[{value[0]!r}]"
    if p.kind == "boolean":
        return "true" if value else "false"
    return str(value)


def spell_indices(indices: Sequence[int], origin: int = 0) -> str:
    """0, 1, 2, 3, 7 → 0-3+7, in the given order."""
    runs: list[list[int]] = []
    for i in (index + origin for index in indices):
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return "+".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def equal_blocks(length: int, size: int) -> tuple[tuple[int, ...], ...]:
    """0..length-1 cut into runs of `size`; the last one may be shorter."""
    return tuple(tuple(range(first, min(first + size, length))) for first in range(0, length, max(1, size)))
