"""Fewer points of a long history, chosen so that no decision of Algorithm 2 that changed a penalty is lost."""

from __future__ import annotations

import numpy as np

from semf_core.solvers.base import Case

Array = np.ndarray


def stride_for(count: int, most: int) -> int:
    """The power of two that leaves at most `most` points."""
    stride = 1
    while count > stride * most:
        stride *= 2
    return stride


def stretch_ends(iterations: Array, stride: int) -> Array:
    """Where in ascending `iterations` the stretches 1 … stride, stride + 1 … 2·stride, … have their last one."""
    stretch = (iterations - 1) // stride
    return np.flatnonzero(np.append(stretch[1:] != stretch[:-1], True))


def decisions(cases: Array, ends: Array) -> Array:
    """The last decision in each stretch; one that changes a penalty goes before one that does not."""
    cases, places = cases.astype(np.uint8), np.arange(len(cases))
    starts = np.append(0, ends[:-1] + 1)
    decided = np.zeros(len(ends), np.uint8)
    for wanted in (cases == Case.SKIP, cases > Case.SKIP):
        last = np.maximum.reduceat(np.where(wanted, places, -1), starts)
        decided[last >= 0] = cases[last[last >= 0]]
    return decided
