"""Samples brought to a common size, in blocks of rows: no second matrix is made on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.datasets.base import Array
from semf_core.mathematics.blocks import row_blocks


def scales(data: Any, scaling: str) -> Array:
    """What every column is divided by; 1 where that would be zero. Missing entries do not count."""
    peaks = _column_peaks(data)
    if scaling == "max":
        return np.full(len(peaks), peaks.max() or 1.0)
    peaks[peaks == 0] = 1.0
    squares = _column_squares(data, peaks)
    return peaks * np.where(squares > 0, np.sqrt(squares), 1.0)


def divided(data: Any, factors: Array, origin: Any) -> Any:
    """The columns divided by their factors, in the memory of `origin` if `data` is a view of it that may be changed."""
    if sparse.issparse(data):
        scaled = sparse.csc_array(data, copy=True)
        scaled.data = scaled.data / np.repeat(factors, np.diff(scaled.indptr))
        return scaled
    if origin.flags.writeable and np.may_share_memory(data, origin):
        out = origin if (origin.shape, origin.strides) == (data.shape, data.strides) else origin.T
    else:
        out = np.empty_like(data)
    for rows in row_blocks(*data.shape):
        np.divide(data[rows], factors, out=out[rows], casting="same_kind")
    return out


def _column_peaks(data: Any) -> Array:
    """The largest modulus in each column."""
    if sparse.issparse(data):
        return np.asarray(abs(data).max(axis=0).toarray(), dtype=float).ravel()
    peaks = np.zeros(data.shape[1])
    for block in _moduli(data):
        np.maximum(peaks, block.max(axis=0), out=peaks)
    return peaks


def _column_squares(data: Any, peaks: Array) -> Array:
    """Sums of squares of the columns, each divided by its peak first, so that squares neither overflow nor vanish."""
    if sparse.issparse(data):
        data = sparse.csc_array(data)
        columns = np.repeat(np.arange(data.shape[1]), np.diff(data.indptr))
        return np.bincount(columns, np.square(data.data / peaks[columns]), data.shape[1])
    squares = np.zeros(data.shape[1])
    for block in _moduli(data):
        squares += np.square(block / peaks).sum(axis=0)
    return squares


def _moduli(data: Array) -> Iterator[Array]:
    """|M| in blocks of rows; missing entries are zero, and infinite ones are rejected elsewhere."""
    for rows in row_blocks(*data.shape):
        yield np.abs(np.nan_to_num(data[rows], nan=0.0, posinf=0.0, neginf=0.0))
