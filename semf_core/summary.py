"""A dataset in a few numbers: its range, its zeros, its singular values, the pictures it may hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from semf_core.blocks import row_blocks
from semf_core.datasets import Dataset

FULL_COST = 4e9
"""m·n·min(m, n) up to which all singular values are computed (a second or so on one core)."""
LEADING = 30
SPARE, PASSES = 10, 3


@dataclass(frozen=True)
class Facts:
    """What is in a matrix; fractions count all entries, missing ones included."""

    low: float
    high: float
    zeros: float
    missing: float
    dtype: str
    is_sparse: bool


def facts(dataset: Dataset) -> Facts:
    """Range and zeros in one pass over blocks of rows."""
    m, n = dataset.shape
    data = dataset.data
    if sparse.issparse(data):
        stored = data.data
        full = stored.size == m * n
        zero = {} if full else {"initial": 0.0}
        low, high = float(stored.min(**zero)), float(stored.max(**zero))
        return Facts(low, high, 1 - stored.size / (m * n), 0.0, str(data.dtype), True)
    low, high, zeros = math.inf, -math.inf, 0
    for rows in row_blocks(m, n):
        block = data[rows]
        low, high = min(low, float(np.fmin.reduce(block, axis=None))), max(high, float(np.fmax.reduce(block, axis=None)))
        zeros += int((block == 0).sum())
    return Facts(low, high, zeros / (m * n), dataset.missing / (m * n), str(data.dtype), False)


def image_shapes(pixels: int, most: int = 12) -> list[tuple[int, int]]:
    """Heights and widths whose product is `pixels`, squarest first; strips thinner than 1 : 8 are left out."""
    pairs = [(d, pixels // d) for d in range(1, math.isqrt(pixels) + 1) if pixels % d == 0 and pixels // d <= 8 * d]
    both = [shape for d, e in reversed(pairs) for shape in ([(d, e)] if d == e else [(d, e), (e, d)])]
    return both[:most]


@dataclass(frozen=True)
class Spectrum:
    """Singular values in falling order; `complete` if these are all of them."""

    values: np.ndarray
    complete: bool
    rank: int
    """Values above rounding error: the numerical rank, or a lower bound where only some were computed."""
    note: str = ""

    def describe(self) -> str:
        """The curve in a sentence, for those who cannot see it."""
        if self.rank == 0:
            return "All singular values are zero."
        largest, last = float(self.values[0]), float(self.values[self.rank - 1])
        if not self.complete:
            return f"The {len(self.values)} leading singular values fall from {largest:.4g} to {last:.4g}."
        rest = len(self.values) - self.rank
        zeros = f", and {rest} more {'is' if rest == 1 else 'are'} zero up to rounding" if rest else ""
        return f"{self.rank} singular values from {largest:.4g} down to {last:.4g}{zeros}: the rank is {self.rank}."


def spectrum(data: Any) -> Spectrum:
    """σ₁ ≥ σ₂ ≥ … of a dense or sparse matrix; missing entries (NaN) count as zero."""
    m, n = data.shape
    notes = []
    if not sparse.issparse(data):
        known = np.nan_to_num(data, nan=0.0)
        if known.size and np.isnan(data).any():
            notes.append("Missing entries count as zero.")
        data = known
    scale = float(abs(data).max()) or 1.0
    small = min(m, n)
    complete = m * n * small <= FULL_COST or small <= LEADING
    with threadpool_limits(1, user_api="blas"):  # threads that wait for a busy core cost more than they bring
        if complete:
            dense = data.toarray() if sparse.issparse(data) else data
            values = np.linalg.svd(dense / scale, compute_uv=False).astype(float)
        else:
            values = leading_values(data / scale, LEADING)
            notes.append(f"The matrix is large: the {LEADING} leading values were computed, to within a few per cent.")
    eps = np.finfo(data.dtype if data.dtype in (np.float32, np.float64) else np.float64).eps
    rank = int((values > values[0] * max(m, n) * eps).sum()) if values[0] > 0 else 0
    return Spectrum(values * scale, complete, rank, " ".join(notes))


def leading_values(data: Any, count: int) -> np.ndarray:
    """The largest singular values by subspace iteration from a random start: a fixed number of passes over the data.

    (A Lanczos method needs ten times as many where the values fall slowly, as in noise.)
    """
    start = np.random.default_rng(0).standard_normal((data.shape[1], count + SPARE)).astype(data.dtype, copy=False)
    basis = np.linalg.qr(data @ start)[0]
    for _ in range(PASSES):
        basis = np.linalg.qr(data @ np.linalg.qr(data.T @ basis)[0])[0]
    return np.linalg.svd((data.T @ basis).T, compute_uv=False)[:count].astype(float)
