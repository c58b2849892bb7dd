"""NMFsc: exact sparseness at every iteration, a cost that never rises, a step as the slow projection makes it."""

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import hoyer_sparseness, parts_found
from semf_core.sets.hoyer import ratio_of
from semf_core.solvers import Limits, Run, SparsenessNMF
from tests.sets.oracles import nearest_of_ratio

SETTINGS = [(0.6, None), (None, 0.4), (0.5, 0.3)]


def planted(shape, rank, seed):
    rng = np.random.default_rng(seed)
    X = np.zeros((shape[0], rank))
    for j, rows in enumerate(np.array_split(np.arange(shape[0]), rank)):
        X[np.append(rows, (rows[-1] + 1 + np.arange(2)) % shape[0]), j] = 0.3 + rng.random(len(rows) + 2)
    return X, X @ rng.gamma(0.4, size=(rank, shape[1]))


def run_of(M, rank, solver, iterations, seed=0):
    return Run(make_problem(M, rank, solver=solver), solver, Limits(max_iter=iterations, tol=0), seed)


@pytest.mark.parametrize(("s_x", "s_y"), SETTINGS)
@pytest.mark.parametrize("steps", [1, 3])
def test_sparseness_is_exact_and_the_cost_never_rises(s_x, s_y, steps):
    _, M = planted((30, 40), 4, 1)
    run = run_of(M, 4, SparsenessNMF(s_x, s_y, steps), 40)
    while run.stop_reason is None:
        run.advance()
        U, V, _, _ = run.factors(best=False)
        for factor, wanted in ((U, s_x), (V.T, s_y)):
            assert (factor >= 0).all()
            if wanted is not None:
                live = factor.any(axis=0)
                np.testing.assert_allclose(hoyer_sparseness(factor)[live], wanted, atol=1e-9)
    residual = run.history.residual_uv
    assert (np.diff(residual) <= 1e-9 * residual[:-1]).all() and residual[-1] < 0.8 * residual[0]


def test_a_step_is_the_nearest_point_of_the_gradient_step():
    """The first step has length 1/L; the nearest point of the wanted sparseness by trying every support."""
    _, M = planted((6, 9), 2, 3)
    run = run_of(M, 2, SparsenessNMF(0.5), 1, seed=2)
    X, Y, _, _ = run.factors(best=False)
    B = X - (X @ Y @ Y.T - M @ Y.T) / np.linalg.norm(Y @ Y.T, 2)
    expected = np.stack([nearest_of_ratio(b, [ratio_of(0.5, 6)], True) for b in B.T], axis=1)
    run.advance()
    U, *_ = run.factors(best=False)
    np.testing.assert_allclose(U / np.linalg.norm(U, axis=0), expected / np.linalg.norm(expected, axis=0), atol=1e-9)


@pytest.mark.parametrize(("s_x", "s_y"), SETTINGS)
def test_the_published_scheme_keeps_the_sparseness_and_never_raises_the_cost(s_x, s_y):
    _, M = planted((30, 40), 4, 1)
    run = run_of(M, 4, SparsenessNMF(s_x, s_y, scheme="published"), 60).finish()
    U, V, _, _ = run.factors(best=False)
    for factor, wanted in ((U, s_x), (V.T, s_y)):
        assert (factor >= 0).all()
        if wanted is not None:
            np.testing.assert_allclose(hoyer_sparseness(factor), wanted, atol=1e-9)
    residual = run.history.residual_uv
    assert (np.diff(residual) <= 1e-9 * residual[:-1]).all() and residual[-1] < 0.8 * residual[0]


def test_the_published_scheme_updates_a_free_factor_as_its_code_does():
    _, M = planted((6, 9), 2, 3)
    run = run_of(M, 2, SparsenessNMF(None, 0.5, scheme="published"), 1, seed=2)
    X = run.factors(best=False)[0]
    run.advance()
    U, V, _, _ = run.factors(best=False)
    expected = X * (M @ V.T) / (X @ V @ V.T + 1e-9)
    np.testing.assert_allclose(U, expected, rtol=1e-6)


def test_the_published_scheme_ends_when_its_step_has_collapsed():
    _, M = planted((6, 9), 2, 3)
    solver = SparsenessNMF(None, 0.5, scheme="published")
    run = Run(make_problem(M, 2, solver=solver), solver, Limits(max_iter=500, tol=1e-16))
    run.advance()
    run.state.numbers["step_y"] = 1e-201
    before = run.factors(best=False)[0].copy()
    run.finish()
    assert run.iterations < 10 and (run.factors(best=False)[0] == before).all()


def test_planted_parts_are_found():
    X, M = planted((36, 80), 4, 7)
    solver = SparsenessNMF(float(hoyer_sparseness(X).mean()), steps=4)
    runs = [run_of(M, 4, solver, 300, seed).finish() for seed in range(3)]
    best = min(runs, key=lambda run: run.best_uv)
    assert parts_found(best.factors()[0], X) == 4


def test_one_factor_needs_a_sparseness():
    with pytest.raises(InvalidInput, match="for U or for V") as error:
        SparsenessNMF(None)
    assert error.value.field == "sparseness_x"
    with pytest.raises(InvalidInput, match="one entry"):
        make_problem(np.ones((1, 5)), 1, solver=SparsenessNMF())
