"""KL-NMF, alternating NNLS, ICA, nonnegative ICA, local features, sparse PCA by the lasso and without negative entries."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import kl_div
from sklearn.decomposition import SparsePCA as SklearnSparsePCA

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.mathematics.metrics import match_parts, overlap
from semf_core.solvers import AlternatingNNLS, DivergenceFitNMF, FastICA, LassoPCA, LocalFeatures, NonnegativeICA, NonnegativePCA
from semf_core.solvers.nonnegative_pca import highest
from tests.solvers.descent import assert_never_rises, costs_along, nonnegative_data, run_on


def counts(seed=0, shape=(30, 40), rank=3):
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, size=(shape[0], rank)) @ rng.gamma(0.5, size=(rank, shape[1]))).astype(float)


def test_the_divergence_never_rises_and_sparse_storage_changes_nothing():
    M = counts()
    M[3], M[:, 5] = 0, 0
    run, other = (run_on(stored, 3, DivergenceFitNMF(), 60) for stored in (M, sp.csr_array(M)))
    costs, same = costs_along(run), costs_along(other)
    assert_never_rises(costs)
    np.testing.assert_allclose(costs, same, rtol=1e-9)
    U, V, _, _ = run.factors()
    assert costs.min() == pytest.approx(kl_div(M, U @ V).sum(), rel=1e-9)


def test_alternating_least_squares_ends_at_the_conditions_of_optimality():
    M = nonnegative_data()
    run = run_on(M, 3, AlternatingNNLS(), 200)
    assert_never_rises(costs_along(run))
    U, V, _, _ = run.factors(best=False)
    for factor, slope, small in ((V, U.T @ (U @ V - M), 1e-8), (U, (U @ V - M) @ V.T, 0.02)):
        assert slope.min() > -small and np.abs(factor * slope).max() < small


@pytest.mark.parametrize("independent", ["coefficients", "components"])
def test_independent_sources_are_recovered(independent):
    rng = np.random.default_rng(0)
    sources, mixing = rng.laplace(size=(3, 2000)), rng.standard_normal((12, 3))
    M = mixing @ sources + 2
    if independent == "components":
        M = M.T
    result = factorize(M, 4, solver=FastICA(independent), max_iter=100)
    assert result.residual_uv < 1e-9 * np.linalg.norm(M) and result.stop_reason == "converged"
    found = result.V if independent == "coefficients" else result.U.T
    np.testing.assert_array_equal(found[0], 1)
    np.testing.assert_allclose(np.cov(found[1:], bias=True), np.eye(3), atol=1e-8)
    assert match_parts(np.abs(np.corrcoef(found[1:], sources)[:3, 3:]), np.eye(3)).cosines.min() > 0.99


def test_nonnegative_sources_are_recovered_and_the_rotation_descends():
    rng = np.random.default_rng(1)
    sources, mixing = rng.exponential(size=(4, 3000)), rng.standard_normal((10, 4))
    run = run_on(mixing @ sources, 4, NonnegativeICA(), 150)
    costs = costs_along(run)
    assert (np.diff(costs) <= 1e-12).all() and costs[-1] < 0.05 * costs[0]
    U, V, _, _ = run.factors()
    cosines = np.abs((U / np.linalg.norm(U, axis=0)).T @ (mixing / np.linalg.norm(mixing, axis=0)))
    assert cosines.max(axis=0).min() > 0.99 and V.min() >= 0


def blobs(n=300):
    """Overlapping bumps along a line of 60 rows, with random weights."""
    place = np.arange(60)[:, None]
    return np.exp(-((place - np.linspace(4, 56, 7)) ** 2) / 20) @ np.random.default_rng(2).standard_normal((7, n)) + 1


def test_local_features_fit_as_well_as_pca_and_are_local():
    M = blobs()
    local, pca = factorize(M, 8, solver=LocalFeatures()), factorize(M, 8, solver="pca")
    np.testing.assert_allclose(local.U @ local.V, pca.U @ pca.V, atol=1e-8)
    near = np.exp(-((np.arange(60)[:, None] - np.linspace(4, 56, 7)) ** 2) / 20)
    assert match_parts(np.abs(local.U[:, 1:]), near).cosines.min() > 0.9 > match_parts(np.abs(pca.U[:, 1:]), near).cosines.min()


def test_local_features_of_many_components_are_the_regression_on_their_outputs():
    M = blobs()
    found = factorize(M, 5, solver=LocalFeatures(modes=7))
    best = np.linalg.lstsq(found.V.T, M.T)[0].T
    np.testing.assert_allclose(found.U[:, 1:], best[:, 1:], atol=1e-8)
    with pytest.raises(InvalidInput, match="choose from 4"):
        factorize(M, 5, solver=LocalFeatures(modes=3))


def test_lasso_components_are_scikit_learns_and_sparse():
    rng = np.random.default_rng(3)
    parts = np.kron(np.eye(3), np.ones((6, 1))) * rng.uniform(0.5, 1.5, (18, 1))
    M = parts @ rng.standard_normal((3, 80)) + 5 + 0.01 * rng.standard_normal((18, 80))
    run = run_on(M, 4, LassoPCA(lam=0.05), 100)
    assert_never_rises(costs_along(run))
    U = run.factors()[0]
    assert match_parts(np.abs(U[:, 1:]), parts).cosines.min() > 0.99 and (U[:, 1:] == 0).mean() > 0.5
    np.testing.assert_allclose(U[:, 0], M.mean(axis=1))
    weight = 0.05 * np.linalg.norm(M - M.mean(axis=1, keepdims=True), axis=1).max()
    theirs = SklearnSparsePCA(3, alpha=weight, method="cd", max_iter=100, tol=0, random_state=0).fit(M.T)
    assert match_parts(np.abs(U[:, 1:]), np.abs(theirs.components_.T)).cosines.min() > 0.999


def test_the_best_entry_of_nonnegative_pca_is_the_best_of_all():
    rng, grid = np.random.default_rng(0), np.linspace(0, 10, 20001)
    for _ in range(200):
        alpha, quadratic, linear = rng.uniform(0.1, 3), *(3 * rng.standard_normal(2))
        u = highest(alpha, quadratic, linear)
        values = -alpha / 4 * grid**4 + quadratic / 2 * grid**2 + linear * grid
        assert u >= 0 and -alpha / 4 * u**4 + quadratic / 2 * u**2 + linear * u >= values.max() - 1e-9


def test_nonnegative_pca_never_loses_and_ends_where_no_entry_can_gain():
    M = np.random.default_rng(1).standard_normal((7, 9))
    run = run_on(M, 3, NonnegativePCA(alpha=2.0, beta=0.05), 1000)
    assert_never_rises(costs_along(run))
    U, unit = run.factors(best=False)[0], M / np.linalg.norm(M)
    slope = unit @ (unit.T @ U) + 2.0 * U @ (np.eye(3) - U.T @ U) - 0.05
    assert np.abs(slope[U > 0]).max() < 1e-6 and slope[U == 0].max() < 1e-6 and (U == 0).any()


def test_a_greater_weight_makes_nonnegative_components_overlap_less():
    M = nonnegative_data((30, 60), 5)
    loose, tight = (run_on(M, 4, NonnegativePCA(alpha=alpha), 100).finish().factors()[0] for alpha in (0.05, 10.0))
    assert overlap(tight) < 0.2 * overlap(loose) and np.abs(np.linalg.norm(tight, axis=0) - 1).max() < 0.05
