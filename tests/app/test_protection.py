"""Headers on every answer."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request

from pages.ui import protection
from pages.ui.protection import Protection, failure
from semf_core.common.errors import InvalidInput

from .asgi import ask, plain

ALWAYS = {"x-content-type-options": "nosniff", "referrer-policy": "same-origin", "x-frame-options": "DENY"}
PATHS = ("/", "/run", "/static/js/x.js", "/_stcore/health", "/studio/live/x", "/studio/download/x/html", "/media/x.svg", "/no")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [200, 404, 500])
def test_every_answer_has_the_headers_once(path, status):
    given = {"x-content-type-options": "wrong", "content-security-policy": "default-src *", "content-type": "text/html"}
    code, found, body = ask(Protection(plain(status, given)), path)
    assert (code, body) == (status, b"fine") and found.items() >= ALWAYS.items()
    policy = found["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
    assert found["content-type"] == "text/html"


def test_files_and_data_may_do_nothing_should_a_browser_show_them():
    for path in ("/studio/live/x", "/studio/download/x/html", "/studio/whatever/comes", "/media/x.svg"):
        policy = ask(Protection(plain()), path)[1]["content-security-policy"]
        assert "sandbox" in policy and "script-src" not in policy
    policy = ask(Protection(plain()))[1]["content-security-policy"]
    assert "sandbox" not in policy and "'sha256-" in policy and "script-src 'self' blob:" in policy


def test_the_servers_own_failure_has_them_too():
    response = asyncio.run(_failed())
    assert response.status_code == 500 and dict(response.headers).items() >= ALWAYS.items()
    assert "Traceback" not in response.body.decode()


async def _failed():
    return failure(Request({"type": "http"}), RuntimeError("secret"))


def test_metrics_are_for_the_operator(monkeypatch):
    for path in ("/_stcore/metrics", "/_stcore/metrics/"):
        for headers in ({}, {"authorization": "Bearer "}, {"authorization": "Bearer guess"}):
            assert ask(Protection(plain()), path, headers)[0] == 404
    monkeypatch.setenv("SEMF_METRICS_KEY", "long and secret")
    assert ask(Protection(plain()), "/_stcore/metrics", {"authorization": "Bearer guess"})[0] == 404
    assert ask(Protection(plain()), "/_stcore/metrics", {"authorization": "Bearer long and secret"})[0] == 200


def test_a_learning_platform_may_be_named_that_shows_the_pages(monkeypatch):
    monkeypatch.setenv("SEMF_FRAME_ANCESTORS", "https://moodle.example.org")
    found = ask(Protection(plain()))[1]
    assert "frame-ancestors https://moodle.example.org" in found["content-security-policy"] and "x-frame-options" not in found
    for wrong in ("*", "https://a; script-src *", "javascript:x"):
        monkeypatch.setenv("SEMF_FRAME_ANCESTORS", wrong)
        with pytest.raises(InvalidInput, match="takes origins"):
            protection.frame_ancestors()
