"""The Compare page in real Chromium: curves and aligned components of several runs, found again by link."""

from __future__ import annotations

from semf_core.model import ModelSpec, preset
from semf_core.solvers import Limits, PrincipalComponents
from tests.browser.conftest import make_finished_run

DRAWN = '.semf-compare[data-drawn="yes"]'


def test_runs_side_by_side_by_link(server, visit):
    groups = preset("swimmer-groups")
    plain = ModelSpec(groups.dataset, 17, solver=PrincipalComponents(), limits=Limits(max_iter=100), title="Plain")
    ids = [make_finished_run(server, spec).id for spec in (groups, plain)]
    page = visit(f"{server.url}/compare?pin={','.join(ids)}", height=1800)
    page.wait_for_selector(DRAWN)
    page.wait_for_function("document.querySelectorAll('.semf-card .semf-matched').length >= 17")
    names = page.locator(".semf-card .semf-title").all_text_contents()
    assert names == ["Ground truth", groups.title, "Plain"]
    assert page.evaluate("document.querySelectorAll('.semf-card')[1].querySelectorAll('.semf-matched').length") == 17
    assert page.evaluate("document.querySelectorAll('.semf-card')[2].querySelectorAll('.semf-matched').length") < 17
    lowest = "(p => Math.min(...p.data.flatMap(t => t.y.map(Math.log10))) - p.layout.yaxis.range[0])"
    assert 0 < page.evaluate(f"{lowest}(document.querySelector('.semf-compare .semf-plot'))") < 2, "an exact fit is on the axis"
    page.locator(".semf-compare .legendtoggle").last.click()
    out_of_sight = "document.querySelector('.semf-compare .semf-plot').data[1].visible === 'legendonly'"
    page.wait_for_function(out_of_sight)
    page.get_by_role("radio", name="against seconds").check()
    page.wait_for_function("document.querySelector('.semf-compare .semf-plot').layout.xaxis.title.text === 'time (s)'")
    assert page.evaluate("document.querySelector('.semf-compare .semf-plot').data.map(t => t.name)") == [groups.title, "Plain"]
    assert page.evaluate(out_of_sight), "what was put out of sight stays so"
    page.get_by_text("Keep the table and the figure").click()
    with page.expect_download() as got:
        page.get_by_role("link", name="Figure (SVG)").click()
    assert got.value.suggested_filename == "comparison.svg"
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = "[...document.querySelectorAll('.semf-card')].map(e => e.getBoundingClientRect())"
    page.wait_for_function(f"(([a, b]) => a.y === b.y && a.x < b.x)({boxes})")


def test_what_still_runs_moves_and_comes_to_rest(server, visit):
    page = visit(f"{server.url}/compare")
    page.get_by_text("Algorithms with their default options").wait_for()
    chooser = page.get_by_role("combobox", name="Algorithms with their default options")
    for word in ("multiplicative", "LSI"):
        chooser.click()
        chooser.fill(word)
        page.get_by_role("option").filter(has_text=word).first.click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start them").click()
    page.wait_for_selector(DRAWN)
    done = "[...document.querySelectorAll('.semf-words')].filter(e => e.textContent.startsWith('Finished')).length === 2"
    page.wait_for_function(done, timeout=60_000)
    page.wait_for_selector('[data-testid="stDataFrame"]')
