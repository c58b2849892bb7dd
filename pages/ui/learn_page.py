"""The Learn page: the list of lessons, and one stage with its text, its question, its live run and its task."""

from __future__ import annotations

import streamlit as st

from pages.ui import drawings, glossary, iteration_steps, params, question_preview, session, sketch, tasks
from pages.ui.error_boundary import error_boundary
from pages.ui.flash import say, say_flash
from pages.ui.live import address, beside_view, lesson_view, presenter
from pages.ui.params import plain, sentence
from semf_core.common.errors import InvalidInput
from semf_core.lessons import Lesson, Stage, lessons
from semf_core.lessons.stage_runs import stage_run
from semf_core.model import ModelSpec
from semf_core.service import RunStatus, get_service
from semf_core.sets import StructureSet
from semf_core.sets.typeset import boxed, formula

ANSWERS, OWN, SHOWN, BESIDE = "semf_answers", "semf_own_stage_runs", "semf_stage_shown", "learn-beside"
ACROSS = 3
LOOK_SECONDS = 0.5
"""Between two looks at a run that a sketch waits for."""


# -- which one ---------------------------------------------------------------------------------


def chosen() -> Lesson | None:
    """The lesson that the address names."""
    name = st.query_params.get("lesson")
    if not name:
        return None
    try:
        return lessons().get(name)
    except InvalidInput as error:
        st.query_params.clear()
        params.show_error(error)
        return None


def contents() -> None:
    """A card for each lesson, with the stage where this browser left off."""
    st.title("Learn", anchor=False)
    st.markdown("Each lesson is a row of stages, each stage a factorization that runs. Predict, watch, then try it yourself.")
    library = lessons()
    for mistake in library.mistakes:
        st.warning(f"A lesson cannot be shown. {plain(str(mistake))}", icon=":material/report:")
    for first in range(0, len(library.lessons), ACROSS):
        for column, lesson in zip(st.columns(ACROSS), library.lessons[first : first + ACROSS], strict=False):
            with column, st.container(border=True, height="stretch"):
                _card(first + library.lessons[first:].index(lesson) + 1, lesson)


def _card(number: int, lesson: Lesson) -> None:
    reached = session.lessons().get(lesson.name)
    at = lesson.position(reached) if reached else 0
    st.markdown(f"**{number}. {plain(lesson.title)}**")
    st.markdown(plain(lesson.summary))
    params.note(f"{len(lesson.stages)} stages, about {lesson.minutes} minutes")
    label = f"Continue at stage {at + 1}" if at else "Start"
    st.button(label, key=f"lesson-{lesson.name}", on_click=_show, args=(lesson, at), width="stretch",
              icon=":material/play_arrow:", help=f"Lesson {number}: {plain(lesson.title)}")  # fmt: skip


def _show(lesson: Lesson, position: int) -> None:
    """Put a stage on show and remember it as the one to resume at."""
    stage = lesson.stages[position]
    st.session_state[SHOWN] = {"lesson": lesson.name, "stage": stage.name}
    _stay()
    session.lessons()[lesson.name] = stage.name


def _stay() -> None:
    """Keep the stage that is shown, or the list.

    A run that ends makes the page run again by itself, with the address that the browser had then: before a press of
    Next has reached it, that is the address of the stage before.
    """
    st.query_params.from_dict(st.session_state.get(SHOWN, {}))


def _leave() -> None:
    st.session_state[SHOWN] = {}
    st.query_params.clear()


# -- one stage ---------------------------------------------------------------------------------


def stage_of(lesson: Lesson) -> None:
    """The stage that the address names, or the first."""
    position = lesson.position(st.query_params.get("stage", ""))
    stage = lesson.stages[position]
    st.session_state[SHOWN] = st.query_params.to_dict()
    tasks.stay_on_workbench(lesson, stage)
    tasks.to_workbench(lesson, stage)
    before = lesson.stages[position - 1] if position else None
    waiting = stage.question is not None and _answer(lesson, stage) is None
    other = None if waiting else _beside(lesson, stage)
    _tell(lesson, stage, other)
    _head(lesson, position)
    say_flash()
    if other is not None:
        _pair(lesson, stage, other)
        return
    words, picture = st.columns([2, 3] if stage.model is None else [1, 2], gap="medium")
    with words, st.container(key="lesson-words"):
        st.markdown(stage.text)
        if not waiting or (stage.question is not None and stage.question.sketch is not None):
            _formulas(stage, before)
        if stage.question is not None:
            _question(lesson, stage)
        if not waiting and stage.task is not None:
            tasks.offer(lesson, stage)
        glossary.words(stage.words)
        if stage.notes:
            with st.expander("Speaker notes", icon=":material/speaker_notes:", key="lesson-notes"):
                st.markdown(stage.notes)
    with picture, st.container(key="lesson-picture"):
        if stage.figure:
            drawings.draw(stage)
        if stage.model is not None and waiting:
            _before_the_answer(lesson, stage, before)
        elif stage.model is not None:
            _run(lesson, stage)
    if position + 1 < len(lesson.stages):
        _shared(lesson.stages[position + 1].model)  # it is there when the reader comes


def _tell(lesson: Lesson, stage: Stage, other: Stage | None) -> None:
    """What those who follow are told of this page."""
    drawing = drawings.state(stage) if stage.figure else sketch.drawn(f"{lesson.name}/{stage.name}") or ()
    beside = other.name if other is not None else ""
    presenter("learn", lesson=lesson.name, stage=stage.name, answer=_answer(lesson, stage), beside=beside, drawing=list(drawing))


def _head(lesson: Lesson, position: int) -> None:
    count = len(lesson.stages)
    with st.container(horizontal=True, vertical_alignment="center", key="lesson-head"):
        st.title(plain(lesson.stages[position].title), anchor=False, width="stretch")
        params.note(f"{plain(lesson.title)}: stage {position + 1} of {count}")
        st.button(
            "Present", icon=":material/present_to_all:", key="learn-present", help="Large words and pictures, nothing else: F"
        )
        st.button("Follow me", icon=":material/cast_for_education:", key="learn-follow",
                  help="A link and its code with which others see what you show: Q")  # fmt: skip
        with st.popover("Take home", icon=":material/download:", key="learn-home"):
            note = "The whole lesson with its runs; a run that is not there yet is made first."
            st.link_button("One HTML file", address(f"download/lesson/{lesson.name}/html"), help=note, width="stretch")
            st.link_button("Slides (PNG, SVG, GIF)", address(f"download/lesson/{lesson.name}/slides"), help=note, width="stretch")
        st.button("All lessons", on_click=_leave, icon=":material/list:", key="learn-all")
        st.button("Back", on_click=_show, args=(lesson, max(0, position - 1)), icon=":material/arrow_back:", key="learn-back",
                  shortcut="P", disabled=position == 0)  # fmt: skip
        last = position + 1 == count
        st.button("Next", on_click=_show, args=(lesson, min(count - 1, position + 1)), icon=":material/arrow_forward:",
                  key="learn-next", shortcut="N", type="primary", disabled=last)  # fmt: skip
    st.progress((position + 1) / count)


def _formulas(stage: Stage, before: Stage | None) -> None:
    """𝒳 and 𝒴 of the model; what is new since the stage before, or pointed at, has a frame."""
    if stage.model is None or not stage.model.solver.takes_sets:
        return
    for factor in ("x", "y"):
        sets: tuple[StructureSet, ...] = getattr(stage.model, factor)
        symbol, new = factor.upper(), stage.new_sets(factor, before.model if before is not None else None)
        lines = [boxed(s.condition(symbol)) if is_new else s.condition(symbol) for s, is_new in zip(sets, new, strict=True)]
        st.latex(formula(symbol, lines))


# -- predict, then see -------------------------------------------------------------------------


def _answer(lesson: Lesson, stage: Stage) -> int | None:
    return st.session_state.get(ANSWERS, {}).get(f"{lesson.name}/{stage.name}")


def _question(lesson: Lesson, stage: Stage) -> None:
    """The question with its choices; once answered, whether it was right, and the explanation."""
    question, given = stage.question, _answer(lesson, stage)
    assert question is not None
    place = f"{lesson.name}/{stage.name}"
    with st.container(border=True, key="lesson-question"):
        st.markdown(f"**Predict.** {question.text}")
        if given is None:
            for i, choice in enumerate(question.choices):
                st.button(choice.text, key=f"choice-{place}-{i}", on_click=_give, args=(place, i), width="stretch",
                          shortcut=str(i + 1) if i < 9 else None)  # fmt: skip
            return
        if question.sketch is not None:
            status = _shared(stage.model)
            if status is not None:
                sketch.draw(place, question.sketch, status, lambda: _give(place))
        else:
            right = next(c.text for c in question.choices if c.right)
            said = question.choices[given]
            sign = ":green-badge[:material/check: right]" if said.right else f":orange-badge[it is: {right}]"
            st.markdown(f"You said: {said.text} {sign}")
        st.markdown(question.explanation)


def _give(place: str, choice: int = 0) -> None:
    """Keep an answer; that to a sketch is its curve, which stands elsewhere."""
    st.session_state.setdefault(ANSWERS, {})[place] = choice


def _before_the_answer(lesson: Lesson, stage: Stage, before: Stage | None) -> None:
    """A chart to draw on, or what gives nothing away."""
    question, stored = stage.question, _shared(stage.model)
    assert question is not None
    if question.sketch is not None and stored is not None:
        place = f"{lesson.name}/{stage.name}"
        if stored.moving:
            _wait(stored.id)
        else:
            sketch.draw(place, question.sketch, stored, lambda: _give(place))
        return
    with st.container(key="lesson-ready"):
        st.info("The run is ready: answer first, then see it.", icon=":material/visibility_off:")
    with st.container(key="lesson-large"):
        _formulas(stage, before)
    question_preview.show(stage, before, _shared(before.model) if before is not None else None)


@st.fragment(run_every=LOOK_SECONDS)
@error_boundary()
def _wait(run_id: str) -> None:
    """Until the run that a sketch is compared with has come to rest."""
    st.info("The run that you will be compared with is being made.", icon=":material/hourglass:")
    if not get_service().status(run_id).moving:
        st.rerun()


# -- two stages --------------------------------------------------------------------------------


def _beside(lesson: Lesson, stage: Stage) -> Stage | None:
    """The stage that the address puts beside this one."""
    name = st.query_params.get("beside", "")
    found = next((s for s in lesson.stages if s.name == name and s.model is not None), None)
    return None if found is None or found.name == stage.name or stage.model is None else found


def _pair(lesson: Lesson, stage: Stage, other: Stage) -> None:
    """Both with their formulas and their runs, under one scrubber, in the order of the lesson."""
    both = sorted((stage, other), key=lambda s: lesson.position(s.name))
    with st.container(key="lesson-pair"):
        for column, one in zip(st.columns(2), both, strict=True):
            column.markdown(f"**{lesson.position(one.name) + 1}. {plain(one.title)}**")
        statuses = [_shared(one.model) for one in both]
        found = [status for status in statuses if status is not None]
        if len(found) == len(both):
            beside_view(found, on_state_change=_stay)
        else:
            st.info("No run of one of these stages is on this server, and it starts none.", icon=":material/visibility:")
        for column, one in zip(st.columns(2), both, strict=True):
            position = lesson.position(one.name)
            with column:
                _formulas(one, lesson.stages[position - 1] if position else None)
    st.button("Only this stage", icon=":material/crop_portrait:", key="learn-alone", on_click=_put_beside, args=("",))


def _put_beside(name: str | None = None) -> None:
    """Another stage beside the one on show, or none; the address names both."""
    chosen = st.session_state.get(BESIDE) if name is None else name
    st.session_state[SHOWN] = {k: v for k, v in st.session_state[SHOWN].items() if k != "beside"}
    if chosen:
        st.session_state[SHOWN]["beside"] = chosen
    _stay()


def _offer_beside(lesson: Lesson, stage: Stage) -> None:
    """Stages with a run whose question, if they have one, is answered: nothing is given away."""
    open_to = [
        other.name
        for other in lesson.stages
        if other.model is not None and other.name != stage.name and (other.question is None or _answer(lesson, other) is not None)
    ]
    if open_to:
        titles = {other.name: f"{i}. {other.title}" for i, other in enumerate(lesson.stages, 1)}
        st.selectbox("Put another stage beside it", open_to, index=None, key=BESIDE, on_change=_put_beside, width=260,
                     format_func=titles.__getitem__, placeholder="Stage beside it", label_visibility="collapsed")  # fmt: skip


# -- the run -----------------------------------------------------------------------------------


def _shared(spec: ModelSpec | None) -> RunStatus | None:
    """The stored run of a model; it is started if there is none. None where there is none and none may be started."""
    if spec is None:
        return None
    run_id = stage_run(get_service(), spec)
    return get_service().status(run_id) if run_id else None


def _run(lesson: Lesson, stage: Stage) -> None:
    """The stored run, or one's own."""
    place = f"{lesson.name}/{stage.name}"
    stored = _shared(stage.model)
    own = _own(place)
    status = own or stored
    if status is None:
        st.info("No run of this stage is on this server, and it starts none.", icon=":material/visibility:")
        return
    key = session.own_key(status) or "" if own else ""
    lesson_view(status, stage.highlight, key, autoplay=True, on_state_change=_stay)
    with st.container(horizontal=True, key="lesson-tools"):
        off = get_service().read_only
        st.button("Run it yourself", icon=":material/play_circle:", key="learn-run", on_click=_begin, args=(place, stage.model),
                  disabled=off, help="A run of your own, with Play, Pause, Step and the penalties.")  # fmt: skip
        if own is not None:
            st.button("Show the stored run", icon=":material/history:", key="learn-stored", on_click=_forget, args=(place,))
        st.button("Turn the knobs", icon=":material/tune:", key="learn-knobs", disabled=off, on_click=tasks.ask_for_workbench,
                  help="This model on the workbench; the way back stands there.")  # fmt: skip
        _offer_beside(lesson, stage)
    if not status.moving:
        iteration_steps.show(status.id)


def _own(place: str) -> RunStatus | None:
    run_id = st.session_state.get(OWN, {}).get(place)
    try:
        return get_service().status(run_id) if run_id else None
    except InvalidInput:  # deleted
        return None


def _begin(place: str, spec: ModelSpec) -> None:
    try:
        handle = get_service().start(spec, visitor=session.visitor())
    except InvalidInput as error:
        say(sentence(error))
        return
    session.runs()[handle.id] = handle.key
    st.session_state.setdefault(OWN, {})[place] = handle.id


def _forget(place: str) -> None:
    st.session_state.get(OWN, {}).pop(place, None)
