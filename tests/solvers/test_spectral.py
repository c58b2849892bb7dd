"""Truncated SVD, PCA and LSI: agreement with scikit-learn, the Eckart–Young bound, and what is rejected."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.decomposition import TruncatedSVD as SklearnSVD

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.factorization.problem import make_problem
from semf_core.model import preset
from semf_core.runs.bounds import rank_bound
from semf_core.solvers import LatentSemanticIndexing, Limits, PrincipalComponents, Run, TruncatedSVD, spectral
from tests.helpers import present

SPECTRAL = (TruncatedSVD, PrincipalComponents, LatentSemanticIndexing)


def counts(seed=0, shape=(40, 25)):
    return np.random.default_rng(seed).poisson(0.4, shape).astype(float)


@pytest.fixture(params=["whole", "leading"])
def both_ways(request, monkeypatch):
    """All singular values, or only the leading ones."""
    if request.param == "leading":
        monkeypatch.setattr(spectral, "FULL_COST", 0)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_svd_is_scikit_learns_and_meets_the_bound(storage):
    M = counts()
    result = factorize(storage(M), 5, solver="svd")
    theirs = SklearnSVD(5, algorithm="arpack", random_state=0)
    scores = theirs.fit_transform(M.T)
    np.testing.assert_allclose(result.U @ result.V, (scores @ theirs.components_).T, atol=1e-8)
    np.testing.assert_allclose(np.abs(result.U.T @ theirs.components_.T), np.eye(5), atol=1e-7)
    assert result.residual_uv == pytest.approx(rank_bound(M, 5), rel=1e-9)
    assert (np.diff(np.linalg.norm(result.V, axis=1)) <= 0).all()
    assert result.stop_reason == "converged" and result.iterations <= 4


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_pca_is_scikit_learns_with_the_mean_as_a_component(storage):
    M = counts(1)
    result = factorize(storage(M), 4, solver="pca")
    theirs = PCA(3, svd_solver="full")
    scores = theirs.fit_transform(M.T)
    np.testing.assert_allclose(result.U @ result.V, theirs.inverse_transform(scores).T, atol=1e-8)
    np.testing.assert_allclose(result.U[:, 0], M.mean(axis=1), atol=1e-12)
    np.testing.assert_array_equal(result.V[0], 1)
    np.testing.assert_allclose(result.U[:, 1:].T @ result.U[:, 1:], np.eye(3), atol=1e-10)
    assert result.residual_uv > present(rank_bound(M, 4))


def test_pca_with_one_component_is_the_mean():
    M = counts(2)
    for stored in (M, sp.csr_array(M)):
        result = factorize(stored, 1, solver="pca")
        np.testing.assert_allclose(result.U[:, 0], M.mean(axis=1))
        np.testing.assert_array_equal(result.V, 1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_lsi_minimises_the_weighted_fit(storage):
    M = counts(3)
    plain, weighted = (factorize(storage(M), 4, solver=LatentSemanticIndexing(weights=w)) for w in ("none", "idf"))
    assert plain.residual_uv == pytest.approx(rank_bound(M, 4), rel=1e-9)
    w = 1 + np.log((1 + 25) / (1 + np.count_nonzero(M, axis=1)))
    own, other = (np.linalg.norm(w[:, None] * (M - r.U @ r.V)) for r in (weighted, plain))
    assert own == pytest.approx(rank_bound(w[:, None] * M, 4), rel=1e-9) and own < other
    solver = LatentSemanticIndexing(weights="idf")
    run = Run(make_problem(storage(M), 4, solver=solver), solver)
    run.advance()
    assert solver.cost(run.problem, run.state) == pytest.approx(own**2)


@pytest.mark.parametrize("cls", SPECTRAL)
def test_signs_do_not_depend_on_the_way_there(cls, monkeypatch):
    M = counts(4)
    whole = factorize(M, 4, solver=cls()).U
    monkeypatch.setattr(spectral, "FULL_COST", 0)
    np.testing.assert_allclose(factorize(M, 4, solver=cls()).U, whole, atol=1e-7)


@pytest.mark.parametrize("cls", SPECTRAL)
def test_as_many_components_as_there_are(cls):
    M = counts(5, (6, 9))
    for stored in (M, sp.csr_array(M)):
        result = factorize(stored, 6, solver=cls())
        if cls is not PrincipalComponents:
            np.testing.assert_allclose(result.U @ result.V, M, atol=1e-10)
    with pytest.raises(InvalidInput, match="6×9 matrix has only 6 components"):
        make_problem(M, 7, solver=cls())


def test_nothing_changes_after_the_first_iteration():
    solver = TruncatedSVD()
    run = Run(make_problem(counts(), 3, solver=solver), solver, Limits(max_iter=50))
    first = run.advance()
    U = run.factors()[0]
    run.finish()
    assert run.iterations == 4 and run.history.change[-1] == 0 and run.history.residual_uv[-1] == first.residual_uv
    np.testing.assert_array_equal(run.factors()[0], U)


def test_concepts_bring_titles_of_one_subject_together():
    """What the preset says: the nearest title shares the subject more often among concepts than among words."""
    spec = preset("lsi")
    dataset = spec.dataset.load()
    labels = present(dataset.labels)

    def right(vectors):
        unit = vectors / np.linalg.norm(vectors, axis=0)
        cosines = unit.T @ unit
        np.fill_diagonal(cosines, -2)
        return int((labels[cosines.argmax(axis=1)] == labels).sum())

    assert (right(spec.run(dataset).finish().factors()[1]), right(dataset.data.toarray())) == (46, 42)
