"""The one way to a plotly chart: text of visitors in it is text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from semf_core.common.notation import RAISED, number

MOST_POWERS, FEW_POWERS, PLAIN = 6, 2, 4
"""Powers of ten on an axis; so few that 2 and 5 are written as well; the largest exponent that is written out."""
TAG = re.compile(r"<(?!/?(?:br|b|i|em|sub|sup|extra)>)")
"""Plotly makes links and styles of tags in any text; only these harmless ones are left to it."""


def logarithmic(low: float, high: float) -> dict[str, Any]:
    """A logarithmic axis, its numbers in one size and one way of writing; plotly itself writes powers larger than the rest."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, math.ceil((last - first) / MOST_POWERS))
    powers = [power for power in range(first, last + 1) if power % every == 0]
    ticks = [(digit, power) for power in powers for digit in ((1, 2, 5) if last - first <= FEW_POWERS else (1,))]
    plain = all(abs(power) <= PLAIN for power in powers)
    words = [number(digit * 10.0**power) if plain else _power(digit, power) for digit, power in ticks]
    return {"type": "log", "tickvals": [digit * 10.0**power for digit, power in ticks], "ticktext": words}


def _power(digit: int, power: int) -> str:
    return f"{digit}·" * (digit > 1) + f"10{str(power).translate(RAISED)}"


def chart(figure: go.Figure, alt: str, key: str, **more: Any) -> Any:
    """Draw it without plotly's buttons; `alt` says it for those who cannot see it."""
    return st.plotly_chart(harmless(figure), config={"displayModeBar": False}, alt=alt, key=key, **more)


def harmless(figure: go.Figure) -> go.Figure:
    """The same figure with every tag that could lead elsewhere as plain text."""
    return go.Figure(_without_tags(figure.to_dict()))


def _without_tags(value: Any) -> Any:
    if isinstance(value, str):
        return TAG.sub("&lt;", value)
    if isinstance(value, dict):
        return {name: _without_tags(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tags(one) for one in value]
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        return [_without_tags(one) for one in value.tolist()]
    return value
