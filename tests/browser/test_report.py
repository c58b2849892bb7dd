"""The report opened from disk with the network off: charts, scrubber, themes, a phone, and what axe finds."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from semf_core.exports import EXPORTS
from tests.browser.test_pages import serious
from tests.exports.common import SMALL, hostile, hostile_dataset, recorded


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The file, with a hostile title and data of a hostile name."""
    home = tmp_path_factory.mktemp("report")
    folder = hostile(recorded(home / "run"))
    file = home / "report.html"
    file.write_bytes(EXPORTS["html"].make(folder, hostile_dataset(SMALL.dataset.load())))
    return file


@pytest.fixture
def page(chromium, report):
    """The report in a browser without a network; any word on its console fails the test."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light")
    context.set_offline(True)
    opened = context.new_page()
    said: list = []
    asked: list = []

    def dismiss(dialog):
        said.append("dialog")
        dialog.dismiss()

    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", dismiss)
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(report.as_uri())
    opened.wait_for_selector('html[data-ready="yes"]')
    yield opened
    context.close()
    assert not said
    assert all(url.startswith(("file:", "data:")) for url in asked)


def curve(page, trace):
    """What is drawn of a curve, by its place in the figure; empty where it is hidden."""
    found = "i => document.querySelector('.semf-plot').calcdata[i][0].node3?.select('path.js-line').attr('d') ?? ''"
    return page.evaluate(found, trace)


def test_charts_are_drawn_zoomed_and_pointed_at(page):
    for trace in range(6):
        assert len(curve(page, trace)) > 100
    whole = curve(page, 4)
    box = page.locator(".semf-plot .nsewdrag").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.3 * box["width"], middle)
    expect(page.locator(".hoverlayer")).to_contain_text("‖M−XY‖, free")
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], middle, steps=4)
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('.semf-plot').layout.xaxis.range[0] > 10")
    assert curve(page, 4) != whole, "all panels show the same iterations"
    page.get_by_role("button", name="Show all").click()
    assert curve(page, 4) == whole
    page.get_by_label("logarithmic").uncheck()
    assert curve(page, 4) != whole
    page.get_by_role("button", name="α").press("Enter")
    assert curve(page, 2) == "" and curve(page, 3) != ""


def test_the_scrubber_moves_pictures_cursor_and_numbers(page):
    basis, numbers = page.locator(".basis img"), page.locator(".numbers")
    last, values = basis.get_attribute("src"), numbers.inner_text()
    page.locator(".position").focus()
    page.keyboard.press("Home")
    expect(page.locator(".where")).to_contain_text("iteration 1 ·")
    assert basis.get_attribute("src") != last and numbers.inner_text() != values
    assert "iteration 1" in basis.get_attribute("alt")
    assert basis.evaluate("i => i.decode().then(() => i.naturalWidth)") > 50
    for _ in range(4):  # the first X that fits may lie in its set already
        page.keyboard.press("ArrowRight")
    free = page.get_by_label("X, Y free")
    before = basis.get_attribute("src")
    free.check()
    assert basis.get_attribute("src") != before and "columns of X" in basis.get_attribute("alt")
    chart = page.locator(".semf-plot .nsewdrag").first
    chart.click(position={"x": 0.9 * chart.bounding_box()["width"], "y": 60})
    expect(page.locator(".where")).to_contain_text(re.compile(r"iteration (5\d|60)"))
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.locator(".where")).to_contain_text("result", timeout=20_000)


def test_both_themes_for_everybody_and_on_a_phone(page):
    light = page.locator(".basis img").get_attribute("src")
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("light => document.querySelector('.basis img').src !== light", arg=light)
    assert page.locator(".basis img").evaluate("i => i.decode().then(() => i.naturalWidth)") > 50
    assert serious(page) == []
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page) == []
    assert page.evaluate("getComputedStyle(document.body).fontSize") == "16px"


def test_a_hostile_title_is_shown_as_it_is(page):
    expect(page.locator("h1")).to_contain_text("</script><script>alert(1)</script>")
    assert page.locator("b, iframe").count() == 0
    assert page.locator("script").count() == 2
