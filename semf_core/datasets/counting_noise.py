"""How many singular values of a table of counts stand out of the noise that counting makes.

Rows and columns are scaled so that Poisson noise is alike everywhere; then its singular values are known beforehand
(B. Landa, T. Zhang and Y. Kluger, Biwhitening reveals the rank of a count matrix, 2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

Array = np.ndarray
MOST_ENTRIES = 5_000_000
FEWEST = 20
"""Rows and columns below which the quartiles of the singular values say little."""
QUARTILES = (0.25, 0.5, 0.75)
LIKE = 0.15
"""What the quartiles may differ from those of noise, in their ratios."""
LEVELS = 0.8, 2.0
"""How strong the noise may be, that of Poisson being 1."""
ROUNDS = 50


def above_counting_noise(data: Any) -> tuple[int, float]:
    """How many singular values stand above the noise of counts, and how strong that is, Poisson noise being 1.

    Both are 0 of other data, of other noise, and of a matrix too small or too large.
    """
    if min(data.shape) < FEWEST or data.shape[0] * data.shape[1] > MOST_ENTRIES:
        return 0, 0.0
    if not _are_counts(data.data if sparse.issparse(data) else data):
        return 0, 0.0
    counts = data.toarray() if sparse.issparse(data) else np.asarray(data)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    short, long = sorted(counts.shape)
    if short < FEWEST:
        return 0, 0.0
    found = np.linalg.svd(_biwhitened(counts.astype(float)), compute_uv=False) / np.sqrt(long)
    ratios = np.quantile(found, QUARTILES) / _noise_quartiles(short / long)
    level = float(ratios[1])
    if not LEVELS[0] <= level <= LEVELS[1] or np.abs(ratios / level - 1).max() > LIKE:
        return 0, 0.0
    return int((found > level * (1 + np.sqrt(short / long))).sum()), level


def _are_counts(entries: Array) -> bool:
    return bool(entries.size) and bool((entries >= 0).all() and (entries == np.rint(entries)).all())


def _biwhitened(counts: Array) -> Array:
    """The counts with rows and columns scaled so that their variances, which are the means, have the mean 1 in each."""
    m, n = counts.shape
    rows = np.ones(m)
    for _ in range(ROUNDS):
        columns = m / (rows @ counts)
        rows = n / (counts @ columns)
    return np.asarray(np.sqrt(rows)[:, None] * counts * np.sqrt(columns))


def _noise_quartiles(beta: float) -> Array:
    """Of the singular values, divided by the root of the longer side, of noise of variance 1 (Marchenko and Pastur)."""
    low, high = 1 - np.sqrt(beta), 1 + np.sqrt(beta)
    values = np.linspace(low, high, 10_001)[1:]
    density = np.sqrt(np.maximum((high**2 - values**2) * (values**2 - low**2), 0)) / values
    below = np.cumsum(density)
    return np.asarray(np.interp(QUARTILES, below / below[-1], values))
