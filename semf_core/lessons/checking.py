"""What a lesson says of its runs, measured: each model is run once, and every claim, task and solution is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from types import SimpleNamespace

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.threads import blas_threads
from semf_core.lessons.figures import FIRST
from semf_core.lessons.format import Lesson, Stage, Task
from semf_core.lessons.goals import Evidence, Goal
from semf_core.model import ModelSpec


@cache
def evidence_of(text: str) -> Evidence:
    """A run of a model, from its JSON; stages that share a model share its run."""
    spec = ModelSpec.from_json(text)
    dataset = spec.dataset.load()
    with blas_threads(1), np.errstate(all="ignore"):
        run = spec.run(dataset).finish()
    U, V, _, _ = run.factors()
    return Evidence(spec, dataset, SimpleNamespace(U=U, V=V), run.history.table(), run.events, run.iterations)


def untrue(lesson: Lesson, watch: Callable[[Stage], object] = lambda stage: None) -> Iterator[InvalidInput]:
    """Every claim that a run does not bear out, and every task that its solution does not solve, by file and line.

    Parameters
    ----------
    lesson : Lesson
        As `read_lesson` gives it.
    watch : callable
        Is told each stage before its models are run.

    Yields
    ------
    InvalidInput
        What is said at a line, and what was measured.

    Examples
    --------
    >>> from semf_core.lessons import lessons
    >>> from semf_core.lessons.checking import untrue
    >>> list(untrue(lessons().get("perfect-fit")))
    []
    """
    for stage in lesson.stages:
        watch(stage)
        yield from unmet(stage)


def unmet(stage: Stage) -> Iterator[InvalidInput]:
    """The same of one stage."""
    if stage.model is not None and stage.claims:
        yield from _wrong(stage.claims, evidence_of(stage.model.to_json()), "says", "the run has")
    task = stage.task
    if task is None:
        return
    yield from _wrong(task.goals, _solution(task), "asks for", "the solution has")
    start = np.array(FIRST) if stage.model is None else evidence_of(stage.model.to_json())
    if all(goal.met(goal.measured(start)) for goal in task.goals):
        yield InvalidInput(task.goals[0].place, "asks for what the stage has from the beginning", whole=True)


def _solution(task: Task) -> Evidence | np.ndarray:
    return np.array(task.vector) if task.solution is None else evidence_of(task.solution.to_json())


def _wrong(goals: tuple[Goal, ...], of: Evidence | np.ndarray, says: str, has: str) -> Iterator[InvalidInput]:
    for goal in goals:
        value = goal.measured(of)
        if not goal.met(value):
            found = "none: the data has no known parts or groups" if value is None else f"{value:.6g}"
            yield InvalidInput(goal.place, f"{says} {goal.words}, but {has} {found}", whole=True)
