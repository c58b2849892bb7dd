"""LNMF, nsNMF and NNSC: their updates written out plainly, their constraints, and Swimmer's ghosts."""

import numpy as np
import pytest

from semf_core.datasets import Swimmer
from semf_core.mathematics import metrics
from semf_core.solvers import LNMF, NNSC, CoordinateNMF, MultiplicativeNMF, NsNMF
from semf_core.solvers.divergence import summing_to_one
from tests.helpers import present
from tests.solvers.descent import assert_never_rises, costs_along, nonnegative_data, run_on

M = nonnegative_data()
rng = np.random.default_rng(3)
START = (rng.random((20, 3)), rng.random((3, 26)))


def divergence(W, H):
    Q = W @ H
    return float((M * np.log(M / Q) - M + Q).sum())


def test_lnmf_is_its_updates_entry_by_entry():
    run = run_on(M, 3, LNMF(), 1, start=START)
    W, H = (f.copy() for f in run.factors(best=False)[:2])
    np.testing.assert_allclose(W.sum(axis=0), 1)
    run.advance()
    Q = W @ H
    new_h, new_w = np.empty_like(H), np.empty_like(W)
    for k, j in np.ndindex(H.shape):
        new_h[k, j] = np.sqrt(H[k, j] * sum(M[i, j] * W[i, k] / Q[i, j] for i in range(20)))
    Q = W @ new_h
    for i, k in np.ndindex(W.shape):
        new_w[i, k] = W[i, k] * sum(M[i, j] * new_h[k, j] / Q[i, j] for j in range(26)) / new_h[k].sum()
    U, V, *_ = run.factors(best=False)
    new_w /= new_w.sum(axis=0)
    share = np.vdot(M, new_w @ new_h) / np.linalg.norm(new_w @ new_h) ** 2
    np.testing.assert_allclose(V, share * new_h)
    np.testing.assert_allclose(U, new_w)
    assert run.history.last("residual_uv") == pytest.approx(np.linalg.norm(M - U @ V))
    assert run.solver.cost(run.problem, run.state) == pytest.approx(divergence(U, V))


def test_nsnmf_is_its_updates_with_the_smoothing_matrix_written_out():
    theta = 0.4
    S = (1 - theta) * np.eye(3) + theta / 3
    run = run_on(M, 3, NsNMF(theta=theta), 2)
    run.advance()
    W, H = run.factors(best=False)[0], run.state.arrays["H"].copy()
    np.testing.assert_allclose(run.factors(best=False)[1], S @ H)
    run.advance()
    WS = W @ S
    H = H * (WS.T @ (M / (WS @ H))) / WS.sum(axis=0)[:, None]
    SH = S @ H
    W = W * ((M / (W @ SH)) @ SH.T) / SH.sum(axis=1)
    U, V, *_ = run.factors(best=False)
    np.testing.assert_allclose(U, W / W.sum(axis=0))
    np.testing.assert_allclose(V, SH)


def test_nsnmf_without_smoothing_lowers_the_divergence_to_the_plain_one():
    """θ = 0 is Lee and Seung's NMF, whose divergence does not rise: scaling U is made up for by V's next update."""
    run = run_on(M, 3, NsNMF(theta=0), 150)
    costs = costs_along(run)
    assert (np.diff(costs[1:]) <= 1e-9 * costs[1]).all() and costs[-1] < 0.5 * costs[1]


def test_nsnmf_takes_given_factors_as_u_and_sh():
    theta = 0.5
    S = 0.5 * np.eye(3) + theta / 3
    run = run_on(M, 3, NsNMF(theta=theta), 1, start=(START[0] / START[0].sum(axis=0), S @ START[1]))
    np.testing.assert_allclose(run.state.arrays["H"], START[1])


def test_more_smoothing_makes_sparser_components():
    data = nonnegative_data((40, 60), 6)
    sparseness = [metrics.hoyer_sparseness(run_on(data, 6, NsNMF(theta=t), 300).finish().factors()[0]).mean() for t in (0, 0.6)]
    assert sparseness[1] > sparseness[0] + 0.1


def test_a_column_that_vanishes_is_kept():
    Xt, before = np.array([[0.0, 0], [1, 3], [0, 0]]), np.array([[1.0, 4], [1, 1], [0, 0]])
    np.testing.assert_allclose(summing_to_one(Xt, before), [[0.2, 0.8], [0.25, 0.75], [0.5, 0.5]])


@pytest.mark.parametrize("lam", [0.0, 0.1, 2.0])
def test_nnsc_never_rises_and_keeps_components_at_length_one(lam):
    run = run_on(M, 3, NNSC(lam=lam), 60)
    assert_never_rises(costs_along(run))
    np.testing.assert_allclose(np.linalg.norm(run.factors()[0], axis=0), 1)


def test_nnsc_cost_and_code_are_those_of_the_paper():
    run = run_on(M, 3, NNSC(lam=0.7), 1, start=START)
    S = run.factors(best=False)[1]
    run.advance()
    A, V, *_ = run.factors(best=False)
    np.testing.assert_allclose(V, S * (A.T @ M) / (A.T @ A @ S + 0.7))
    assert run.solver.cost(run.problem, run.state) == pytest.approx(((M - A @ V) ** 2).sum() / 2 + 0.7 * V.sum())


def test_nnsc_with_a_larger_weight_has_sparser_codes():
    few, many = (metrics.nonzeros((run_on(M, 5, NNSC(lam=lam), 400).finish().factors()[1] > 1e-6).T).sum() for lam in (1.0, 0.0))
    assert few < many


def torso_in_limbs(solver, iterations):
    """How many of Swimmer's sixteen limbs come with a shadow of the torso."""
    swimmer = Swimmer().load()
    run = run_on(swimmer.data, 17, solver, iterations).finish()
    U = run.factors()[0]
    parts = present(swimmer.parts)
    return metrics.ghosts(U, parts), metrics.parts_found(U, parts)


@pytest.mark.parametrize(
    ("solver", "iterations"),
    [(MultiplicativeNMF(), 400), (CoordinateNMF(), 30), (NsNMF(), 60), (NNSC(), 150), (LNMF(), 100)],
    ids=lambda v: getattr(v, "name", None),
)
def test_swimmer_has_ghosts(solver, iterations):
    ghosts, found = torso_in_limbs(solver, iterations)
    assert ghosts >= 5 and found < 17
