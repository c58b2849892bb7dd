"""What a projection does, shown on matrices that look like the factors of the current data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from semf_core.datasets import Dataset
from semf_core.parameters import InvalidInput
from semf_core.sets import StructureSet
from semf_core.sets.base import frobenius

Array = np.ndarray
MAX_ENTRIES = 4_000_000
"""The largest factor that is projected for a preview."""


@dataclass(frozen=True)
class Projection:
    """A matrix before and after the projection."""

    before: Array
    after: Array

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
        raise InvalidInput(factor, f"a {shape[0]}×{shape[1]} factor is too large for a preview; it can still be run")
    structure.check_shape(shape)
    rng = np.random.default_rng(0)
    if kind == "random":
        before = rng.standard_normal(shape)
    else:
        X = _some_samples(dataset, rank, rng)
        before = X if factor == "X" else _weights(dataset, X)
    return Projection(before, structure.project(before))


def _some_samples(dataset: Dataset, rank: int, rng: np.random.Generator) -> Array:
    """X made of `rank` samples (with repetition only if there are fewer), missing entries zero."""
    n = dataset.shape[1]
    chosen = np.sort(rng.choice(n, size=rank, replace=rank > n))
    columns = dataset.data[:, chosen]
    return np.nan_to_num(columns.toarray() if sparse.issparse(columns) else np.asarray(columns, dtype=float))


def _weights(dataset: Dataset, X: Array) -> Array:
    """Y = XᵀM with unit columns in X: how much of each chosen sample is in every other."""
    norms = np.linalg.norm(X, axis=0)
    unit = X / np.where(norms > 0, norms, 1)
    data = dataset.data if sparse.issparse(dataset.data) else np.nan_to_num(dataset.data)
    return np.asarray((data.T @ unit).T, dtype=float)
