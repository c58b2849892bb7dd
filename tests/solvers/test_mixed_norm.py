"""Mixed-norm NMF: the sparseness asked for is reached exactly, every move lowers the cost, parts are found."""

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Faces
from semf_core.factorization.problem import make_problem
from semf_core.mathematics.metrics import hoyer_sparseness as hoyer
from semf_core.mathematics.metrics import parts_found
from semf_core.sets.hoyer import ratio_of
from semf_core.solvers import Limits, MixedNormNMF, Run
from tests.sets.oracles import best_of_ratio

THREE = ((0, 1, 2, 3, 4), tuple(range(5, 20)), (20, 21, 22, 23, 24))
FIGURE_1 = [
    pytest.param(MixedNormNMF(0.4), id="0.4"),
    pytest.param(MixedNormNMF(0.6), id="0.6"),
    pytest.param(MixedNormNMF((0.2, 0.5, 0.8), THREE), id="three groups"),
    pytest.param(MixedNormNMF((0.2, 0.5, 0.8), THREE, split="grid"), id="three groups on a grid"),
]


@pytest.fixture(scope="module")
def faces():
    return Faces().load().data


def small(seed=0, shape=(12, 20), rank=3):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(shape[0], rank)) @ rng.gamma(0.5, size=(rank, shape[1]))


def run_of(M, rank, solver, iterations, seed=0):
    return Run(make_problem(M, rank, solver=solver), solver, Limits(max_iter=iterations, tol=0), seed)


@pytest.mark.parametrize("solver", FIGURE_1)
def test_mean_sparseness_of_each_group_on_faces(faces, solver):
    """Figure 1: 25 features of faces."""
    U, V, _, _ = run_of(faces, 25, solver, 10).finish().factors()
    groups = solver.partition(25)
    for group, target in zip(groups, solver.targets(groups), strict=True):
        assert abs(hoyer(U[:, list(group)]).mean() - target) <= 1e-3
    assert np.ptp(hoyer(U[:, list(groups[0])])) > 0.01, "the columns of a group share its sparseness, they do not all have it"
    assert (U >= 0).all() and (V >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), 1, atol=1e-12)


def test_without_sharing_every_column_has_the_sparseness(faces):
    U, *_ = run_of(faces, 25, MixedNormNMF((0.2, 0.5, 0.8), THREE, shared=False), 5).finish().factors()
    np.testing.assert_allclose(hoyer(U), np.repeat([0.2, 0.5, 0.8], [5, 15, 5]), atol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split": "grid", "delta": 3},
        {"shared": False},
        {"sweeps": 1, "inner": 1},
        {"start": "random"},
        {"pairs": "all"},
        {"sparseness_y": 0.4},
        {"sparseness_y": (0.3, 0.6), "groups_y": ((0, 1), (2, 3, 4)), "shared": False},
    ],
    ids=str,
)
def test_the_cost_never_rises(options):
    for seed in range(3):
        run = run_of(small(seed, (30, 40), 5), 5, MixedNormNMF(0.5, **options), 25, seed).finish()
        residual = run.history.residual_uv
        assert (np.diff(residual) <= 1e-9 * residual[:-1]).all()


def test_rows_of_v_share_a_sparseness_too(faces):
    """Groups of their own: the mean is held, and traded within the group; U stays as asked."""
    groups = (tuple(range(10)), tuple(range(10, 25)))
    U, V, _, _ = run_of(faces, 25, MixedNormNMF(0.6, sparseness_y=(0.2, 0.5), groups_y=groups), 10).finish().factors()
    for group, target in zip(groups, (0.2, 0.5), strict=True):
        sparseness = hoyer(V.T)[list(group)]
        assert abs(sparseness.mean() - target) <= 1e-9 and np.ptp(sparseness) > 0.01
    assert abs(hoyer(U).mean() - 0.6) <= 1e-9 and (V >= 0).all()


def test_all_pairs_meet(faces):
    """Every two columns trade: more of the sparseness is where it belongs after the same number of iterations."""
    one, every = (run_of(faces, 25, MixedNormNMF(0.6, pairs=pairs), 4).finish() for pairs in ("matched", "all"))
    assert every.best_uv < one.best_uv
    assert abs(hoyer(every.factors()[0]).mean() - 0.6) <= 1e-9


def test_groups_of_rows_need_a_sparseness():
    with pytest.raises(InvalidInput, match="say nothing"):
        MixedNormNMF(0.6, groups_y=((0, 1), (2,)))


def test_a_column_is_the_best_of_its_kind():
    """One column alone: Sparse-opt agrees with trying every support."""
    M = small(1, (7, 9), 1)
    run = run_of(M, 1, MixedNormNMF(0.5, sweeps=1), 1, seed=4)
    V = run.factors(best=False)[1]
    run.advance()
    expected = best_of_ratio(M @ V[0], ratio_of(0.5, 7))
    np.testing.assert_allclose(run.factors(best=False)[0][:, 0], expected, atol=1e-9)


def test_planted_parts_are_found():
    """Eight overlapping parts with the mean sparseness of the truth."""
    rng = np.random.default_rng(5)
    X = np.zeros((64, 8))
    for j in range(8):
        X[np.arange(8 * j, 8 * j + 12) % 64, j] = 0.2 + rng.random(12)
    X /= np.linalg.norm(X, axis=0)
    M = X @ (rng.gamma(0.4, size=(8, 120)))
    runs = [run_of(M, 8, MixedNormNMF(float(hoyer(X).mean())), 60, seed).finish() for seed in range(2)]
    best = min(runs, key=lambda run: run.best_uv)
    assert parts_found(best.factors()[0], X) == 8


@pytest.mark.parametrize(
    ("make", "field", "sentence"),
    [
        (lambda: MixedNormNMF((0.2, 0.5)), "sparseness", "2 numbers for 1 group"),
        (lambda: MixedNormNMF((0.2, 0.5, 0.8), ((0,), (1,))), "sparseness", "one per group"),
        (lambda: MixedNormNMF(groups=((0, 1), (1,))), "groups", "overlap"),
        (lambda: make_problem(small(), 3, solver=MixedNormNMF(groups=((0, 1),))), "groups", "leave out column 2"),
        (lambda: make_problem(small(), 3, solver=MixedNormNMF(groups=((0, 1, 2, 3),))), "groups", "only 3"),
        (lambda: make_problem(small()[:1], 1, solver=MixedNormNMF()), "solver", "at least two rows"),
    ],
)
def test_options_that_do_not_fit(make, field, sentence):
    with pytest.raises(InvalidInput, match=sentence) as error:
        make()
    assert error.value.field == field
