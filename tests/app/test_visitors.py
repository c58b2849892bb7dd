"""Visitors are known again, cannot pretend to be others, and gain nothing by throwing their cookie away."""

from __future__ import annotations

from pathlib import Path

import pytest
from anyio import to_thread

from pages.ui import visitors
from pages.ui.visitors import COOKIE, GREETING, HEADER, MOST_NEW, Visitors, place_of

from .asgi import ask, plain


@pytest.fixture
def asking(tmp_path, monkeypatch):
    """Asks the application; the visitor it saw and the cookie that came back."""
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    seen: list = []
    app = Visitors(plain(seen=seen))

    def request(path=GREETING, cookie="", **more):
        headers = {"cookie": f"other=1; {COOKIE}={cookie}"} if cookie else {}
        _, found, _ = ask(app, path, headers | more.pop("headers", {}), **more)
        return visitors.requester(seen[-1]), found.get("set-cookie", "").partition(";")[0].removeprefix(f"{COOKIE}=")

    return request


def test_a_visitor_is_known_again_after_a_restart_too(asking, tmp_path):
    stranger, cookie = asking()
    assert stranger.startswith("at-") and cookie
    known, none = asking(cookie=cookie)
    assert known == cookie.partition(".")[0] and not none
    seen: list = []
    ask(Visitors(plain(seen=seen)), GREETING, {"cookie": f"{COOKIE}={cookie}"})
    assert visitors.requester(seen[0]) == known
    assert (tmp_path / "visitors.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("forged", ["A" * 22 + "." + "0" * 32, "A" * 22, "x", "A" * 22 + ".", ".", "é" * 22 + ".a"])
def test_a_cookie_that_the_server_has_not_signed_counts_for_nothing(asking, forged):
    assert asking(cookie=forged)[0] == asking()[0]


def test_whoever_answers_a_request_knows_whose_it_is(tmp_path, monkeypatch):
    """Files are read in turn between visitors, and the live view has some read too."""
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    seen = []

    async def app(scope, receive, send):
        seen.append((await to_thread.run_sync(visitors.visitor), visitors.requester(scope)))
        await plain()(scope, receive, send)

    ask(Visitors(app), "/studio/live/x")
    assert seen[0][0] == seen[0][1] != "" and visitors.visitor() == ""


def test_nobody_tells_the_server_who_he_is(asking):
    who, cookie = asking(headers={HEADER: "somebody"})
    assert who.startswith("at-")
    assert asking(cookie=cookie, headers={HEADER: "somebody"})[0] == cookie.partition(".")[0]


def test_without_cookies_all_of_an_address_are_one_visitor(asking):
    assert asking()[0] == asking("/studio/live/x")[0] != asking(client="192.0.2.8")[0]
    assert asking(client="2001:db8::1")[0] == asking(client="2001:db8::ffff:1")[0] != asking(client="2001:db8:0:1::1")[0]
    assert place_of({"client": None}) == "" and place_of({"client": ("unix", 0)}) == "unix"


def test_an_address_has_only_so_many_new_visitors(asking, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(visitors.time, "monotonic", lambda: now[0])
    made = [asking()[1] for _ in range(MOST_NEW + 20)]
    assert sum(map(bool, made)) == MOST_NEW and len(set(filter(None, made))) == MOST_NEW
    assert asking(client="192.0.2.9")[1], "others are not concerned"
    now[0] += 61
    assert asking()[1] and not asking()[1]


def test_the_cookie_is_out_of_reach_of_scripts_and_of_plain_http_where_there_is_tls(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    app = Visitors(plain())
    _, found, _ = ask(app, GREETING, scheme="https")
    assert {"HttpOnly", "SameSite=Lax", "Secure"} <= set(found["set-cookie"].split("; "))
    assert "Secure" not in ask(app, GREETING)[1]["set-cookie"]
    assert "set-cookie" not in ask(app, "/studio/live/x")[1], "only where Streamlit begins"


def test_a_folder_that_cannot_be_written_still_tells_visitors_apart(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "file"))
    assert "set-cookie" in ask(Visitors(plain()), GREETING)[1]


def test_only_the_main_script_speaks_with_the_browsers_memory():
    """A second time on one page would be rejected by Streamlit."""
    pages = Path(__file__).parents[2] / "pages"
    callers = [file.name for file in pages.rglob("*.py") if "memory.sync(" in file.read_text(encoding="utf-8")]
    assert callers == ["main.py"]
