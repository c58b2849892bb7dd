"""SeMF with relative penalties: units and roles do not matter, descents never grow, kicks only where they can help."""

import dataclasses
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse

from semf_core import factorize
from semf_core.datasets import DATASETS
from semf_core.factorization.problem import make_problem
from semf_core.model import ModelSpec
from semf_core.sets import (
    Custom,
    GroupSparse,
    Nonnegative,
    OrthogonalTo,
    Simplex,
    Sparse,
    Sparseness,
    StructureSet,
    UnitNorm,
)
from semf_core.solvers import ADMM, DEFAULT, Limits, RelativeADMM, Run, State, relative
from semf_core.solvers.base import Patience
from semf_core.solvers.descent import exchanged, revived
from semf_core.solvers.relative import SEARCH
from tests.sets.cases import EVERY, SHAPE, name_of

(ROWS, RANK), COLUMNS = SHAPE, 9


def data(seed=0, shape=(ROWS, COLUMNS)):
    return np.random.default_rng(seed).random(shape)


def run_on(M, X, Y, options=None, iterations=60, seed=3, rank=RANK, **limits):
    solver = RelativeADMM(**(options or {}))
    problem = make_problem(M, rank, X, Y, solver=solver)
    run = Run(problem, solver, Limits(**{"max_iter": iterations, "tol": 0, "window": 10} | limits), seed)
    return run.finish()


def bound(side, one, unit, iterations):
    """A run with one set on X or on Y, the other factor being free to take any size."""
    if side == "X":
        return run_on(unit * data(), one, Nonnegative(), iterations=iterations)
    return run_on(unit * data(shape=(COLUMNS, RANK)), Nonnegative(), one, iterations=iterations, rank=ROWS)


OPTIONS: list[dict[str, Any]] = [
    {},
    {"start": "normal"},
    {"start": "svd"},
    {"start": "uniform", "descend": False},
    {"gamma": 1.5, "scale": 30.0},
    {"epsilon": 0.05, "mu": 1.7, "nu": 3.3, "q": 3},
    {"inner": 2, "kick_size": 0.7},
    {"penalty": "fixed"},
]
PAIRS = (((Nonnegative(),), (Sparse(2),)), ((UnitNorm(),), (Sparse(2),)), ((Nonnegative(),), (Simplex(),)))
LIMITS: list[dict[str, Any]] = [{"restarts": 3}, {"polish": 5, "stagnation": 0.1}, {"tol": 1e-3, "target": 0.3}]


@pytest.mark.parametrize("one", EVERY, ids=name_of)
@pytest.mark.parametrize(("side", "power"), [("X", 10), ("Y", -7)])
def test_units_that_are_powers_of_two_change_nothing_but_the_scale(one, side, power):
    """With any set on one factor, bit for bit."""
    unit = 2.0**power
    plain, other = bound(side, one, 1.0, 40), bound(side, one, unit, 40)
    np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)
    np.testing.assert_array_equal(other.history.residual_xy, unit * plain.history.residual_xy)
    np.testing.assert_array_equal(other.history.case, plain.history.case)
    np.testing.assert_array_equal(other.factors()[0] @ other.factors()[1], unit * (plain.factors()[0] @ plain.factors()[1]))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("unit", [0.5, 8.0])
def test_units_do_not_matter_with_any_option(options, unit):
    for X, Y in PAIRS:
        plain, other = run_on(data(), X, Y, options), run_on(unit * data(), X, Y, options)
        np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_units_do_not_matter_under_any_limits(limits):
    for X, Y in PAIRS:
        plain, other = run_on(data(), X, Y, **limits), run_on(8 * data(), X, Y, **limits)
        np.testing.assert_array_equal(other.history.residual_uv, 8 * plain.history.residual_uv)
        assert other.best_uv == 8 * plain.best_uv and other.stop_reason == plain.stop_reason


def test_a_common_start_has_the_units_of_the_data():
    """It knows no sets, so that where one of them fixes the size of a factor it cannot leave the units to the other."""
    for X, Y in ((Nonnegative(), Sparse(2)), (Sparse(3), ()), ((), (Nonnegative(), Sparse(2)))):
        for unit in (0.5, 8.0):
            plain, other = (run_on(c * data(), X, Y, common_start=True) for c in (1.0, unit))
            np.testing.assert_array_equal(other.history.residual_uv, unit * plain.history.residual_uv)


def missing(M):
    return np.where(np.random.default_rng(1).random(M.shape) < 0.2, np.nan, M)


@pytest.mark.parametrize("kind", [np.float32, scipy.sparse.csr_array, missing], ids=["float32", "sparse", "missing"])
def test_units_do_not_matter_to_any_kind_of_data(kind):
    for X, Y in PAIRS:
        plain, other = run_on(kind(data()), X, Y), run_on(kind(8 * data()), X, Y)
        np.testing.assert_array_equal(other.history.residual_uv, 8 * plain.history.residual_uv)


def test_every_option_is_among_those_tried():
    assert {name for options in OPTIONS for name in options} == {f.name for f in dataclasses.fields(RelativeADMM)}
    named = {name for limits in LIMITS for name in limits} | {"max_iter", "window", "kick", "common_start"}
    assert named == {f.name for f in dataclasses.fields(Limits)}


@pytest.mark.parametrize("one", EVERY, ids=name_of)
@pytest.mark.parametrize("side", ["X", "Y"])
def test_other_units_agree_to_rounding(one, side):
    count = 8 if isinstance(one, Custom) else 20  # from then on the sign of what is zero but for rounding decides
    plain, other = bound(side, one, 1.0, count), bound(side, one, 255.0, count)
    size = plain.problem.matrix.norm
    np.testing.assert_allclose(other.history.residual_uv / 255 / size, plain.history.residual_uv / size, rtol=0, atol=1e-8)


def test_the_scheme_as_printed_does_depend_on_units():
    """What the relative penalties are for; should this fail, the tests above prove nothing."""
    sets = (Nonnegative(), Nonnegative())
    small, large = (factorize(c * data(), RANK, *sets, solver="semf", max_iter=40).relative_error for c in (1, 256))
    assert abs(small - large) > 1e-3


class Turned(StructureSet):
    """The transposes of the members of a set."""

    name: ClassVar[str] = "turned"
    of: StructureSet = Nonnegative()

    @property
    def convex(self):
        return self.of.convex

    @property
    def size(self):  # type: ignore[override]
        return self.of.size

    def project(self, A):
        return self.of.project(A.T).T


@pytest.mark.parametrize("one", EVERY, ids=name_of)
def test_roles_of_x_and_y_can_be_exchanged(one):
    """Half an iteration later the transposed problem takes the same half steps, in exact arithmetic."""
    solver = RelativeADMM(descend=False)
    run = Run(make_problem(data(), RANK, one, Nonnegative(), solver=solver), solver, Limits(tol=0), 1)
    for _ in range(4):
        run.advance()
    V_before, Pi_before = run.state.V.copy(), run.state.arrays["Pi"].copy()
    run.advance()
    numbers = dict(run.state.numbers)
    # X, U and Λ of this iteration stand for Y, V and Π; V and Π of the one before for U and Λ.
    other = make_problem(data().T, RANK, Nonnegative(), Turned(one), solver=solver)
    sizes = {"size_x": numbers["size_y"], "size_y": numbers["size_x"]}
    swapped = State(
        W=np.vstack((np.zeros_like(V_before), V_before)),
        Z=run.state.W.copy(),
        numbers=numbers | {"alpha": numbers["used_beta"], "beta": numbers["used_alpha"]} | sizes,
        arrays={"Lam": Pi_before, "Pi": run.state.arrays["Lam"].copy(), "window": np.zeros((2, 4))},
    )
    after = solver.step(other, swapped)
    np.testing.assert_allclose(after.W, run.state.Z, rtol=1e-9, atol=1e-9)
    run.advance()  # its first half is the second one there
    np.testing.assert_allclose(after.Z, run.state.W, rtol=1e-9, atol=1e-9)


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


def test_a_search_that_never_stagnates_ends_in_a_descent(monkeypatch):
    """After so many iterations of its own, after a kick as at the start; and before the limit, though it is the best so far."""
    monkeypatch.setattr(relative, "LONGEST_SEARCH", 20)
    falls = Run._stagnates
    monkeypatch.setattr(Run, "_stagnates", lambda run: run._descending and falls(run))
    events = run_on(data(), Sparseness(0.6), (), iterations=300).events
    searched = [after.iteration - kick.iteration for kick, after in pairwise(events) if kick.kind == "kick"]
    assert events[0].iteration == 20 and events[0].kind == "descent"
    assert searched and set(searched[:-1]) == {20}
    monkeypatch.setattr(relative, "LONGEST_SEARCH", 1000)
    assert [e.iteration for e in run_on(data(), (Nonnegative(), Sparse(3)), Nonnegative(), iterations=60).events] == [57]


@pytest.mark.parametrize("sets", [*PAIRS, ((), (Nonnegative(), Sparse(2))), ((Nonnegative(), Sparse(4)), ())])
def test_a_descent_gives_a_component_that_has_died_something_to_do(sets):
    X, Y = sets
    problem = make_problem(data(shape=(ROWS, 40)), RANK, X, Y, solver=RelativeADMM())
    found = run_on(data(shape=(ROWS, 40)), X, Y, iterations=30).state
    for dead in (found.W[RANK:][0], found.Z[RANK:][0]):
        dead[:] = 0
    W, Z = found.W.copy(), found.Z.copy()
    Z[RANK:] = problem.y_set.project(Z[RANK:])
    Ut, V = revived(problem, W[RANK:], Z[RANK:])
    assert Ut.any(axis=1).all() and V.any(axis=1).all()
    assert problem.matrix.residual(Ut, V) < problem.matrix.residual(W[RANK:], Z[RANK:])
    assert problem.x_set.violation(Ut.T) <= 1e-12 and problem.y_set.violation(V) <= 1e-12
    for nobody in (W[RANK:] * 0, Ut):  # nothing to go by, nothing to do
        assert revived(problem, nobody, V)[0] is nobody


@pytest.mark.parametrize("seed", [10, 30])
def test_swimmer_without_noise_is_factorized_exactly_by_plain_nmf(seed):
    """From seed 10 the first descent settles at an error of 0.14 after 22 iterations."""
    swimmer = DATASETS.parse("swimmer").load().data
    assert factorize(swimmer, 17, Nonnegative(), Nonnegative(), seed=seed).relative_error < 2e-3


@pytest.mark.parametrize("unit", [1.0, 2.0**40])
def test_a_component_that_is_exchanged_leaves_the_others_of_u_as_they_are(unit):
    sets = (Nonnegative(), (Nonnegative(), Sparse(2)))
    M = unit * data()
    M[:, 3] *= 100  # the sample that is fitted worst
    problem = make_problem(M, RANK, *sets, solver=RelativeADMM())
    found = run_on(M, *sets, iterations=30).state
    Ut, V = exchanged(problem, found.W[RANK:], found.Z[RANK:] * (np.arange(M.shape[1]) != 3), np.random.default_rng(0))
    changed = np.flatnonzero((Ut != found.W[RANK:]).any(axis=1))
    assert len(changed) == 1
    assert np.allclose(Ut[changed[0]] / np.linalg.norm(Ut[changed[0]]), M[:, 3] / np.linalg.norm(M[:, 3]))
    assert problem.y_set.violation(V) == 0 and V[changed[0], 3] > 0


def test_other_sets_in_the_middle_leave_the_penalties_the_same_multiples_of_the_factors():
    run = run_on(255 * data(), (Nonnegative(), Sparse(3)), Nonnegative(), {"descend": False}, iterations=23)
    before = {penalty: run.state.numbers[penalty] / run.state.numbers[size] for penalty, size in relative.SIZES.items()}
    problem = make_problem(255 * data(), RANK, (Nonnegative(), Sparse(4)), Nonnegative(), solver=run.solver)
    run.edit(problem, run.solver, run.limits, {}, "k = 4")
    run.advance()
    for penalty, size in relative.SIZES.items():
        assert np.isclose(run.state.numbers[penalty] / run.state.numbers[size], before[penalty])


@pytest.mark.parametrize("penalty", ["adaptive", "fixed"])
def test_with_algorithm_2_at_rest_the_penalties_follow_the_factors_alone(penalty):
    options = {"descend": False, "penalty": penalty}
    early, late = (run_on(data(), (Nonnegative(),), (Sparse(2),), options, count, kick=False) for count in (1, 60))
    first, last = ([run.state.numbers[a] / run.state.numbers[b] for a, b in relative.SIZES.items()] for run in (early, late))
    assert np.allclose(first, last) == (penalty == "fixed")


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


def test_older_files_mean_what_they_meant():
    """Files leave out what is as by default: the printed scheme keeps the defaults that it had when it was the only one."""
    options = {"penalty": "adaptive", "alpha0": 0.01, "beta0": 0.01, "mu": 2.0, "nu": 5.0, "epsilon": 5e-4, "q": 5, "scale": 0.3}
    options |= {"gamma": 1.0, "start": "uniform", "kick_size": 0.3, "kick_penalty": "start", "inner": 0}
    limits = {"max_iter": 1000, "tol": 1e-6, "restarts": 1, "polish": 0, "common_start": False}
    old = ModelSpec.from_dict({"dataset": {"name": "swimmer"}, "rank": 17, "solver": {"name": "semf"}, "limits": {}})
    assert {f.name: getattr(old.solver, f.name) for f in dataclasses.fields(ADMM)} == options
    assert {name: getattr(old.limits, name) for name in limits} == limits
    assert old.limits.patience(old.solver.patience) == Patience(kick=False, window=100, stagnation=0.01, target=0.02)
