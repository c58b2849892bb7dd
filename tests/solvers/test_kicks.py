"""What the default engine does where it stagnates: looser sets, components begun anew, or another search."""

from typing import Any

import numpy as np
import pytest

from semf_core.factorization.problem import make_problem
from semf_core.sets import DisjointSupports, Nonnegative, Simplex, Sparse, UnitNorm
from semf_core.solvers import Event, Limits, RelativeADMM, Run, relative
from semf_core.solvers.descent import begin_loosely, descent_step
from tests.solvers.test_relative import RANK, ROWS, data, run_on


def kicks_of(M, X, Y, iterations=400):
    """Of each kick, in order: between looser sets, with one component begun anew, or a search."""
    kicks: list[str] = []

    def note(run: Run) -> None:
        if run.events and run.events[-1] == Event(run.iterations, "kick", run.events[-1].text):
            n = run.state.numbers
            kicks.append("loose" if n.get("loose") else "exchange" if n["descending"] else "search")

    problem = make_problem(M, RANK, X, Y, solver=RelativeADMM())
    Run(problem, RelativeADMM(), Limits(max_iter=iterations), 0).finish(note)
    return kicks


def test_before_the_search_goes_on_there_are_descents_that_begin_otherwise():
    incomplete = data().copy()
    incomplete[0, 0] = np.nan
    signed, both = ("loose",) * 4 + ("search",), ("loose",) * 4 + ("exchange", "search")
    cases: list[tuple[Any, Any, Any, tuple[str, ...]]] = [
        (data(), (), (Nonnegative(), Sparse(1)), ("exchange", "exchange", "search")),
        (data(), DisjointSupports(), Nonnegative(), ("exchange", "exchange", "search")),
        (data(), Sparse(4), (), signed),
        (data(), (), Sparse(1), both),
        (data(), (Nonnegative(), Sparse(4)), Nonnegative(), both),
        (incomplete, (), Sparse(1), signed),
        (incomplete, (), (Nonnegative(), Sparse(1)), ("search",)),
    ]
    for M, X, Y, cycle in cases:
        kicks = kicks_of(M, X, Y)
        assert len(kicks) > len(cycle) and kicks == [cycle[i % len(cycle)] for i in range(len(kicks))]


@pytest.mark.parametrize(
    "sets", [((Nonnegative(), Sparse(3)), Nonnegative()), (UnitNorm(), Sparse(2)), ((), (UnitNorm(), Sparse(2)))]
)
def test_between_looser_sets_x_and_y_fit_better_and_u_and_v_stay_feasible(sets: tuple[Any, Any]) -> None:
    problem = make_problem(data(shape=(ROWS, 40)), RANK, *sets, solver=RelativeADMM())
    x_set, y_set = problem.whole_sets
    tight, p, rng = run_on(data(shape=(ROWS, 40)), sets[0], sets[1], iterations=40), RANK, np.random.default_rng(1)
    state = begin_loosely(problem, tight.state, tight.best[0], tight.best[1], rng)
    turns, start = int(state.numbers["loose"]), problem.matrix.residual(state.W[p:], state.Z[p:])
    for _ in range(turns):
        state = descent_step(problem, state)
        n, (U, V) = state.numbers, (state.W[p:].T, state.Z[p:])
        assert x_set.violation(U) <= 1e-12 and y_set.violation(V) <= 1e-12
        assert np.isclose(n["residual_uv"], problem.matrix.residual(state.W[p:], V))
        assert np.isclose(n["residual_xy"], problem.matrix.residual(state.W[:p], state.Z[:p])) and n["residual_xy"] < start
    loose = state.numbers["residual_uv"]
    state = descent_step(problem, state)
    assert not state.numbers["looseness"] and state.numbers["residual_uv"] <= loose and (state.W[:p] == state.W[p:]).all()


@pytest.mark.parametrize("sets", [(Nonnegative(), Nonnegative()), (Nonnegative(), Simplex()), ((), Nonnegative())])
def test_between_convex_sets_components_begin_anew_until_so_many_in_a_row_bring_nothing(sets):
    best, kicks = [], []

    def note(run: Run) -> None:
        best.append(run.best_uv)
        if run.events and run.events[-1] == Event(run.iterations, "kick", run.events[-1].text):
            kicks.append(run.iterations)
            assert run.state.numbers["descending"]

    problem = make_problem(data(shape=(ROWS, 40)), RANK, *sets, solver=RelativeADMM())
    run = Run(problem, RelativeADMM(), Limits(max_iter=5000), 0).finish(note)
    assert run.stop_reason == "converged" and len(kicks) >= relative.EXCHANGES_IN_VAIN
    at = [best[kick - 1] for kick in kicks]
    gains = [i for i in range(1, len(at)) if at[i] < (1 - relative.BETTER) * at[i - 1]]
    assert len(kicks) == (gains[-1] if gains else 0) + relative.EXCHANGES_IN_VAIN
    descend = Run(problem, RelativeADMM(descend=False), Limits(max_iter=300), 0).finish()
    assert not descend.state.numbers.get("exchanges")
