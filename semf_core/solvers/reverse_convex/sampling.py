"""Where (24) may be linearised besides the current estimate: points sampled on the sparseness cones (§6.2)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from semf_core.solvers.reverse_convex.conic import Array
from semf_core.solvers.reverse_convex.geometry import Band
from semf_core.solvers.reverse_convex.half import Quadratic

MOST_COMBINATIONS = 10**6
"""Combinations that may be enumerated: s points on each of r cones make sʳ."""
DRAWN = 10**4
"""Combinations that are drawn at random, as in the paper."""
TRIED = 4
"""The best of them from which (24) is solved; the paper solved it from all, which took a day."""


def on_cones(H: Array, band: Band, count: int, rng: np.random.Generator) -> Array:
    """r×count×n: the rows of H themselves and `count` − 1 rotated and scaled versions of each, within the band."""
    r, n = H.shape
    size = np.linalg.norm(H, axis=1)[:, None, None]
    others = rng.standard_normal((r, count - 1, n))
    others *= size / np.linalg.norm(others, axis=2, keepdims=True)
    angle = 0.5 * np.pi * rng.random((r, count - 1, 1))
    scale = 2.0 ** rng.uniform(-1, 1, (r, count - 1, 1))
    turned = scale * (np.cos(angle) * H[:, None] + np.sin(angle) * others)
    points = band.rectified(turned.reshape(-1, n)).reshape(turned.shape)
    return np.concatenate((H[:, None], points), axis=1)


def fits_of(f: Quadratic, points: Array, chosen: Array) -> Array:
    """f, apart from a constant, of each combination: chosen[c, k] says which point of cone k is taken."""
    r = len(points)
    G = f.gram()
    linear = -2 * np.einsum("ksn,kn->ks", points, f.R.T @ f.T)
    fits = linear[np.arange(r), chosen].sum(axis=1)
    for k in range(r):
        for j in range(k, r):
            products = G[k, j] * (points[k] @ points[j].T)
            fits += (1 if k == j else 2) * products[chosen[:, k], chosen[:, j]]
    return fits


def starting_points(f: Quadratic, H: Array, points: Array, search: str, rng: np.random.Generator) -> list[Array]:
    """The combinations of best fit, of all (enumeration) or of some drawn at random (sampling); H itself is left out."""
    r, count = points.shape[:2]
    if search == "enumeration":
        chosen = np.stack(np.unravel_index(np.arange(count**r), (count,) * r), axis=1)
    else:
        chosen = rng.integers(count, size=(DRAWN, r))
    chosen = chosen[chosen.any(axis=1)]
    fits = fits_of(f, points, chosen)
    best = chosen[np.argsort(fits, kind="stable")[: 4 * TRIED]]
    apart = [best[0], *(after for before, after in pairwise(best) if (before != after).any())] if len(best) else []
    return [points[np.arange(r), c] for c in apart[:TRIED]]
