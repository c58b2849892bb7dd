"""Structured sparse PCA and spatial NMF: the proximal map, the dispersion, descent, and parts with a place."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import match_parts, parts_found
from semf_core.model import preset
from semf_core.solvers import SOLVERS, Limits, Run, SpatialNCA, SpatialNMF, StructuredSparsePCA
from semf_core.solvers.spatial import Dispersion
from semf_core.solvers.structured_pca import Direction
from semf_core.studies import builtin_study
from tests.helpers import present
from tests.solvers.descent import assert_never_rises, costs_along

SIDE = 8


def patches(seed=0, n=80):
    """Four rectangles of an 8×8 image, each in about half of the samples."""
    rng = np.random.default_rng(seed)
    images = np.zeros((4, SIDE, SIDE))
    images[0, :3, :3] = images[1, :3, 5:] = images[2, 5:, 1:4] = images[3, 4:, 6:] = 1
    parts = images.reshape(4, -1).T
    return parts, parts @ (rng.uniform(0.5, 1.5, (4, n)) * (rng.random((4, n)) < 0.5))


def run_on_images(M, solver, iterations):
    problem = make_problem(M, 4, solver=solver)
    object.__setattr__(problem, "image_shape", (SIDE, SIDE))
    return Run(problem, solver, Limits(max_iter=iterations, tol=0), 1)


def test_nested_groups_have_an_exact_proximal_map():
    rng = np.random.default_rng(0)
    lines, x, w = np.array([0, 0, 1, 3, 3, 3]), rng.standard_normal(6), np.array([[0.3, 0.1, 0.4]])
    direction = Direction(lines, 4)

    def value(z):
        return 0.5 * np.square(z - x).sum() + sum(w[0, g] * np.linalg.norm(z[lines <= g]) for g in range(3))

    z = direction.prox(x[None], w)[0]
    assert (
        value(z) <= minimize(value, x, method="Nelder-Mead", options={"maxiter": 20000, "xatol": 1e-9, "fatol": 1e-12}).fun + 1e-9
    )
    assert not direction.prox(x[None], 100 * w)[0, :3].any()
    np.testing.assert_allclose(direction.norms(x[None])[0], [np.linalg.norm(x[lines <= g]) for g in range(3)])


@pytest.mark.parametrize("slanted", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_structured_components_fill_the_regions_and_vanish_elsewhere(slanted, nonnegative):
    parts, M = patches()
    solver = StructuredSparsePCA(lam=0.02, slanted=slanted, nonnegative=nonnegative)
    U = factorize(M, 4, solver=solver, image_shape=(SIDE, SIDE), max_iter=200, tol=0).U
    assert match_parts(np.abs(U), parts).cosines.min() > 0.99
    assert (U[parts.sum(axis=1) > 0] == 0).mean() > 0.6


def test_the_penalised_cost_falls():
    assert_never_rises(costs_along(run_on_images(patches()[1], StructuredSparsePCA(alpha=0.5, nonnegative=True), 40)))


def test_the_dispersion_is_the_sum_over_all_pairs():
    M = np.random.default_rng(1).random((15, 4))
    problem = make_problem(M, 2)
    object.__setattr__(problem, "image_shape", (3, 5))
    place = np.stack(np.divmod(np.arange(15), 5)).astype(float)
    distance = np.hypot(*(place[:, :, None] - place[:, None, :])) / np.hypot(2, 4)
    np.testing.assert_allclose(Dispersion(problem).times(M.T), M.T @ distance, atol=1e-12)


@pytest.mark.parametrize("cls", [SpatialNMF, SpatialNCA])
def test_spatial_components_are_compact_and_the_cost_never_rises(cls):
    parts, M = patches()
    run = run_on_images(M, cls(lam=0.003), 150)
    assert_never_rises(costs_along(run))
    U = run.factors()[0]
    assert match_parts(U, parts).cosines.min() > 0.99


RIVALS = builtin_study("swimmer-rivals").axes[0]


@pytest.mark.parametrize("settings", RIVALS.values, ids=RIVALS.labels)
def test_swimmers_parts_stay_and_cost_less_than_what_a_random_start_leads_to(settings):
    """Where a random start ends without all parts it is in a local minimum: the penalties do favour the truth."""
    spec = replace(preset("swimmer-csmf"), solver=SOLVERS.build(settings[0]))
    swimmer = spec.dataset.load()
    parts, problem = present(swimmer.parts), spec.problem(swimmer)
    rows = slice(None) if problem.rows is None else problem.rows
    known = replace(problem, start=(parts[rows].astype(float), present(swimmer.activations).astype(float)))
    there, lost = (Run(at, spec.solver, Limits(max_iter=30, tol=0), 4).finish() for at in (known, problem))
    assert parts_found(there.factors(best=False)[0], parts) == 17 > parts_found(lost.factors(best=False)[0], parts)
    assert spec.solver.cost(known, there.state) < spec.solver.cost(problem, lost.state)


def test_an_image_shape_that_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="pixels"):
        factorize(patches()[1], 4, solver="spatial-nmf", image_shape=(5, 5))
