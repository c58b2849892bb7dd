"""What stands before Streamlit's own server: answers kept in memory, and the scripts named beside a page."""

from __future__ import annotations

import asyncio

import pytest

from pages.ui import live, preload
from pages.ui.places import ASSETS
from semf_core.exports.document import CHART_MODULES, SHARED

FOREVER = (b"cache-control", b"public, immutable, max-age=31536000")


class Inner:
    """An application that counts how often it is asked."""

    def __init__(self, *headers, status=200):
        self.headers, self.status, self.asked = list(headers), status, 0

    async def __call__(self, scope, receive, send):
        self.asked += 1
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": b"one ", "more_body": True})
        await send({"type": "http.response.body", "body": b"two"})


def ask(app, path="/static/js/a.js", method="GET", headers=()):
    """Status, headers and body of an answer."""
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app({"type": "http", "method": method, "path": path, "headers": list(headers)}, None, send))
    return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:])


def test_a_file_that_never_changes_is_read_once():
    inner = Inner(FOREVER)
    cache = preload.ResponseCache(inner)
    first, again = ask(cache), ask(cache)
    assert first == again == (200, dict([FOREVER]), b"one two")
    assert inner.asked == 1
    ask(cache, path="/static/js/b.js")
    assert inner.asked == 2


@pytest.mark.parametrize(
    ("inner", "how"),
    [
        (Inner((b"cache-control", b"no-cache")), {}),
        (Inner(FOREVER, (b"set-cookie", b"who=1")), {}),
        (Inner(FOREVER, (b"content-encoding", b"gzip")), {}),
        (Inner(FOREVER, status=404), {}),
        (Inner(FOREVER), {"method": "POST"}),
        (Inner(FOREVER), {"headers": [(b"range", b"bytes=0-1")]}),
    ],
)
def test_everything_else_is_asked_for_each_time(inner, how):
    cache = preload.ResponseCache(inner)
    ask(cache, **how), ask(cache, **how)
    assert inner.asked == 2


def test_the_cache_does_not_grow_without_end(monkeypatch):
    monkeypatch.setattr(preload, "MOST_BYTES", 10)
    inner = Inner(FOREVER)
    cache = preload.ResponseCache(inner)
    for path in ("/a", "/b", "/a", "/b"):
        ask(cache, path=path)
    assert inner.asked == 3


def test_a_page_names_the_scripts_of_the_live_view():
    page = preload.Hints(Inner((b"content-type", b"text/html; charset=utf-8")), live.modules())
    named = ask(page, "/")[1][b"link"].decode()
    assert named.count("modulepreload") == len(live.modules()) > 4
    files = {name.rpartition("/")[2] for name in live.modules() if name != live.plotly_address()} - {live.DESCRIPTION}
    assert all((folder / name).is_file() for name in files for folder in [SHARED if name in CHART_MODULES else ASSETS / "live"])
    assert b"link" not in ask(preload.Hints(Inner(FOREVER), live.modules()))[1]
