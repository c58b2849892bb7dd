"""The one way to a plotly chart: text of visitors in it is text."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

TAG = re.compile(r"<(?!/?(?:br|b|i|em|sub|sup|extra)>)")
"""Plotly makes links and styles of tags in any text; only these harmless ones are left to it."""


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
