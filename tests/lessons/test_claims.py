"""What lessons say of their runs is true, and every task can be solved: each model is run and measured."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from semf_core.common.threads import blas_threads
from semf_core.lessons import Goal, Stage, lessons
from semf_core.lessons.figures import FIRST
from semf_core.lessons.goals import Evidence
from semf_core.model import ModelSpec
from tests.helpers import present

STAGES = [(f"{lesson.name}/{stage.name}", stage) for lesson in lessons().lessons for stage in lesson.stages]
MODELS = [(name, stage) for name, stage in STAGES if stage.model is not None and stage.claims]
TASKS = [(name, stage) for name, stage in STAGES if stage.task is not None]


@cache
def evidence_of(text: str) -> Evidence:
    """A run of a model, from its JSON; stages that share a model share its run."""
    spec = ModelSpec.from_json(text)
    dataset = spec.dataset.load()
    with blas_threads(1), np.errstate(all="ignore"):
        run = spec.run(dataset).finish()
    U, V, _, _ = run.factors()
    return Evidence(spec, dataset, SimpleNamespace(U=U, V=V), run.history.table(), run.events, run.iterations)


def check(spec: ModelSpec, goals: tuple[Goal, ...]) -> None:
    evidence = evidence_of(spec.to_json())
    for goal in goals:
        value = goal.measured(evidence)
        assert goal.met(value), f"{goal.words}: {value}"


@pytest.mark.parametrize("stage", [s for _, s in MODELS], ids=[name for name, _ in MODELS])
def test_a_stage_shows_what_it_says(stage: Stage):
    check(present(stage.model), stage.claims)


@pytest.mark.parametrize("stage", [s for _, s in TASKS], ids=[name for name, _ in TASKS])
def test_a_task_is_solved_by_its_solution_and_not_before(stage: Stage):
    task = present(stage.task)
    if task.solution is None:
        for vector, done in ((task.vector, True), (FIRST, False)):
            assert all(goal.met(goal.measured(np.array(vector))) for goal in task.goals) == done
        return
    check(task.solution, task.goals)
    start = evidence_of(present(stage.model).to_json())
    assert not all(goal.met(goal.measured(start)) for goal in task.goals), "there is nothing to do"
