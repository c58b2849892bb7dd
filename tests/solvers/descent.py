"""What tests of several algorithms share: small data, and the costs along a run."""

import numpy as np

from semf_core.factorization.problem import make_problem
from semf_core.solvers import Limits, Run


def nonnegative_data(shape=(20, 26), rank=3, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.7, size=(shape[0], rank)) @ rng.gamma(0.7, size=(rank, shape[1])) + noise * rng.random(shape)


def run_on(M, rank, solver, iterations, seed=0, start=None):
    return Run(make_problem(M, rank, solver=solver, start=start), solver, Limits(max_iter=iterations, tol=0), seed)


def costs_along(run):
    """The value of the solver's objective at the start and after each iteration."""
    costs = [run.solver.cost(run.problem, run.state)]
    while run.stop_reason is None:
        run.advance()
        costs.append(run.solver.cost(run.problem, run.state))
    return np.array(costs)


def assert_never_rises(costs):
    assert (np.diff(costs) <= 1e-10 * costs[0]).all()
    assert costs[-1] < 0.9 * costs[0]
