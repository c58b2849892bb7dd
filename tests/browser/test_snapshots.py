"""Snapshots in a real browser: save, open by link in a second browser, continue, download, delete and undo."""

from __future__ import annotations

import io
import re
import zipfile

from playwright.sync_api import expect

from semf_core.snapshots.label import Label
from tests.browser.conftest import PATIENCE, SHORT, make_run, make_snapshot
from tests.browser.test_live import LIVE, press
from tests.browser.test_workbench import CURRENT, LINE, finished, quiet, set_k, work_on

expect.set_options(timeout=PATIENCE)


def button(page, name):
    """A button as somebody sees it; Streamlit keeps hidden twins of those with a tooltip."""
    return page.get_by_role("button", name=name, exact=True).filter(visible=True).first


def test_save_open_elsewhere_continue(server, visit):
    handle = make_run(server.home, SHORT)
    owner = visit(f"{server.url}/workbench?run={handle.id}#key={handle.key}")
    owner.wait_for_selector(LIVE)
    press(owner, "Resume")
    expect(owner.get_by_text("Finished", exact=True)).to_be_visible()
    button(owner, "Save").click()
    owner.get_by_label("Title").fill("Nine parts, saved")
    before = set((server.home / "snapshots").rglob("*.semf"))
    owner.get_by_label("Title").press("Enter")
    owner.get_by_text("Saved as a snapshot").wait_for()
    assert len(set((server.home / "snapshots").rglob("*.semf")) - before) == 1, "saved once"
    owner.get_by_text(re.compile("snapshots\\?snapshot=")).wait_for()
    assert owner.get_by_role("button", name="Save snapshot").count() == 0
    button(owner, "Open the snapshot").click()
    expect(owner.get_by_role("heading", name="Nine parts, saved")).to_be_visible()
    link = owner.url
    assert "snapshot=" in link and "key" not in link
    expect(button(owner, "Delete")).to_be_visible()

    guest = visit(link, width=390, height=844, scheme="dark")
    expect(guest.get_by_role("heading", name="Nine parts, saved")).to_be_visible()
    expect(guest.get_by_text("Finished", exact=True)).to_be_visible()
    expect(guest.locator(".semf-basis img").first).to_be_visible()
    expect(button(guest, "Continue from here")).to_be_visible()
    assert button(guest, "Delete").count() == 0
    scrubber = guest.locator(".semf-scrubber input[type=range]")
    scrubber.evaluate("e => { e.value = 3; e.dispatchEvent(new Event('input')); }")
    expect(guest.locator(".semf-basis img").first).to_have_attribute("alt", re.compile(r"iteration 3\b"))

    button(guest, "Continue from here").click()
    expect(button(guest, "Play")).to_be_visible()
    button(guest, "Play").click()
    expect(guest.get_by_text("Finished", exact=True)).to_be_visible()


def test_a_whole_strip_is_saved_looked_at_and_gone_on_with(server, visit):
    _, owner = work_on(server, visit)
    set_k(owner, 8)
    finished(owner)
    owner.wait_for_function(f"/nonzeros/.test({LINE})", timeout=PATIENCE)  # at rest, and the page knows
    quiet(owner)
    button(owner, "Save").click()
    owner.get_by_label("Title").fill("Both of them")
    owner.get_by_text("With all 2 variants").click()
    button(owner, "Save snapshot").click()
    button(owner, "Open the snapshot").click()
    owner.wait_for_url("**/snapshots?snapshot=*")
    owner.wait_for_function(f"{CURRENT} === 'k = 8' && /^k 16 → 8/.test({LINE})", timeout=PATIENCE)

    guest = visit(owner.url)
    guest.locator(".semf-variants .semf-go").first.click()
    guest.wait_for_url("**variant=1*")
    guest.wait_for_function("document.querySelector('.semf-imposed').textContent.includes('16 per column')", timeout=PATIENCE)
    assert guest.locator('[data-do="play"]').count() == 0 and button(guest, "Delete").count() == 0
    button(guest, "Continue").click()
    guest.wait_for_url("**/workbench?*")
    guest.wait_for_function(f"{CURRENT} === 'k = 8' && document.querySelectorAll('.semf-variant').length === 2", timeout=PATIENCE)
    set_k(guest, 5)
    guest.wait_for_function("document.querySelectorAll('.semf-variants .semf-variant').length === 3", timeout=PATIENCE)


def test_the_gallery_remembers_whose_is_what(server, visit, tmp_path):
    handle = make_snapshot(server.home, tmp_path, Label("Mine alone", "swimmer, nine"))
    owner = visit(f"{server.url}/snapshots?snapshot={handle.id}#key={handle.key}")
    with owner.expect_download() as download:
        button(owner, "Download").click()
        owner.get_by_role("link", name=re.compile("Snapshot file")).click()
    data = download.value.path().read_bytes()
    assert "manifest.json" in zipfile.ZipFile(io.BytesIO(data)).namelist()
    assert download.value.suggested_filename == "mine-alone.semf"

    again = visit(f"{server.url}/snapshots", context=owner.context)
    expect(again.get_by_text("Mine alone").first).to_be_visible()
    stranger = visit(f"{server.url}/snapshots")
    expect(stranger.get_by_text("Runs that were saved")).to_be_visible()
    assert stranger.get_by_text("Mine alone").count() == 0

    button(owner, "Compare").click()
    expect(owner).to_have_url(re.compile(rf"/compare\?pin={handle.id}"))
    expect(owner.get_by_role("heading", name="Scores")).to_be_visible()

    mine = visit(f"{server.url}/snapshots?snapshot={handle.id}", context=owner.context)
    button(mine, "Delete").click()
    expect(mine.get_by_text("was deleted")).to_be_visible()
    button(mine, "Undo").click()
    expect(mine.get_by_text("Mine alone").first).to_be_visible()

    stranger.get_by_text("Open a snapshot file").click()
    for content, outcome in ((b"nonsense", "is not a readable ZIP archive"), (data, "Continue from here")):
        file = {"name": "x.semf", "mimeType": "application/zip", "buffer": content}
        stranger.locator("input[type=file]").set_input_files(file)
        expect(stranger.get_by_text(outcome).filter(visible=True).first).to_be_visible()
    assert handle.id not in stranger.url and "snapshot=" in stranger.url


def test_the_entry_of_the_page_leaves_a_snapshot_and_back_is_one_press(server, visit, tmp_path):
    make_snapshot(server.home, tmp_path, Label("Left again"), published=True)
    page = visit(f"{server.url}/compare")
    to_gallery = page.get_by_test_id("stTopNavLink").filter(has_text="Snapshots")
    to_gallery.click()
    gallery = page.get_by_role("heading", name="Snapshots", exact=True)
    expect(gallery).to_be_visible()
    for leave in (to_gallery.click, page.go_back):
        page.locator(".stMain .stButton button", has_text="Open").first.click()
        expect(page).to_have_url(re.compile("snapshot="))
        expect(button(page, "All snapshots")).to_be_visible()
        leave()
        expect(gallery).to_be_visible()
        assert "snapshot=" not in page.url
    to_workbench = page.get_by_test_id("stTopNavLink").filter(has_text="Workbench")
    to_workbench.click()
    expect(page).to_have_url(re.compile("/workbench"))
    page.go_back()
    expect(gallery).to_be_visible()
    page.locator(".stMain .stButton button", has_text="Open").first.click()
    expect(button(page, "All snapshots")).to_be_visible()
    link = page.url
    button(page, "Compare").click()
    expect(page).to_have_url(re.compile(r"/compare\?pin="))
    page.go_back()
    expect(page).to_have_url(link)
    expect(button(page, "All snapshots")).to_be_visible()


def test_the_animation_is_shown(server, visit, tmp_path):
    handle = make_snapshot(server.home, tmp_path, Label("Moving"))
    page = visit(f"{server.url}/_stcore/health")
    for kind in ("gif", "webp"):
        page.set_content(f'<img src="{server.url}/studio/download/{handle.id}/{kind}" alt="">')
        page.wait_for_function("document.images[0].complete")
        assert page.evaluate("document.images[0].naturalWidth") > 50
