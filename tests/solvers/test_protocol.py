"""What every algorithm promises, whoever wrote it: these tests walk the registry."""

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Swimmer
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import match_parts
from semf_core.model import ModelSpec
from semf_core.sets import Nonnegative, Simplex, members_of
from semf_core.solvers import ADMM, LNMF, SOLVERS, Limits, NsNMF, Run
from semf_core.solvers.base import NEEDS, Solver
from tests.described import undescribed
from tests.helpers import noted

ALL = [pytest.param(cls, id=cls.name) for cls in SOLVERS]
DIRECT = [pytest.param(cls, id=cls.name) for cls in SOLVERS if not cls.splits]
M_ROWS, N_COLUMNS, RANK = 24, 30, 4
LABELS = np.arange(N_COLUMNS) % 3


def data(seed=0):
    """Nonnegative, of rank 4 and a little noise, with a row and a column of zeros."""
    rng = np.random.default_rng(seed)
    M = rng.gamma(0.5, size=(M_ROWS, RANK)) @ rng.gamma(0.5, size=(RANK, N_COLUMNS)) + 0.01 * rng.random((M_ROWS, N_COLUMNS))
    M[5] = 0
    M[:, 7] = 0
    return M


def problem_for(solver, M=None, start=None):
    return make_problem(data() if M is None else M, RANK, labels=LABELS, solver=solver, start=start)


def run_of(cls, iterations=6, seed=1, M=None):
    solver = cls()
    return Run(problem_for(solver, M), solver, Limits(max_iter=iterations, tol=0), seed)


@pytest.mark.parametrize("cls", ALL)
def test_describes_itself(cls):
    methods = ("objective",) if cls.splits else ("objective", "half_steps")
    missing = undescribed(cls, Solver, "title", "summary", "family", "enforces", "reference", *methods)
    assert not missing, missing
    assert not cls.summary.endswith("."), f"{cls.__name__}: its summary is a phrase, without a full stop"
    assert set(cls.needs) <= set(NEEDS), f"{cls.__name__}: needs can hold {', '.join(NEEDS)}"
    latex = cls().objective()
    assert latex.count("{") == latex.count("}") and (r"\min" in latex or r"\max" in latex), f"{cls.__name__}: {latex}"
    for step in cls().half_steps():
        assert step.formula.count("{") == step.formula.count("}") and step.words, f"{cls.__name__}: {step}"
    assert SOLVERS.build(cls().to_dict()) == cls()


@pytest.mark.parametrize("cls", ALL)
def test_the_common_start_is_the_same_for_all_that_take_one(cls, monkeypatch):
    """And whoever does not take it says what it begins with instead."""
    calls: list = []
    init = cls.init
    monkeypatch.setattr(cls, "init", noted(calls, init))
    solver = cls()
    runs = [Run(problem_for(solver), solver, Limits(common_start=True), seed) for seed in (3, 4)]
    begun = [problem for _, problem, _ in calls]
    if cls.own_start:
        assert all(factor is None for problem in begun for factor in problem.start)
        first, second = (init(solver, problem_for(solver, start=start(seed)), np.random.default_rng(0)) for seed in (3, 4))
        assert np.array_equal(first.Z, second.Z), "it would take a start, but says that it does not"
        return
    (X, Y), problem = begun[0].start, begun[0]
    whole_x, whole_y = start(3)
    rows = slice(None) if problem.rows is None else problem.rows
    columns = slice(None) if problem.columns is None else problem.columns
    np.testing.assert_allclose(X, whole_x[rows])
    np.testing.assert_allclose(Y, whole_y[:, columns])
    states = [run.solver.step(problem, run.state) for run in runs]
    assert not np.allclose(states[0].Z, states[1].Z), "the start has no effect"


def start(seed):
    """Uniform factors of the whole M whose product is as large as M."""
    rng = np.random.default_rng((seed, 0, 1))
    X, Y = rng.random((M_ROWS, RANK)), rng.random((RANK, N_COLUMNS))
    scale = np.sqrt(np.linalg.norm(data()) / np.linalg.norm(X @ Y))
    return scale * X, scale * Y


@pytest.mark.parametrize("cls", ALL)
def test_every_iteration_is_finite_and_in_the_sets_that_it_claims(cls):
    run = run_of(cls)
    sets = run.problem.whole_sets
    M = data()
    while run.stop_reason is None:
        frame = run.advance()
        U, V, X, Y = run.factors(best=False)
        assert np.isfinite(U).all() and np.isfinite(V).all()
        assert frame.residual_uv == pytest.approx(np.linalg.norm(M - U @ V), rel=1e-6, abs=1e-6)
        assert frame.residual_xy == pytest.approx(np.linalg.norm(M - X @ Y), rel=1e-6, abs=1e-6)
        for member, factor in zip(sets, (U, V), strict=True):
            assert member.violation(factor) <= 1e-7 * max(1.0, float(np.linalg.norm(factor)))
    assert run.stop_reason == "iteration limit"


@pytest.mark.parametrize("cls", DIRECT)
def test_without_splitting_the_free_factors_are_the_answer(cls):
    run = run_of(cls).finish()
    U, V, X, Y = run.factors()
    np.testing.assert_array_equal(U, X)
    np.testing.assert_array_equal(V, Y)
    last = run.history.table()[-1]
    assert last[0] == last[1] and not last[2:6].any()


@pytest.mark.parametrize("cls", ALL)
def test_resumes_bit_for_bit(cls):
    whole, part = run_of(cls, 6).finish(), run_of(cls, 6)
    for _ in range(3):
        part.advance()
    file = io.BytesIO()
    part.checkpoint(file)
    again = Run.resume(file.getvalue(), part.problem, part.solver, part.limits).finish()
    for a, b in zip(whole.factors(best=False), again.factors(best=False), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole.history.residual_uv, again.history.residual_uv)


@pytest.mark.parametrize("cls", ALL)
def test_the_best_factors_are_those_of_the_smallest_residual_or_cost(cls):
    run, seen = run_of(cls, 8), []
    while run.stop_reason is None:
        residual = run.advance().residual_uv
        seen.append((run.solver.cost(run.problem, run.state) if run.solver.penalised else residual, residual))
    U, V, _, _ = run.factors()
    assert np.linalg.norm(data() - U @ V) == pytest.approx(min(seen)[1], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("cls", ALL)
def test_a_cost_beyond_the_fit_decides_what_is_best_and_forbids_the_polish(cls):
    run = run_of(cls, 4).finish()
    cost, residual = run.solver.cost(run.problem, run.state), run.history.last("residual_uv")
    fits = np.isclose(cost, residual**2) or isinstance(run.solver, LNMF | NsNMF)
    assert run.solver.penalised != fits
    run.limits = dataclasses.replace(run.limits, polish=5)
    before = run.factors()
    run.complete()
    U, V, X, Y = run.factors()
    assert run.events[-1].kind == "polish"
    if run.solver.penalised:
        np.testing.assert_array_equal(U, before[0])
    if not run.solver.splits:
        np.testing.assert_array_equal(U, X)
        np.testing.assert_array_equal(V, Y)


@pytest.mark.parametrize("cls", ALL)
def test_the_data_is_left_alone(cls):
    M = data()
    run = run_of(cls, 3, M=M).finish()
    np.testing.assert_array_equal(M, data())
    assert run.iterations == 3


@pytest.mark.parametrize("cls", ALL)
def test_starts_from_given_factors_even_if_they_are_not_feasible(cls):
    rng = np.random.default_rng(3)
    start = (rng.standard_normal((M_ROWS, RANK)), rng.standard_normal((RANK, N_COLUMNS)))
    solver = cls()
    run = Run(problem_for(solver, start=start), solver, Limits(max_iter=3, tol=0)).finish()
    U, V, _, _ = run.factors()
    assert np.isfinite(U).all() and np.isfinite(V).all()


@pytest.mark.parametrize("cls", [pytest.param(c, id=c.name) for c in SOLVERS if not c.own_start])
def test_given_factors_keep_the_size_of_their_product(cls):
    """Where lengths are fixed in one factor they go to the other: a common start would otherwise be another one."""
    rng, solver = np.random.default_rng(4), cls()
    X, Y = 3 * rng.random((M_ROWS, RANK)), rng.random((RANK, N_COLUMNS))
    state = solver.init(problem_for(solver, X @ Y, start=(X, Y)), rng)
    product = state.U @ state.V
    assert 0.5 < np.vdot(X @ Y, product) / np.vdot(product, product) < 2


@pytest.mark.parametrize("cls", ALL)
def test_data_that_does_not_fit_is_rejected_before_the_first_iteration(cls):
    holes = data()
    holes[3, 4] = np.nan
    unfit = {
        "nonnegative": lambda s: problem_for(s, data() - 1),
        "complete": lambda s: problem_for(s, holes),
        "dense": lambda s: problem_for(s, sp.csr_array(data())),
        "labels": lambda s: make_problem(data(), RANK, solver=s),
    }
    for need in cls.needs:
        with pytest.raises(InvalidInput, match=r"\w+ \w+ \w+"):
            cls().check(unfit[need](cls()))
    if not {"dense", "complete"} & set(cls.needs):
        assert np.isfinite(run_of(cls, 3, M=holes).finish().best_uv)
    if "dense" not in cls.needs:
        assert np.isfinite(run_of(cls, 3, M=sp.csr_array(data())).finish().best_uv)


@pytest.mark.parametrize("cls", [pytest.param(c, id=c.name) for c in SOLVERS if not c.takes_sets])
def test_sets_are_rejected_where_the_algorithm_has_constraints_of_its_own(cls):
    with pytest.raises(InvalidInput, match="constraints of its own"):
        make_problem(data(), RANK, Nonnegative(), solver=cls())


@pytest.mark.parametrize("cls", ALL)
def test_works_in_single_precision_and_with_one_component(cls):
    result = factorize(data().astype(np.float32), 1, solver=cls(), max_iter=3, tol=0, labels=LABELS)
    assert np.isfinite(result.residual_uv) and result.U.shape == (M_ROWS, 1)


@pytest.mark.parametrize("cls", DIRECT)
def test_a_run_of_semf_can_go_on_with_it(cls):
    semf, other = ADMM(), cls()
    run = Run(make_problem(data(), RANK, Nonnegative(), Nonnegative(), labels=LABELS), semf, Limits(max_iter=5, tol=0)).finish()
    run.edit(problem_for(other), other, Limits(max_iter=3, tol=0), {}, "another algorithm")
    run.finish()
    assert run.iterations == 8 and np.isfinite(run.best_uv)


@pytest.mark.parametrize("cls", ALL)
def test_a_model_with_it_survives_json(cls):
    spec = ModelSpec(Swimmer(), 4, solver=cls())
    assert ModelSpec.from_json(spec.to_json()) == spec


def keeps_nonnegative(cls):
    """Whether the algorithm itself keeps U nonnegative."""
    return any(isinstance(member, Nonnegative | Simplex) for s in cls().structure((24, 60), 4)[0] for member in members_of(s))


TUNED: dict[str, dict[str, Any]] = {
    "nmfsc": {"sparseness_x": 0.55},
    "nnsc": {"lam": 0.05},
    "nmf-l0": {"share": 0.25},
    "nmf-l0-codes": {"most": 4},
    "nmf-titan": {"share": 0.25},
}
PARTS_FINDERS = [pytest.param(cls, id=cls.name) for cls in SOLVERS if keeps_nonnegative(cls)]


@pytest.mark.parametrize("cls", PARTS_FINDERS)
def test_parts_without_common_rows_are_recovered(cls):
    """Nonnegative factors are unique here up to scale: parts do not overlap, and some samples lack each part."""
    rng = np.random.default_rng(0)
    parts = np.kron(np.eye(4), np.ones((6, 1))) * rng.uniform(0.5, 1.5, (24, 1))
    M = parts @ (rng.gamma(1.0, size=(4, 60)) * (rng.random((4, 60)) < 0.5))
    U = factorize(M, 4, solver=cls(**TUNED.get(cls.name, {})), max_iter=400, tol=1e-9).U
    assert match_parts(U, parts).cosines.min() > 0.99
