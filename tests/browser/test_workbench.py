"""The walks of the workbench in real Chromium: each change is one action on one page, and nothing gets lost."""

from __future__ import annotations

import re
from dataclasses import replace

from semf_core.datasets import Digits
from semf_core.model import ModelSpec, preset
from semf_core.sets import Nonnegative, Sparse
from semf_core.solvers import ADMM, Limits
from tests.browser.conftest import ENDLESS, make_finished_run, make_run
from tests.helpers import present

LIVE = '.semf-live:not(.semf-compact)[data-drawn="yes"]'
CURRENT = "document.querySelector('.semf-variants .semf-current .semf-name')?.textContent"
LINE = "(document.querySelector('.semf-line')?.textContent ?? '')"
STATE = "(document.querySelector('.semf-state')?.textContent ?? '')"
ITERATION = "Number((document.querySelector('.semf-iteration')?.textContent ?? '').replace(/\\D/g, ''))"
SIDE_BY_SIDE = """() => {
    const box = (what) => document.querySelector(what)?.getBoundingClientRect();
    const fold = box('.semf-strip')?.top || innerHeight;
    const [basis, chart] = [box('.semf-basis .semf-montage'), box('.semf-plot .nsewdrag[data-subplot=xy]')];
    return basis && chart && Math.max(basis.bottom, chart.bottom) <= fold && chart.right <= basis.left
        && Math.min(basis.width, chart.width) > 150;
}"""
FORMULAS = "[...document.querySelectorAll('.stTable td:has(.katex)')].map(cell => cell.getBoundingClientRect().height)"
"""Of the certificate; a second line makes a row higher."""
TICKS = """async () => {
    const { module } = document.querySelector('.semf-live').view.data;
    const { decades } = await import(new URL('curves.js', new URL(module, location.origin)).href);
    return [[-4.5, 2.5], [-6.5, 2.5], [-4.5, 2.5, 2]].map((range) => decades(...range).map(([, label]) => label));
}"""
"""The numbers of an axis, in one way of writing for the whole of it."""
AXIS_IN_SIGHT = """() => {
    const bottom = (what) => document.querySelector(what).getBoundingClientRect().bottom;
    return bottom('.semf-plot .g-xtitle') <= document.querySelector('.semf-foot').getBoundingClientRect().top;
}"""
"""The residual's own axis is above what stands at the foot of the page."""
SAID = "document.querySelector('.semf-plot').data.flatMap(trace => trace.text ?? [])"
"""What is said of the decisions and other marks in the chart."""
EVENTS = "document.querySelector('.semf-live').view.history.events"
TOP = "document.querySelector('.semf-body').getBoundingClientRect().top"
LEGEND = "document.querySelector('.semf-plot .legend .legendtext')?.textContent ?? ''"
GHOSTS = "document.querySelector('.semf-plot').data.filter(t => t.name === 'before' && t.x.length).length"
DIGITS = ModelSpec(Digits(), 12, (Nonnegative(), Sparse(k=16)), (Nonnegative(),), ADMM(), Limits(max_iter=60, tol=0))


def work_on(server, visit, spec=DIGITS, **size):
    """The owner's page of a run that has finished, or waits if it is an endless one."""
    handle = make_run(server.home, spec) if spec is ENDLESS else make_finished_run(server, spec)
    page = visit(f"{server.url}/workbench?run={handle.id}#key={handle.key}", **size)
    page.wait_for_selector(LIVE)
    quiet(page)
    return handle, page


def quiet(page):
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')


def press(page, name):
    page.locator(".semf-live").get_by_role("button", name=name, exact=True).click()


def finished(page):
    page.wait_for_function(f"{STATE}.startsWith('Finished')", timeout=60_000)


def k_of(page):
    return page.get_by_label("k", exact=True).first


def set_k(page, value):
    """One click into the field, the number, Enter."""
    k_of(page).click()
    k_of(page).fill(str(value))
    k_of(page).press("Enter")
    page.wait_for_function(f"{CURRENT} === 'k = {value}'", timeout=60_000)


def choose(page, label, option):
    """Two clicks: the list, and what is chosen from it."""
    field = page.get_by_label(label, exact=True).first
    field.click()
    page.get_by_role("option", name=option).first.click()


def test_a_page_that_has_missed_the_end_of_a_run_is_told_again(server, visit):
    _, page = work_on(server, visit)
    page.evaluate("""() => {
        const { view } = document.querySelector('.semf-live');
        window.told = [];
        view.trigger = (name, value) => window.told.push(`${name} ${value}`);
        view.data.state = 'running'; // what the page believes
        view.report('finished');
    }""")
    page.wait_for_function("window.told.length >= 2")
    assert page.evaluate("window.told.every(one => one === 'state finished')")


def test_a_change_is_seen_at_once_undone_and_survives(server, visit):
    _, page = work_on(server, visit)
    address = page.url.partition("?")[0]
    set_k(page, 8)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "k", "the focus stays in the field"
    finished(page)
    # What it did, and what it was before, without a click.
    page.wait_for_function(f"/^k 16 → 8: error .* → .*, nonzeros of U .* → 12.5\\s%/.test({LINE})", timeout=60_000)
    page.wait_for_function(f"{GHOSTS} === 6")
    page.get_by_role("heading", name="Handwritten digits, X ≥ 0 with 8 per column, Y ≥ 0").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.down("b")
    page.wait_for_function("document.querySelector('.semf-live').dataset.when === 'before'")
    assert page.locator(".semf-before").is_visible()
    page.keyboard.up("b")
    page.wait_for_function("document.querySelector('.semf-live').dataset.when === 'after'")
    page.locator(".semf-tile").nth(3).hover()
    page.wait_for_function("document.querySelector('.semf-live').dataset.when === 'before'")
    drawn = page.locator(".semf-variants img").first.get_attribute("src")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("src => document.querySelector('.semf-variants img').src !== src", arg=drawn)
    # Undo and redo are a key each.
    page.keyboard.press("z")
    page.wait_for_function(f"{LINE}.startsWith('k 8 → 16')", timeout=60_000)
    page.wait_for_function("[...document.querySelectorAll('input[aria-label=k]')].some(e => e.value === '16')")
    quiet(page)
    page.keyboard.press("Control+Shift+z")
    page.wait_for_function(f"{CURRENT} === 'k = 8'")
    quiet(page)
    # A reload and a change of page keep the strip and the model, and the iteration on show: in every panel of the chart.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**at=59*")
    page.reload()
    page.wait_for_selector(LIVE)
    page.wait_for_function("document.querySelector('.semf-plot').layout.shapes.filter(s => s.x0 === 59).length === 3")
    page.keyboard.press(" ")  # nothing is left to play: it is shown once more
    page.wait_for_function(f"{STATE}.startsWith('Replay')")
    page.wait_for_function(f"{CURRENT} === 'k = 8'")
    page.wait_for_function("[...document.querySelectorAll('input[aria-label=k]')].some(e => e.value === '8')", timeout=60_000)
    page.get_by_role("link", name="Data", exact=True).first.click()
    page.get_by_role("heading", name="Data", exact=True).wait_for()
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    page.wait_for_function(f"{CURRENT} === 'k = 8'", timeout=60_000)
    assert page.url.partition("?")[0] == address
    assert page.locator(".semf-variants .semf-variant").count() == 2


def test_how_it_ended_is_said_what_to_try_is_one_click_and_an_impossible_value_has_its_sentence(server, visit):
    _, page = work_on(server, visit)
    page.wait_for_function("document.querySelector('.semf-ending').textContent.startsWith('Still falling at the limit of 60')")
    top = page.evaluate(TOP)
    page.get_by_role("button", name="Replay", exact=True).click()
    page.locator(".semf-ending").wait_for(state="hidden")
    assert page.evaluate(TOP) == top, "nothing moves when a run ends"
    for text, sentence in (("65", "at most 64 nonzeros fit"), ("0", "k must be at least 1"), ("", "k is empty")):
        k_of(page).fill(text)
        k_of(page).press("Enter")
        page.locator('[data-testid="stSidebar"]').get_by_role("alert").filter(has_text=sentence).wait_for()
    assert page.locator(".semf-variants .semf-variant").count() == 1
    set_k(page, 64)
    finished(page)
    quiet(page)
    press(page, "120 iterations")
    page.wait_for_function(f"{CURRENT} === 'iterations = 120'", timeout=60_000)
    page.wait_for_function(f"{LINE}.startsWith('iterations 60 → 120: error')", timeout=60_000)


def test_what_stands_below_the_view_does_not_jump_when_it_comes(server, visit):
    _, page = work_on(server, visit)
    held: list = []
    page.route("**/view.js", lambda route: held.append(route))
    page.reload()
    below = "document.querySelector('.st-key-certificate-numbers')?.getBoundingClientRect().top >= innerHeight"
    page.wait_for_function(below)
    assert held and not page.locator(".semf-live").count()
    held[0].continue_()
    page.wait_for_selector(LIVE)
    assert page.evaluate(below)


def test_a_number_is_read_as_it_is_typed(server, visit):
    _, page = work_on(server, visit)
    rank = page.get_by_label("Rank p", exact=True).first
    rank.fill("2.5")
    rank.press("Enter")
    page.locator('[data-testid="stSidebar"]').get_by_role("alert").filter(has_text="whole number, not 2.5").wait_for()
    assert page.locator(".semf-variants .semf-variant").count() == 1, "the last good result stays"
    rank.fill("1e1")
    rank.press("Enter")
    page.wait_for_function(f"{CURRENT} === 'rank = 10'", timeout=60_000)


def test_groups_on_y_are_two_clicks(server, visit):
    spec = replace(preset("swimmer-sparse"), y=(Nonnegative(),), limits=Limits(max_iter=200))
    _, page = work_on(server, visit, spec)
    choose(page, "Add a constraint on Y", re.compile("k per group"))
    page.wait_for_function(f"{CURRENT} === '+ k per group on Y'", timeout=60_000)
    page.get_by_role("img", name=re.compile("Partition: 5 groups")).wait_for()
    finished(page)


def test_six_values_are_two_clicks_and_one_is_adopted(server, visit):
    _, page = work_on(server, visit)
    choose(page, "Try several", re.compile("k of k-sparse on X"))
    page.wait_for_selector(".semf-film:visible")
    page.wait_for_function("document.querySelectorAll('.semf-film img[src]').length === 6", timeout=120_000)
    names = page.locator(".semf-film .semf-name").all_inner_texts()
    assert names == ["4", "8", "12", "24", "32", "64"]
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(AXIS_IN_SIGHT)
    page.locator(".semf-film .semf-go").nth(1).click()
    page.wait_for_function(f"{CURRENT} === 'k = 8'", timeout=60_000)
    page.wait_for_function("[...document.querySelectorAll('input[aria-label=k]')].some(e => e.value === '8')")
    quiet(page)
    page.get_by_role("button", name="Put away").click()
    page.wait_for_selector(".semf-film", state="hidden")


def test_variants_are_renamed_pinned_compared_and_dropped(server, visit):
    _, page = work_on(server, visit)
    set_k(page, 8)
    finished(page)
    quiet(page)
    page.get_by_role("button", name="Compare with the previous").wait_for()
    page.locator(".semf-variant").nth(1).hover()
    page.get_by_role("button", name="Rename k = 8").click()
    page.get_by_label("New name").fill("few pixels")
    page.keyboard.press("Enter")
    page.wait_for_function(f"{CURRENT} === 'few pixels'")
    quiet(page)
    page.locator(".semf-variant").nth(0).hover()
    page.locator(".semf-variant").nth(0).get_by_role("button", name=re.compile("^Drop")).click()
    page.get_by_role("button", name="Bring back 1").click()
    page.wait_for_function("document.querySelectorAll('.semf-variants .semf-variant').length === 2")
    for number in (0, 1):
        quiet(page)
        page.locator(".semf-variants .semf-variant").nth(number).hover()
        page.locator(".semf-variants .semf-variant").nth(number).get_by_role("button", name=re.compile("^Pin")).click()
        page.wait_for_function("n => document.querySelectorAll('.semf-pinned').length === n", arg=number + 1)
    quiet(page)
    address = page.url
    page.get_by_role("button", name="Compare the pinned two").click()
    page.wait_for_url("**/compare?pin=*")
    page.wait_for_selector('.semf-compare[data-drawn="yes"]')
    names = page.locator(".semf-card .semf-title").all_inner_texts()
    assert len(names) == len(set(names)) == 2, "two variants of one model can be told apart"
    assert not page.locator('[data-testid="stSidebar"]').is_visible(), "the panel stays on the workbench"
    page.go_back()
    page.wait_for_function(f"{CURRENT} === 'few pixels'")
    assert page.url == address, "the workbench never had the pins in its address"


def test_a_class_follows_what_the_lecturer_does(server, visit):
    _, page = work_on(server, visit)
    page.wait_for_url("**bench=*")
    strip = present(re.search(r"bench=([\w-]+)", page.url))[1]
    viewer = visit(f"{server.url}/workbench?bench={strip}")
    viewer.wait_for_selector(LIVE)
    assert viewer.locator('[data-do="play"]').count() == 0 and viewer.get_by_label("k", exact=True).count() == 0
    set_k(page, 8)
    viewer.wait_for_function(f"{CURRENT} === 'k = 8'", timeout=60_000)
    finished(viewer)
    quiet(page)
    # A restart of a finished run is seen as well, by who has the link of the run alone.
    run = present(re.search(r"run=([\w-]+)", page.url))[1]
    other = visit(f"{server.url}/workbench?run={run}")
    finished(other)
    finished(page)
    page.locator(".semf-speed select").select_option("1")
    page.wait_for_timeout(300)
    press(page, "Start again")
    other.wait_for_function(f"{STATE}.startsWith('Running')", timeout=60_000)
    press(page, "Pause")


def test_penalties_steps_and_keys(server, visit):
    _handle, page = work_on(server, visit, ENDLESS)
    page.locator(".semf-speed select").select_option("100")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    page.wait_for_function(f"{STATE}.startsWith('Running') && {ITERATION} > 30")
    page.get_by_label("hold Algorithm 2").check()
    page.wait_for_function("document.querySelector('.semf-cases').textContent.includes('Change')")  # from here on α stays
    before = page.locator('output[data-of="alpha"]').inner_text()
    page.get_by_role("button", name="α divided by 2").click()
    page.wait_for_function("v => document.querySelector('output[data-of=alpha]').textContent !== v", arg=before)
    page.wait_for_function(f"{EVENTS}.some(([, , text]) => text.includes('α set to'))")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(" ")
    page.wait_for_function(f"{STATE}.startsWith('Paused')")
    last = page.evaluate(ITERATION)
    # One press is one iteration, also where nothing was recorded, and the cursor is where the slider is.
    for back in (1, 2):
        page.keyboard.press("ArrowLeft")
        page.wait_for_function(f"n => {ITERATION} === n", arg=last - back)
    page.keyboard.press("Shift+ArrowLeft")
    page.wait_for_function(f"n => {ITERATION} === n", arg=last - 12)
    at = last - 12
    page.wait_for_function(f"document.querySelector('.semf-basis img').alt.includes('iteration {at}')")
    assert page.evaluate("Number(document.querySelector('.semf-scrubber input[type=range]').value)") == at
    page.wait_for_function(f"document.querySelector('.semf-plot').layout.shapes.some(s => s.x0 === {at})")
    page.wait_for_url(f"**at={at}*")
    page.keyboard.press("l")
    page.keyboard.press("s")
    page.wait_for_function(f"n => {ITERATION} === n", arg=last + 1)
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").get_by_text("play or pause").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.get_by_text("Traceback").count() == 0


SIZES = {"full HD": (1920, 1080), "the same at 150 %": (1280, 720), "a laptop": (1440, 900), "it at 150 %": (960, 600)}


def test_basis_and_residual_are_side_by_side_above_the_fold(server, visit):
    _, page = work_on(server, visit, replace(preset("swimmer-groups"), limits=Limits(max_iter=25)))
    page.wait_for_selector(".semf-tile")
    assert page.evaluate(TICKS) == [["0.0001", "0.01", "1", "100"], ["10⁻⁶", "10⁻⁴", "10⁻²", "10⁰", "10²"], ["0.0001", "1"]]
    quiet_ones = [text for text in page.evaluate(SAID) if "penalties stay" in text]
    assert quiet_ones and not any("→" in text for text in quiet_ones), "a decision says only what it has changed"
    for width, height in SIZES.values():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_function(SIDE_BY_SIDE)
        assert not page.evaluate(LEGEND).strip().endswith(","), "a shortened name has no comma left"
        if (width, height) == SIZES["full HD"]:
            page.wait_for_function(f"{FORMULAS}.length && {FORMULAS}.every(height => height < 40)")
        if (width, height) == SIZES["a laptop"]:
            for factor in "XY":
                first = page.locator(f'[data-testid="stSidebar"] [class*="st-key-block_{factor}_"]').first.bounding_box()
                assert first["y"] + first["height"] <= height, factor


def test_on_a_phone_pictures_come_first_and_nothing_sticks_out(server, visit):
    _, page = work_on(server, visit, width=390, height=844)
    page.wait_for_selector(".semf-tile")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    basis, chart = (page.locator(one).bounding_box()["y"] for one in (".semf-basis", ".semf-charts"))
    assert basis < chart
    assert page.locator(".semf-basis .semf-montage").bounding_box()["width"] > 0.85 * 390, "the pictures have the width"
    in_sight = "document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right > 40"
    assert not page.evaluate(in_sight)
    page.get_by_test_id("stExpandSidebarButton").click()
    page.wait_for_function(in_sight)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
