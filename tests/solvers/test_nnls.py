"""Nonnegative least squares for many right-hand sides: equal to scipy's, one by one."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls as one_by_one

from semf_core.solvers.nnls import nnls, reverse_sparse_nnls, solve_on, sparse_nnls


def slow(A, B, allowed):
    H = np.zeros((A.shape[1], B.shape[1]))
    for j, columns in enumerate(allowed.T):
        if columns.any():
            H[columns, j] = one_by_one(A[:, columns], B[:, j])[0]
    return H


def cost(A, B, H):
    return np.linalg.norm(B - A @ H, axis=0)


@given(st.integers(0, 10**6), st.integers(1, 7), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_agrees_with_scipy(seed, p, masked, warm):
    rng = np.random.default_rng(seed)
    A, B = rng.random((12, p)) ** 3, rng.standard_normal((12, 9)) + 0.2
    allowed = rng.random((p, 9)) < 0.6 if masked else np.ones((p, 9), dtype=bool)
    start = rng.standard_normal((p, 9)) if warm else None
    H = nnls(A.T @ A, A.T @ B, allowed if masked else None, start)
    assert (H >= 0).all() and not H[~allowed].any()
    np.testing.assert_allclose(cost(A, B, H), cost(A, B, slow(A, B, allowed)), rtol=1e-9)


def test_components_that_vanish_or_coincide():
    rng = np.random.default_rng(0)
    A = rng.random((10, 5))
    A[:, 1] = 0
    A[:, 3] = A[:, 2]
    B = rng.random((10, 40))
    H = nnls(A.T @ A, A.T @ B)
    assert np.isfinite(H).all()
    np.testing.assert_allclose(cost(A, B, H), cost(A, B, slow(A, B, np.ones(H.shape, dtype=bool))), rtol=1e-6)


def test_least_squares_on_given_entries():
    rng = np.random.default_rng(1)
    A, B, passive = rng.random((9, 4)), rng.random((9, 50)), rng.random((4, 50)) < 0.5
    H = solve_on(A.T @ A, A.T @ B, passive)
    for h, b, on in zip(H.T, B.T, passive.T, strict=True):
        np.testing.assert_allclose(h[on], np.linalg.lstsq(A[:, on], b)[0], atol=1e-8)
        assert not h[~on].any()


@pytest.mark.parametrize("coder", [sparse_nnls, reverse_sparse_nnls])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_sparse_coders_come_near_the_best_support(coder, most):
    rng = np.random.default_rng(2)
    A = rng.gamma(0.3, size=(15, 6))
    A /= np.linalg.norm(A, axis=0)
    B = A @ (rng.gamma(0.5, size=(6, 40)))
    H = coder(A.T @ A, A.T @ B, most)
    assert (H >= 0).all() and np.count_nonzero(H, axis=0).max() <= most
    np.testing.assert_allclose(cost(A, B, H), cost(A, B, slow(A, B, H > 0)), rtol=1e-8)
    best = np.full(40, np.inf)
    for chosen in combinations(range(6), most):
        allowed = np.zeros((6, 40), dtype=bool)
        allowed[list(chosen)] = True
        best = np.minimum(best, cost(A, B, slow(A, B, allowed)))
    assert (cost(A, B, H) >= best - 1e-9).all()
    assert (cost(A, B, H) <= best + 1e-6).mean() > 0.5


def test_what_fits_exactly_is_found_by_both_coders():
    rng = np.random.default_rng(3)
    A = np.abs(np.linalg.qr(rng.random((12, 12)))[0][:, :6]) + np.eye(12, 6)
    H = np.where(rng.random((6, 30)) < 0.3, rng.random((6, 30)) + 0.5, 0)
    most = int(np.count_nonzero(H, axis=0).max())
    np.testing.assert_allclose(reverse_sparse_nnls(A.T @ A, A.T @ A @ H, most), H, atol=1e-8)
    assert cost(A, A @ H, sparse_nnls(A.T @ A, A.T @ A @ H, 6)).max() < 1e-6
