"""Products with M that follow from those of the iteration before: they are what would be formed, and save a third of the work."""

import io

import numpy as np
import pytest

from semf_core.factorization.problem import make_problem
from semf_core.mathematics.matrix import DenseMatrix
from semf_core.sets import Nonnegative, NormBall, Sparse, UnitNorm
from semf_core.solvers import ADMM, Limits, RelativeADMM, Run, carried

P = 4
PRINTED = ADMM(alpha0=0.1, beta0=0.1)
SHAPES = {"left": (90, 12), "right": (12, 90)}
SETS = ((Nonnegative(), Sparse(5)), (Nonnegative(),))


@pytest.fixture(autouse=True)
def small_data_too(monkeypatch):
    monkeypatch.setattr(carried, "SMALL", 0)


def data(side, seed=0):
    return np.random.default_rng(seed).random(SHAPES[side])


def run_on(M, solver=None, sets=SETS, **limits):
    solver = solver or RelativeADMM()
    problem = make_problem(M, P, *sets, solver=solver, dtype=str(M.dtype))
    return Run(problem, solver, Limits(**{"max_iter": 150, "tol": 0, "window": 20} | limits), seed=1)


def apart(run, side):
    """How far the carried products are from those of the factors as they are, relative to them."""
    M, p, arrays = run.problem.matrix.array, run.state.rank, run.state.arrays
    factors, multiplier = (run.state.W, arrays["Lam"]) if side == "left" else (run.state.Z, arrays["Pi"])
    A = M if side == "left" else M.T
    unit, size = 2.0 ** np.frexp(run.problem.matrix.norm)[1], run.problem.matrix.norm * np.linalg.norm(factors[:p])
    penalty = run.state.numbers["used_alpha" if side == "left" else "used_beta"]
    found = (arrays[side], arrays[f"{side}_multiplier"] * unit / penalty)
    true = (factors, multiplier / penalty)
    return max(np.linalg.norm(a - b.astype(float) @ A) / size for a, b in zip(found, true, strict=True))


@pytest.mark.parametrize("side", SHAPES)
@pytest.mark.parametrize("solver", [RelativeADMM(), RelativeADMM(gamma=1.6), PRINTED], ids=["default", "long", "printed"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-4)])
def test_products_are_those_of_the_factors_however_many_iterations(side, solver, dtype, tolerance):
    run = run_on(data(side).astype(dtype), solver, max_iter=400)
    compared = 0
    while run.stop_reason is None:
        run.advance()
        if side in run.state.arrays and not run.state.numbers.get("descending") and not run.moved:
            assert apart(run, side) < tolerance
            compared += 1
    assert compared > 50


@pytest.mark.parametrize("side", SHAPES)
def test_histories_agree_with_those_without(side, monkeypatch):
    here = run_on(data(side), max_iter=60).finish()
    monkeypatch.setattr(carried, "SMALL", 1 << 30)
    formed = run_on(data(side), max_iter=60).finish()
    assert "left" not in formed.state.arrays and "right" not in formed.state.arrays
    for name in ("residual_xy", "residual_uv", "gap_x", "gap_y"):
        np.testing.assert_allclose(here.history[name], formed.history[name], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", SHAPES)
def test_an_iteration_takes_two_products_of_rank_p(side, monkeypatch):
    """The third one, for ‖M−UV‖, follows."""
    rows: list[int] = []

    def counting(formed):
        def product(M, F, *others):
            rows.append(len(F))
            return formed(M, F, *others)

        return product

    for name in ("left", "right"):
        monkeypatch.setattr(DenseMatrix, name, counting(getattr(DenseMatrix, name)))
    run = run_on(data(side), PRINTED)
    for _ in range(5):
        run.advance()
    rows.clear()
    run.advance()
    assert rows == [P, P]


@pytest.mark.parametrize("side", SHAPES)
@pytest.mark.parametrize("sets", [SETS, ((UnitNorm(),), (Sparse(2),))], ids=["counted", "unit"])
def test_units_that_are_powers_of_two_change_nothing_but_the_scale(side, sets):
    for unit in (2.0**-9, 2.0**20):
        plain, other = (run_on(c * data(side), sets=sets).finish() for c in (1.0, unit))
        np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)
        np.testing.assert_array_equal(other.history.residual_xy, unit * plain.history.residual_xy)


@pytest.mark.parametrize("side", SHAPES)
def test_units_far_from_one_stay_in_the_range_of_single_precision(side):
    tiny, huge = (run_on((c * data(side)).astype(np.float32), max_iter=40).finish() for c in (2.0**-50, 2.0**50))
    np.testing.assert_array_equal(huge.history.residual_uv, 2.0**100 * tiny.history.residual_uv)


@pytest.mark.parametrize("side", SHAPES)
@pytest.mark.parametrize("cut", [1, 7, 60, 110])
def test_a_resumed_run_repeats_the_uninterrupted_one(side, cut):
    whole, part, stored = run_on(data(side)).finish(), run_on(data(side)), io.BytesIO()
    while part.iterations < cut:
        part.advance()
    part.checkpoint(stored)
    resumed = Run.resume(stored.getvalue(), part.problem, part.solver, part.limits).finish()
    for a, b in zip(whole.factors(), resumed.factors(), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole.history.residual_uv, resumed.history.residual_uv)
    assert any(event.kind == "kick" for event in whole.events)


@pytest.mark.parametrize("side", SHAPES)
def test_a_checkpoint_of_an_earlier_version_goes_on(side):
    part, stored = run_on(data(side), PRINTED, max_iter=80), io.BytesIO()
    whole = run_on(data(side), PRINTED, max_iter=80).finish()
    while part.iterations < 30:
        part.advance()
    carried.forget(part.state)
    part.checkpoint(stored)
    resumed = Run.resume(stored.getvalue(), part.problem, part.solver, part.limits).finish()
    np.testing.assert_allclose(resumed.history.residual_uv, whole.history.residual_uv, rtol=1e-9)


@pytest.mark.parametrize("side", SHAPES)
def test_an_edit_begins_anew(side):
    """Conjugate gradient steps in between are not what the products follow."""
    run = run_on(data(side), PRINTED, max_iter=500)
    for inner in (0, 2, 0):
        run.edit(run.problem, ADMM(alpha0=0.1, beta0=0.1, inner=inner), run.limits, {}, "")
        for _ in range(15):
            run.advance()
        assert (side in run.state.arrays) == (inner == 0)
    assert apart(run, side) < 1e-12


@pytest.mark.parametrize("side", SHAPES)
def test_an_exact_factorization_is_found_to_the_last_digits(side):
    rng = np.random.default_rng(5)
    m, n = SHAPES[side]
    M = rng.random((m, P)) @ rng.random((P, n))
    run = run_on(M, ADMM(alpha0=0.01, beta0=0.01), sets=((Nonnegative(),), (NormBall(1e3),)), max_iter=1000).finish()
    assert side in run.state.arrays and run.best_uv < 1e-10 * np.linalg.norm(M)


def test_what_is_carried_where():
    def side(m, n, p=10, dtype=np.float64):
        return carried.carried_side(DenseMatrix(np.ones((m, n)), np.dtype(dtype)), p)

    assert side(400, 100) == "left" and side(100, 400) == "right"
    assert side(150, 100) is None  # MᵀM is nearly as large as M
    assert side(2000, 400) is None  # and would take long to pay for itself
    assert side(400, 8) is None  # more components than columns: those are found from smaller equations
    assert side(400, 100, dtype=np.float32) is None  # read in blocks
