"""What lessons say of components, gaps and other models: each sentence with the runs that show it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import nnls

from semf_core.lessons.checking import evidence_of
from semf_core.lessons.figures import ACROSS, APPROXIMATE, CENTRE, PLANE, STARTS, UP, VECTOR, in_plane, projected, tangent_steps
from semf_core.lessons.goals import QUANTITIES, Evidence
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec, preset
from semf_core.sets import EqualNonzeros, Nonnegative, Sparse, Sparseness, combine
from semf_core.solvers import CSMFncc, MixedNormNMF, RelativeADMM, TangentPlane
from semf_core.solvers.base import Case
from tests.helpers import of, present
from tests.lessons.test_numbers import curve, stage_of, text_of


def evidence(lesson: str, stage: str) -> Evidence:
    return evidence_of(present(stage_of(lesson, stage).model).to_json())


def measured(spec: ModelSpec, *names: str) -> list[float]:
    found = evidence_of(spec.to_json())
    return [float(present(QUANTITIES[name][1](found))) for name in names]


# -- 1 and 2: factorizations, the Swimmer ------------------------------------------------------


def test_eigenfaces_use_nearly_all_pixels_and_parts_of_nmf_are_more_local():
    eigenfaces, parts = evidence("factorization", "not-unique").U[:, 1:], evidence("factorization", "only-adding").U
    sizes = np.abs(eigenfaces)
    assert np.median((sizes > 0.01 * sizes.max(axis=0)).mean(axis=0)) > 0.95, "nearly all of them"
    assert metrics.hoyer_sparseness(parts).mean() > 1.4 * metrics.hoyer_sparseness(eigenfaces).mean(), "more local"


def test_the_mean_face_and_24_orthogonal_components_which_the_svd_undercuts():
    run = evidence("factorization", "not-unique")
    M, first, others = run.dataset.data, run.U[:, 0], run.U[:, 1:]
    assert np.allclose(first, M.mean(axis=1)) and others.shape[1] == 24, "the mean face and 24 principal components"
    angles = others.T @ others / np.outer(*2 * [np.linalg.norm(others, axis=0)])
    assert np.allclose(angles, np.eye(24)), "orthogonal to each other"
    values = np.linalg.svd(M, compute_uv=False)
    left = np.linalg.norm(values[25:]) / np.linalg.norm(values)
    assert f"{100 * left:.1f} per cent" in text_of("factorization", "only-adding")


def test_the_best_product_is_unique_and_singular_values_fall_quickly_at_first():
    faces = evidence("factorization", "not-unique").dataset.data
    values = np.linalg.svd(faces - faces.mean(axis=1, keepdims=True), compute_uv=False)
    assert values[23] > 1.01 * values[24], "24 directions beside the mean, and none that could be exchanged"
    values = np.linalg.svd(preset("digits-parts").dataset.load().data, compute_uv=False)
    assert values[0] - values[15] > 20 * (values[15] - values[31]), "quickly at first and slowly later"


def test_what_is_said_of_the_swimmer():
    """Five parts a picture; the rows of a limb add up to that of the torso; a bit of the torso can be moved."""
    swimmer = preset("swimmer-svd").dataset.load()
    X = present(swimmer.parts)
    Y = np.linalg.lstsq(X, swimmer.data)[0].round(6)
    assert X.shape[1] == 17 and set(np.unique(Y)) == {0, 1} and (Y.sum(axis=0) == 5).all()
    (torso,) = np.flatnonzero(Y.all(axis=1))
    together = Y @ Y.T == 0  # parts that never meet are positions of one limb
    limbs = {tuple(np.flatnonzero(row | (np.arange(17) == k))) for k, row in enumerate(together) if k != torso}
    assert sorted(map(len, limbs)) == [4, 4, 4, 4] and all((Y[list(limb)].sum(axis=0) == 1).all() for limb in limbs)
    ghostly = X.copy()
    ghostly[:, list(limbs.pop())] += 0.1 * X[:, [torso]]
    ghostly[:, torso] *= 0.9
    assert np.allclose(ghostly @ Y, X @ Y) and ghostly.min() >= 0


def test_another_start_keeps_the_ghosts():
    model = present(stage_of("perfect-fit", "nonnegative-parts").model)
    parts, ghosts, error = measured(replace(model, seed=1), "parts_found", "ghosts", "relative_error")
    assert (parts, ghosts) == (0, 17) and error < 1e-3


# -- 3 to 5: penalties and gaps ----------------------------------------------------------------

LOWERED = (Case.NEAR_FEASIBLE, Case.FIDELITY_STALLED)


def test_where_the_penalties_fall_and_after_every_kick_the_gap_opens():
    run = evidence("splitting", "a-gap-that-opens-again")
    gap, cases = curve("splitting", "a-gap-that-opens-again", "gap_x"), curve("splitting", "a-gap-that-opens-again", "case")
    lowered, kicks = np.flatnonzero(np.isin(cases, LOWERED)), [e.iteration for e in run.events if e.kind == "kick"]
    assert len(lowered) >= 3 and kicks
    assert all(gap[i : i + 12].max() > 5 * gap[i] for i in lowered), "where Algorithm 2 divides α by 5"
    searches = [i for i in kicks if gap[i] > 0]
    assert searches and all(gap[i : i + 5].max() > 0.1 and gap[i - 2] == 0 for i in searches), "after a kick that begins a search"
    assert len(searches) < len(kicks) and not any(gap[i - 2 : i + 5].any() for i in kicks if i not in searches), "one component"
    assert gap[-1] < 1e-3 * gap.max(), "it closes for good"
    alpha = curve("structure", "groups", "alpha")
    assert (np.diff(alpha) > 0).any() and (np.diff(alpha) < 0).any() and np.isin(cases, (Case.X_STALLED, Case.BOTH_IMPROVE)).any()


def test_before_the_groups_the_gap_hardly_opened_again():
    gap, cases = curve("splitting", "the-gap-closes", "gap_x"), curve("splitting", "the-gap-closes", "case")
    assert gap[15:].max() < 0.1 < gap[0] and (cases <= Case.SKIP).all()


def test_algorithm_2_looks_every_five_iterations_and_brings_alpha_down():
    assert of(RelativeADMM, present(stage_of("splitting", "one-iteration-slowly").model).solver).q == 5
    decided = np.flatnonzero(curve("penalties", "all-cases", "case")) + 1
    assert (decided % 5 == 0).all(), "every five iterations"
    alpha = curve("penalties", "figure-1", "alpha")
    assert alpha[-1] < alpha[0] / 25 and alpha.max() == alpha[0], "α and β are brought down until the fit can move"
    free = curve("penalties", "too-small", "residual_xy")
    assert free[1] < 0.5 * free[0], "‖M−XY‖ falls at once"


# -- 6: projections ----------------------------------------------------------------------------


def test_the_examples_of_projections():
    assert projected(np.array([[-2, 1, 0.5]]), (Nonnegative(), Sparse(1))).tolist() == [[0, 1, 0]]
    vectors = np.array([[3, 1, 2, 0.5, 0], [3.6, 1, 2, 0.5, 0]])
    first, second = projected(vectors, (EqualNonzeros(3),))
    assert np.allclose((second - first)[:3], 0.2) and not second[3:].any(), "all three follow by a third of it"
    assert not projected(-vectors, (EqualNonzeros(3),)).any(), "if that mean is not positive, all become zero"


def test_at_least_so_sparse_leaves_what_is_sparser():
    """A set of exactly that sparseness would move it."""
    for sets, length in ((PLANE["sparseness at least 0.6"], 2), (VECTOR["x ≥ 0, sparseness at least 0.7"], 8)):
        corner = np.eye(1, length)
        assert np.allclose(projected(corner, sets), corner)
    measured_set = of(Sparseness, present(stage_of("sparse-faces", "measured").model).x[1])
    assert measured_set.low == 0.6 and measured_set.highest == 1, "at least 0.6"


def test_which_projections_are_said_to_be_approximate():
    assert not combine(VECTOR[APPROXIMATE]).exact
    assert not preset("swimmer-orthogonal").x_set.exact, "approximate, and yet all 17 parts are found"


# -- 7 and 8: sparse parts, overlap ------------------------------------------------------------


def test_measured_sparseness_leaves_many_faint_pixels():
    U = evidence("sparse-faces", "measured").U
    widest = U[:, np.count_nonzero(U, axis=0).argmax()]
    used = np.count_nonzero(widest)
    assert used > 1.5 * 206, "far more than the 206 pixels"
    assert np.sum(widest > 0.1 * widest.max()) < used / 2, "most of them faintly"
    assert metrics.hoyer_sparseness(U).min() > 0.6 - 1e-6, "every component"


def test_the_mean_of_a_group_is_fixed_and_its_components_differ():
    run = evidence("sparse-faces", "in-groups")
    found = metrics.hoyer_sparseness(run.U)
    for group, mean in zip(present(of(MixedNormNMF, run.spec.solver).groups), (0.2, 0.5, 0.8), strict=True):
        inside = found[list(group)]
        assert inside.mean() == pytest.approx(mean, abs=1e-6) and np.ptp(inside) > 0.01
    sizes = [len(group) for group in present(of(MixedNormNMF, run.spec.solver).groups)]
    assert sizes == [5, 15, 5]


def test_a_reward_gives_less_sparseness_than_the_parts_have():
    run = evidence("sparse-faces", "rewarded")
    truth = present(run.dataset.parts)
    assert truth.shape[1] == 4
    assert metrics.hoyer_sparseness(run.U).mean() < metrics.hoyer_sparseness(truth).mean() - 0.03


def test_nonnegativity_alone_drives_parts_apart():
    both = preset("digits-csmfncc")
    free = replace(of(CSMFncc, both.solver), alpha=0.0, beta=0.0, lam=0.0)
    overlap, error = measured(replace(both, solver=free), "overlap", "relative_error")
    assert f"the overlap is {overlap:.2f}" in text_of("overlap", "both-nonnegative") and f"{error:.2f}" == "0.27"


def test_what_is_said_of_the_price_on_overlap():
    before, after = evidence("overlap", "what-overlap-is"), evidence("overlap", "a-price-on-overlap")
    question = present(stage_of("overlap", "a-price-on-overlap").question)
    assert f"from {metrics.overlap(before.U):.2f} to {metrics.overlap(after.U):.2f}" in question.text
    fits = [metrics.residual(run.dataset.data, run.U, run.V) for run in (before, after)]
    assert fits[1] == pytest.approx(fits[0], rel=0.01), "hardly anything"


def test_semf_reaches_the_goals_of_the_task_on_overlap():
    task = present(stage_of("overlap", "your-turn").model)
    semf = replace(task, solver=RelativeADMM(), x=(Nonnegative(), Sparse(16)), y=(Nonnegative(),))
    overlap, error = measured(semf, "overlap", "relative_error")
    assert overlap <= 0.13 and error <= 0.27


# -- 9 to 11 -----------------------------------------------------------------------------------


def test_k_svd_finds_fewer_atoms_but_most_of_them():
    semf, ksvd = (QUANTITIES["parts_found"][1](evidence("dictionaries", s)) for s in ("mixtures-of-three", "k-svd"))
    assert 25 < present(ksvd) < present(semf)


def test_the_price_of_half_as_many_components():
    task = present(stage_of("uniqueness", "your-turn").task)
    errors = [
        measured(model, "relative_error")[0]
        for model in (present(stage_of("uniqueness", "your-turn").model), present(task.solution))
    ]
    assert f"from {errors[0]:.2f} to {errors[1]:.2f}" in task.hint


def test_plain_nmf_fits_better_than_the_truth_with_sums_of_two_bumps():
    run = evidence("reverse-convex", "on-data")
    parts, M = present(run.dataset.parts), run.dataset.data
    best = np.stack([nnls(parts, column)[0] for column in M.T], axis=1)
    left = np.linalg.norm(M - parts @ best) / np.linalg.norm(M)
    assert f"{100 * left:.1f} per cent" in text_of("reverse-convex", "on-data") and left > 0.2735
    weights = np.linalg.lstsq(parts, run.U)[0]
    assert sorted((weights > 0.5 * weights.max(axis=0)).sum(axis=0)) == [1, 1, 2, 2], "two of the four are sums of two bumps"


def test_the_sparseness_that_the_bumps_need():
    model = preset("paatero-planes")
    truth = metrics.hoyer_sparseness(present(model.dataset.load().parts))
    hint = present(stage_of("reverse-convex", "your-turn").task).hint
    assert f"{truth.min():.2f} to {truth.max():.2f}" in hint
    for low in (0.5, 0.7):
        (found,) = measured(replace(model, solver=replace(of(TangentPlane, model.solver), x_low=low)), "parts_found")
        assert f"at least {low}" in hint and found < 4


@pytest.mark.parametrize("s", [0.5, 0.6, 0.8])
def test_a_run_ends_at_the_corner_to_which_its_first_tangent_points(s):
    for start in STARTS.values():
        points = [CENTRE + z[0] * ACROSS + z[1] * UP for z in _way(s, start)]
        assert len({int(point.argmax()) for point in points}) == 1


def _way(s: float, start: tuple[float, ...]) -> list[np.ndarray]:
    steps = tangent_steps(s, in_plane(np.array(start))).steps
    return [steps[0].touching, *(step.following for step in steps)]
