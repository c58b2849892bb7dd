"""Extrapolated HALS and TITAN: equal to a plain transcription, free of the units of M, frugal, and without dead components."""

import tracemalloc

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import parts_found
from semf_core.sets.kernels import keep_largest_nonnegative
from semf_core.solvers import ExtrapolatedNMF, InertialNMF, Limits, Run
from semf_core.solvers.alternating import inner_steps
from semf_core.solvers.polish import descend
from tests.solvers.descent import nonnegative_data, run_on

SHAPE, RANK = (20, 26), 4
BOTH = [
    pytest.param(ExtrapolatedNMF(), id="extrapolated"),
    pytest.param(InertialNMF(share=0.3), id="counted-parts"),
    pytest.param(InertialNMF(share=None, most=2), id="counted-codes"),
    pytest.param(InertialNMF(share=0.5, most=3), id="counted-both"),
    pytest.param(InertialNMF(share=None), id="uncounted"),
]


def start(rng=0):
    rng = np.random.default_rng(rng)
    return rng.random((SHAPE[0], RANK)), rng.random((RANK, SHAPE[1]))


def sweep(R, G, T):
    """min ‖…‖ over one row after the other, as the papers write it."""
    R = R.copy()
    for k in range(len(R)):
        R[k] = np.maximum(0, R[k] + (T[k] - G[k] @ R) / G[k, k])
    return R


def even(X, Y):
    """‖x_k‖ = ‖y_k‖."""
    ratio = np.sqrt(np.linalg.norm(X, axis=0) / np.linalg.norm(Y, axis=1))
    return X / ratio, Y * ratio[:, None]


def extrapolated_reference(M, X, Y, iterations):
    """The scheme of Ang and Gillis with one sweep for each factor; yields (X̂, Y, β, whether it restarted)."""
    X, Y = even(X * (np.vdot(X.T @ M, Y) / np.vdot(X.T @ X, Y @ Y.T)), Y)
    Xh, Yh, beta, before, limit, error = X, Y, 0.5, 0.5, 1.0, np.linalg.norm(M - X @ Y)
    for _ in range(iterations):
        new_X = sweep(np.maximum(Xh, 0).T, Yh @ Yh.T, Yh @ M.T).T
        Xh = np.maximum(new_X + beta * (new_X - X), 0)
        new_Y = sweep(np.maximum(Yh, 0), Xh.T @ Xh, Xh.T @ M)
        new = np.linalg.norm(M - Xh @ new_Y)
        yield Xh, new_Y, beta, new > error
        if new > error:
            X, Y = even(X, Y)
            Xh, Yh = X, Y
            beta, before, limit = beta / 1.5, beta, before
        else:
            Yh = new_Y + beta * (new_Y - Y)
            X, Y = new_X, new_Y
            beta, before, limit = min(limit, 1.01 * beta), beta, min(1.0, 1.005 * limit)
        error = new


def test_extrapolation_is_the_papers_scheme():
    M, restarts = nonnegative_data(SHAPE, RANK), 0
    run = run_on(M, RANK, ExtrapolatedNMF(inner=1), 120, start=start())
    first = start()
    for X, Y, beta, restarted in extrapolated_reference(M, first[0], first[1], 120):
        assert run.state.numbers["beta"] == pytest.approx(beta)
        run.advance()
        U, V, *_ = run.factors(best=False)
        np.testing.assert_allclose(U @ V, X @ Y, rtol=1e-6, atol=1e-9 * np.abs(M).max())
        restarts += restarted
    assert restarts >= 2


def inertial_reference(M, X, Y, k, iterations, inertia=0.9999):
    """TITAN's inertial block proximal gradient with one step for each factor; yields X, Y and whether t starts afresh."""
    X = keep_largest_nonnegative(X, k)
    X, Y = even(X * (np.vdot(X.T @ M, Y) / np.vdot(X.T @ X, Y @ Y.T)), Y)
    X_old, Y_old, t, lipschitz, error = X, Y, [1.0, 1.0], [0.0, 0.0], np.linalg.norm(M - X @ Y)
    for _ in range(iterations):
        L = np.linalg.norm(Y @ Y.T, 2)
        weight, t[0] = weight_of(t[0], inertia * np.sqrt(lipschitz[0] / L))
        ahead = X + weight * (X - X_old)
        X_old, X = X, keep_largest_nonnegative(ahead - (ahead @ Y - M) @ Y.T / (1.0001 * L), k)
        lipschitz[0], L = float(L), np.linalg.norm(X.T @ X, 2)
        weight, t[1] = weight_of(t[1], inertia * np.sqrt(lipschitz[1] / L))
        ahead = Y + weight * (Y - Y_old)
        Y_old, Y = Y, np.maximum(ahead - X.T @ (X @ ahead - M) / L, 0)
        lipschitz[1], new = float(L), np.linalg.norm(M - X @ Y)
        yield X, Y, new > error
        if new > error:
            t = [1.0, 1.0]
        error = new


def weight_of(t, bound):
    following = (1 + np.sqrt(1 + 4 * t * t)) / 2
    return min((t - 1) / following, bound), following


def test_inertial_steps_are_the_papers_scheme():
    M, risen = nonnegative_data(SHAPE, RANK), 0
    run = run_on(M, RANK, InertialNMF(share=0.3, inner=1), 60, start=start())
    first = start()
    for X, Y, rose in inertial_reference(M, first[0], first[1], 6, 60):
        run.advance()
        U, V, *_ = run.factors(best=False)
        np.testing.assert_array_equal(U > 0, X > 0)
        np.testing.assert_allclose(U @ V, X @ Y, rtol=1e-6, atol=1e-9 * np.abs(M).max())
        risen += rose
    assert risen >= 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", BOTH)
def test_units_do_not_matter(solver, dtype):
    """c·M with a power of two gives the same iterates bit for bit, X in units of M; a component is dead at the start."""
    M = nonnegative_data(SHAPE, RANK).astype(dtype)
    X, Y = start()
    X[:, 1] = Y[1] = 0
    runs = {}
    for c in (1, 2, 2.0**-9, 2.0**21):
        runs[c] = run_on(dtype(c) * M, RANK, solver, 25, start=(X, Y)).finish()
    for c, run in runs.items():
        for found, expected, factor in zip(run.factors(best=False)[:2], runs[1].factors(best=False)[:2], (c, 1), strict=True):
            np.testing.assert_array_equal(found, dtype(factor) * expected)
        np.testing.assert_array_equal(run.history.residual_uv, c * runs[1].history.residual_uv)
    any_scale = run_on(dtype(0.3) * M, RANK, solver, 25, start=(X, Y)).finish()
    tolerance = 1e-8 if dtype is np.float64 else 1e-3
    np.testing.assert_allclose(any_scale.history.residual_uv, 0.3 * runs[1].history.residual_uv, rtol=tolerance)


@pytest.mark.parametrize("solver", BOTH)
def test_a_dead_component_takes_what_is_missing(solver):
    """Column 1 of X and row 1 of Y are zero, row 2 of Y alone is; both come back at once, which lowers the error."""
    M, (X, Y) = nonnegative_data(SHAPE, RANK), start()
    X[:, 1] = Y[1] = Y[2] = 0
    run = run_on(M, RANK, solver, 1, start=(X, Y)).finish()
    U, V, *_ = run.factors(best=False)
    assert U.any(axis=0).all() and V.any(axis=1).all()
    without = np.delete(U, 1, axis=1) @ np.delete(V, 1, axis=0)
    assert run.history.residual_uv[0] < np.linalg.norm(M - without)


@pytest.mark.parametrize("solver", BOTH)
def test_a_component_with_nothing_to_do_stays_dead(solver):
    """Data of zeros, and data that fewer components fit exactly: no rounding errors are fitted."""
    assert run_on(np.zeros(SHAPE), RANK, solver, 3).finish().best_uv == 0
    X, Y = np.zeros((SHAPE[0], RANK)), np.zeros((RANK, SHAPE[1]))
    X[:5, 0], Y[0] = 1, np.arange(SHAPE[1])
    run = run_on(X @ Y, RANK, solver, 5, start=(X, Y)).finish()
    U, V, *_ = run.factors(best=False)
    assert run.best_uv <= 1e-12 * np.linalg.norm(X @ Y) and np.count_nonzero(U.any(axis=0) & V.any(axis=1)) == 1


@pytest.mark.parametrize("solver", BOTH)
def test_an_iteration_needs_less_memory_than_the_data(solver):
    M = np.random.default_rng(0).random((600, 900))
    run = run_on(M, 3, solver, 3)
    run.advance()
    tracemalloc.start()
    run.advance()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < M.nbytes / 5


@pytest.mark.parametrize("solver", [ExtrapolatedNMF(beta=0), InertialNMF(share=0.3, inertia=0)], ids=lambda s: s.name)
def test_without_extrapolation_the_error_never_rises(solver):
    residual = run_on(nonnegative_data(SHAPE, RANK), RANK, solver, 60).finish().history.residual_uv
    assert (np.diff(residual) <= 1e-12 * residual[0]).all() and residual[-1] < 0.9 * residual[0]


@pytest.mark.parametrize(
    ("solver", "plain"),
    [(ExtrapolatedNMF(), ExtrapolatedNMF(beta=0)), (InertialNMF(share=0.3), InertialNMF(share=0.3, inertia=0))],
    ids=lambda s: s.name,
)
def test_extrapolation_pays(solver, plain):
    M = nonnegative_data((60, 80), 12, 0.3, seed=1)
    fast, slow = (run_on(M, 10, s, 200).finish().history.residual_uv for s in (solver, plain))
    assert np.argmax(fast <= slow[-1]) <= 100 and fast.min() <= slow[-1]


def test_counts_hold_at_every_iteration():
    run = run_on(nonnegative_data(SHAPE, RANK), RANK, InertialNMF(share=0.3, most=2), 40)
    while run.stop_reason is None:
        run.advance()
        U, V, *_ = run.factors(best=False)
        assert (U >= 0).all() and (V >= 0).all()
        assert np.count_nonzero(U, axis=0).max() <= 6 and np.count_nonzero(V, axis=0).max() <= 2


def test_planted_counted_parts_are_found():
    rng = np.random.default_rng(1)
    X = np.zeros((60, 6))
    for j in range(6):
        X[np.arange(10 * j, 10 * j + 12) % 60, j] = 0.3 + rng.random(12)
    M = X @ rng.gamma(0.4, size=(6, 80))
    solver = InertialNMF(share=0.2)
    run = Run(make_problem(M, 6, solver=solver), solver, Limits(max_iter=400, restarts=5, target=1e-3)).finish()
    assert parts_found(run.factors()[0], X) == 6 and run.best_uv < 1e-3 * np.linalg.norm(M)


def test_a_new_beta_takes_effect():
    M = nonnegative_data(SHAPE, RANK)
    run = run_on(M, RANK, ExtrapolatedNMF(), 20)
    for _ in range(10):
        run.advance()
    grown = run.state.numbers["beta"]
    run.edit(run.problem, ExtrapolatedNMF(inner=3), run.limits, {}, "other sweeps")
    assert run.state.numbers["beta"] == grown != 0.5
    run.edit(run.problem, ExtrapolatedNMF(beta=0.1), run.limits, {}, "less extrapolation")
    assert run.state.numbers["beta"] == 0.1


@pytest.mark.parametrize("options", [{"growth": 1.5}, {"growth": 1.001}, {"decay": 1.005}])
def test_growth_lies_between_the_growth_of_its_limit_and_the_decay(options):
    with pytest.raises(InvalidInput, match="between limit_growth") as error:
        ExtrapolatedNMF(**options)
    assert error.value.field == "growth"


def test_steps_are_as_many_as_the_products_pay_for():
    problem = make_problem(np.ones((10, 1000)), 4)
    assert inner_steps(problem.matrix, 4, 100) == (100, 2)
    assert inner_steps(problem.matrix, 4, 10) == (10, 2)
    assert inner_steps(make_problem(np.ones((1000, 10)), 4).matrix, 4, 100) == (2, 100)


def test_sweeps_share_their_preparation_and_end_when_they_are_quiet():
    rng = np.random.default_rng(0)
    A, T = rng.random((30, 5)), rng.random((5, 12))
    G, first = A.T @ A, rng.random((5, 12))
    one, several, until, free = (first.copy() for _ in range(4))
    mask = rng.random((5, 12)) < 0.7
    for _ in range(4):
        assert descend(one, mask, T, G, "nonnegative") == 1
    assert descend(several, mask, T, G, "nonnegative", most=4) == 4
    np.testing.assert_allclose(several, one, rtol=1e-12)
    assert not several[~mask].any()
    assert 1 < descend(until, None, T, G, "nonnegative", most=1000, quiet=0.1) < descend(free, None, T, G, "free", 1000, 1e-12)
    np.testing.assert_allclose(G @ free, T, rtol=1e-8)
