"""A dataset in a few numbers: its range, its zeros, its singular values, the pictures it may hold.

Everything is found in blocks, so a description takes little memory beside the matrix itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from semf_core.common.notation import number
from semf_core.datasets import Dataset
from semf_core.datasets.counting_noise import above_counting_noise
from semf_core.mathematics.blocks import row_blocks

Array = np.ndarray
FULL_COST = 4e9
"""m·n·min(m, n) up to which all singular values are computed (a few seconds on one core)."""
SKETCH_ENTRIES = 80_000_000
"""Entries (stored ones of a sparse matrix count four times) up to which the leading ones are estimated; beyond, none are."""
SKETCH_SIDE = 250_000
"""The same for the shorter side: a basis of so many rows is made orthonormal."""
LEADING = 30
LEFT_OUT = "Entries are missing and left out: the values are of a matrix of low rank fitted to the others; the rank is not known."
FITTED_COST = 4e8
"""Entries times sweeps of the fit to what is there; a sweep of a million entries takes about 50 ms."""
FEWEST_SWEEPS, MOST_SWEEPS = 5, 80
SMALLEST_SHRINKAGE = 1e-4
"""Of the second singular value: what the fit shrinks its values by at the end."""
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


# -- singular values ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Spectrum:
    """Singular values in falling order; `complete` if these are all of them. There are none of a matrix that is too large."""

    values: Array
    complete: bool
    rank: int
    """Values above rounding error: the numerical rank, or a lower bound where only some were computed."""
    note: str = ""
    above_noise: int = 0
    """Of a table of counts: how many stand out of the noise that counting makes; 0 where that is not known."""
    noise_level: float = 0.0
    """How strong that is, Poisson noise being 1."""

    def describe(self) -> str:
        """The curve in a sentence, for those who cannot see it."""
        if not len(self.values):
            return "The singular values were not computed."
        if self.rank == 0:
            return "All singular values are zero."
        largest, last = float(self.values[0]), float(self.values[self.rank - 1])
        if not self.complete:
            return f"The {self.rank} leading singular values fall from {number(largest)} to {number(last)}."
        rest = len(self.values) - self.rank
        zeros = f", and {rest} more {'is' if rest == 1 else 'are'} zero up to rounding" if rest else ""
        return f"{self.rank} singular values from {number(largest)} down to {number(last)}{zeros}: the rank is {self.rank}."


def spectrum(data: Any) -> Spectrum:
    """σ₁ ≥ σ₂ ≥ … of a dense, mapped or sparse matrix; missing entries have no say (see `fit_to_present`)."""
    m, n = data.shape
    small = min(m, n)
    weight = 4 * data.nnz if sparse.issparse(data) else m * n
    complete = m * n * small <= FULL_COST
    if not complete and (weight > SKETCH_ENTRIES or small > SKETCH_SIDE):
        limits = f"more than {SKETCH_ENTRIES:,} entries, or sides above {SKETCH_SIDE:,}"
        return Spectrum(np.empty(0), False, 0, f"The matrix is too large for that ({limits}).")
    blocks = TallBlocks(data)
    with threadpool_limits(1, user_api="blas"):  # threads that wait for a busy core cost more than they bring
        if blocks.missing:
            fit_to_present(blocks)
        found = blocks.values() if complete else leading_values(blocks, LEADING)
        noise = above_counting_noise(data) if complete and not blocks.missing else (0, 0.0)
    notes = [LEFT_OUT] if blocks.missing else []
    if not complete:
        notes.append(f"The matrix is large: the {LEADING} leading values were estimated, to within a few per cent.")
    eps = np.finfo(data.dtype if data.dtype in (np.float32, np.float64) else np.float64).eps
    rank = int((found > found[0] * max(m, n) * eps).sum()) if found[0] > 0 else 0
    return Spectrum(found * blocks.scale, complete and not blocks.missing, rank, " ".join(notes), *noise)


class TallBlocks:
    """A matrix, turned so that it is at least as high as wide, cut into blocks of rows and divided by its largest entry.

    Where entries are missing, those of the product of the two factors in `fit` stand there; at first the mean of the others.
    """

    def __init__(self, data: Any) -> None:
        tall = data if data.shape[0] >= data.shape[1] else data.T
        self._data = tall.tocsr() if sparse.issparse(tall) else tall
        self.sparse = sparse.issparse(data)
        known = [] if self.sparse else [_means(data[rows]) for rows in row_blocks(*data.shape)]
        self.missing = any(missing for missing, _ in known)
        means = np.concatenate([mean for _, mean in known])[:, None] if self.missing else np.zeros((0, 1))
        ones = np.ones((data.shape[1], 1))
        self.fit = (means, ones) if tall is data else (ones, means)
        peaks = [float(abs(self._cut(rows)).max()) for rows in row_blocks(*self._steps())]
        self.scale = max(peaks) or 1.0

    @property
    def width(self) -> int:
        return int(self._data.shape[1])

    @property
    def height(self) -> int:
        return int(self._data.shape[0])

    def _steps(self) -> tuple[int, int]:
        """Rows, and entries that count for each: a sparse block is multiplied by a few vectors, not filled in."""
        return self._data.shape[0], LEADING + SPARE if self.sparse else self.width

    def _cut(self, rows: slice) -> Any:
        block = self._data[rows]
        if not self.missing:
            return block
        gaps = np.isnan(block)
        return np.where(gaps, self.fit[0][rows] @ self.fit[1].T, block).astype(block.dtype) if gaps.any() else block

    def __iter__(self) -> Iterator[Any]:
        for rows in row_blocks(*self._steps()):
            yield self._cut(rows) / self.scale

    def dense(self) -> Iterator[Array]:
        """The same as arrays."""
        for rows in row_blocks(self._data.shape[0], self.width):
            block = self._cut(rows) / self.scale
            yield block.toarray() if self.sparse else block

    def values(self) -> Array:
        """All singular values."""
        return np.linalg.svd(triangle(self.dense()), compute_uv=False).astype(float)


def fit_to_present(blocks: TallBlocks) -> None:
    """Make the stand-ins of the missing entries what a matrix of low rank, fitted to the other entries alone, has there.

    min ‖M − Z‖² over the present entries + λ‖Z‖_* while λ falls (soft-impute, Mazumder, Hastie and Tibshirani 2010), with
    one step of subspace iteration for each singular value decomposition.
    """
    entries = blocks.width * blocks.height
    sweeps = int(np.clip(FITTED_COST / entries, FEWEST_SWEEPS, MOST_SWEEPS))
    count = min(LEADING, blocks.width)
    right = np.linalg.qr(np.random.default_rng(0).standard_normal((blocks.width, count)))[0]
    second = None
    for sweep in range(sweeps):
        left = np.linalg.qr(np.concatenate([block @ right for block in blocks]))[0]
        across = sum(block.T @ left[rows] for rows, block in zip(row_blocks(blocks.height, blocks.width), blocks, strict=True))
        right, values, turn = np.linalg.svd(across, full_matrices=False)
        second = values[min(1, count - 1)] if second is None else second
        shrunk = np.maximum(values - second * SMALLEST_SHRINKAGE ** (sweep / max(1, sweeps - 1)), 0)
        blocks.fit = (left @ turn.T * (shrunk * blocks.scale), right)


def _means(block: Array) -> tuple[bool, Array]:
    """Whether entries are missing, and the mean of the others in each row."""
    gaps = np.isnan(block)
    return bool(gaps.any()), np.nansum(block, axis=1) / np.maximum((~gaps).sum(axis=1), 1)


def triangle(blocks: Iterator[Array]) -> Array:
    """R of a QR factorization of the blocks, one below the other: it has their singular values.

    As accurate as a factorization of the whole (MᵀM would lose half the digits), in the memory of a few blocks.
    """
    waiting: list[Array] = []
    rows = 0
    for block in blocks:
        waiting.append(block)
        rows += len(block)
        if rows >= 4 * block.shape[1]:  # a factorization of little more than R itself would be wasted
            waiting, rows = [np.asarray(np.linalg.qr(np.concatenate(waiting), "r"))], block.shape[1]
    return np.asarray(np.linalg.qr(np.concatenate(waiting), "r"))


def leading_values(blocks: TallBlocks, count: int) -> Array:
    """The largest singular values by subspace iteration from a random start: a fixed number of passes over the data.

    (A Lanczos method needs ten times as many where the values fall slowly, as in noise.)
    """
    basis = np.random.default_rng(0).standard_normal((blocks.width, count + SPARE))
    for _ in range(PASSES):
        basis = np.linalg.qr(basis)[0]
        basis = sum(block.T @ (block @ basis) for block in blocks)
    basis = np.linalg.qr(basis)[0]
    return np.linalg.svd(triangle(block @ basis for block in blocks), compute_uv=False)[:count].astype(float)
