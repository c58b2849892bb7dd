"""Numbers in the texts of lessons that no claim of a single run can check: facts of the data, studies, pairs of starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from semf_core.common.threads import blas_threads
from semf_core.lessons import Stage, lessons
from semf_core.lessons.checking import evidence_of
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec, preset
from semf_core.sets import Sparse
from semf_core.solvers import Limits
from semf_core.solvers.base import Case
from semf_core.solvers.history import COLUMNS
from semf_core.studies import builtin_sized
from semf_core.studies.cell_run import carry_out, order_of
from tests.helpers import of, present

RESULTS = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")


def text_of(lesson: str, stage: str) -> str:
    found = stage_of(lesson, stage)
    return found.text + (found.question.explanation if found.question else "")


def _digits() -> tuple[int, int]:
    model = preset("digits-parts")
    return model.rank, of(Sparse, model.x[1]).k


FACTS = [
    ("factorization", "many-from-few", "1797 columns", "digits-parts", lambda M: M.shape[1] == 1797),
    ("factorization", "many-from-few", "8 × 8 pixels", "digits-parts", lambda M: M.shape[0] == 64),
    ("perfect-fit", "an-exact-fit", "256 stick figures", "swimmer-svd", lambda M: M.shape[1] == 256),
    ("perfect-fit", "one-component-fewer", "the rank is exactly 13", "swimmer-svd", lambda M: np.linalg.matrix_rank(M) == 13),
    ("sparse-faces", "counted", "of the 625 pixels", "faces-parts", lambda M: M.shape[0] == 625),
    ("dictionaries", "mixtures-of-three", "in 20 dimensions", "dictionary", lambda M: M.shape[0] == 20),
    ("dictionaries", "mixtures-of-three", "Each of 500 signals", "dictionary", lambda M: M.shape[1] == 500),
    ("penalties", "one-of-six-starts", "in 40 dimensions", "adaptive-penalty", lambda M: M.shape[0] == 40),
    ("sparse-faces", "your-turn", "20 components of 16 pixels", "digits-parts", lambda M: _digits() == (20, 16)),
    ("penalties", "one-of-six-starts", "each of 1500 codes", "adaptive-penalty", lambda M: M.shape[1] == 1500),
]


@pytest.mark.parametrize(("lesson", "stage", "words", "name", "holds"), FACTS, ids=[f[2] for f in FACTS])
def test_facts_of_the_data(lesson, stage, words, name, holds):
    assert words in text_of(lesson, stage) and holds(preset(name).dataset.load().data)


MEASURED = [
    (
        "penalties",
        "figure-1",
        "91 of 120 became exact without kicks, 120 of 120 with them",
        "120 of 120 / 91 of 120 / 28 of 120 / 8 of 120, all eight from α₀ = 0.1‖M‖",
    ),
    (
        "penalties",
        "figure-1",
        "8 of 120 with fixed penalties, all eight from the same start",
        "120 of 120 / 91 of 120 / 28 of 120 / 8 of 120, all eight from α₀ = 0.1‖M‖",
    ),
    ("penalties", "kicks", "32 of 100 starts", "6 / 32 of 100"),
    ("penalties", "kicks", "100 of 100 with kicks", "| 100 of 100, median"),
    ("overlap", "no-ghosts", "Of 12 starts that we measured, 4 found", "| 4 / 7 of 12 |"),
    ("dictionaries", "semf-with-fewer-signals", "41.6 of 50 for SeMF", "41.6 / 46.2 / 47.1"),
    ("dictionaries", "semf-with-fewer-signals", "8.0 for K-SVD at 300 signals, and 47.1 for both at 1000", "8.0 / 37.6 / 47.1"),
    ("dictionaries", "enough-signals", "it is the quicker one", "0.24 / 0.53 / 1.0 s"),
    ("dictionaries", "enough-signals", "it is the quicker one", "0.17 / 0.26 / 0.20 s"),
]


@pytest.mark.parametrize(("lesson", "stage", "words", "row"), MEASURED, ids=[f"{m[2]}: {m[3]}" for m in MEASURED])
def test_what_benchmarks_measured_stands_in_the_results(lesson, stage, words, row):
    assert words in text_of(lesson, stage) and row in RESULTS


def stage_of(lesson: str, stage: str) -> Stage:
    return next(s for s in lessons().get(lesson).stages if s.name == stage)


def curve(lesson: str, stage: str, column: str) -> np.ndarray:
    """A column of the history of a stage's run."""
    return np.asarray(evidence_of(present(stage_of(lesson, stage).model).to_json()).rows[:, COLUMNS.index(column)])


def misfits(lesson: str, stage: str) -> np.ndarray:
    """‖M−UV‖ in units of ‖M−XY‖, iteration by iteration."""
    return curve(lesson, stage, "residual_uv") / curve(lesson, stage, "residual_xy")


def test_what_is_said_of_the_two_misfits():
    assert misfits("penalties", "too-small")[10:].min() > 3, "far above it, the two curves never meet"
    assert np.abs(misfits("penalties", "too-large") - 1).max() < 0.001, "they agree almost from the start"
    larger = misfits("splitting", "the-gap-closes") > 1
    assert larger[:5].all(), "at first it is ‖M−UV‖"
    assert 0.15 < larger.mean() < 0.25 and "about a fifth of the iterations" in text_of("splitting", "the-gap-closes")


def test_what_is_said_of_the_penalties():
    alpha = curve("penalties", "algorithm-2-lowers-them", "alpha")
    (change,) = np.flatnonzero(np.diff(alpha))
    assert change < 50 and np.isclose(alpha[change], 5 * alpha[-1]), "within the first fifty iterations α falls to a fifth"
    assert curve("penalties", "algorithm-2-lowers-them", "case")[change] == Case.NEAR_FEASIBLE
    assert set(Case) <= set(curve("penalties", "all-cases", "case").astype(int)), "every case occurs"


def test_early_x_has_negative_pixels_and_u_has_none():
    spec = present(stage_of("splitting", "two-copies").model)
    run = replace(spec, limits=Limits(max_iter=5, tol=0)).run(spec.dataset.load()).finish()
    U, _, X, _ = run.factors(best=False)
    assert X.min() < -1e-3 and U.min() >= 0


def test_no_fewer_components_would_do():
    """The solution of the first task is said to be the smallest one."""
    task = present(stage_of("factorization", "your-turn").task)
    M = present(task.solution).dataset.load().data
    left = np.sqrt(np.cumsum(np.linalg.svd(M, compute_uv=False)[::-1] ** 2)[::-1]) / np.linalg.norm(M)
    assert left[present(task.solution).rank - 1] > task.goals[0].bound >= left[present(task.solution).rank]


def agreement(spec: ModelSpec) -> float:
    """Mean cosine of the components of two starts, matched one to one."""
    first, second = (evidence_of(replace(spec, seed=seed).to_json()).U for seed in (0, 1))
    return float(np.mean(np.abs(metrics.match_parts(first, second).cosines)))


def test_how_well_two_starts_agree():
    digits = replace(preset("digits-parts"), limits=Limits(max_iter=200))
    for spec, words, stage, value, near in (
        (preset("swimmer-sparse"), "mean cosine of only about 0.96", "another-start", 0.96, 0.01),
        (replace(digits, rank=6), "mean cosine of about 0.97", "how-many-parts", 0.97, 0.01),
        (replace(digits, rank=30), "of about 0.89", "how-many-parts", 0.89, 0.01),
    ):
        assert words in text_of("uniqueness", stage) and abs(agreement(spec) - value) <= near, (words, agreement(spec))
    assert agreement(preset("swimmer-orthogonal")) > 0.99995


def test_the_error_on_hidden_entries_falls_and_rises():
    """Row k = 32 of the study that the lesson names, in its quick size."""
    study = builtin_sized("held-out-choice", "quick")
    found: dict[int, list] = {}
    with blas_threads(1):
        for cell in study.cells():
            if of(Sparse, cell.trial.model.x[1]).k == 32:
                done = carry_out(order_of(cell.number, cell.trial, [{"name": "held_out_error"}], ()))
                found.setdefault(cell.trial.model.rank, []).append(present(done.values)["held_out_error"])
    means = [f"{np.mean(found[p]):.2f}" for p in (5, 10, 20, 30)]
    said = f"{means[0]}, {means[1]}, {means[2]} and {means[3]} for ranks 5, 10, 20 and 30"
    assert said in text_of("uniqueness", "hidden-entries"), said
