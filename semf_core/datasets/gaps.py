"""Numbers that stand for a missing entry, as loggers, weather services and maps of the earth write them: -999, -9999."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import place_text
from semf_core.datasets.base import Array
from semf_core.mathematics.blocks import row_blocks

AUTO, NONE = "auto", "none"
USUAL = (-999.0, -9999.0, -99999.0, -999.25, -999.9, -9999.9, float(np.finfo(np.float32).min))
"""What usually stands for a missing entry; -99 and 9999 may be measured."""
APART = 0.5
"""Everything else must lie above this fraction of such a number: then it is no part of what was measured."""


def spelled_gap(text: str) -> str:
    """auto, none, or the number in its one spelling."""
    word = text.strip().lower().replace("\u2212", "-")
    if word in (AUTO, NONE, ""):
        return word or NONE
    try:
        number = float(word)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise InvalidInput("missing", "must be auto, none, or the number that stands for a missing entry")
    return repr(number).removesuffix(".0")


def without_gaps(data: Any, told: str, origin: Any) -> tuple[Any, str, tuple[str, ...]]:
    """The data with NaN for the number that stands for a missing entry, that number (or `told`), and what is to be said.

    With "auto" it is the smallest one, if that is a usual one and all others lie far above it. The memory of `origin` is
    used where `data` is a view of it that may be changed.
    """
    if told == NONE or sparse.issparse(data):  # an entry that a sparse matrix does not store is zero, not missing
        return data, told, ()
    if told != AUTO:
        return _blanked(data, float(told), origin)[0], told, ()
    low = _smallest(data)
    usual = next((gap for gap in USUAL if low == data.dtype.type(gap)), None)
    if usual is None or not _smallest(data, low) > APART * usual:  # also if nothing else is there
        return data, AUTO, ()
    blanked, count = _blanked(data, low, origin)
    said = f"{place_text(usual)} stands {count:,} times for a missing entry, far below all other numbers. Say so if it is data."
    return blanked, repr(usual).removesuffix(".0"), (said,)


def _smallest(data: Array, beyond: float = -np.inf) -> float:
    """The smallest number that is there and larger than `beyond`; NaN if none is."""
    lows = [np.fmin.reduce(block[block > beyond], initial=np.nan) for block in (data[rows] for rows in row_blocks(*data.shape))]
    return float(np.fmin.reduce(lows))


def _blanked(data: Array, gap: float, origin: Array) -> tuple[Array, int]:
    """The data without a number, and how often it was there."""
    own = origin.flags.writeable and (origin.shape, origin.strides) == (data.shape, data.strides)
    out = origin if own and np.may_share_memory(data, origin) else np.array(data)
    count = 0
    for rows in row_blocks(*data.shape):
        there = out[rows] == gap
        out[rows][there] = np.nan
        count += int(there.sum())
    return out, count
