"""A lesson with its runs as one HTML file that needs nothing else, drawn by the code of the report.

Texts and formulas, questions that are answered before the explanation shows, and for every stage its curves and pictures.
Speaker notes stay with the speaker.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

from semf_core.exports import facts
from semf_core.exports.document import document
from semf_core.exports.figures import MATPLOTLIB, STYLE
from semf_core.exports.mathml import condition
from semf_core.exports.payload import PICTURE_CHARACTERS
from semf_core.exports.run_view import run_view
from semf_core.exports.story import Story, from_run
from semf_core.glossary import word
from semf_core.lessons import sketches
from semf_core.lessons.format import Lesson, Question, Stage, Task
from semf_core.lessons.markup import to_html
from semf_core.lessons.stage_runs import FindRun, digest, models
from semf_core.lessons.stills import SIZE, WORDS, still
from semf_core.lessons.text import inline_html
from semf_core.model import ModelSpec
from semf_core.model.codegen import python_code

CHARACTERS = 3 * PICTURE_CHARACTERS
"""Pictures of all runs of a lesson together."""
SCRIPTS = ("charts.js", "player.js", "sketch.js", "lesson.js")
STYLES = ("report.css", "sketch.css", "lesson.css")
NO_RUN = "There was no run of this stage where this file was made."


def html(lesson: Lesson, find: FindRun) -> bytes:
    """The lesson; a stage whose run cannot be had says so."""
    found = {name: find(spec) for name, spec in models(lesson).items()}
    stories = {name: from_run(*run) for name, run in found.items() if run is not None}
    each = min(PICTURE_CHARACTERS, CHARACTERS // max(1, len(stories)))
    before = [None, *(stage.model for stage in lesson.stages)]
    content = {
        "title": lesson.title,
        "summary": lesson.summary,
        "minutes": lesson.minutes,
        "stages": [_stage(stage, previous, stories) for stage, previous in zip(lesson.stages, before, strict=False)],
        "runs": {name: run_view(story, each) for name, story in stories.items()},
        "versions": facts.versions(),
    }
    return document("lesson.html", SCRIPTS, STYLES, content)


def _stage(stage: Stage, before: ModelSpec | None, stories: dict[str, Story]) -> dict[str, Any]:
    name = digest(stage.model) if stage.model is not None else ""
    story = stories.get(name)
    return {
        "name": stage.name,
        "title": stage.title,
        "text": to_html(stage.text),
        "sets": _sets(stage, before),
        "drawing": _drawing(stage.figure) if stage.figure else "",
        "drawing_words": WORDS.get(stage.figure, ""),
        "question": _question(stage.question, stage.name, story) if stage.question is not None else None,
        "run": name if story is not None else "",
        "missing": NO_RUN if name and story is None else "",
        "task": _task(stage.task) if stage.task is not None else None,
        "words": [word(one) for one in stage.words],
    }


def _sets(stage: Stage, before: ModelSpec | None) -> list[tuple[str, list[tuple[Markup, bool]]]]:
    """The conditions of 𝒳 and 𝒴, and whether each is new since the stage before or pointed at."""
    if stage.model is None or not stage.model.solver.takes_sets:
        return []
    made = []
    for factor in ("x", "y"):
        lines = [condition(factor.upper(), s) for s in getattr(stage.model, factor)]
        made.append((factor.upper(), list(zip(lines, stage.new_sets(factor, before), strict=True))))
    return made


def _question(question: Question, name: str, story: Story | None) -> dict[str, Any] | None:
    if question.sketch is not None and (story is None or not len(story.rows)):
        return None
    drawn = None
    if question.sketch is not None and story is not None:
        drawn = sketches.chart(question.sketch, story.rows, story.numbers, name)
    return {
        "text": to_html(question.text),
        "choices": [(inline_html(choice.text), choice.right) for choice in question.choices],
        "explanation": to_html(question.explanation),
        "sketch": drawn,
    }


def _task(task: Task) -> dict[str, Any]:
    return {
        "text": to_html(task.text),
        "goals": [goal.words for goal in task.goals],
        "hint": to_html(task.hint),
        "code": python_code(task.solution) if task.solution is not None else "",
        "vector": ", ".join(f"{value:g}" for value in task.vector),
    }


def _drawing(name: str) -> str:
    """A data address of the drawing as SVG."""
    with MATPLOTLIB, matplotlib.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        still(name, figure)
        file = io.BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode()
