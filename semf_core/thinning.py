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


def decisions(cases: Array, stride: int) -> Array:
    """The last decision in each stretch of `stride` iterations; one that changes a penalty goes before one that does not."""
    stretches = cases.astype(np.uint8).reshape(-1, stride)
    decided = np.zeros(len(stretches), np.uint8)
    for wanted in (stretches == Case.SKIP, stretches > Case.SKIP):
        some = wanted.any(axis=1)
        last = stride - 1 - wanted[:, ::-1].argmax(axis=1)
        decided[some] = stretches[some, last[some]]
    return decided
