"""NMFℓ⁰: counted nonzeros at every iteration, a cost that falls while the support stays, planted factors found."""

import numpy as np
import pytest
from scipy.optimize import nnls as one_by_one

from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import parts_found
from semf_core.solvers import CountedCodesNMF, CountedPartsNMF, Limits, Run


def run_of(M, rank, solver, iterations, seed=0):
    return Run(make_problem(M, rank, solver=solver), solver, Limits(max_iter=iterations, tol=0), seed)


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(30, 6)) @ rng.gamma(0.5, size=(6, 40))


SOLVERS = [
    CountedPartsNMF(share=0.3, rounds=5),
    CountedPartsNMF(share=0.3, rounds=5, updates="sweeps"),
    CountedCodesNMF(most=2, rounds=5),
    CountedCodesNMF(most=2, rounds=5, updates="sweeps", coder="forward"),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: f"{s.name}-{s.updates}")
def test_counts_hold_and_the_cost_falls_while_the_support_stays(solver):
    run, chosen = run_of(data(), 6, solver, 25), []
    while run.stop_reason is None:
        run.advance()
        chosen.append(run.state.numbers["age"] == 1)
        U, V, _, _ = run.factors(best=False)
        counted, most = (U, 9) if isinstance(solver, CountedPartsNMF) else (V, 2)
        assert (U >= 0).all() and (V >= 0).all() and np.count_nonzero(counted, axis=0).max() <= most
    residual, kept = run.history.residual_uv, ~np.array(chosen[1:])
    assert 12 <= kept.sum() <= 20 and residual.min() < residual[0]
    assert (np.diff(residual)[kept] <= 1e-9 * residual[:-1][kept]).all()


def test_an_iteration_is_least_squares_then_the_largest_entries():
    """The first iteration, written down: U by NNLS, its k largest entries, then V by NNLS."""
    M = data(3)
    run = run_of(M, 4, CountedPartsNMF(share=0.2), 1, seed=5)
    V = run.factors(best=False)[1]
    run.advance()
    U = np.stack([one_by_one(V.T, row)[0] for row in M])
    for column in U.T:
        column[np.argsort(column)[:-6]] = 0
    W, H, _, _ = run.factors(best=False)
    np.testing.assert_allclose(W, U, atol=1e-8)
    np.testing.assert_allclose(H, np.stack([one_by_one(U, column)[0] for column in M.T], axis=1), atol=1e-7)


def test_planted_parts_are_found():
    rng = np.random.default_rng(1)
    X = np.zeros((60, 6))
    for j in range(6):
        X[np.arange(10 * j, 10 * j + 12) % 60, j] = 0.3 + rng.random(12)
    M = X @ rng.gamma(0.4, size=(6, 80))
    runs = [run_of(M, 6, CountedPartsNMF(share=0.2), 60, seed).finish() for seed in range(3)]
    best = min(runs, key=lambda run: run.best_uv)
    assert parts_found(best.factors()[0], X) == 6 and best.best_uv < 1e-3 * np.linalg.norm(M)


def test_planted_codes_are_found():
    rng = np.random.default_rng(2)
    X = rng.gamma(0.3, size=(40, 8))
    Y = np.zeros((8, 200))
    for column in Y.T:
        column[rng.choice(8, 2, replace=False)] = 0.5 + rng.random(2)
    runs = [run_of(X @ Y, 8, CountedCodesNMF(most=2), 100, seed).finish() for seed in range(3)]
    best = min(runs, key=lambda run: run.best_uv)
    assert parts_found(best.factors()[0], X) == 8


def test_an_unused_part_is_replaced_by_a_sample():
    M = data(4)
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 3)), rng.random((3, 40))
    X[:, 1] = 0
    solver = CountedCodesNMF(most=2)
    problem = make_problem(M, 3, solver=solver, start=(X, Y))
    run = Run(problem, solver, Limits(max_iter=1, tol=0)).finish()
    U = run.factors()[0]
    assert U.any(axis=0).all()
    assert max(U[:, 1] @ M / np.linalg.norm(M, axis=0)) == pytest.approx(1)


def test_rows_of_zeros_may_be_left_out():
    M = np.zeros((100, 40))
    M[::5] = data()[:20]
    solver = CountedPartsNMF(share=0.1)
    run = run_of(M, 3, solver, 12).finish()
    U = run.factors()[0]
    assert run.problem.matrix.shape[0] == 20 and U.shape == (100, 3)
    assert np.count_nonzero(U, axis=0).max() <= 10 and not U[1::5].any()
