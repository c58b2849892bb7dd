"""The live view in real Chromium: it moves, it obeys, it stays where the user put it, it survives."""

from __future__ import annotations

import os
import signal
import time

from semf_core.runs.folder import RunFolder
from tests.browser.conftest import Server, make_run
from tests.browser.test_pages import opened_cold

LIVE = '.semf-live[data-drawn="yes"]'
POINTS = "document.querySelector('.semf-plot').data[1].x.length"
ITERATION = "Number(document.querySelector('.semf-iteration').textContent.replace(/\\D/g, ''))"

HANGS_OVER = """() => document.querySelector('.semf-live').view.charts.tail.count > 0
    && [...document.querySelectorAll('.semf-tail path')].every(path => path.getAttribute('d')?.includes('L'))"""
"""Points that the figure does not have yet are drawn over it."""


def press(page, label):
    """As a person would, after the page has come to rest: of two clicks within one script run Streamlit drops one."""
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.locator(".semf-live").get_by_role("button", name=label, exact=True).first.click()


def state_is(page, text):
    page.wait_for_function("t => document.querySelector('.semf-state')?.textContent.startsWith(t)", arg=text)


def enabled(page, label):
    page.wait_for_function(
        "l => [...document.querySelectorAll('.semf-do')].some(b => b.ariaLabel === l && !b.disabled)", arg=label
    )


def leave(page):
    """Nobody else has to wait for an endless run."""
    enabled(page, "Pause")
    press(page, "Pause")
    state_is(page, "Paused")


def open_and_resume(server, visit):
    handle = make_run(server.home)
    page = visit(f"{server.url}/workbench?run={handle.id}#key={handle.key}")
    page.wait_for_selector(LIVE)
    press(page, "Resume")
    state_is(page, "Running")
    return handle, page


def test_home_opens_with_curves_that_move_and_a_card_is_one_click_to_a_run_that_finds_all_groups(server, visit):
    page = visit(server.url)
    asked = []
    page.on("request", lambda r: asked.append(r.url))
    page.wait_for_selector(LIVE)
    page.wait_for_function(f"n => {POINTS} > n", arg=page.evaluate(POINTS), timeout=10_000)
    page.locator(".semf-plot").hover()
    assert page.evaluate("document.querySelector('.semf-plot')._fullLayout.yaxis.autorange"), "the axes grow with the curves"
    page.wait_for_function("document.querySelector('.semf-badges').textContent.includes('of 17 parts found')")
    assert page.locator(".semf-basis img").get_attribute("src").startswith("data:image/png")
    assert page.get_by_role("button", name="Run", exact=True).count() >= 10
    assert not any("full.js" in url for url in asked), "Home is drawn by the small bundle of plotly.js"
    page.locator(".st-key-preset-swimmer-groups button").first.click()
    page.wait_for_url("**/workbench?*run=*")
    page.wait_for_function(
        "document.querySelector('.semf-badges')?.textContent.includes('17 of 17 parts found5 of 5 groups right')", timeout=60_000
    )
    page.wait_for_selector("text=Certificate")
    page.wait_for_function("document.querySelectorAll('.semf-tile.semf-matched').length === 17")


def test_pause_step_scrub_resume(server, visit):
    handle, page = open_and_resume(server, visit)
    recorded = RunFolder(server.home / "runs" / handle.id).iterations
    sizes = []
    page.on("response", lambda r: sizes.append(r) if "/studio/live/" in r.url else None)
    page.wait_for_function(f"{POINTS} > 20")
    page.wait_for_function(HANGS_OVER)
    # Zoom and legend choices survive refreshes.
    page.evaluate("Plotly.relayout(document.querySelector('.semf-plot'), {'xaxis.range': [3, 17]})")
    page.evaluate("Plotly.restyle(document.querySelector('.semf-plot'), {visible: 'legendonly'}, [0])")
    refreshes = "Number(document.querySelector('.semf-live').dataset.refreshes)"
    first, began = page.evaluate(refreshes), time.monotonic()
    page.wait_for_function(f"n => {refreshes} > n + 8", arg=first)
    assert (page.evaluate(refreshes) - first) / (time.monotonic() - began) > 0.5, "a computer under heavy load is slow, not still"
    assert page.evaluate("document.querySelector('.semf-plot').layout.xaxis.range") == [3, 17]
    assert page.evaluate("document.querySelector('.semf-plot').data[0].visible") == "legendonly"
    assert sorted(len(r.body()) for r in sizes[-8:])[-1] < 30_000
    # The scrubber stays where the user puts it while the run goes on.
    page.locator(".semf-scrubber input[type=range]").evaluate("e => { e.value = 3; e.dispatchEvent(new Event('input')); }")
    put = page.evaluate(ITERATION)
    assert put == 3
    page.wait_for_function(f"n => {refreshes} > n + 4", arg=page.evaluate(refreshes))
    assert page.evaluate(ITERATION) == put
    assert not page.locator(".semf-follow input").is_checked()
    assert page.evaluate(f"document.querySelector('.semf-plot').layout.shapes.some(s => s.x0 === {put})")
    page.locator(".semf-follow input").check()
    page.wait_for_function(f"n => {ITERATION} > n", arg=put)
    # Pause, one step, resume.
    enabled(page, "Pause")
    press(page, "Pause")
    state_is(page, "Paused")
    page.wait_for_function(f"{POINTS} === document.querySelector('.semf-live').view.history.x.length")  # at rest it has them all
    paused = recorded()
    enabled(page, "Step")
    press(page, "Step")
    page.wait_for_function(f"n => Math.abs({ITERATION} - n) <= 16", arg=paused + 1)  # a long curve is thinned
    while recorded() == paused:
        page.wait_for_timeout(50)
    assert recorded() == paused + 1
    enabled(page, "Play")
    press(page, "Play")
    state_is(page, "Running")
    page.wait_for_function(f"n => {ITERATION} > n + 20", arg=paused)
    enabled(page, "Stop")
    press(page, "Stop")
    state_is(page, "Stopped")
    page.wait_for_selector("text=Certificate")
    end, count = time.monotonic() + 20, -1
    while len(sizes) != count:  # the page itself may still be at work
        assert time.monotonic() < end, "a run at rest costs no traffic"
        count = len(sizes)
        page.wait_for_timeout(1500)


def test_reload_and_a_second_browser(server, visit):
    handle, page = open_and_resume(server, visit)
    enabled(page, "Pause")
    assert "key=" not in page.url
    page.wait_for_timeout(300)
    page.reload()
    page.wait_for_selector(LIVE)
    enabled(page, "Pause")  # the browser remembers the key
    other = visit(f"{server.url}/workbench?run={handle.id}")
    other.wait_for_selector(LIVE)
    state_is(other, "Running")
    assert other.get_by_role("button", name="Pause", exact=True).count() == 0
    press(page, "Pause")
    state_is(other, "Paused")
    other.get_by_role("button", name="Make changes on a copy").click()
    other.wait_for_url("**bench=*")
    other.get_by_label("Seed", exact=True).fill("5")
    other.get_by_label("Seed", exact=True).press("Enter")
    other.wait_for_function("document.querySelector('.semf-current .semf-name')?.textContent === 'seed = 5'")
    enabled(other, "Pause")
    assert handle.id not in other.url
    leave(other)


def look_at_a_basis_image(page):
    """By pointing at it and by a click."""
    page.wait_for_selector(".semf-tile")
    page.locator(".semf-tile").nth(4).hover()
    page.wait_for_function("document.querySelector('.semf-inspect').textContent.startsWith('Component 5: used by')")
    assert page.locator(".semf-row").is_visible()
    page.locator(".semf-tile").nth(4).click()
    page.wait_for_function("!document.querySelector('.semf-samples .semf-title').textContent.includes('52, 103, 154, 205')")
    page.get_by_label("X, free").check()
    page.wait_for_function("document.querySelector('.semf-basis .semf-title').textContent.startsWith('Basis X')")


def test_a_killed_worker_is_reported_in_words_and_everybody_sees_the_run_resumed(server, visit):
    handle, page = open_and_resume(server, visit)
    page.wait_for_function(f"{POINTS} > 5")
    look_at_a_basis_image(page)
    viewer = visit(f"{server.url}/workbench?run={handle.id}")
    state_is(viewer, "Running")
    for worker in server.workers():
        os.kill(worker, signal.SIGKILL)
    state_is(page, "Failed")
    words = page.locator(".semf-state").text_content()
    assert "Traceback" not in words and "iterations are kept" in words
    state_is(viewer, "Failed")
    assert viewer.locator(".semf-follow").inner_text().strip() == "Last recorded factors"
    enabled(page, "Resume")
    press(page, "Resume")
    state_is(viewer, "Running")
    leave(page)


def test_a_run_outlives_its_server(tmp_path, visit):
    first = Server(tmp_path / "home").start()
    try:
        handle, page = open_and_resume(first, visit)  # the very first visit to a server is to a page deep inside
        opened_cold(page, first, "Workbench")
        page.wait_for_function(f"{POINTS} > 20")
        page.close()
    finally:
        first.stop()
    second = Server(tmp_path / "home").start()
    try:
        page = visit(f"{second.url}/workbench?run={handle.id}#key={handle.key}")
        page.wait_for_selector(LIVE)
        state_is(page, "Interrupted")
        page.wait_for_function(f"{POINTS} > 20")
        press(page, "Resume")
        state_is(page, "Running")
    finally:
        second.stop()
