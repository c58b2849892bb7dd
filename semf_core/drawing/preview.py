"""What a projection does, shown on matrices that look like the factors of the current data."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.mathematics.blocks import row_blocks
from semf_core.sets import StructureSet
from semf_core.sets.base import frobenius

Array = np.ndarray
MAX_ENTRIES = 1_000_000
"""The largest factor that is projected for a preview."""


@dataclass(frozen=True)
class Projection:
    """A matrix before and after the projection."""

    before: Array
    after: Array
    seconds: float
    """What the projection took."""
    missing: Array | None = None
    """Where the data that it is made of has no entry; it was taken for zero."""

    @property
    def shown(self) -> Array:
        """What was projected, without what is not in the data."""
        return self.before if self.missing is None else np.where(self.missing, np.nan, self.before)

    @property
    def distance(self) -> float:
        """How far the projection moved it, relative to its norm."""
        return frobenius(self.before - self.after) / max(frobenius(self.before), 1e-300)

    @property
    def zeros(self) -> tuple[float, float]:
        """Fraction of zeros before and after."""
        return float((self.before == 0).mean()), float((self.after == 0).mean())


def preview_projection(dataset: Dataset, rank: int, factor: str, structure: StructureSet, kind: str = "data") -> Projection:
    """The projection of a random matrix, or of one made from the data, onto the set of a factor (X or Y)."""
    m, n = dataset.shape
    shape = (m, rank) if factor == "X" else (rank, n)
    if shape[0] * shape[1] > MAX_ENTRIES:
        raise InvalidInput(factor, f"a {shape[0]}×{shape[1]} factor is too large for a preview; it can still be run", whole=True)
    structure.check_shape(shape)
    rng, missing = np.random.default_rng(0), None
    if kind == "random":
        before = rng.standard_normal(shape)
    else:
        samples = _some_samples(dataset, rank, rng)
        X, missing = np.nan_to_num(samples), np.isnan(samples) if factor == "X" else None
        before = X if factor == "X" else _weights(dataset, X)
    began = time.perf_counter()
    after = structure.project(before)
    return Projection(before, after, time.perf_counter() - began, missing)


def _some_samples(dataset: Dataset, rank: int, rng: np.random.Generator) -> Array:
    """X made of `rank` samples (with repetition only if there are fewer)."""
    n = dataset.shape[1]
    chosen = np.sort(rng.choice(n, size=rank, replace=rank > n))
    columns = dataset.data[:, chosen]
    return np.asarray(columns.toarray() if sparse.issparse(columns) else columns, dtype=float)


def _weights(dataset: Dataset, X: Array) -> Array:
    """Y = XᵀM with unit columns in X: how much of each chosen sample is in every other."""
    norms = np.linalg.norm(X, axis=0)
    unit = X / np.where(norms > 0, norms, 1)
    if sparse.issparse(dataset.data):
        return np.asarray((dataset.data.T @ unit).T, dtype=float)
    out = np.zeros((unit.shape[1], dataset.shape[1]))
    for rows in row_blocks(*dataset.shape):
        out += unit[rows].T @ np.nan_to_num(dataset.data[rows])
    return out
