"""Tangent planes, sparsity maximisation, rewarded sparseness and sparse PCA: feasible, descending, and right."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.datasets import HiddenFactors, Paatero
from semf_core.factorization.problem import make_problem
from semf_core.factorization.result import make_result
from semf_core.mathematics.metrics import hoyer_sparseness, match_parts
from semf_core.solvers import ExtrapolatedNMF, Limits, RelaxedSparsity, Run, SparsePCA, SparsityMax, TangentPlane
from semf_core.solvers.reverse_convex.geometry import Band
from semf_core.solvers.reverse_convex.half import LABEL_ROOM, quadratic_for
from semf_core.solvers.reverse_convex.sampling import fits_of, on_cones, starting_points
from tests.helpers import present

LABELS = np.arange(20) % 4
BOTH: dict[str, Any] = {"x_low": 0.35, "x_high": 0.5, "y_low": 0.3, "y_high": 0.6}
TIED: dict[str, Any] = {"x_low": 0.0, "y_low": 0.3, "label_radius": 0.05}
"""Rows that must be sparse and samples that must stay together: some component is nearly zero on the way."""
NARROW: dict[str, Any] = {"x_low": 0.4, "x_high": 0.402, "y_low": 0.098, "y_high": 0.1}


def data(seed=0):
    """Nonnegative 16×20, parts of classes and noise."""
    rng = np.random.default_rng(seed)
    return rng.gamma(0.6, size=(16, 4))[:, LABELS] * rng.uniform(0.7, 1.3, 20) + 0.2 * rng.random((16, 20))


def run_of(solver, iterations=8, M=None, rank=3, seed=0):
    problem = make_problem(data(), rank, labels=LABELS, solver=solver) if M is None else make_problem(M, rank, solver=solver)
    return Run(problem, solver, Limits(iterations, 0), seed)


def costs(run):
    found = [run.solver.cost(run.problem, run.state)]
    run.finish(lambda now: found.append(now.solver.cost(now.problem, now.state)))
    return np.array(found)


def label_distance(V):
    """The largest ‖μ − h‖₂/‖μ‖₁."""
    means = np.stack([V[:, c == LABELS].mean(axis=1) for c in range(4)], axis=1)[:, LABELS]
    return (np.linalg.norm(means - V, axis=0) / means.sum(axis=0)).max()


@pytest.mark.parametrize("options", [BOTH, NARROW, {"x_low": 0.9, "y_low": 0.9}, {**BOTH, "label_radius": 0.4}, TIED], ids=str)
@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax])
def test_feasible_at_every_step(cls, options):
    run = run_of(cls(**options))
    while run.stop_reason is None:
        run.advance()
        U, V, _, _ = run.factors(best=False)
        for member, factor in zip(run.problem.whole_sets, (U, V), strict=True):
            assert member.violation(factor) <= 1e-9 * np.linalg.norm(factor)
        if "label_radius" in options:
            assert label_distance(V) <= options["label_radius"] * (1 + LABEL_ROOM)


@pytest.mark.parametrize(
    "solver",
    [
        SparsityMax(),
        SparsityMax(**BOTH),
        SparsityMax(**NARROW),
        SparsityMax(x_low=0.6, label_radius=0.4),
        SparsityMax(**TIED),
        SparsityMax(x_low=0.6, search="enumeration", points=4),
        SparsityMax(**BOTH, search="sampling", points=20),
        RelaxedSparsity(x_weight=0.1, max_error=0.3),
        TangentPlane(**BOTH, fresh=False),
        RelaxedSparsity(x_weight=0.1, y_weight=0.05),
        SparsePCA(**BOTH, y_weight=0.02),
    ],
    ids=lambda s: f"{s.name} {s.to_dict()}",
)
def test_the_cost_never_rises(solver):
    for seed in range(2):
        found = costs(run_of(solver, 10, seed=seed))
        assert (np.diff(found) <= 1e-9 * np.abs(found[:-1])).all() and found[-1] < 0.98 * found[1] + 0.02 * abs(found[1])


@pytest.mark.parametrize("options", [{"x_low": 0.6}, BOTH], ids=str)
def test_both_algorithms_reach_the_same_error(options):
    ends = [
        min(run_of(cls(**options), 30, seed=seed).finish().best_uv for seed in range(2)) for cls in (TangentPlane, SparsityMax)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.02)


def test_a_bound_that_does_not_bind_changes_nothing():
    free, loose = TangentPlane(x_low=0), TangentPlane(x_low=0.001)
    a, b = (run_of(s, 5).finish().factors() for s in (free, loose))
    np.testing.assert_allclose(a[0] @ a[1], b[0] @ b[1], atol=1e-5)


def test_labels_draw_the_codes_of_a_class_together():
    distances = [label_distance(run_of(TangentPlane(x_low=0, label_radius=radius)).finish().factors(best=False)[1])
                 for radius in (None, 0.2, 0.05)]  # fmt: skip
    assert distances[0] > 0.25 and distances[1] == pytest.approx(0.2, rel=1e-3) and distances[2] == pytest.approx(0.05, rel=1e-3)


def test_tight_labels_leave_a_factorization_of_the_class_means():
    """Why (5b) cannot halve the errors of §6.5: as λ → 0 nothing but the means of the classes is fitted."""
    M, counts = data(), np.bincount(LABELS)
    means = np.stack([M[:, c == LABELS].mean(axis=1) for c in range(4)], axis=1)
    spread = float(np.square(M - means[:, LABELS]).sum())
    of_means = factorize(means * np.sqrt(counts), 3, solver=ExtrapolatedNMF(), max_iter=500, tol=1e-9).residual_uv ** 2
    loose, tight = (run_of(TangentPlane(x_low=0, label_radius=r), 30).finish().best_uv ** 2 for r in (0.2, 1e-3))
    assert tight == pytest.approx(spread + of_means, rel=0.01) and loose < 0.7 * tight


@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax])
def test_paatero_needs_the_bound(cls):
    """Figure 1: bell curves are found with a bound on the sparseness of W, and not without."""
    truth = Paatero(rows=60, samples=60).load()
    for low, found in ((0.0, False), (0.6, True)):
        U = factorize(truth.data, 4, solver=cls(x_low=low), max_iter=30, tol=1e-5).U
        assert (match_parts(U, present(truth.parts)).cosines.min() > 0.97) == found


def test_sparse_pca_finds_the_blocks_that_pca_mixes():
    """Figure 2, the best of three starts."""
    toy = HiddenFactors(samples=80, seed=1).load()
    solver = SparsePCA(x_low=0.5, x_high=0.85, x_weight=0.003)
    runs = [run_of(solver, 40, M=toy.data, seed=seed).finish() for seed in range(3)]
    best = min(runs, key=lambda run: solver.cost(run.problem, run.state))
    U, plain = best.factors()[0], np.linalg.svd(toy.data)[0][:, :3]
    found, usual = (np.abs(match_parts(factor, present(toy.parts)).cosines).min() for factor in (U, plain))
    assert found > 0.99 > 0.9 > usual
    assert best.best_uv < 0.06 * np.linalg.norm(toy.data)


def test_points_on_cones_are_in_the_band_and_judged_by_the_fit():
    """§6.2: rotated and scaled rows; the fit of every combination is that of the factor it makes."""
    rng = np.random.default_rng(0)
    f = quadratic_for(make_problem(data(), 3), rng.random((3, 16)), 1)
    band, H = Band(0.4, 0.8, 20), rng.random((3, 20))
    points = on_cones(band.rectified(H), band, 5, rng)
    flat = points.reshape(-1, 20)
    assert points.shape == (3, 5, 20) and not band.too_dense(flat).any() and not band.too_sparse(flat).any()
    chosen = rng.integers(5, size=(7, 3))
    values = [f.value(points[np.arange(3), c]) for c in chosen]
    np.testing.assert_allclose(fits_of(f, points, chosen) + np.vdot(f.T, f.T), values, rtol=1e-6)
    best = starting_points(f, H, points, "enumeration", rng)[0]
    every = [f.value(points[np.arange(3), c]) for c in np.ndindex(5, 5, 5) if any(c)]
    assert f.value(best) == pytest.approx(min(every))


def test_too_many_combinations_are_refused():
    with pytest.raises(InvalidInput, match="search by sampling"):
        run_of(SparsityMax(search="enumeration", points=200))


@pytest.mark.parametrize("bound", [0.35, 0.6])
def test_sparseness_costs_no_more_than_the_bound_allows(bound):
    """§6.3: as sparse as the admissible error permits; the larger the bound the sparser."""
    solver = SparsePCA(x_low=0, y_low=0, x_weight=0.6, max_error=bound)
    run = run_of(solver, 15)
    run.finish()
    U, V, _, _ = run.factors()
    error = np.linalg.norm(data() - U @ V) / np.linalg.norm(data())
    free = np.linalg.norm(np.linalg.svd(data())[1][3:]) / np.linalg.norm(data())
    assert free < error <= bound * (1 + 1e-5)
    tight = run_of(replace(solver, max_error=float(free) + 0.02), 15).finish().factors()[0]
    assert hoyer_sparseness(U).mean() > hoyer_sparseness(tight).mean()
    assert "within its bound" in make_result(run).ending.text
    far = solver.remarks(run.problem, run.state, 2 * bound * run.problem.matrix.norm, (U, V))
    assert "did not come down" in far[0]


def test_signs_turn_where_that_pays():
    """From magnitudes with all signs positive, signed data is fitted nearly as well as by the SVD."""
    rng = np.random.default_rng(5)
    M = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 20))
    solver = SparsePCA(x_low=0, x_weight=0, ridge=0)
    start = (np.full((12, 2), 1e-3), rng.random((2, 20)))
    run = Run(make_problem(M, 2, solver=solver, start=start), solver, Limits(80, 0)).finish()
    assert run.best_uv < 0.1 * np.linalg.norm(M)


def test_a_higher_price_buys_more_sparseness():
    runs = [run_of(RelaxedSparsity(x_weight=weight), 15).finish() for weight in (0, 0.02, 0.2)]
    means = [hoyer_sparseness(run.factors()[0]).mean() for run in runs]
    assert means[0] < means[1] < means[2]


@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax, RelaxedSparsity, SparsePCA])
def test_hopeless_data(cls):
    """A zero matrix, and more components than the data has any use for."""
    for M in (np.zeros((6, 8)), np.ones((6, 8)), np.eye(6, 8)):
        U, V, _, _ = Run(make_problem(M, 5, solver=cls()), cls(), Limits(3, 0)).finish().factors()
        assert np.isfinite(U).all() and np.linalg.norm(M - U @ V) <= np.linalg.norm(M) + 1e-4


@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax])
def test_goes_on_with_other_options(cls):
    run = run_of(cls(x_low=0.3, label_radius=0.9), 4).finish()
    tighter = replace(run.solver, label_radius=0.2)
    run.edit(run.problem, tighter, Limits(3, 0), {}, "tighter")
    run.finish()
    assert label_distance(run.factors(best=False)[1]) <= 0.2 * (1 + 1e-5)


@pytest.mark.parametrize(
    ("cls", "options", "field"),
    [
        (TangentPlane, {"x_low": 0.7, "x_high": 0.6}, "x_low"),
        (SparsityMax, {"y_low": 0.5, "y_high": 0.5}, "y_low"),
        (SparsePCA, {"x_low": 1.0}, "x_low"),
        (TangentPlane, {"x_low": -0.1}, "x_low"),
        (TangentPlane, {"label_radius": 0}, "label_radius"),
        (SparsityMax, {"rounds": 0}, "rounds"),
        (RelaxedSparsity, {"x_weight": -1}, "x_weight"),
        (SparsePCA, {"small": 2}, "small"),
    ],
)
def test_bad_options(cls, options, field):
    with pytest.raises(InvalidInput, match=r"\w+ \w+") as refusal:
        cls(**options)
    assert refusal.value.field == field


@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax])
def test_labels_must_be_there_if_they_are_to_be_used(cls):
    cls().check(make_problem(data(), 3, solver=cls()))
    with pytest.raises(InvalidInput, match="needs the class of every sample"):
        cls(label_radius=1).check(make_problem(data(), 3, solver=cls()))


@pytest.mark.parametrize("cls", [TangentPlane, SparsityMax, RelaxedSparsity, SparsePCA])
def test_programs_that_would_not_fit_are_refused(cls):
    with pytest.raises(InvalidInput, match="fewer components"):
        cls().check(make_problem(np.ones((20_000, 2)), 30, solver=cls()))
