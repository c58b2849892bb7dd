"""CSMF: the coordinate minimisers against brute force, the gentle updates, monotone costs, Swimmer without ghosts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semf_core import factorize
from semf_core.datasets import Rectangle
from semf_core.factorization.result import make_result
from semf_core.mathematics import metrics
from semf_core.model import preset
from semf_core.solvers import CSMF, CoordinateNMF, CSMFnc, CSMFncc
from semf_core.solvers.csmf import SHRUNK, fit_costs, minimised
from tests.helpers import present
from tests.solvers.descent import assert_never_rises, costs_along, nonnegative_data, run_on

VARIANTS = [pytest.param(cls, id=cls.name) for cls in (CSMF, CSMFnc, CSMFncc)]
number = st.floats(-3, 3, allow_subnormal=False)
weight = st.sampled_from((0.0, 0.1, 1.0, 10.0))


def objective(b, c, gram, alpha, lasso):
    """The cost of one row, term by term as in (7)."""
    overlap = sum(abs(b[i]) * abs(b[j]) for i in range(len(b)) for j in range(len(b)) if i != j)
    return b @ gram @ b - 2 * c @ b + alpha * overlap + lasso * np.abs(b).sum()


@settings(max_examples=60, deadline=None)
@given(st.lists(number, min_size=15, max_size=15), weight, weight, st.booleans())
def test_each_entry_is_the_minimiser_found_by_brute_force(values, alpha, lasso, nonnegative):
    """Theorems 1, 3 and 5; with b/(2a) in place of −b/(2a), as Theorem 5 is printed, this fails."""
    A, c, b = np.array(values[:9]).reshape(3, 3), np.array(values[9:12]), np.array(values[12:])
    gram = A @ A.T + 0.1 * np.eye(3)
    b = np.abs(b) if nonnegative else b
    new = minimised(b[:, None], c[:, None], gram, alpha, lasso, nonnegative)[:, 0]
    expected = b.copy()
    for i in range(3):
        # The minimiser is within |c_i − …|/gram_ii of zero; a grid around it must not hold a better value.
        others = expected.copy()
        others[i] = 0
        reach = abs(c[i] - gram[i] @ others) / gram[i, i] + 1
        grid = np.append(np.linspace(0 if nonnegative else -reach, reach, 401), 0)
        trials = [objective(np.append(np.append(others[:i], z), others[i + 1 :]), c, gram, alpha, lasso) for z in grid]
        expected[i] = new[i]
        assert objective(expected, c, gram, alpha, lasso) <= min(trials) + 1e-9
    assert not nonnegative or (new >= 0).all()


def test_a_component_without_partner_is_cleared_by_penalties_and_left_alone_without():
    B, gram = np.ones((2, 3)), np.diag([0.0, 2.0])
    C = np.array([[0, 0, 0], [2.0, 4, 6]])
    np.testing.assert_array_equal(minimised(B, C, gram, 0.0, 0.0, False), [[1, 1, 1], [1, 2, 3]])
    np.testing.assert_array_equal(minimised(B, C, gram, 0.5, 0.0, False), [[0, 0, 0], [1, 2, 3]])


def test_costs_of_the_samples_add_up_to_the_fit():
    rng = np.random.default_rng(0)
    M, A, B = rng.random((6, 9)), rng.random((3, 6)), rng.random((3, 9))
    costs = fit_costs((M**2).sum(axis=0), A @ M, A @ A.T, B)
    np.testing.assert_allclose(costs, ((M - A.T @ B) ** 2).sum(axis=0))


@pytest.mark.parametrize("cls", VARIANTS)
@pytest.mark.parametrize(("alpha", "beta", "lam"), [(0, 0, 0), (0.3, 0, 0), (0.1, 0.5, 0.2), (5, 5, 5)])
def test_the_cost_never_rises(cls, alpha, beta, lam):
    solver = cls(alpha=alpha, beta=beta, lam=lam, rows=0.3, worst_rows=0.2, columns=0.3, worst_columns=0.1)
    assert_never_rises(costs_along(run_on(nonnegative_data(), 4, solver, 40)))


@pytest.mark.parametrize("cls", VARIANTS)
def test_the_cost_is_the_penalised_objective(cls):
    M, solver = nonnegative_data(), cls(alpha=0.1, beta=0.2, lam=0.3)
    run = run_on(M, 3, solver, 5).finish()
    U, V, *_ = run.factors(best=False)
    rows = sum(objective(u, V @ M[r], V @ V.T, 0.1, 0.2) + M[r] @ M[r] for r, u in enumerate(U))
    assert solver.cost(run.problem, run.state) == pytest.approx(rows + 0.3 * np.abs(V).sum())


def test_gentle_updates_take_rows_in_turn_and_those_of_largest_cost():
    M = nonnegative_data((10, 12))
    solver = CSMF(rows=0.3, worst_rows=0.2, columns=0.25, worst_columns=0)
    run = run_on(M, 3, solver, 4)
    for step in range(4):
        U, V, *_ = run.factors(best=False)
        overlap = np.abs(U).sum(axis=1) ** 2 - (U**2).sum(axis=1)
        costs = ((M - U @ V) ** 2).sum(axis=1) + solver.alpha * overlap
        run.advance()
        U2, V2, *_ = run.factors(best=False)
        in_turn = {(3 * step + i) % 10 for i in range(3)}
        assert set(np.flatnonzero((U != U2).any(axis=1))) == in_turn | set(np.argsort(costs)[-2:])
        assert set(np.flatnonzero((V != V2).any(axis=0))) == {(3 * step + i) % 12 for i in range(3)}


def test_coefficients_start_at_least_squares_where_they_may_have_any_sign():
    M = nonnegative_data()
    U, V, *_ = run_on(M, 3, CSMFnc(), 1).factors(best=False)
    np.testing.assert_allclose(V, np.linalg.lstsq(U, M, rcond=None)[0], rtol=1e-6)


def test_nonnegative_coefficients_start_at_the_scale_of_the_data():
    M = nonnegative_data()
    U, V, *_ = run_on(M, 3, CSMFncc(start="scaled"), 1).factors(best=False)
    assert np.vdot(M, U @ V) == pytest.approx(np.vdot(U @ V, U @ V)), "no other multiple of V is nearer"
    U2, V2, *_ = run_on(255 * M, 3, CSMFncc(start="scaled"), 1).factors(best=False)
    np.testing.assert_allclose(U2 @ V2, 255 * U @ V)


def test_the_published_start_ignores_the_scale():
    U, V, *_ = run_on(nonnegative_data(), 3, CSMFncc(start="published"), 1).factors(best=False)
    U2, V2, *_ = run_on(255 * nonnegative_data(), 3, CSMFncc(start="published"), 1).factors(best=False)
    np.testing.assert_array_equal(U @ V, U2 @ V2)
    assert 0 < U.min() < 0.1 and 0.9 < V.max() < 1


def test_components_that_shrink_are_told_of():
    """Without a weight on V the product keeps its size while the components, and the price of them, fall."""
    M = 0.01 * nonnegative_data()
    shrunk = run_on(M, 3, CSMFncc(alpha=1e-3, beta=1e-3, start="published"), 200).finish()
    held = run_on(M, 3, CSMFncc(alpha=1e-3, beta=1e-3, lam=1e-3, start="scaled"), 200).finish()
    first = shrunk.state.numbers["first_size"]
    assert np.linalg.norm(shrunk.factors()[0]) < SHRUNK * first
    assert "nothing keeps V from growing" in make_result(shrunk).ending.text
    assert "nothing keeps V" not in make_result(held).ending.text


def test_without_penalties_the_fit_is_that_of_the_truncated_svd():
    M = nonnegative_data()
    run = run_on(M, 3, CSMF(alpha=0), 400).finish()
    assert run.best_uv == pytest.approx(np.sqrt((np.linalg.svd(M)[1][3:] ** 2).sum()), rel=1e-6)


def test_penalties_do_what_they_are_for():
    M = nonnegative_data((30, 60), 5)
    plain, apart = (run_on(M, 5, CSMF(alpha=alpha, lam=0.1), 200).finish().factors()[0] for alpha in (0.0, 1.0))
    assert metrics.overlap(apart) < 0.8 * metrics.overlap(plain)
    sparse = run_on(M, 5, CSMFnc(alpha=0, beta=2.0, lam=0.1), 200).finish().factors()[0]
    dense = run_on(M, 5, CSMFnc(alpha=0, lam=0.1), 200).finish().factors()[0]
    assert metrics.nonzeros(sparse).sum() < metrics.nonzeros(dense).sum()


def test_where_codes_may_subtract_the_whole_rectangle_is_a_basis_as_well():
    """Figure 1: NMF only has the pieces; the whole and two pieces describe samples that are mostly whole by fewer codes."""
    toy = Rectangle(whole=6).load()
    pieces = present(toy.parts)
    whole = np.column_stack((pieces.sum(axis=1), pieces[:, :2]))

    def ended(solver, basis):
        start = basis, np.linalg.lstsq(basis, toy.data)[0]
        found = factorize(toy.data, 3, solver=solver, start_factors=start, max_iter=300, tol=0)
        small = 1e-3 * np.abs(found.V).max()
        return metrics.match_parts(found.U, basis).cosines.min(), np.count_nonzero(np.abs(found.V) > small), found

    for basis, nonzeros in ((pieces, 26), (whole, 17)):
        cosine, counted, found = ended(CSMFnc(alpha=0.01, lam=0.05), basis)
        assert cosine > 0.999 and counted == nonzeros and found.relative_error < 0.01
    assert ended(CoordinateNMF(), pieces)[0] > 0.999 > ended(CoordinateNMF(), whole)[0]
    for seed in range(4):
        plain = factorize(toy.data, 3, solver=CoordinateNMF(), seed=seed)
        assert metrics.match_parts(plain.U, pieces).cosines.min() > 0.999


def test_swimmer_without_ghosts():
    """Figure 4(a): all seventeen parts, and nothing of the torso in a limb."""
    spec = preset("swimmer-csmf")
    dataset = spec.dataset.load()
    run = spec.run(dataset)
    while run.stop_reason is None and run.iterations < 600:
        run.advance()
    U = run.factors()[0]
    assert metrics.parts_found(U, present(dataset.parts)) == 17
    assert metrics.ghosts(U, present(dataset.parts)) == 0 and metrics.overlap(U) < 0.01
    assert metrics.relative_error(run.problem.matrix.norm, run.best_uv) < 1e-3
