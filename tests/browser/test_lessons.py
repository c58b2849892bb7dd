"""Every lesson played from start to end in real Chromium by keys alone, each task solved; in one page of one server.

Every other lesson is played on a phone in the dark, and the others end on one. Whatever a stage can show is looked at by
axe where it comes first. Then two stages under one scrubber, and a lesson that was taken home.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import TimeoutError

from semf_core.lessons import handout, lessons
from semf_core.lessons.format import parse_lesson
from semf_core.lessons.stage_runs import recorded_here
from tests.browser.conftest import PATIENCE
from tests.browser.test_pages import serious, too_wide
from tests.browser.test_workbench import LIVE, quiet
from tests.lessons.test_taking_home import SKETCHED

LESSONS = lessons().lessons
SHOWN = ".st-key-lesson-picture :is(.semf-live .semf-tile, .js-plotly-plot)"
"""A run or a drawing."""
LARGE, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
AGAIN = 3000
"""Milliseconds after which a reader presses once more."""
CUT_OFF = (
    "[...document.querySelectorAll('.stMarkdownBadge')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
)
"""Badges that hide a part of what they say."""
AT_REST = (
    """() => document.getAnimations().every(a => a.playState !== 'running' || a.effect.getTiming().iterations === Infinity)"""
)
"""Badges and buttons have faded in."""
TICKS = """() => {
    const numbers = [...document.querySelectorAll('.semf-plot .ytick text')];
    const places = numbers.map(e => e.getBoundingClientRect().top).sort((a, b) => a - b);
    return places.length >= 2 && places.every((top, i) => !i || top - places[i - 1] > 10);
}"""
"""The axis of the residual has numbers that do not lie on each other, also where its curve is level."""
ANSWER_FIRST = """Object.defineProperty(window, 'Plotly', { get() { return this.kept; }, set(made) {
    this.answerFirst ??= Number(document.querySelector('.semf-live')?.dataset.refreshes) > 0;
    this.kept = made;
} })"""
"""Notes whether what is known of the run was on show when plotly.js began, which keeps a browser busy."""


@pytest.fixture(scope="module")
def page(server, chromium):
    """One page for all; a script error in it fails the test that meets it."""
    context = chromium.new_context(viewport=LARGE, reduced_motion="reduce", bypass_csp=True)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(ANSWER_FIRST)
    opened = context.new_page()
    opened.problems, opened.looked_at, opened.begun = [], set(), set()
    opened.on("pageerror", lambda error: opened.problems.append(str(error)))
    yield opened
    context.close()


def press(locator, key="Enter"):
    locator.focus()
    locator.press(key)


def until(seen, act):
    """A press that comes while a busy page is drawn again may go unheard: then a reader presses once more."""
    for _ in range(PATIENCE // AGAIN):
        act()
        try:
            seen.wait_for(timeout=AGAIN)
            return
        except TimeoutError:
            continue
    seen.wait_for()


def begin(server, page, lesson):
    """The first by its address; the others from the list, so that nothing is loaded anew. What is tried again is loaded."""
    if not page.begun or lesson.name in page.begun:
        page.goto(f"{server.url}/learn?lesson={lesson.name}")
    else:
        by_button = "/learn?" in page.url and LESSONS.index(lesson) % 2  # the menu leaves an open lesson as well
        back = page.locator(".st-key-learn-all button") if by_button else page.get_by_role("link", name="Learn", exact=True).first
        card = page.locator(f".st-key-lesson-{lesson.name} button").first
        quiet(page)  # a change of theme or width asks the page once more, with the address from before a press
        until(card, lambda: None if card.is_visible() else press(back))
        until(heading(page, lesson.stages[0]), lambda: press(card) if card.is_visible() else None)
    page.begun.add(lesson.name)


def heading(page, stage):
    return page.get_by_role("heading", name=stage.title, exact=True)


def onwards(page, now, following):
    """By a key; a stage whose heading has gone is left already."""
    until(heading(page, following), lambda: page.keyboard.press("n") if heading(page, now).is_visible() else None)


def draw_by_keys(page):
    assert page.locator(".sketch-truth").count() == 0, "nothing is given away"
    press(page.locator(".sketch-controls summary"))
    for slider in page.locator(".sketch-sliders input").all()[::3]:
        press(slider, "ArrowUp")
    press(page.get_by_role("button", name="That is my curve"))
    page.locator(".st-key-lesson-question .sketch-truth").wait_for(state="attached")


def answer(page, stage):
    """By a key; before it there is something to see, but not the run."""
    question = stage.question
    if stage.model is not None:
        page.locator(".st-key-lesson-picture :is(img, .sketch-chart)").first.wait_for()
        assert page.locator(".semf-live .semf-tile").count() == 0
    for_everybody(page, stage, waiting=True)
    if question.sketch is not None:
        draw_by_keys(page)
    else:
        key = str(1 + next(i for i, choice in enumerate(question.choices) if choice.right))
        page.locator(".st-key-lesson-question .stButton button").first.wait_for()
        until(page.locator(".st-key-lesson-question .stMarkdownBadge").get_by_text("right"), lambda: page.keyboard.press(key))


def solve(page, stage):
    """The solution is run, or drawn, and every goal found to be reached."""
    press(page.get_by_role("button", name="A solution"))
    quiet(page)
    run = page.locator(".st-key-learn-solution button")
    if stage.model is None:
        press(run)
        page.locator(".st-key-lesson-task").get_by_text("Done").first.wait_for()
        page.keyboard.press("Escape")
        return
    until(page.locator(".st-key-bench-task"), lambda: press(run) if run.is_visible() else None)
    page.locator(".st-key-bench-task").get_by_text("Done").first.wait_for()


def parts(stage, waiting):
    """What a stage shows, before its question is answered or after."""
    shown = {stage.figure, f"task {stage.model is None}" if stage.task is not None and not waiting else ""}
    if stage.model is not None and not waiting:
        shown.add(f"run, splits: {stage.model.solver.splits}")
    if stage.question is not None:
        shown.add(f"sketch: {stage.question.sketch is not None}, waiting: {waiting}")
    return shown - {""}


def for_everybody(page, stage, waiting):
    """Nothing is too wide; what was not on show before is read by all."""
    assert page.locator(".stMain .katex-error, .stException").count() == 0, stage.name
    assert too_wide(page) == [] and page.evaluate(CUT_OFF) == [], stage.name
    new = parts(stage, waiting) - page.looked_at
    if new:
        quiet(page)
        page.wait_for_function(AT_REST)
        assert serious(page) == [], (stage.name, new)
        page.looked_at |= new


def returns_and_resumes(server, page, lesson):
    """The lesson knows that its task is done, and after a reload the list knows the last stage."""
    press(page.get_by_role("button", name="Back to the lesson"))
    page.locator(".st-key-lesson-task").get_by_text("done").first.wait_for()
    page.goto(f"{server.url}/learn")
    press(page.locator(f".st-key-lesson-{lesson.name}").get_by_role("button", name=f"Continue at stage {len(lesson.stages)}"))
    page.locator(".st-key-lesson-task").get_by_text("done").first.wait_for()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_is_played_from_start_to_end(server, page, lesson):
    phone = bool(LESSONS.index(lesson) % 2)
    page.emulate_media(color_scheme="dark" if phone else "light")
    page.set_viewport_size(LARGE)
    begin(server, page, lesson)
    page.set_viewport_size(PHONE if phone else LARGE)
    for position, stage in enumerate(lesson.stages):
        last = position + 1 == len(lesson.stages)
        heading(page, stage).wait_for()
        quiet(page)
        assert f"stage={stage.name}" in page.url or not position, "the address names the stage"
        if stage.question is not None:
            answer(page, stage)
        page.locator(SHOWN).first.wait_for()
        if stage.model is not None:
            page.wait_for_selector(LIVE)
            page.wait_for_function(TICKS)
            assert page.evaluate("window.answerFirst")
        if last:
            page.set_viewport_size(PHONE)
        for_everybody(page, stage, waiting=False)
        if stage.task is not None:
            solve(page, stage)
        if not last:
            onwards(page, stage, lesson.stages[position + 1])
    if lesson.name == "structure":
        returns_and_resumes(server, page, lesson)
    assert page.problems == []


def test_two_stages_under_one_scrubber_in_a_hall_and_on_a_phone(server, visit):
    page = visit(f"{server.url}/learn?lesson=structure&stage=sparse-nmf&beside=groups", *LARGE.values())
    page.locator('.semf-beside[data-drawn="yes"]').wait_for()
    page.locator(".semf-side .semf-tile").nth(33).wait_for(state="attached")
    rows = """[...document.querySelectorAll('.semf-side')]
        .map(side => new Set([...side.querySelectorAll('.semf-tile')].map(tile => tile.style.top)).size)"""
    assert page.evaluate(rows)[1] == 5, "groups are rows"
    slider = page.get_by_label("Iteration of both stages")
    press(slider, "Home")
    for _ in range(3):
        slider.press("ArrowRight")
    at_three = "[...document.querySelectorAll('.semf-side .semf-iteration')].every(e => e.textContent === 'iteration 3')"
    page.wait_for_function(at_three)
    quiet(page)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.keyboard.press("f")
    page.wait_for_function("[...document.querySelectorAll('.semf-side .semf-tile')].every(t => t.clientWidth >= 110)")
    assert page.evaluate("document.querySelector('.semf-sides .semf-montage').clientHeight") >= 0.6 * 1080
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    below = "([a, b]) => b.getBoundingClientRect().top >= a.getBoundingClientRect().bottom"
    page.wait_for_function(f"({below})(document.querySelectorAll('.semf-side'))")
    assert too_wide(page) == [] and "beside=groups" in page.url


def test_a_lesson_taken_home_needs_no_network(chromium, tmp_path):
    file = tmp_path / "home.html"
    with recorded_here() as find:
        file.write_bytes(handout.html(parse_lesson("first-steps.md", SKETCHED), find))
    context = chromium.new_context(viewport=LARGE, color_scheme="light", offline=True)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector('html[data-ready="yes"]')
    asked = page.locator(".stage").nth(1)
    assert not asked.locator(".run").is_visible() and not asked.get_by_text("Ghosts would share pixels").is_visible()
    asked.locator(".sketch-chart").scroll_into_view_if_needed()
    box = asked.locator(".sketch-chart").bounding_box()
    page.mouse.move(box["x"] + 80, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 40, box["y"] + 120, steps=5)
    page.mouse.up()
    asked.get_by_role("button", name="That is my curve").click()
    asked.get_by_text("Your curve is off by a factor of").wait_for()
    asked.get_by_text("Ghosts would share pixels").wait_for()
    asked.locator(".semf-plot .js-line").first.wait_for(state="attached")
    assert all(
        len(d) > 100 for d in asked.locator(".semf-plot .js-line").evaluate_all("lines => lines.map((l) => l.getAttribute('d'))")
    )
    assert asked.locator(".basis img").evaluate("i => i.decode().then(() => i.naturalWidth)") > 50
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert serious(page) == [], scheme
    page.set_viewport_size(PHONE)
    page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert said == []
