"""One password for all: without it nothing is reached."""

from __future__ import annotations

import pytest

from pages.ui import password
from pages.ui.password import COOKIE, MOST_WRONG, Password
from semf_core.common import passwords
from semf_core.common.errors import InvalidInput

from .asgi import ask, plain

WORD = "open sesame"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def gate(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    monkeypatch.setenv("SEMF_PASSWORD", WORD)
    return Password(plain())


def enter(gate, word, path="/run?run=x", **more):
    return ask(gate, path, FORM, method="POST", body=f"password={word.replace(' ', '+')}", **more)


def cookie(answer):
    return {"cookie": answer[1]["set-cookie"].partition(";")[0]}


def test_without_a_password_set_everybody_comes_in(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    monkeypatch.delenv("SEMF_PASSWORD", raising=False)
    assert ask(Password(plain()))[2] == b"fine"


@pytest.mark.parametrize("path", ["/", "/run", "/studio/live/x", "/studio/download/x/html", "/media/x", "/_stcore/host-config"])
def test_nothing_is_reached_without_it(gate, path):
    for headers in ({}, {"accept": "text/html"}, {"cookie": f"{COOKIE}=99999999999.{'0' * 64}"}, {"cookie": f"{COOKIE}=x"}):
        status, _, body = ask(gate, path, headers)
        assert status == 401 and b"fine" not in body
    assert ask(gate, "/_stcore/stream", kind="websocket") == [{"type": "websocket.close", "code": 1008}]
    assert ask(gate, "/_stcore/health")[0] == 200, "a proxy may ask whether the server lives"


def test_whoever_gives_it_is_in_and_back_where_he_was(gate):
    answer = enter(gate, WORD)
    assert answer[0] == 303 and answer[1]["location"] == "/run?run=x" and "HttpOnly" in answer[1]["set-cookie"]
    assert ask(gate, "/studio/live/x", cookie(answer))[2] == b"fine"
    assert "Secure" in enter(gate, WORD, scheme="https")[1]["set-cookie"]
    assert enter(gate, WORD, path="//evil.example/x")[1]["location"].startswith("/evil")


def test_another_password_or_a_year_later_the_old_cookie_is_worth_nothing(gate, monkeypatch):
    old = cookie(enter(gate, WORD))
    monkeypatch.setenv("SEMF_PASSWORD", "another word")
    assert ask(Password(plain()), "/", old)[0] == 401
    now = password.time.time()
    monkeypatch.setattr(password.time, "time", lambda: now + 366 * 86400)
    assert ask(gate, "/", old)[0] == 401


def test_wrong_ones_are_told_so_and_after_many_one_has_to_wait(gate, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(passwords.time, "monotonic", lambda: now[0])
    for _ in range(MOST_WRONG):
        status, headers, body = enter(gate, "guess")
        assert status == 401 and b"not it" in body and "set-cookie" not in headers
    assert b"too often" in enter(gate, WORD)[2] and enter(gate, WORD, client="192.0.2.99")[0] == 303
    now[0] += 61
    assert enter(gate, WORD)[0] == 303
    assert ask(gate, "/", FORM, method="POST", body="x" * 10_000)[0] == 413


def test_one_that_can_be_guessed_is_rejected_to_the_operator(gate, monkeypatch):
    monkeypatch.setenv("SEMF_PASSWORD", "short")
    with pytest.raises(InvalidInput, match="at least 8"):
        Password(plain())
