"""What whoever follows a presentation is sent: the stage or the workbench on show as HTML, and the notes for the lecturer."""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

from pages.ui import figure_charts
from pages.ui.charts import harmless
from pages.ui.live import follower_data, plotly_address
from semf_core.common.errors import InvalidInput
from semf_core.exports.mathml import condition, mathml
from semf_core.lessons import Lesson, Question, Stage, lessons, sketches
from semf_core.lessons.markup import to_html
from semf_core.lessons.stage_runs import stage_run
from semf_core.model import ModelSpec
from semf_core.service import get_service
from semf_core.service.presentations import Presentation, Shown
from semf_core.service.public import Cache
from semf_core.sets.typeset import SCRIPT

NOTHING = "The lecturer shows another page. This one goes on by itself."
_CONTENT: Cache[Any, dict[str, Any]] = Cache()


def content(shown: Shown) -> dict[str, Any]:
    """The words on show, what the live view needs, and where one can try it oneself."""
    return _words(shown) | {"view": _view(shown), "beside": _beside(shown), "figure": _figure(shown)}


def _words(shown: Shown) -> dict[str, Any]:
    if shown.page == "learn" and shown.lesson:
        lesson, position = _found(shown)
        key = (shown.lesson, position, shown.answer, lesson.stages[position].text)  # a lecturer may be writing it
        return _CONTENT.get(key, lambda: _stage(lesson, position, shown.answer))
    if shown.page == "workbench" and shown.run:
        return _bench(shown.run)
    return {"title": "SeMF Studio", "place": "", "html": str(Markup("<p>{}</p>").format(NOTHING)), "own": "learn"}


def _found(shown: Shown) -> tuple[Lesson, int]:
    lesson = lessons().get(shown.lesson)
    return lesson, lesson.position(shown.stage)


def _stage(lesson: Lesson, position: int, answer: int | None) -> dict[str, Any]:
    stage = lesson.stages[position]
    before = lesson.stages[position - 1].model if position else None
    parts = [to_html(stage.text), _formulas(stage, before)]
    if stage.question is not None:
        parts.append(_question(stage.question, answer))
    if stage.task is not None and (stage.question is None or answer is not None):
        goals = Markup("").join(Markup("<li>{}</li>").format(goal.words) for goal in stage.task.goals)
        words = Markup("<section><strong>Your turn.</strong> {}<ul>{}</ul></section>")
        parts.append(words.format(to_html(stage.task.text), goals))
    place = f"{lesson.title}: stage {position + 1} of {len(lesson.stages)}"
    own = f"learn?lesson={lesson.name}&stage={stage.name}"
    return {"title": stage.title, "place": place, "html": str(Markup("").join(parts)), "own": own}


def _question(question: Question, answer: int | None) -> Markup:
    """The choices, if it has any; once the lecturer has given one, which is right, and why."""
    known = answer is not None
    choices = Markup("").join(
        Markup('<li class="{}">{}</li>').format("right" if known and c.right else "", c.text) for c in question.choices
    )
    made = Markup("<ul class='choices'>{}</ul>").format(choices) if choices else ""
    why = to_html(question.explanation) if known else ""
    return Markup("<section><strong>Predict.</strong> {}{}{}</section>").format(to_html(question.text), made, why)


def _formulas(stage: Stage, before: ModelSpec | None) -> Markup:
    """𝒳 and 𝒴, a line for each condition; what is new since the stage before, or pointed at, has a frame."""
    model = stage.model
    if model is None or not model.solver.takes_sets:
        return Markup("")
    made = []
    for factor in ("x", "y"):
        members = zip(getattr(model, factor), stage.new_sets(factor, before), strict=True)
        made.append(_set(factor.upper(), list(members)))
    return Markup("").join(made)


def _set(symbol: str, members: list[tuple[Any, bool]]) -> Markup:
    lines = [
        Markup('<li class="{}">{}</li>').format("new" if new else "", condition(symbol, member)) for member, new in members
    ] or [Markup("<li>no constraint</li>")]
    return Markup('<div class="set">{}<ul>{}</ul></div>').format(mathml(SCRIPT[symbol] + ":"), Markup("").join(lines))


def _bench(run_id: str) -> dict[str, Any]:
    status = get_service().status(run_id)
    spec = status.spec
    sets = [_set(factor.upper(), [(s, False) for s in getattr(spec, factor)]) for factor in ("x", "y")]
    formulas = Markup("").join(sets) if spec.solver.takes_sets else Markup("")
    words = f"{spec.solver.title}, rank {spec.rank}"
    html = Markup("<p>{}</p>{}").format(spec.watch or words, formulas)
    return {"title": status.title or "Run", "place": "Workbench", "html": str(html), "own": f"workbench?run={run_id}"}


def _view(shown: Shown) -> dict[str, Any] | None:
    """What the live view is told; None where no run is on show, it is gone, or it would give an answer away."""
    if not shown.run:
        return None
    try:
        status = get_service().status(shown.run)
    except InvalidInput:
        return None
    if shown.page != "learn" or not shown.lesson:
        return follower_data(status, None)
    lesson, position = _found(shown)
    stage = lesson.stages[position]
    if stage.question is not None and shown.answer is None:  # the run before may still be on the lecturer's screen
        return None
    return follower_data(status, stage.highlight)


def _beside(shown: Shown) -> dict[str, Any] | None:
    """Two stages under one scrubber: their titles and what their views are told; None where there are no two to be seen."""
    if shown.page != "learn" or not shown.lesson or not shown.beside:
        return None
    lesson, position = _found(shown)
    both = [lesson.stages[i] for i in sorted({position, lesson.position(shown.beside)})]
    runs = [stage_run(get_service(), stage.model) for stage in both if stage.model is not None]
    if len(runs) < 2 or None in runs or (lesson.stages[position].question is not None and shown.answer is None):
        return None
    titles = [f"{lesson.position(stage.name) + 1}. {stage.title}" for stage in both]
    return {"titles": titles, "runs": [follower_data(get_service().status(str(run)), None) for run in runs]}


def _figure(shown: Shown) -> dict[str, Any] | None:
    """The drawing of a stage as the lecturer has moved it, or the chart of a curve to be drawn, as a chart for plotly.js."""
    if shown.page != "learn" or not shown.lesson:
        return None
    lesson, position = _found(shown)
    stage = lesson.stages[position]
    if stage.figure:
        key = (stage.figure, shown.drawing)
        return _CONTENT.get(key, lambda: _plotted(figure_charts.drawn(stage.figure, shown.drawing)))
    if stage.question is None or stage.question.sketch is None or stage.model is None:
        return None
    curve = sketches.checked_curve(list(shown.drawing)) if shown.answer is not None else None
    run_id = stage_run(get_service(), stage.model)
    history = get_service().history(run_id) if run_id else None
    if history is None or not len(history):
        return None
    data = sketches.chart(stage.question.sketch, history.values, history.iterations, stage.name)
    return _plotted(figure_charts.sketched(data, curve))


def _plotted(made: figure_charts.Drawn) -> dict[str, Any]:
    chart = json.loads(harmless(made.chart).to_json())
    return {"data": chart["data"], "layout": chart["layout"], "words": f"{made.words}.", "plotly": plotly_address("full")}


def notes(presentation: Presentation) -> dict[str, Any]:
    """What only the lecturer reads: the notes of the stage on show, and what comes next."""
    shown = presentation.shown
    told: dict[str, Any] = {"began": presentation.made, "title": NOTHING, "place": "", "html": "", "next": ""}
    if shown.page == "workbench" and shown.run:
        made = content(shown)
        return told | {"title": made["title"], "place": made["place"]}
    if shown.page != "learn" or not shown.lesson:
        return told
    lesson, position = _found(shown)
    stage = lesson.stages[position]
    following = lesson.stages[position + 1].title if position + 1 < len(lesson.stages) else ""
    place = f"{lesson.title}: stage {position + 1} of {len(lesson.stages)}"
    return told | {"title": stage.title, "place": place, "html": str(to_html(stage.notes)), "next": following}
