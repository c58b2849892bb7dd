"""Batch OMP, K-SVD, MOD and the orthonormal dictionary: mathematics, recovery, and what is rejected."""

from functools import partial

import numpy as np
import pytest
from sklearn.decomposition import MiniBatchDictionaryLearning, sparse_encode
from sklearn.linear_model import orthogonal_mp_gram

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.datasets import NoisyDictionary
from semf_core.factorization.problem import make_problem
from semf_core.mathematics import metrics
from semf_core.solvers import KSVD, Limits, OnlineDictionary, OptimalDirections, OrthonormalDictionary, Run
from semf_core.solvers.ksvd import least_squares_atoms, rank_one_sweep, refreshed
from semf_core.solvers.omp import batch_omp
from semf_core.solvers.online import descend
from tests.helpers import present

CODED = (KSVD, OptimalDirections)


def unit_rows(shape, rng):
    A = rng.standard_normal(shape)
    return A / np.linalg.norm(A, axis=1)[:, None]


def coded(seed=0, p=12, m=8, n=60, k=3):
    rng = np.random.default_rng(seed)
    Dt, signals = unit_rows((p, m), rng), rng.standard_normal((n, m))
    return Dt, signals, batch_omp(Dt, signals, k)


# -- matching pursuit --------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "m", "n", "k"), [(50, 20, 200, 3), (12, 30, 40, 5), (7, 7, 25, 1), (300, 16, 90, 6)])
def test_batch_omp_equals_scikit_learn(p, m, n, k):
    Dt, signals, codes = coded(p, p, m, n, k)
    expected = orthogonal_mp_gram(Dt @ Dt.T, Dt @ signals.T, n_nonzero_coefs=k)
    np.testing.assert_allclose(codes.dense(p), expected, atol=1e-10)
    np.testing.assert_allclose(codes.sparse(p).toarray().T, expected, atol=1e-10)
    np.testing.assert_allclose(codes.errors, np.square(signals - expected.T @ Dt).sum(axis=1), atol=1e-10)


def test_batch_omp_is_the_same_in_small_blocks(monkeypatch):
    Dt, signals, codes = coded(p=40, n=200)
    monkeypatch.setattr("semf_core.solvers.omp.BLOCK_BYTES", 1)
    small = batch_omp(Dt, signals, 3)
    np.testing.assert_array_equal(small.atoms, codes.atoms)
    np.testing.assert_allclose(small.weights, codes.weights, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pursuit_stops_where_nothing_is_left_to_explain(dtype):
    rng = np.random.default_rng(1)
    Dt = unit_rows((6, 10), rng).astype(dtype)
    Dt[5] = Dt[4]
    signals = np.stack((np.zeros(10), 2 * Dt[1], Dt[0] - 3 * Dt[4])).astype(dtype)
    Y = batch_omp(Dt, signals, 4).dense(6)
    assert np.count_nonzero(Y[:, 0]) == 0
    np.testing.assert_allclose(Y.T @ Dt, signals, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert np.isfinite(Y).all() and np.count_nonzero(np.abs(Y[:, 1]) > 1e-5) == 1


def test_more_nonzeros_than_dimensions_explain_everything():
    Dt, signals, codes = coded(p=9, m=3, k=5)
    np.testing.assert_allclose(codes.dense(9).T @ Dt, signals, atol=1e-10)


# -- refitting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", [partial(rank_one_sweep, power=1), partial(rank_one_sweep, power=5), least_squares_atoms])
def test_refitting_keeps_supports_and_unit_atoms_and_never_raises_the_residual(refit):
    Dt, signals, codes = coded(2)
    new, refitted = refit(Dt.copy(), signals, codes)
    np.testing.assert_allclose(np.linalg.norm(new, axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(refitted.errors, np.square(signals - refitted.dense(12).T @ new).sum(axis=1), atol=1e-12)
    assert refitted.errors.sum() <= codes.errors.sum()
    assert not (refitted.dense(12) != 0)[codes.dense(12) == 0].any()


def test_many_power_steps_are_the_leading_singular_vectors():
    Dt, signals, codes = coded(3, p=2, k=1)
    new, refitted = rank_one_sweep(Dt.copy(), signals, codes, 300)
    for j in range(2):
        mine = codes.atoms[:, 0] == j
        _, values, right = np.linalg.svd(signals[mine], full_matrices=False)
        assert abs(new[j] @ right[0]) == pytest.approx(1, abs=1e-9)
        assert refitted.errors[mine].sum() == pytest.approx(np.square(values[1:]).sum())


def test_least_squares_atoms_are_stationary():
    Dt, signals, codes = coded(4)
    new, refitted = least_squares_atoms(Dt.copy(), signals, codes)
    Y = refitted.dense(12)
    np.testing.assert_allclose(Y @ (signals - Y.T @ new), 0, atol=1e-10)


def test_rare_and_doubled_atoms_give_way_to_the_worst_signals():
    rng = np.random.default_rng(5)
    Dt, signals = unit_rows((4, 6), rng), rng.standard_normal((3, 6))
    Dt[2] = -Dt[0]
    new = refreshed(Dt, np.array([False, True, False, False]), signals, np.array([2, 0]), rng)
    np.testing.assert_array_equal(new[[0, 3]], Dt[[0, 3]])
    np.testing.assert_allclose(new[1], signals[2] / np.linalg.norm(signals[2]))
    np.testing.assert_allclose(new[2], signals[0] / np.linalg.norm(signals[0]))
    all_gone = refreshed(Dt, np.ones(4, bool), signals, np.array([2, 0]), rng)
    np.testing.assert_allclose(np.linalg.norm(all_gone, axis=1), 1)


# -- runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cls", "fewest"), [(KSVD, 42), (OptimalDirections, 40)])
def test_recovers_most_of_the_generating_dictionary(cls, fewest):
    """Figure 2's largest problem: 20×50, k = 3, 20 dB, 1000 samples."""
    dataset = NoisyDictionary(samples=1000).load()
    result = factorize(dataset.data, 50, solver=cls(k=3), max_iter=60)
    assert metrics.recovered_atoms(present(dataset.parts), result.U) >= fewest
    assert metrics.dictionary_distance(present(dataset.parts), result.U) < 0.05
    assert np.count_nonzero(result.V, axis=0).max() <= 3


@pytest.mark.parametrize("cls", CODED)
def test_more_atoms_than_samples_is_possible(cls):
    M = np.random.default_rng(0).standard_normal((5, 6))
    assert factorize(M, 9, solver=cls(k=2), max_iter=4, tol=0).residual_uv < np.linalg.norm(M)


@pytest.mark.parametrize("cls", CODED)
def test_a_silent_matrix_gives_silent_codes(cls):
    result = factorize(np.zeros((5, 6)), 3, solver=cls(k=2), max_iter=3, tol=0)
    assert not result.V.any() and result.residual_uv == 0
    np.testing.assert_allclose(np.linalg.norm(result.U, axis=0), 1)


def test_orthonormal_dictionary_descends_and_stays_orthonormal():
    M = np.random.default_rng(0).standard_normal((12, 80))
    solver = OrthonormalDictionary(k=2)
    run = Run(make_problem(M, 7, solver=solver), solver, Limits(max_iter=40, tol=0))
    while run.stop_reason is None:
        run.advance()
        U, V, _, _ = run.factors(best=False)
        assert np.abs(U.T @ U - np.eye(7)).max() < 1e-10
        np.testing.assert_allclose(V[V != 0], (U.T @ M)[V != 0], atol=1e-10)
    residuals = run.history.residual_uv
    assert (np.diff(residuals) <= 1e-12 * residuals[0]).all() and residuals[-1] < residuals[0]


def test_recovers_a_planted_orthonormal_dictionary():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    Y = np.where(rng.random((20, 800)) < 0.12, rng.standard_normal((20, 800)), 0)
    Y[np.argsort(np.abs(Y), axis=0)[:-3], np.arange(800)] = 0
    result = factorize(Q @ Y, 20, solver="orthonormal-dictionary", k=3, max_iter=200)
    assert metrics.recovered_atoms(Q, result.U, 1e-6) == 20


def test_online_descent_lowers_the_fit_of_all_batches():
    Dt, signals, codes = coded(6)
    V = codes.dense(12)
    before = np.square(signals - V.T @ Dt).sum()
    for _ in range(3):
        descend(Dt, V @ V.T, V @ signals)
        after = np.square(signals - V.T @ Dt).sum()
        assert after < before
        before = after
    np.testing.assert_allclose(np.linalg.norm(Dt, axis=1), 1)


def test_online_learning_with_pursuit_recovers_the_dictionary():
    dataset = NoisyDictionary(samples=1000).load()
    result = factorize(dataset.data, 50, solver=OnlineDictionary(coding="pursuit", k=3, batch=100), max_iter=40)
    assert metrics.recovered_atoms(present(dataset.parts), result.U) >= 40
    assert np.count_nonzero(result.V, axis=0).max() <= 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_online_learning_with_lasso_is_as_good_as_scikit_learns():
    M = NoisyDictionary(rows=10, atoms=15, samples=200).load().data
    solver = OnlineDictionary(batch=50)
    run = Run(make_problem(M, 15, solver=solver), solver, Limits(max_iter=10, tol=0)).finish()
    weight = 0.1 * np.linalg.norm(M, axis=0).mean()
    U, V, _, _ = run.factors(best=False)
    assert solver.cost(run.problem, run.state) == pytest.approx(0.5 * np.linalg.norm(M - U @ V) ** 2 + weight * np.abs(V).sum())
    np.testing.assert_allclose(V, sparse_encode(M.T, U.T, algorithm="lasso_cd", alpha=weight).T, atol=1e-6)
    theirs = MiniBatchDictionaryLearning(15, alpha=weight, max_iter=10, batch_size=50, fit_algorithm="cd", random_state=0).fit(
        M.T
    )
    codes = sparse_encode(M.T, theirs.components_, algorithm="lasso_cd", alpha=weight)
    cost = 0.5 * np.linalg.norm(M.T - codes @ theirs.components_) ** 2 + weight * np.abs(codes).sum()
    assert solver.cost(run.problem, run.state) <= 1.02 * cost


@pytest.mark.parametrize("cls", [*CODED, OnlineDictionary, OrthonormalDictionary])
def test_more_nonzeros_than_atoms_are_refused(cls):
    with pytest.raises(InvalidInput, match="over 4 atoms has at most 4 nonzeros"):
        make_problem(np.ones((6, 9)), 4, solver=cls(k=5))
    with pytest.raises(InvalidInput, match=r"in \[1, "):
        cls(k=0)


def test_more_orthonormal_atoms_than_dimensions_are_refused():
    with pytest.raises(InvalidInput, match="only 6 atoms of length 6 can be orthonormal"):
        make_problem(np.ones((6, 9)), 7, solver=OrthonormalDictionary())
