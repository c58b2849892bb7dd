"""Kernels against slow and obviously right ones, on long vectors and awkward values."""

from __future__ import annotations

import numpy as np
import pytest

from semf_core.sets import kernels

Array = np.ndarray
LENGTH = 5000


def long_columns(dtype: type) -> Array:
    """Ordinary, half zero, constant, two values, sorted both ways, heavy tails, and one that fools an evenly spaced sample."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal(LENGTH)
    step = LENGTH // kernels.SAMPLE
    fooling = np.where(np.arange(LENGTH) % step == 0, 100 + normal, normal)
    two = (rng.random(LENGTH) < 0.5) * 1.0
    kinds = [normal, np.maximum(normal, 0), np.ones(LENGTH), two, np.sort(normal), -np.sort(normal), normal**9, fooling]
    return np.stack(kinds, axis=1).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 2, 60, 1650, 2500, 4940, LENGTH - 1, LENGTH])
def test_the_kth_largest_of_long_columns(dtype: type, k: int) -> None:
    A = long_columns(dtype)
    np.testing.assert_array_equal(kernels.kth_largest(A, k), np.sort(A, axis=0)[LENGTH - k])


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("k", [1, 3, 40, 1650, 4999])
def test_of_equal_entries_the_first_are_kept(k: int, layout) -> None:
    A = layout(np.round(long_columns(np.float64), 1))
    expected = np.zeros(A.shape, bool)
    np.put_along_axis(expected, np.argsort(-A, axis=0, kind="stable")[:k], True, axis=0)
    np.testing.assert_array_equal(kernels.top_mask(A, k), expected)
    P = np.maximum(A, 0)
    np.testing.assert_array_equal(kernels.keep_largest_nonnegative(A, k), P * kernels.top_mask(P, k))


def test_the_simplex_agrees_with_sorting() -> None:
    """The threshold from the sorted entries, one column at a time."""
    rng = np.random.default_rng(1)
    for A in (rng.standard_normal((30, 200)), rng.integers(0, 3, (7, 100)) * 0.25, 1e6 * rng.standard_normal((5, 70))):
        for total in (0.1, 1.0, 40.0):
            P = kernels.simplex(A, total)
            for a, x in zip(A.T, P.T, strict=True):
                ranked = np.sort(a)[::-1]
                levels = (np.cumsum(ranked) - total) / np.arange(1, len(a) + 1)
                level = levels[np.flatnonzero(ranked > levels)[-1]]
                np.testing.assert_allclose(x, np.maximum(a - level, 0), atol=1e-9 * np.abs(a).max())
