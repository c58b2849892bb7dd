"""A middle and a band of repeated measurements."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
CONFIDENCE = 0.95


def wilson(values: Array) -> tuple[float, float, float]:
    """The share of ones, and Wilson's interval for it."""
    if not len(values):
        return np.nan, np.nan, np.nan
    from scipy.stats import binomtest  # half a second to import, and only rates need it

    successes = round(float(values.sum()))
    interval = binomtest(successes, len(values)).proportion_ci(CONFIDENCE, "wilson")
    return successes / len(values), float(interval.low), float(interval.high)


def quartiles(values: Array) -> tuple[float, float, float]:
    if not len(values):
        return np.nan, np.nan, np.nan
    low, middle, high = np.percentile(values, (25, 50, 75))
    return float(middle), float(low), float(high)


def deviation(values: Array) -> tuple[float, float, float]:
    """Mean ± standard deviation."""
    if not len(values):
        return np.nan, np.nan, np.nan
    mean, spread = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return mean, mean - spread, mean + spread


def standard_error(values: Array) -> tuple[float, float, float]:
    """Mean ± its standard error."""
    mean, low, high = deviation(values)
    half = (high - low) / 2 / np.sqrt(max(1, len(values)))
    return mean, mean - half, mean + half
