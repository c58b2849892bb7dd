"""NMF by its several ways: monotone, agreeing with scikit-learn, with a slow reference and with one another."""

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.decomposition import non_negative_factorization

from semf_core import factorize
from semf_core.sets import Nonnegative
from semf_core.solvers import (
    CoordinateNMF,
    CSMFncc,
    ExtrapolatedNMF,
    FixedPenaltyNMF,
    MultiplicativeNMF,
    ProjectedGradientNMF,
)
from semf_core.solvers.nmf import nonnegative_descent
from tests.solvers.descent import assert_never_rises, costs_along, nonnegative_data, run_on

M = nonnegative_data()
START = tuple(np.random.default_rng(5).random(shape) for shape in ((20, 3), (3, 26)))
DESCENTS = [pytest.param(s, id=s.name) for s in (MultiplicativeNMF(), CoordinateNMF(), ProjectedGradientNMF(), CSMFncc(alpha=0))]


@pytest.mark.parametrize("solver", DESCENTS)
def test_the_cost_never_rises(solver):
    assert_never_rises(costs_along(run_on(M, 3, solver, 40)))


def scikit_learn(iterations):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        W, H, _ = non_negative_factorization(
            M, START[0].copy(), START[1].copy(), n_components=3, init="custom", max_iter=iterations, tol=0
        )
    return W, H


def test_single_sweeps_are_scikit_learn_in_one_go():
    W, H = scikit_learn(25)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = run_on(M, 3, CoordinateNMF(), 25, start=START).finish()
    U, V, *_ = run.factors(best=False)
    np.testing.assert_allclose(U, W, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(V, H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("solver", "iterations", "within"),
    [
        (MultiplicativeNMF(), 3000, 0.05),
        (ProjectedGradientNMF(), 100, 0.05),
        (CSMFncc(alpha=0), 700, 0.02),
        (FixedPenaltyNMF(), 2000, 0.002),
        (ExtrapolatedNMF(), 300, 0.002),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_all_come_to_the_error_of_scikit_learn(solver, iterations, within):
    W, H = scikit_learn(1000)
    run = run_on(M, 3, solver, iterations, start=START).finish()
    assert run.best_uv == pytest.approx(np.linalg.norm(M - W @ H), rel=within)


def test_a_factor_that_has_become_zero_stays():
    """Data of zeros: scikit-learn would reject the zero factor of the second sweep."""
    run = run_on(np.zeros((5, 6)), 2, CoordinateNMF(), 3).finish()
    assert run.best_uv == 0


def test_the_input_of_a_sweep_is_left_alone_with_one_component():
    run = run_on(M, 1, CoordinateNMF(), 2)
    before = run.state.W, run.state.W.copy()
    run.advance()
    np.testing.assert_array_equal(*before)


def test_projected_gradients_solve_nonnegative_least_squares():
    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((12, 5)), rng.standard_normal((12, 7))
    found, steps = nonnegative_descent(np.ones((5, 7)), A.T @ A, A.T @ b, 1e-10, 2000)
    assert 0 < steps < 2000
    np.testing.assert_allclose(found, np.column_stack([nnls(A, column)[0] for column in b.T]), atol=1e-8)
    again, none = nonnegative_descent(found, A.T @ A, A.T @ b, 1e-10, 2000)
    assert none == 0 and again is found


def test_the_tolerance_of_the_subproblems_tightens():
    run = run_on(M, 3, ProjectedGradientNMF(), 60)
    first = run.state.numbers["tolerance_x"]
    run.finish()
    assert run.state.numbers["tolerance_x"] < first


def test_fixed_penalties_are_semf_with_fixed_penalties():
    options: dict[str, Any] = {"alpha0": 0.3, "beta0": 0.2, "gamma": 1.2}
    theirs = factorize(M, 3, X=Nonnegative(), Y=Nonnegative(), solver="semf", penalty="fixed", max_iter=30, tol=0, **options)
    ours = factorize(M, 3, solver=FixedPenaltyNMF(**options), max_iter=30, tol=0)
    np.testing.assert_array_equal(ours.U, theirs.U)
    assert np.ptp(ours.history.alpha) == 0 and ours.history.alpha[0] == pytest.approx(0.3 * np.linalg.norm(M))


@pytest.mark.parametrize(
    ("solver", "iterations"),
    [
        (MultiplicativeNMF(), 1500),
        (CoordinateNMF(), 200),
        (ProjectedGradientNMF(), 30),
        (FixedPenaltyNMF(), 600),
        (ExtrapolatedNMF(), 60),
    ],
    ids=lambda v: getattr(v, "name", None),
)
def test_separable_parts_are_recovered(solver, iterations):
    """Each part has a pixel and a sample of its own, which makes the factorization unique up to scale."""
    rng = np.random.default_rng(2)
    X = np.vstack((np.eye(3), rng.random((9, 3)) * (rng.random((9, 3)) < 0.5)))
    Y = np.hstack((np.eye(3), rng.random((3, 20)) * (rng.random((3, 20)) < 0.5)))
    run = run_on(X @ Y, 3, solver, iterations).finish()
    U = run.factors()[0]
    similarity = (U / np.linalg.norm(U, axis=0)).T @ (X / np.linalg.norm(X, axis=0))
    assert (similarity.max(axis=0) > 0.99).all()
