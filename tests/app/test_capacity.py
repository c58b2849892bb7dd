"""Nobody fills the server's memory with open pages or with files that he sends."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from pages.ui import capacity, uploading
from pages.ui.capacity import Sessions
from pages.ui.uploading import UploadRoom
from pages.ui.visitors import HEADER
from semf_core.common.errors import InvalidInput

from .asgi import answer, ask, plain

PATH = "/_stcore/upload_file/session-1/file-1"


@pytest.fixture(autouse=True)
def public(monkeypatch):
    monkeypatch.setenv("SEMF_PUBLIC", "1")


def test_pages_of_one_visitor_and_of_all_are_counted_and_closed_ones_for_a_while(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_SESSIONS_PER_VISITOR", "2")
    monkeypatch.setenv("SEMF_MAX_SESSIONS", "3")
    monkeypatch.setattr(capacity.st, "get_option", lambda name: 0.05)

    async def main():
        leave = asyncio.Event()

        async def page(scope, receive, send):
            await send({"type": "websocket.accept"})
            await leave.wait()

        app = Sessions(page)

        def visit(who):
            return asyncio.create_task(answer(app, "/_stcore/stream", {HEADER: who}, kind="websocket"))

        first = [visit(who) for who in ("a", "a", "a", "b", "c")]
        await asyncio.sleep(0.01)
        rejected = [one.done() for one in first]
        leave.set()
        await asyncio.gather(*first)
        at_once = await visit("a")
        await asyncio.sleep(0.1)
        return rejected, at_once, await visit("a")

    rejected, at_once, later = asyncio.run(main())
    assert rejected == [False, False, True, False, True]
    assert at_once[0]["type"] == "websocket.close" and later[0]["type"] == "websocket.accept"


def test_whoever_is_not_let_in_reads_why(monkeypatch):
    """Streamlit's own page would stay empty: it is never told why its connection is refused."""
    monkeypatch.setenv("SEMF_MAX_SESSIONS_PER_VISITOR", "1")
    monkeypatch.setenv("SEMF_MAX_SESSIONS", "2")
    page = {"accept": "text/html,*/*;q=0.8"}

    async def main():
        leave = asyncio.Event()

        async def server(scope, receive, send):
            if scope["type"] == "http":
                await plain()(scope, receive, send)
            else:
                await leave.wait()

        app = Sessions(server)
        asked = [await answer(app, "/workbench", {HEADER: "a"} | page)]
        visits = [asyncio.create_task(answer(app, "/_stcore/stream", {HEADER: "a"}, kind="websocket"))]
        await asyncio.sleep(0.01)
        asked += [await answer(app, "/workbench", {HEADER: who} | page) for who in "ab"]
        asked += [await answer(app, path, {HEADER: "a"} | page) for path in ("/studio/download/x/html", "/studio/live/x")]
        asked.append(await answer(app, "/workbench", {HEADER: "a", "accept": "*/*"}))
        visits.append(asyncio.create_task(answer(app, "/_stcore/stream", {HEADER: "b"}, kind="websocket")))
        await asyncio.sleep(0.01)
        asked.append(await answer(app, "/", {HEADER: "c"} | page))
        leave.set()
        for visit in visits:
            visit.cancel()
        return asked

    asked = asyncio.run(main())
    assert [status for status, *_ in asked] == [200, 503, 200, 200, 200, 200, 503]
    assert b"close some of them" in asked[1][2] and b'http-equiv="refresh"' in asked[1][2] and "retry-after" in asked[1][1]
    assert b"All places on this server are taken" in asked[-1][2]


def test_without_a_public_there_is_no_such_limit(monkeypatch):
    monkeypatch.delenv("SEMF_PUBLIC")
    seen: list = []
    app = Sessions(plain(seen=seen))
    for _ in range(500):
        ask(app, "/_stcore/stream", {HEADER: "a"}, kind="websocket")
    assert len(seen) == 500


@pytest.fixture
def held(monkeypatch):
    """What Streamlit holds: {session: bytes}."""
    files: dict = {}
    monkeypatch.setattr(uploading, "held_bytes", lambda: dict(files))
    monkeypatch.setenv("SEMF_MAX_UPLOADS_HELD_MB", "10")
    return files


def put(app, megabytes, who="a", session="session-1"):
    headers = {HEADER: who, "content-length": str(int(megabytes * uploading.MB))}
    return ask(app, f"/_stcore/upload_file/{session}/x", headers, method="PUT")[0]


def test_a_file_that_does_not_fit_is_rejected_before_its_first_byte(held):
    app = UploadRoom(plain())
    assert put(app, 4) == 200 and put(app, 6) == 503, "one visitor gets half"
    held["session-1"] = 4 * uploading.MB
    assert put(app, 2) == 503 and put(app, 1) == 200
    assert put(app, 2, session="session-2") == 503, "another page does not help"
    held["session-3"] = 4 * uploading.MB
    assert put(app, 1, "b", "session-3") == 200 and put(app, 3, "c", "session-4") == 503, "all together"
    held.clear()
    assert put(app, 4) == 200, "the page was left"


def test_files_that_are_still_coming_count(held):
    async def main():
        arrived = asyncio.Event()

        async def slow(scope, receive, send):
            await arrived.wait()
            await plain()(scope, receive, send)

        app = UploadRoom(slow)
        headers = {HEADER: "a", "content-length": str(3 * uploading.MB)}
        asking = [asyncio.create_task(answer(app, PATH, headers, method="PUT")) for _ in range(3)]
        await asyncio.sleep(0.01)
        arrived.set()
        return [one[0] for one in await asyncio.gather(*asking)]

    assert sorted(asyncio.run(main())) == [200, 503, 503]


def test_a_file_of_unknown_size_is_rejected_and_other_requests_pass(held):
    app = UploadRoom(plain())
    assert ask(app, PATH, {HEADER: "a", "transfer-encoding": "chunked"}, method="PUT")[0] == 411
    assert ask(app, PATH, {HEADER: "a", "content-length": "-1"}, method="PUT")[0] == 411
    assert ask(app, PATH, {HEADER: "a"}, method="DELETE")[0] == 200 and ask(app, "/", {HEADER: "a"})[0] == 200


def test_pages_of_one_visitor_are_drawn_a_few_at_a_time_and_those_of_others_meanwhile(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_PAGES_PER_VISITOR", "2")
    monkeypatch.setattr(capacity, "PATIENCE", 0.05)
    rejected = pytest.raises(InvalidInput, match="many pages of yours")
    with capacity.drawing("a"), capacity.drawing("a"), capacity.drawing("b"), rejected, capacity.drawing("a"):
        raise AssertionError("a third page was drawn")
    with pytest.raises(ZeroDivisionError), capacity.drawing("a"):
        raise ZeroDivisionError
    assert not capacity._DRAWING, "whatever happens on a page, its turn ends"


def test_a_page_that_waits_is_drawn_when_its_turn_comes(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_PAGES_PER_VISITOR", "1")
    drawn, leave = [], threading.Event()

    def page(number):
        with capacity.drawing("a"):
            drawn.append(number)
            leave.wait(10)

    threads = [threading.Thread(target=page, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    while not drawn:
        time.sleep(0.01)
    assert len(drawn) == 1
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sorted(drawn) == [0, 1, 2, 3, 4]
