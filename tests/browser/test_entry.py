"""Ways in, in real Chromium: by an account of a (stub) provider, and by a password."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, SHORT, Server, free_port, make_run
from tests.browser.provider import Provider
from tests.browser.test_live import LIVE

expect.set_options(timeout=PATIENCE)


@pytest.fixture
def provider():
    made = Provider()
    yield made
    made.close()


@pytest.fixture
def members(tmp_path, provider):
    """A server for people with an address at example.org."""
    port = free_port()
    file = tmp_path / "secrets.toml"
    file.write_text(provider.secrets_for(f"http://localhost:{port}"))
    settings = {"SEMF_LOGIN": "1", "SEMF_LOGIN_ALLOW": "@example.org, guest@example.com"}
    running = Server(tmp_path / "home", settings, ["--secrets.files", str(file)], port).start()
    yield running
    running.stop()


def status(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_pages_live_views_and_files_are_for_those_who_have_logged_in(members, provider, visit):
    run = make_run(members.home, SHORT)
    page = visit(f"{members.url}/run?run={run.id}", strict=True)
    expect(page.get_by_text("asks you to log in")).to_be_visible()
    assert page.locator(".semf-live").count() == 0
    beside = [f"live/{run.id}", f"download/{run.id}/csv", "compare?runs=x", f"strip/{run.id}", "whatever/comes"]
    asked = [page.request.get(f"{members.url}/studio/{one}") for one in beside]
    assert [answer.status for answer in asked] == [401] * len(beside) == [status(f"{members.url}/studio/{one}") for one in beside]

    page.get_by_role("button", name="Log in").click()
    page.wait_for_selector(LIVE)  # Home, with the demo
    page.goto(f"{members.url}/run?run={run.id}")
    page.wait_for_url(f"**/workbench?run={run.id}")  # where this old address leads
    page.wait_for_selector('.semf-live:not(.semf-compact)[data-drawn="yes"]')
    assert page.request.get(f"{members.url}/studio/live/{run.id}").status == 200
    stranger = visit(members.url)
    expect(stranger.get_by_text("asks you to log in")).to_be_visible()
    assert stranger.request.get(f"{members.url}/studio/live/{run.id}").status == 401
    page.goto(members.url)
    page.get_by_role("button", name="Run", exact=True).first.click()
    expect(page).to_have_url(re.compile("/workbench[?].*run="))
    lines = (members.home / "log" / "journal.log").read_text().splitlines()
    assert re.search(r" user-[0-9a-f]{20} started a run ", lines[-1]) and "ada" not in "".join(lines)

    provider.user = {"sub": "2", "email": "eve@example.com", "email_verified": True}
    stranger.get_by_role("button", name="Log in").click()
    expect(stranger.get_by_text("may not use this server")).to_be_visible()
    assert stranger.request.get(f"{members.url}/studio/live/{run.id}").status == 401


def test_a_password_opens_everything_and_a_control_link_keeps_its_key(tmp_path, visit):
    running = Server(tmp_path / "home", {"SEMF_PASSWORD": "open sesame"}).start()
    try:
        run = make_run(running.home, SHORT)
        assert status(f"{running.url}/studio/live/{run.id}") == 401
        page = visit(f"{running.url}/run?run={run.id}#key={run.key}", strict=True)
        page.get_by_label("Password").fill("wrong guess")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_text("That was not it.")).to_be_visible()
        page.get_by_label("Password").fill("open sesame")
        page.get_by_role("button", name="Enter").click()
        page.wait_for_selector(LIVE)
        expect(page.get_by_role("button", name="Resume", exact=True).first).to_be_visible()
    finally:
        running.stop()
