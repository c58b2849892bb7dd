"""Every page in real Chromium: cold links, both themes, a phone, and what axe finds."""

from __future__ import annotations

import time

import pytest
from axe_playwright_python.sync_playwright import Axe
from streamlit.proto.BackMsg_pb2 import BackMsg

from semf_core.snapshots.label import Label
from tests.browser.conftest import PATIENCE, SHORT, make_finished_run, make_run, make_snapshot, make_study

PAGES = {"": "Home", "data": "Data", "workbench": "Workbench", "studies": "Studies", "snapshots": "Snapshots"}

ONLY_VIOLATIONS = {"resultTypes": ["violations"]}
"""The same rules, in half the time: what is in order is a megabyte that nobody reads."""


def settled(page):
    """Streamlit has finished its script and drawn everything."""
    page.wait_for_selector("h1")
    page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget]')")
    page.wait_for_timeout(300)


def opened_cold(page, server, title):
    """The link has opened its page in a browser that knows nothing."""
    page.wait_for_selector("h1")
    page.wait_for_function(f"document.title === '{title} · SeMF Studio'")
    assert page.get_by_text("Page not found").count() == 0
    for one in PAGES.values():
        assert page.get_by_role("link", name=one, exact=True).count() >= 1
    assert page.evaluate("document.querySelector('link[rel~=icon]').href").startswith(server.url)


PRESS_AT_ONCE = """
const wait = setInterval(() => {
  const link = [...document.querySelectorAll("a")].find((one) => one.textContent.trim().endsWith("Data"));
  if (!link || !window.semfAfterNavigation) return;
  clearInterval(wait);
  link.click();
}, 1);
"""
SLOW_LINE = """
const { set, get } = Object.getOwnPropertyDescriptor(WebSocket.prototype, "onmessage");
const later = (handler) => (event) => setTimeout(() => handler.call(event.target, event), 2000);
Object.defineProperty(WebSocket.prototype, "onmessage", { get, set(handler) { set.call(this, later(handler)); } });
const listen = WebSocket.prototype.addEventListener;
WebSocket.prototype.addEventListener = function (kind, handler, options) {
  return listen.call(this, kind, kind === "message" ? later(handler) : handler, options);
};
"""


def requests(page):
    """What the page asks its server for from now on, as it does."""
    asked = []

    def note(frame):
        message = BackMsg.FromString(frame)
        if message.WhichOneof("type") == "rerun_script":
            asked.append(message.rerun_script)

    page.on("websocket", lambda socket: socket.on("framesent", note))
    return asked


def test_a_reload_of_home_tells_nothing_and_the_workbench_has_ones_own_run_at_once(server, visit):
    """What the browser has is known to the server: a message about it could undo a press, or be swallowed by one."""
    handle = make_finished_run(server, SHORT)
    page = visit(f"{server.url}/workbench?run={handle.id}#key={handle.key}")
    page.wait_for_url("**/workbench?*bench=*")
    settled(page)
    asked = requests(page)
    page.goto(server.url)
    settled(page)
    page.wait_for_timeout(1500)
    assert len(asked) == 1, "the page that was opened, and nothing that it sends by itself"
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    page.wait_for_url(f"**/workbench?*run={handle.id}*")
    settled(page)
    assert len(asked) == 2, "the press alone"


def test_a_press_in_the_navigation_is_not_undone_by_what_a_page_sends_by_itself(server, visit):
    """The browser tells what the server does not know; a press before that was lost where answers take long."""
    kept = "0123456789abcdef"
    page = visit(f"{server.url}/studies")
    settled(page)
    page.evaluate(f"localStorage.setItem('semf-studio-runs', JSON.stringify({{ '{kept}': 'key' }}))")
    page.add_init_script(SLOW_LINE)
    page.add_init_script(PRESS_AT_ONCE)
    asked = requests(page)
    page.reload()
    page.wait_for_function("document.title === 'Data · SeMF Studio'")
    end = time.monotonic() + PATIENCE / 1000
    while not (told := [one for one in asked if kept in str(one)]):
        assert time.monotonic() < end, "the browser never tells what it has"
        page.wait_for_timeout(50)
    pressed = next(one for one in asked if one.page_script_hash and one not in told)
    before = asked.index(told[0]) < asked.index(pressed)
    assert before or told[0].page_script_hash == pressed.page_script_hash, "what is told after the press names the page left"


def refuse_a_file(page, server):
    page.get_by_text("Upload", exact=True).first.click()
    page.locator("input[type=file]").set_input_files({"name": "words.csv", "mimeType": "text/csv", "buffer": b"red,blue\n"})
    page.get_by_role("alert").first.wait_for()


def open_everything(page, server):
    for title in ("Options of", "Limits:", "This model as", "Preview the projection of X"):
        page.get_by_text(title).first.click()
    page.get_by_role("img", name="X after the projection").wait_for()


def follow_a_dead_link(page, server):
    open_everything(page, server)
    page.goto(f"{server.url}/workbench?run=nonsense")
    page.get_by_role("alert").first.wait_for()
    page.get_by_role("heading", name="Endless Swimmer").wait_for()  # what one works on stays


UNFOLD = {"data": refuse_a_file, "workbench": follow_a_dead_link}
"""What a page shows only after somebody has done something."""


@pytest.mark.parametrize("name", ["home", "data", "workbench", "studies", "study", "snapshots", "snapshot"])
def test_cold_links_in_both_themes_for_everybody_and_on_a_phone(server, visit, name, tmp_path):
    path = {"home": ""}.get(name, name)
    if name == "workbench":
        handle = make_run(server.home)
        path = f"workbench?run={handle.id}#key={handle.key}"
    elif name == "study":
        path = f"studies?study={make_study(server.home).id}"
    elif name.startswith("snapshot"):
        shown = make_snapshot(server.home, tmp_path, Label("For everybody", "swimmer, nine", "A note"), published=True)
        path = "snapshots" if name == "snapshots" else f"snapshots?snapshot={shown.id}#key={shown.key}"
    page = visit(f"{server.url}/{path}")
    if path in PAGES:
        opened_cold(page, server, PAGES[path])
    settled(page)
    live = name in {"home", "workbench", "snapshot"}
    if name == "study":
        page.wait_for_selector(".js-plotly-plot .heatmaplayer")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        if live:
            page.wait_for_selector(f'.semf-live[data-drawn="yes"][data-theme="{scheme}"]')
        page.wait_for_timeout(800)
        assert serious(page) == [], scheme
    if name in UNFOLD:
        UNFOLD[name](page, server)
        settled(page)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(500)
            assert serious(page) == [], scheme
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_timeout(800)
    assert too_wide(page) == []
    assert page.evaluate("[...document.querySelectorAll('.stMain img')].every(i => i.alt)")
    if name == "home":
        page.wait_for_function("document.querySelector('.semf-chart-text').textContent.length > 20")


def serious(page, looks=5):
    """What axe calls serious or critical. What is only on its way to its colours is looked at again."""
    told = Axe().run(page, options=ONLY_VIOLATIONS).response["violations"]
    found = [v for v in told if v["impact"] in {"serious", "critical"}]
    if found and looks > 1:
        page.wait_for_timeout(1000)
        return serious(page, looks - 1)
    return [(v["id"], [n["html"][:160] for n in v["nodes"][:3]]) for v in found]


def too_wide(page):
    """Elements that stick out to the right, except inside something that scrolls by itself."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return page.evaluate(
        """() => [...document.querySelectorAll('.stMain *')].filter(e => {
            const r = e.getBoundingClientRect();
            return r.width > 0 && r.right > innerWidth + 1 && e.type !== 'range' && getComputedStyle(e).position !== 'fixed'
                && !e.closest('[data-testid=stDataFrame], pre, .stTable, .katex, .js-plotly-plot, [data-baseweb=tab-list]');
        }).map(e => e.tagName + '.' + e.className).slice(0, 5)"""
    )


def test_a_click_on_a_heat_map_or_a_bar_opens_that_run(server, visit):
    page = visit(f"{server.url}/studies?study={make_study(server.home).id}")
    page.wait_for_selector(".js-plotly-plot .heatmaplayer")
    settled(page)
    box = page.locator(".js-plotly-plot").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.4 * box["height"])
    page.get_by_text("α₀ = 0.1, β₀ = 1: 0.1").wait_for()
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/workbench?*run=*")
    page.get_by_role("heading", name="Clicked").wait_for()
    page.go_back()
    bar = page.locator(".js-plotly-plot .barlayer .point path").nth(1)
    bar.wait_for()
    settled(page)
    page.get_by_test_id("stTopNavLink").filter(has_text="Studies").click()  # leads to all of them, and Back to this one
    page.get_by_role("heading", name="Studies", exact=True).wait_for()
    assert "study=" not in page.url
    page.go_back()
    bar.scroll_into_view_if_needed()
    settled(page)
    box = bar.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.8 * box["height"])
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**/workbench?*run=*")
    page.get_by_role("heading", name="Clicked").wait_for()
