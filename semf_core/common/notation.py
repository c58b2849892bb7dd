"""Parameters in writing: values as the text that `Param.parse` reads (0-3+7, 0-3|4-7|16, 1+2+3), and names with their symbols."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from semf_core.common.parameters import Param

FIRST = 1
"""Formulas and texts for people count rows, columns and groups from here; Python, JSON and the command line from 0."""

NAMES = {
    "dtype": "Precision",
    "max_iter": "Iterations",
    "tol": "Tolerance",
    "hold": "Keep it fixed",
    "lam": "Weight",
    "sparseness_x": "Sparseness of U",
    "sparseness_y": "Sparseness of V",
    "x_low": "Least sparseness of X",
    "x_high": "Largest sparseness of X",
    "y_low": "Least sparseness of Y",
    "y_high": "Largest sparseness of Y",
}
"""Labels of parameters whose name is a programmer's word."""
GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "epsilon": "ε", "mu": "μ", "nu": "ν", "sigma": "σ", "lambda": "λ", "rho": "ρ"}
GREEK |= {"theta": "θ", "delta": "δ", "Delta": "Δ", "eta": "η", "bargamma": "γ̄"}
LOWERED = str.maketrans("0123456789t", "₀₁₂₃₄₅₆₇₈₉ₜ")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float, digits: int = 4) -> str:
    """A number for people in at most so many digits: 0.0213, 5,390, 4.7·10⁻¹⁵; a dash where there is none."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.{digits}g}"
    if abs(float(text)) < 100_000 and (abs(float(text)) >= 1000 or "e+" in text):
        text = f"{float(text):,.0f}"
    mantissa, _, exponent = text.partition("e")
    return mantissa.replace("-", "−") + (f"·10{str(int(exponent)).translate(RAISED)}" if exponent else "")


def counted(name: str, which: str) -> str:
    """columns 1-3, but column 17."""
    return f"{name.removesuffix('s') if which.isdigit() else name} {which}"


def symbol(text: str) -> str:
    """A LaTeX symbol or a name like it, in plain characters: alpha_0 and alpha0 are α₀."""
    found = re.fullmatch(r"([A-Za-z]+?)(?:_(\w+)|(\d+))?", text)
    if found is None or (found[1] not in GREEK and len(found[1]) > 1):
        return text
    return GREEK.get(found[1], found[1]) + (found[2] or found[3] or "").translate(LOWERED)


def label(p: Param) -> str:
    """The words for a parameter: its name, with its symbol where that is another."""
    name = NAMES.get(p.name) or p.name[:1].upper() + p.name[1:].replace("_", " ")
    plain = re.sub(r"\\mathrm|\\var|[\\{}]", "", p.symbol)
    sign = symbol(plain)
    if not sign or "^" in sign or (plain == p.name and len(sign) > 1):
        return name
    of_symbol = p.name.rstrip("0123456789") in GREEK or p.name in {plain.partition("_")[0], plain.replace("_", "")}
    return sign if of_symbol else f"{name} {sign}"


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
