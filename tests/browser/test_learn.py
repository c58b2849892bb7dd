"""A lesson presented in real Chromium; words and steps on the way. All lessons are played in test_lessons.py."""

from __future__ import annotations

from tests.browser.conftest import make_study
from tests.browser.test_pages import opened_cold, serious, settled, too_wide
from tests.browser.test_workbench import LIVE, quiet


def heading(page, title):
    page.get_by_role("heading", name=title, exact=True).wait_for()
    quiet(page)


def test_presenting_words_and_steps(server, visit):
    page = visit(f"{server.url}/learn?lesson=structure&stage=sparse-nmf", width=1920, height=1080)
    page.wait_for_selector(LIVE)
    page.wait_for_selector(".semf-tile")
    page.keyboard.press("f")
    page.wait_for_selector("body.semf-presenting", state="attached")
    page.wait_for_function("document.querySelector('.semf-tile').getBoundingClientRect().width >= 110")
    small = """() => [...document.querySelectorAll('.semf-state, .semf-badge')]
        .filter(e => e.offsetParent && parseFloat(getComputedStyle(e).fontSize) < 24).map(e => e.textContent.slice(0, 40))"""
    assert page.evaluate(small) == [] and page.evaluate(SMALL_IN_LESSON) == []
    page.wait_for_function(f"document.querySelector('.semf-basis img').getBoundingClientRect().height >= {0.6 * 1080}")
    assert not page.get_by_role("link", name="Workbench", exact=True).first.is_visible()
    page.keyboard.press("PageDown")
    heading(page, "Equal nonzeros")
    assert page.locator("body.semf-presenting").count() == 1, "it stays from stage to stage"
    page.keyboard.press("1")
    page.locator(".st-key-lesson-question .stMarkdownBadge").wait_for()
    assert page.evaluate(SMALL_IN_LESSON) == []
    page.wait_for_selector(".semf-tile")  # something is recorded, which the next stage shows
    page.keyboard.press("PageDown")
    heading(page, "Limbs apart from the torso")
    page.wait_for_function(BESIDE_QUESTION)
    page.keyboard.press("PageUp")
    heading(page, "Equal nonzeros")
    for title in ("Limbs apart from the torso", "Groups"):
        page.keyboard.press("PageDown")
        heading(page, title)
    # The longest words and the widest formula beside a run, after the answer.
    page.keyboard.press("2")
    page.locator(".st-key-lesson-question .stMarkdownBadge").wait_for()
    page.wait_for_selector(".semf-tile")
    page.wait_for_function(f"document.querySelector('.semf-basis img').getBoundingClientRect().height >= {0.6 * 1080}")
    page.wait_for_timeout(700)  # in which a drawing would be copied
    assert page.evaluate(WORDS) == {"below": False, "cut": 0, "copies": 0}
    page.keyboard.press("Escape")
    page.wait_for_selector("body:not(.semf-presenting)", state="attached")
    # A replay says where it is, not how the run ended; once it is over, the end is told.
    page.wait_for_selector(LIVE)
    page.wait_for_function("!document.querySelector('.semf-live').view.replay.on")
    ending = page.locator(".semf-ending")
    ending.wait_for()
    for button in ("Replay", "Pause replay"):
        page.get_by_role("button", name=button, exact=True).click()
        ending.wait_for(state="hidden")
        quiet(page)
        assert page.locator(".semf-state").text_content() == "Replay of a finished run" and not ending.is_visible()
    page.get_by_label("Final factors").check()
    ending.wait_for()
    # A word on a press, and one iteration taken apart.
    page.locator(".semf-badge.semf-word").first.click()
    page.get_by_role("dialog").get_by_text("with a cosine above 0.99").wait_for()
    page.get_by_role("button", name="Close").click()
    page.get_by_text("One iteration, step by step").click()
    for word in ("least squares with the pull of U", "the same for Y", "the nearest point of 𝒳"):
        page.get_by_text(word).wait_for()
        page.get_by_role("button", name="Next step").click()
    settled(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_selector(f'.semf-live[data-theme="{scheme}"]')
        page.wait_for_timeout(500)
        assert serious(page) == [], scheme
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(800)
    assert too_wide(page) == [] and serious(page) == [], "a formula that is scrolled can not be reached by keys"


def test_what_has_no_pictures_fills_a_hall(server, visit):
    """A flat table beside a question, and more components than a hall can see at once: a key shows the others."""
    page = visit(f"{server.url}/learn?lesson=dictionaries&stage=fewer-signals", width=1920, height=1080)
    page.locator(".st-key-lesson-foretaste img").wait_for()
    page.wait_for_function("document.body.dataset.page")
    page.keyboard.press("f")
    page.wait_for_function("document.querySelector('.st-key-lesson-foretaste img').clientHeight >= 0.6 * innerHeight")
    page.keyboard.press("3")
    page.wait_for_function(f"document.querySelectorAll('.semf-tile').length === 25 && ({LARGE})()")
    heights = "[...document.querySelectorAll('.semf-tile')].every(t => Math.min(t.clientWidth, t.clientHeight) >= 110)"
    assert page.evaluate(heights)
    title = page.locator(".semf-basis .semf-title")
    title.get_by_text("1 to 25 of 50").wait_for()
    page.keyboard.press("m")
    title.get_by_text("26 to 50 of 50").wait_for()
    page.locator(".semf-tile[data-column='49']").wait_for()
    room = page.evaluate("document.querySelector('.semf-live').view.pictures.room")
    page.evaluate("document.querySelector('.semf-basis').style.width = '700px'")
    page.wait_for_function("room => document.querySelector('.semf-live').view.pictures.room !== room", arg=room)
    title.get_by_text("to 50 of 50").wait_for()
    page.locator(".semf-tile[data-column='49']").wait_for()
    page.keyboard.press("Escape")
    page.locator(".semf-tile[data-column='0']").wait_for()
    page.wait_for_function("document.querySelectorAll('.semf-tile').length === 50")


def test_a_class_follows_the_lecturer_and_leaves_and_returns(server, visit):
    lecturer = visit(f"{server.url}/learn?lesson=structure", width=1440)
    lecturer.wait_for_selector(LIVE)
    lecturer.get_by_role("button", name="Follow me").click()
    link = lecturer.locator(".semf-code-link").inner_text()
    assert lecturer.locator(".semf-qr").evaluate("image => image.decode().then(() => image.naturalWidth > 0)")
    notes = lecturer.evaluate("JSON.parse(sessionStorage.getItem('semf-presentation')).notes")
    lecturer.keyboard.press("Escape")
    student = visit(link, width=390, height=844, scheme="dark", strict=True)
    phone = visit(notes, width=390, height=844)
    student.get_by_role("heading", name="Sparse NMF").wait_for()
    student.locator(".semf-tile").first.wait_for()
    assert phone.url == notes.partition("#")[0], "the key does not stay in the address"
    phone.get_by_text("Let the run play once before speaking").wait_for()
    # What is chosen, and what the light is on, in the presenter's view.
    lecturer.wait_for_function("!document.querySelector('.semf-live').view.replay.on")
    lecturer.evaluate("document.querySelector('.semf-live').view.seek(40)")
    lecturer.keyboard.press("f")
    lecturer.locator(".semf-tile").nth(3).click()
    student.locator(".semf-laser .semf-chosen[data-column='3']").wait_for()
    student.get_by_text("iteration 40", exact=True).wait_for()
    assert too_wide(student) == [] and serious(student) == [] and serious(phone) == []
    # The next stage, of which nothing is given away; the student tries it, and comes back to where the lecturer is.
    lecturer.keyboard.press("PageDown")
    student.get_by_role("heading", name="Equal nonzeros").wait_for()
    phone.get_by_text("Next: Limbs apart from the torso").wait_for()
    assert student.locator(".semf-live").count() == 0
    student.get_by_text("Try it myself").click()
    student.get_by_role("button", name="All 17").wait_for()
    lecturer.get_by_role("button", name="Hardly any").click()
    student.get_by_text("Back to the lecturer").click()
    student.locator(".right", has_text="Hardly any").wait_for()
    student.locator(".semf-tile").first.wait_for()
    lecturer.keyboard.press("q")
    lecturer.get_by_role("button", name="End", exact=True).click()
    student.get_by_text("has ended").wait_for()


def stroke(page, chart, *way):
    """The pointer held down from place to place; places are fractions of a chart's inner width and height."""
    box = page.locator(f"{chart} .nsewdrag").first.bounding_box()
    for i, (across, down) in enumerate(way):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"], steps=8 if i else 1)
        if not i:
            page.mouse.down()
    page.mouse.up()


def test_what_is_drawn_is_projected_and_followed(server, visit):
    lecturer = visit(f"{server.url}/learn?lesson=projections&stage=two-conditions-at-once", width=1920, height=1080)
    lecturer.wait_for_selector(".st-key-lesson-figure .nsewdrag")
    quiet(lecturer)
    lecturer.get_by_role("button", name="Follow me").click()
    link = lecturer.locator(".semf-code-link").inner_text()
    lecturer.keyboard.press("Escape")
    student = visit(link, width=390, height=844, scheme="dark", strict=True)
    student.get_by_text("The projection is (0.9, 0, 0, 1.6").wait_for()
    student.locator(".drawing .main-svg").first.wait_for()
    # A falling line: the three entries on the left are the largest. Its sliders have moved too.
    stroke(lecturer, ".st-key-lesson-figure", (0.03, 0.03), (0.97, 0.97))
    lecturer.wait_for_selector(".semf-stroke", state="detached")
    for page in (lecturer, student):
        page.get_by_text(", 0, 0, 0, 0, 0), at a distance").wait_for()
    assert float(lecturer.locator(".st-key-figure-v7 input").input_value()) < -1.7
    assert too_wide(student) == [] and serious(student) == []
    # A point of the plane, in the presenter's view.
    for title in ("Sets that are not convex", "The nearest point"):
        lecturer.keyboard.press("p")
        heading(lecturer, title)
    lecturer.keyboard.press("f")
    lecturer.wait_for_selector(".semf-drawn .nsewdrag")
    lecturer.wait_for_function("document.querySelector('.semf-drawn').clientHeight >= 0.6 * innerHeight")
    assert lecturer.evaluate(SMALL_IN_LESSON) == []
    stroke(lecturer, ".semf-drawn", (0.5, 0.5), (0.05, 0.05))
    student.get_by_text("(-2, 2) is projected to (0, 2), at a distance of 2").wait_for()


def test_a_sketch_and_two_stages_are_followed(server, visit):
    lecturer = visit(f"{server.url}/learn?lesson=splitting&stage=a-gap-that-opens-again", width=1440)
    lecturer.locator(".sketch-chart.open").wait_for()
    lecturer.keyboard.press("q")
    link = lecturer.locator(".semf-code-link").inner_text()
    lecturer.keyboard.press("Escape")
    student = visit(link, width=390, height=844, scheme="dark", strict=True)
    student.get_by_text("go on from the dot?").wait_for()
    student.locator(".drawing .main-svg .trace").first.wait_for(state="attached")
    assert student.locator(".drawing .main-svg .js-line").count() == 0 and student.locator(".semf-tile").count() == 0
    lecturer.keyboard.press("f")
    lecturer.wait_for_function("document.querySelector('.sketch-chart').clientHeight >= 0.6 * innerHeight")
    box = lecturer.locator(".sketch-chart").bounding_box()
    lecturer.mouse.move(box["x"] + 120, box["y"] + 60)
    lecturer.mouse.down()
    lecturer.mouse.move(box["x"] + 300, box["y"] + 160, steps=5)
    lecturer.mouse.up()
    lecturer.get_by_role("button", name="That is my curve").click()
    student.get_by_text("as the lecturer drew it").wait_for()
    student.locator(".semf-tile").first.wait_for()
    student.locator(".drawing .main-svg .js-line").nth(1).wait_for(state="attached")
    assert too_wide(student) == [] and serious(student) == []
    # Two stages at one iteration.
    lecturer.goto(f"{server.url}/learn?lesson=structure&stage=sparse-nmf&beside=groups")
    student.get_by_role("heading", name="4. Groups").wait_for()
    slider = lecturer.get_by_label("Iteration of both stages")
    lecturer.locator('.semf-beside[data-drawn="yes"]').wait_for()
    slider.press("Home")
    slider.press("ArrowRight")
    student.get_by_text("iteration 1", exact=True).nth(2).wait_for()
    assert student.locator(".semf-side .semf-tile").count() == 34


BESIDE_QUESTION = """() => {
    const shown = [...document.querySelectorAll('.st-key-lesson-foretaste img')];
    return shown.length === 2 && shown.every(i => i.clientHeight >= 0.6 * innerHeight
        && i.getBoundingClientRect().bottom <= innerHeight
        && Math.abs(i.clientWidth / i.clientHeight - i.naturalWidth / i.naturalHeight) < 0.02);
}"""
"""The data and the stage before, as large as a hall needs them, in their proportions, and wholly on the screen."""
WORDS = """() => ({
    below: document.querySelector('.stColumn:has(.st-key-lesson-words)').getBoundingClientRect().bottom > innerHeight,
    cut: [...document.querySelectorAll('.st-key-lesson-words .katex-display')]
        .filter(e => e.scrollWidth > e.clientWidth + 1).length,
    copies: document.querySelectorAll('.semf-drawn').length })"""
"""Whether words end below the screen, how many formulas are cut off, and copies of drawings where the stage has a run."""
SMALL_IN_LESSON = """() => [...document.querySelectorAll('.semf-drawn text,'
    + ' .st-key-lesson-words :is(p, kbd, .stMarkdownBadge, .katex-html),'
    + ' .st-key-lesson-picture :is(p, td, th, .stMarkdownBadge, .katex-html)')]
    .filter(e => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 1)
    .filter(e => parseFloat(getComputedStyle(e).fontSize) < 24).map(e => e.textContent.slice(0, 40))"""
SMALL = """() => [...(document.querySelector('.semf-hall') ?? document.querySelector('.stMain'))
    .querySelectorAll('p, span, label, h1, h2, text')]
    .filter(e => e.checkVisibility() && e.getBoundingClientRect().width > 1 && !e.closest('.katex, .semf-hidden, .semf-icon')
      && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .filter(e => parseFloat(getComputedStyle(e).fontSize) < 24).map(e => e.textContent.slice(0, 40))"""
"""Words that a hall cannot read."""
LARGE = """() => document.querySelector('.semf-tile').clientWidth >= 110
    && document.querySelector('.semf-basis img').clientHeight >= 0.6 * innerHeight"""
DRAWN = "document.querySelector('.semf-plot')._fullLayout?.font.size >= 24"
CARDS = "[...document.querySelectorAll('.semf-card:not([hidden]) img')].every(i => i.clientHeight >= 0.6 * innerHeight)"


def test_workbench_compare_and_figures_of_a_study_are_presented(server, visit):
    page = visit(f"{server.url}/workbench", width=1920, height=1080)
    opened_cold(page, server, "Workbench")
    run = page.wait_for_selector(LIVE).get_attribute("data-run")
    page.wait_for_selector(".semf-tile")
    page.keyboard.press("f")
    page.wait_for_function(LARGE)
    page.wait_for_function(DRAWN)
    assert page.evaluate(SMALL) == []
    page.locator(".semf-tile").nth(1).hover()
    page.keyboard.down("d")
    page.wait_for_selector(".semf-laser .semf-chosen[data-column='1']")
    page.keyboard.up("d")
    page.wait_for_selector(".semf-laser", state="detached")
    page.keyboard.press("Escape")
    page.wait_for_selector("body:not(.semf-presenting)", state="attached")
    page.goto(f"{server.url}/compare?pin={run}")
    page.wait_for_selector(LIVE)
    page.keyboard.press("f")
    page.wait_for_function(DRAWN)
    page.keyboard.press("PageDown")
    page.wait_for_function(CARDS)
    assert page.evaluate("document.querySelector('.semf-tile').clientWidth") >= 110 and page.evaluate(SMALL) == []
    study = make_study(server.home)
    page.goto(f"{server.url}/studies?study={study.id}")
    page.wait_for_selector(".js-plotly-plot .heatmaplayer")
    quiet(page)
    page.keyboard.press("f")
    page.wait_for_selector(".semf-hall .heatmaplayer", state="attached")
    assert page.evaluate(SMALL) == [] and page.locator(".semf-hall .semf-figure").bounding_box()["height"] >= 0.6 * 1080
    page.keyboard.press("PageDown")
    page.get_by_role("heading", name="(2 of 2)").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_selector(".semf-hall", state="detached")
