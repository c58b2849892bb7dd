"""The constraints of the reverse-convex paper as rows of a conic program.

The unknown is a matrix H (r×n) of which `index[k, i]` says where entry (k, i) stands in x.
"""

from __future__ import annotations

import numpy as np

from semf_core.solvers.reverse_convex.conic import Array, Entries, Part


def nonnegative(index: Array) -> Part:
    """H ≥ 0."""
    size = index.size
    return Part(Entries(np.arange(size), index.ravel(), np.full(size, -1.0)), np.zeros(size), (("nonnegative", size),))


def at_most_sparse(index: Array, ratio: float) -> Part:
    """Every row in C(s): ‖H_k‖₂ ≤ eᵀH_k/c, (9), with c the ratio ‖·‖₁/‖·‖₂ that belongs to s."""
    r, n = index.shape
    first = (n + 1) * np.arange(r)[:, None]
    rows = np.concatenate(((first + np.zeros(n, int)).ravel(), (first + 1 + np.arange(n)).ravel()))
    values = np.repeat([-1 / ratio, -1.0], index.size)
    return Part(Entries(rows, np.tile(index.ravel(), 2), values), np.zeros(r * (n + 1)), (("second-order", n + 1),) * r)


def beyond_planes(index: Array, normals: Array, active: Array) -> Part:
    """⟨t_k, H_k⟩ ≥ 0 for the active rows, (20): a tangent plane of a cone passes through the origin.

    The other rows read 0 ≤ 1, so that the nonzeros stay the same whichever rows are active.
    """
    r, n = index.shape
    values = np.where(active[:, None], -normals, 0.0)
    b = np.where(active, 0.0, 1.0)
    return Part(Entries(np.repeat(np.arange(r), n), index.ravel(), values.ravel()), b, (("nonnegative", r),))


def within_balls(index: Array, centres: Array, radii: Array) -> Part:
    """‖H_k − centre_k‖₂ ≤ radius_k for every row, the proximity constraint of (25)."""
    r, n = index.shape
    rows = (n + 1) * np.arange(r)[:, None] + 1 + np.arange(n)
    b = np.concatenate((radii[:, None], -centres), axis=1).ravel()
    return Part(Entries(rows.ravel(), index.ravel(), np.full(index.size, -1.0)), b, (("second-order", n + 1),) * r)


def fits(index: Array, R: Array, signs: Array, T: Array, bound: float) -> Part:
    """‖R(S∘H) − T‖_F ≤ bound, the level set of (24) after a QR factorization of the other factor.

    The cone has as many entries as H, but each row of A has only the r nonzeros of a row of R.
    """
    (q, r), n = R.shape, index.shape[1]
    cell = 1 + np.arange(q * n).reshape(q, 1, n)
    shape = (q, r, n)
    entries = Entries(
        np.broadcast_to(cell, shape).ravel(),
        np.broadcast_to(index, shape).ravel(),
        (-R[:, :, None] * signs).ravel(),
    )
    return Part(entries, np.concatenate(([bound], -T.ravel())), (("second-order", 1 + q * n),))


def sparser_than(index: Array, least: int, gradients: Array, values: Array) -> Part:
    """t ≤ sp(H_k) + ⟨∇sp(H_k), · − H_k⟩, (24), with t at place `least`; ∇sp(x) is orthogonal to x."""
    r, n = index.shape
    rows = np.concatenate((np.repeat(np.arange(r), n), np.arange(r)))
    columns = np.concatenate((index.ravel(), np.full(r, least)))
    return Part(Entries(rows, columns, np.concatenate((-gradients.ravel(), np.ones(r)))), values.copy(), (("nonnegative", r),))


def near_class_means(index: Array, means: Array, classes: Array, units: Array, radius: float) -> Part:
    """‖μ_c − h_i‖₂ ≤ λ eᵀμ_c for every sample i of class c, (27).

    The means are unknowns of their own (`means[k, c]` is their place) tied to H by equations: written
    out in every cone they would make it as long as the class. `units` turns rows of the unknown into
    rows of H, whose scale is not free here.
    """
    (r, n), count = index.shape, means.shape[1]
    share = 1 / np.bincount(classes, minlength=count)
    k = np.arange(r)[:, None]
    weights = np.broadcast_to(units[:, None], (r, n))
    tie_rows, mean_of = k * count + classes, means[:, classes]
    cone = r * count + (r + 1) * np.arange(n)
    difference_rows = cone + 1 + k
    places = (
        (tie_rows, index, weights * share[classes]),
        (np.arange(r * count), means, np.full(means.size, -1.0)),
        (np.broadcast_to(cone, (r, n)), mean_of, np.full((r, n), -radius)),
        (difference_rows, mean_of, np.full((r, n), -1.0)),
        (difference_rows, index, weights),
    )
    rows, columns, values = (np.concatenate([np.ravel(place[i]) for place in places]) for i in range(3))
    b = np.zeros(r * count + (r + 1) * n)
    return Part(Entries(rows, columns, values), b, (("zero", r * count), *((("second-order", r + 1),) * n)))
