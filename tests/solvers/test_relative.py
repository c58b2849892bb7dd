"""SeMF with relative penalties: units and roles do not matter, descents never grow, kicks only where they can help."""

import numpy as np
import pytest

from semf_core import factorize
from semf_core.datasets import DATASETS
from semf_core.factorization.problem import make_problem
from semf_core.sets import GroupSparse, Nonnegative, OrthogonalTo, Simplex, Sparse, UnitNorm, combine
from semf_core.solvers import ADMM, DEFAULT, Limits, RelativeADMM, Run, State
from semf_core.solvers.relative import SEARCH
from tests.sets.cases import EVERY, SHAPE, name_of

(ROWS, RANK), COLUMNS = SHAPE, 9


def data(seed=0, shape=(ROWS, COLUMNS)):
    return np.random.default_rng(seed).random(shape)


def run_on(M, X, Y, options=None, iterations=60, seed=3):
    solver = RelativeADMM(**(options or {}))
    problem = make_problem(M, RANK, X, Y, solver=solver)
    run = Run(problem, solver, Limits(max_iter=iterations, tol=0, window=10), seed)
    return run.finish()


OPTIONS = [{}, {"start": "normal"}, {"start": "svd"}, {"start": "uniform", "descend": False}, {"gamma": 1.5, "scale": 30.0}]


@pytest.mark.parametrize("one", EVERY, ids=name_of)
@pytest.mark.parametrize("power", [-7, 10])
def test_units_that_are_powers_of_two_change_nothing_but_the_scale(one, power):
    """With any set on X and a factor Y that may take any size, bit for bit."""
    unit = 2.0**power
    plain = run_on(data(), one, (Nonnegative(),))
    other = run_on(unit * data(), one, (Nonnegative(),))
    np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)
    np.testing.assert_array_equal(other.history.residual_xy, unit * plain.history.residual_xy)
    np.testing.assert_array_equal(other.history.case, plain.history.case)
    np.testing.assert_array_equal(other.factors()[0] @ other.factors()[1], unit * (plain.factors()[0] @ plain.factors()[1]))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("unit", [0.5, 8.0])
def test_units_do_not_matter_with_any_option(options, unit):
    for X, Y in (((Nonnegative(),), (Sparse(2),)), ((UnitNorm(),), (Sparse(2),)), ((Nonnegative(),), (Simplex(),))):
        plain, other = run_on(data(), X, Y, options), run_on(unit * data(), X, Y, options)
        np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)


@pytest.mark.parametrize("one", EVERY, ids=name_of)
def test_other_units_agree_to_rounding(one):
    plain = run_on(data(), one, (Nonnegative(),), iterations=30)
    other = run_on(data() * 255, one, (Nonnegative(),), iterations=30)
    np.testing.assert_allclose(other.history.residual_uv / 255, plain.history.residual_uv, rtol=1e-8, atol=1e-8 * 255)


def test_the_scheme_as_printed_does_depend_on_units():
    """What the relative penalties are for; should this fail, the tests above prove nothing."""
    sets = (Nonnegative(), Nonnegative())
    small, large = (factorize(c * data(), RANK, *sets, solver="semf", max_iter=40).relative_error for c in (1, 256))
    assert abs(small - large) > 1e-3


def test_roles_of_x_and_y_can_be_exchanged():
    """Half an iteration later the transposed problem takes the same half steps, in exact arithmetic."""
    solver = RelativeADMM(descend=False)
    X, Y = combine((Nonnegative(), Sparse(3))), combine((Nonnegative(),))
    one = make_problem(data(), RANK, X, Y, solver=solver)
    run = Run(one, solver, Limits(tol=0), 1)
    for _ in range(4):
        run.advance()
    V_before, Pi_before = run.state.V.copy(), run.state.arrays["Pi"].copy()
    run.advance()
    p, numbers = RANK, dict(run.state.numbers)
    # X, U and Λ of this iteration stand for Y, V and Π; V and Π of the one before for U and Λ.
    other = make_problem(data().T, RANK, Nonnegative(), combine((Nonnegative(), Sparse(3, axis="row"))), solver=solver)
    sizes = {"size_x": numbers["size_y"], "size_y": numbers["size_x"]}
    swapped = State(
        W=np.vstack((np.zeros_like(V_before), V_before)),
        Z=run.state.W.copy(),
        numbers=numbers | {"alpha": numbers["used_beta"], "beta": numbers["used_alpha"]} | sizes,
        arrays={"Lam": Pi_before, "Pi": run.state.arrays["Lam"].copy(), "window": np.zeros((2, 4))},
    )
    after = solver.step(other, swapped)
    np.testing.assert_allclose(after.W[:p], run.state.Z[:p], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(after.W[p:], run.state.Z[p:], rtol=1e-9, atol=1e-12)


def test_descents_never_grow_and_end_feasible():
    swept, signed = ((Nonnegative(),), (Nonnegative(),)), ((UnitNorm(),), (Sparse(2),))
    for X, Y in (((Nonnegative(), Sparse(3)), (Nonnegative(),)), signed, ((), (Simplex(),)), swept):
        run = run_on(data(), X, Y, iterations=120)
        kinds = {e.kind for e in run.events}
        assert "descent" in kinds
        starts = [e.iteration for e in run.events if e.kind == "descent"]
        ends = [e.iteration for e in run.events if e.kind == "kick"] + [run.iterations]
        for first in starts:
            values = run.history.residual_uv[first : min(i for i in ends if i > first)] if first < run.iterations else []
            assert (np.diff(values) <= 0).all()
        x_set, y_set = run.problem.whole_sets
        U, V, *_ = run.factors()
        assert x_set.violation(U) <= 1e-12 * np.linalg.norm(U) and y_set.violation(V) <= 1e-12 * np.linalg.norm(V)


def test_factors_that_can_be_swept_are_not_searched_for_long():
    for X, Y in (((Nonnegative(),), (Nonnegative(),)), ((), (Nonnegative(),)), ((Nonnegative(),), ())):
        assert run_on(data(), X, Y).events[0].iteration == SEARCH
        assert "descent" not in {e.kind for e in run_on(data(), X, Y, {"descend": False}).events}
    for other in (Simplex(), Sparse(2)):
        assert run_on(data(), Nonnegative(), other).events[0].iteration > SEARCH


def test_kicks_only_where_a_set_is_not_convex():
    assert not [e for e in run_on(data(), Nonnegative(), Nonnegative(), iterations=300).events if e.kind == "kick"]
    assert [e for e in run_on(data(), Nonnegative(), (Nonnegative(), Sparse(1)), iterations=300).events if e.kind == "kick"]


def test_a_checkpoint_in_a_descent_goes_on_bit_for_bit(tmp_path):
    solver, limits = RelativeADMM(), Limits(max_iter=150, tol=0, window=8)
    problem = make_problem(data(), RANK, (Nonnegative(), Sparse(3)), Nonnegative(), solver=solver)
    whole = Run(problem, solver, limits, 5).finish()
    first = next(e.iteration for e in whole.events if e.kind == "descent")
    part = Run(problem, solver, limits, 5)
    while part.iterations < first + 3:
        part.advance()
    part.checkpoint(tmp_path / "c.npz")
    resumed = Run.resume(tmp_path / "c.npz", problem, solver, limits).finish()
    np.testing.assert_array_equal(resumed.history.residual_uv, whole.history.residual_uv)


def test_penalties_set_by_hand_are_used_and_then_follow_the_factors():
    run = Run(make_problem(data(), RANK, Nonnegative(), Nonnegative(), solver=DEFAULT()), DEFAULT(), Limits(tol=0))
    for _ in range(3):
        run.advance()
    run.edit(run.problem, run.solver, run.limits, {"alpha": 7.0}, "α set to 7")
    assert run.advance().alpha == 7.0
    assert run.advance().alpha == pytest.approx(7.0, rel=0.5) and run.history.alpha[-1] != 7.0


def test_columns_of_unit_norm_stay_so_when_a_component_dies():
    M = np.zeros((6, 8))
    M[:, :2] = 1
    result = factorize(M, 4, UnitNorm(), Sparse(1), max_iter=80)
    np.testing.assert_allclose(np.linalg.norm(result.U, axis=0), 1, rtol=1e-12)


def test_the_start_has_the_signs_of_the_data():
    signed = make_problem(data() - 0.5, RANK, (), Sparse(2), solver=DEFAULT())
    assert (Run(signed, DEFAULT()).state.Y < 0).any()
    for problem in (make_problem(data(), RANK, (), Sparse(2)), make_problem(data() - 0.5, RANK, (), Nonnegative())):
        assert (Run(problem, DEFAULT()).state.Y >= 0).all()


def test_swimmer_groups_with_the_default_settings():
    swimmer = DATASETS.parse("swimmer").load()
    groups = GroupSparse([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15], [16]])
    X = [Nonnegative(), Sparse(17, columns=[16]), OrthogonalTo(16)]
    for unit in (1.0, 255.0):
        result = factorize(unit * swimmer.data, 17, X, [Nonnegative(), groups], max_iter=2000, seed=4)
        assert result.relative_error < 1e-3


def test_the_default_is_the_relative_scheme_and_the_printed_one_an_option():
    assert DEFAULT is RelativeADMM
    assert factorize(data(), 2, max_iter=3, solver="semf").history.alpha[0] == pytest.approx(0.01 * np.linalg.norm(data()))
    assert ADMM.patience.kick is False and RelativeADMM.patience.kick is True
