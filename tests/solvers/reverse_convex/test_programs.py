"""The convex programs against a general-purpose optimiser on small problems, and the geometry behind them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from semf_core.factorization.problem import make_problem
from semf_core.solvers.reverse_convex import conic, parts
from semf_core.solvers.reverse_convex.geometry import Band, sparseness, sparseness_gradient
from semf_core.solvers.reverse_convex.half import Half, Labels, quadratic_for

R, N = 2, 7
CLASSES = np.array([0, 1, 0, 1, 1, 0, 1])


def quadratic(seed=0):
    rng = np.random.default_rng(seed)
    M = rng.gamma(0.5, size=(9, R)) @ rng.gamma(0.5, size=(R, N)) + 0.3 * rng.random((9, N))
    return quadratic_for(make_problem(M, R), rng.random((R, 9)), 1)


def slow(cost, conditions, start, equalities=()):
    """SLSQP from a feasible point; every condition is a function that must not be negative."""
    kinds = [{"type": "ineq", "fun": g} for g in conditions] + [{"type": "eq", "fun": g} for g in equalities]
    bounds = [(0, None)] * (R * N) + [(None, None)] * (len(start) - R * N)
    found = minimize(cost, start, constraints=kinds, bounds=bounds, method="SLSQP", options={"maxiter": 500, "ftol": 1e-12})
    assert min([1.0, *(float(np.min(g(found.x))) for g in conditions)]) > -1e-6
    return found


def rows_of(x):
    return x[: R * N].reshape(R, N)


def dense_enough(band):
    return lambda x: rows_of(x).sum(axis=1) / band.least - np.linalg.norm(rows_of(x), axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_the_upper_bound_alone_is_solved_to_the_global_optimum(seed):
    f, band = quadratic(seed), Band(0, 0.2, N)
    H = Half((R, N), band).minimise(f, kind="plain")
    best = slow(lambda x: f.value(rows_of(x)), [dense_enough(band)], np.ones(R * N))
    assert f.value(H) == pytest.approx(best.fun, rel=1e-5)
    assert band.too_sparse(H / (1 - 1e-6)).sum() == 0 or np.allclose(band.rectified(H), H, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_planes(seed):
    f, band = quadratic(seed), Band(0.5, 0.9, N)
    half = Half((R, N), band)
    start = band.rectified(np.random.default_rng(seed).random((R, N)) ** 3)
    normals, active = band.normals(start, -f.gradient(start)), np.array([True, False])
    H = half.beyond_planes(f, normals, active)
    beyond = [dense_enough(band), lambda x: normals[0] @ rows_of(x)[0]]
    assert f.value(H) == pytest.approx(slow(lambda x: f.value(rows_of(x)), beyond, start.ravel()).fun, rel=1e-5)
    assert normals[0] @ H[0] >= -1e-7


@pytest.mark.parametrize("seed", range(3))
def test_balls_and_the_step_to_sparser_rows(seed):
    f, band = quadratic(seed), Band(0.4, 0.95, N)
    half = Half((R, N), band)
    start = band.rectified(np.random.default_rng(seed).random((R, N)) ** 3)
    sparser = half.sparser(f, start)
    slope, level = sparseness_gradient(start), f.value(start)

    def gain(x):
        return sparseness(start) + (slope * (rows_of(x) - start)).sum(axis=1) - x[-1]

    conditions = [dense_enough(band), lambda x: level - f.value(rows_of(x)), gain]
    best = slow(lambda x: -x[-1], conditions, np.append(start.ravel(), sparseness(start).min()))
    model = (sparseness(start) + (slope * (sparser - start)).sum(axis=1)).min()
    assert model == pytest.approx(-best.fun, rel=2e-4)
    assert f.value(sparser) <= level * (1 + 1e-6) and sparseness(sparser).min() >= sparseness(start).min() - 1e-6
    H = half.within_balls(f, sparser)
    radii = band.clearance(sparser)
    inside = [dense_enough(band), lambda x: radii - np.linalg.norm(rows_of(x) - sparser, axis=1) + 1e-9]
    assert f.value(H) == pytest.approx(slow(lambda x: f.value(rows_of(x)), inside, sparser.ravel()).fun, rel=1e-3)
    assert not band.too_dense(band.rectified(H)).any() and (np.linalg.norm(H - sparser, axis=1) <= radii + 1e-6).all()


def test_class_means():
    f, band = quadratic(4), Band(0, 1, N)
    radius = 0.1
    H = Half((R, N), band, Labels(CLASSES, radius)).minimise(f, kind="plain")

    def room(x):
        codes = f.units[:, None] * rows_of(x)
        means = np.stack([codes[:, c == CLASSES].mean(axis=1) for c in (0, 1)], axis=1)[:, CLASSES]
        return radius * means.sum(axis=0) - np.linalg.norm(means - codes, axis=0)

    assert room(H.ravel()).min() > -1e-6
    best = slow(lambda x: f.value(rows_of(x)), [room], np.ones(R * N))
    free = Half((R, N), band).minimise(f, kind="plain")
    assert f.value(free) < 0.9 * f.value(H) and f.value(H) == pytest.approx(best.fun, rel=1e-4)


def test_new_numbers_give_what_a_new_program_gives():
    program, index = conic.Program(), np.arange(R * N).reshape(R, N)
    for seed in range(3):
        P, q = quadratic(seed).objective(index, index.size)
        constraints = [parts.nonnegative(index), parts.at_most_sparse(index, 2.0 + 0.1 * seed)]
        np.testing.assert_array_equal(program.solve(P, q, constraints), conic.Program().solve(P, q, constraints))
    assert program.solves == 3


def test_a_program_without_a_solution_is_an_error_not_an_answer():
    index = np.arange(R * N).reshape(R, N)
    none = np.empty(0, int)
    with pytest.raises(ArithmeticError, match="gave up"):
        conic.Program().solve(conic.Entries(none, none, np.empty(0)), -np.ones(R * N), [parts.nonnegative(index)])


@pytest.mark.parametrize("low", [0.05, 0.3, 0.6, 0.95])
def test_beyond_its_tangent_planes_everything_is_sparse_enough(low):
    rng = np.random.default_rng(0)
    band = Band(low, 1, 12)
    for power in (0.3, 1, 4):
        H = np.concatenate((rng.random((20, 12)) ** power, np.ones((1, 12)), np.eye(12)[:2], np.zeros((1, 12))))
        normals = band.normals(H, rng.normal(size=H.shape))
        sparse_enough = ~band.too_dense(H)
        assert ((normals * H).sum(axis=1)[sparse_enough] >= -1e-9).all()  # what is feasible stays so
        assert ((normals * band.rectified(H)).sum(axis=1) >= -1e-9).all()
        others = rng.random((2000, 12)) ** rng.choice([1, 3, 9], size=(2000, 1))
        beyond = others @ normals.T >= 0
        assert beyond.any() and not (band.too_dense(others)[:, None] & beyond).any()


def test_gradient_of_the_sparseness():
    H = np.random.default_rng(1).random((3, 6))
    step = 1e-6
    for i in range(6):
        change = np.zeros(6)
        change[i] = step
        slope = (sparseness(H + change) - sparseness(H - change)) / (2 * step)
        np.testing.assert_allclose(sparseness_gradient(H)[:, i], slope, atol=1e-8)
    assert not sparseness_gradient(np.zeros((1, 6))).any()


def test_clearance_is_the_distance_to_the_cone():
    band = Band(0.4, 1, 8)
    H = band.rectified(np.random.default_rng(2).random((4, 8)) ** 4)
    for row, distance in zip(H, band.clearance(H), strict=True):
        nearest = minimize(
            lambda q, row=row: ((q - row) ** 2).sum(), np.ones(8), method="SLSQP",
            constraints={"type": "ineq", "fun": lambda q: q.sum() / band.most - np.linalg.norm(q)},
        )  # fmt: skip
        assert distance == pytest.approx(np.sqrt(nearest.fun), rel=1e-3, abs=1e-3)
