"""Your turn: a goal that is checked on the run that is on the workbench, and the best attempts of this browser."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import streamlit as st

from pages.ui import drawings, session, workbench_state
from pages.ui.params import note, plain, show_error
from pages.ui.places import go
from semf_core.common.errors import InvalidInput, parsed_json
from semf_core.lessons import Lesson, Stage, Task, lessons
from semf_core.lessons.goals import Evidence
from semf_core.model.variants import imposed
from semf_core.service import RunStatus, get_service

WANTED, LEFT = "semf_stage_on_workbench", "semf_left_for_workbench"
LATE_SECONDS = 3.0
"""So long the browser may take to follow to another page."""
MOST_ATTEMPTS = 3
LONGEST = 60


def offer(lesson: Lesson, stage: Stage) -> None:
    """The task below the text of its stage, with the goals, the best attempts, and the way to the workbench."""
    task = stage.task
    assert task is not None
    with st.container(border=True, key="lesson-task"):
        st.markdown(f"**Your turn.** {task.text}")
        if task.solution is not None:
            st.markdown("\n".join(f"- {goal.words}" for goal in task.goals))
        for attempt in attempts(f"{lesson.name}/{stage.name}"):
            sign = ":green-badge[:material/check: done]" if attempt["met"] == len(task.goals) else f"{attempt['met']} goals met"
            st.markdown(f"{sign} {plain(attempt['words'])}")
        if task.solution is None:
            _on_the_drawing(f"{lesson.name}/{stage.name}", task)
            return
        st.button("Try it", type="primary", icon=":material/tune:", key="learn-try", disabled=get_service().read_only,
                  on_click=ask_for_workbench)  # fmt: skip
        with st.popover("A solution", icon=":material/lightbulb:"):
            model = task.solution
            st.markdown(f"{plain(imposed(model))}, rank {model.rank}, {plain(model.solver.title)}. {task.hint}")
            st.button("Run it", key="learn-solution", icon=":material/play_arrow:", disabled=get_service().read_only,
                      on_click=ask_for_workbench, args=(True,))  # fmt: skip


def _on_the_drawing(place: str, task: Task) -> None:
    """A task on the vector beside it: every goal is checked as the sliders move."""
    vector = drawings.drawn_vector()
    values = [goal.measured(vector) for goal in task.goals]
    if _say(task, values):
        words = f"({', '.join(f'{value:g}' for value in vector)})"
        _remember(place, words, words + ": " + ", ".join(map(_number, values)), len(values))
    with st.popover("A solution", icon=":material/lightbulb:"):
        st.markdown(task.hint)
        st.button("Show it", key="learn-solution", icon=":material/edit:", on_click=drawings.put_vector, args=(task.vector,))


def ask_for_workbench(solution: bool = False) -> None:
    """Note a press: a run that ends at that very moment makes the page run again, and a press alone would be lost."""
    st.session_state[WANTED] = solution


def to_workbench(lesson: Lesson, stage: Stage) -> None:
    """If somebody asked for it, a strip of one's own that begins with the model of a stage; the lesson stays in the address."""
    solution = st.session_state.get(WANTED)
    spec = stage.task.solution if solution and stage.task is not None else stage.model
    if solution is None or spec is None:
        return
    try:
        shown = workbench_state.run(spec)
    except InvalidInput as error:
        st.session_state.pop(WANTED, None)
        show_error(error)
        return
    st.session_state.pop(WANTED, None)  # not before: the page may have been made to run again meanwhile
    query = {"bench": shown.strip.id if shown.strip else "", "run": shown.status.id, "lesson": lesson.name, "stage": stage.name}
    st.session_state[LEFT] = (time.monotonic(), query)
    go("workbench", **query)


def stay_on_workbench(lesson: Lesson, stage: Stage) -> None:
    """Leave once more if the page has only come back because a run of it ended while the browser was on its way."""
    when, query = st.session_state.pop(LEFT, (-LATE_SECONDS, {}))
    if time.monotonic() - when < LATE_SECONDS and (query["lesson"], query["stage"]) == (lesson.name, stage.name):
        go("workbench", **query)


# -- on the workbench --------------------------------------------------------------------------


def banner(status: RunStatus) -> None:
    """The way back to the lesson, and each goal of its task with what this run reaches."""
    name, stage_name = st.query_params.get("lesson", ""), st.query_params.get("stage", "")
    if not name:
        return
    try:
        lesson = lessons().get(name)
    except InvalidInput:
        return
    stage = lesson.stages[lesson.position(stage_name)]
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="bench-task"):
        if st.button("Back to the lesson", icon=":material/school:", key="bench-lesson"):
            st.session_state.pop(LEFT, None)
            go("learn", lesson=lesson.name, stage=stage.name)
        note(f"{plain(lesson.title)}: {plain(stage.title)}")
        if stage.task is not None:
            _check(f"{lesson.name}/{stage.name}", stage, status)


def _check(place: str, stage: Stage, status: RunStatus) -> None:
    task = stage.task
    assert task is not None
    if status.moving or status.iterations < 1:
        st.markdown("Goals are checked when the run has come to rest.")
        return
    values = measured(status, [goal.measured for goal in task.goals])
    _say(task, values)
    met = sum(goal.met(value) for goal, value in zip(task.goals, values, strict=True))
    words = f"{imposed(status.spec)}, rank {status.spec.rank}"[:LONGEST] + ": " + ", ".join(map(_number, values))
    _remember(place, status.id, words, met)


def _say(task: Task, values: list[float | None]) -> bool:
    """Each goal with what was reached; whether that is all of them."""
    met = [goal.met(value) for goal, value in zip(task.goals, values, strict=True)]
    for goal, value, done in zip(task.goals, values, met, strict=True):
        colour, icon = ("green", "check") if done else ("orange", "close")
        st.markdown(f":{colour}-badge[:material/{icon}: {goal.words}: {_number(value)}]", width="content")
    if all(met):
        st.markdown(":green-badge[:material/trophy: Done]", width="content")
    return all(met)


def measured(status: RunStatus, quantities: list[Any]) -> list[float | None]:
    """What the goals ask for, on the final factors of a run."""
    service = get_service()
    evidence = Evidence(
        status.spec,
        service.dataset(status.id),
        service.factors(status.id),
        np.asarray(service.scalars(status.id)),
        service.events(status.id),
        status.iterations,
    )
    return [quantity(evidence) for quantity in quantities]


def _number(value: float | None) -> str:
    return "not known here" if value is None else f"{value:.4g}"


# -- attempts ----------------------------------------------------------------------------------


def attempts(place: str) -> list[dict[str, Any]]:
    """The best attempts of this browser, the best first; what cannot be read is none."""
    try:
        found = parsed_json("attempts", session.lessons().get(place, "[]"))
        return [a for a in found if isinstance(a["met"], int) and isinstance(a["words"], str) and isinstance(a["run"], str)]
    except (ValueError, TypeError, KeyError):
        return []


def _remember(place: str, mark: str, words: str, met: int) -> None:
    """Keep an attempt, told from others by its mark, if it is among the best."""
    others = [a for a in attempts(place) if a["run"] != mark]
    best = sorted([{"run": mark, "met": met, "words": words}, *others], key=lambda a: -a["met"])[:MOST_ATTEMPTS]
    session.lessons()[place] = json.dumps(best)
