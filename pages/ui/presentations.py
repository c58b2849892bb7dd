"""Presentations over HTTP: a lecturer says what is on show, others ask for it and wait until it changes.

Beside it stand two empty pages, one to follow and one for the speaker notes; their scripts fetch everything else.
A request that waits holds no thread and no turn of the live views.
"""

from __future__ import annotations

import asyncio
import base64
import html
import io
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

import segno
from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from pages.ui import control, follow_feed
from pages.ui.live import address, script
from pages.ui.messages import told
from pages.ui.rate_limits import TooMany, Turns
from pages.ui.visitors import requester
from semf_core.common.errors import InvalidInput
from semf_core.service import get_service
from semf_core.service.presentations import Presentation, Shown, notes_key

HOLD_SECONDS = 5.0
"""A question that nothing new answers is answered after this time; a server that ends waits for it."""
FOLLOWERS = Turns(1000, 8, 8)
"""Questions that wait, and those of one visitor."""
COMMANDS = Turns(8, 2, 8)
SEEN_SECONDS = 12.0
MOST_SEEN = 2000
ORIGIN = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,200}")
NO_STORE = {"Cache-Control": "no-store"}


class News:
    """Who waits for a change of which presentation, and who has asked lately. To be used from one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Future[Presentation | None]]] = {}
        self._seen: dict[str, dict[str, float]] = {}

    def ticket(self, presentation_id: str) -> asyncio.Future[Presentation | None]:
        """Taken before the question is looked up, so that no change is missed between."""
        ticket: asyncio.Future[Presentation | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(presentation_id, set()).add(ticket)
        return ticket

    def give_back(self, presentation_id: str, ticket: asyncio.Future[Presentation | None]) -> None:
        waiting = self._waiting.get(presentation_id, set())
        waiting.discard(ticket)
        if not waiting:
            self._waiting.pop(presentation_id, None)

    def tell(self, presentation_id: str, now: Presentation | None) -> None:
        """To all who wait: what is on show now, or None because it has ended."""
        for ticket in self._waiting.pop(presentation_id, set()):
            if not ticket.done():
                ticket.set_result(now)

    def saw(self, presentation_id: str, who: str) -> None:
        seen = self._seen.setdefault(presentation_id, {})
        seen.pop(who, None)
        seen[who] = time.monotonic()
        if len(seen) > MOST_SEEN:
            del seen[next(iter(seen))]
        if len(self._seen) > MOST_SEEN:
            del self._seen[next(iter(self._seen))]

    def followers(self, presentation_id: str) -> int:
        """How many have asked lately."""
        since = time.monotonic() - SEEN_SECONDS
        return sum(when > since for when in self._seen.get(presentation_id, {}).values())


NEWS = News()


def _told(presentation: Presentation) -> dict[str, Any]:
    shown = presentation.shown
    seen = {name: getattr(shown, name) for name in ("run", "at", "replay", "factor", "component", "spot")}
    return {"revision": presentation.revision, "content": shown.content(), **seen}


def _error_reply(error: InvalidInput, status: int = 404) -> JSONResponse:
    return JSONResponse(told(error), status, headers=NO_STORE)


def _busy() -> JSONResponse:
    return JSONResponse({"message": "This browser asks for too much at once."}, 429, headers={"Retry-After": "2"})


# -- who follows -------------------------------------------------------------------------------


async def follow(request: Request) -> Response:
    """What is on show: at once if it is not what the browser has, else as soon as it changes."""
    presentation_id = request.path_params["presentation_id"]
    try:
        async with FOLLOWERS.turn(requester(request.scope)):
            return await _news(presentation_id, request.query_params.get("revision", ""), request)
    except TooMany:
        return _busy()
    except InvalidInput as error:
        return _error_reply(error)


async def _news(presentation_id: str, has: str, request: Request) -> Response:
    ticket, gone = NEWS.ticket(presentation_id), asyncio.ensure_future(_gone(request))
    try:
        found: Presentation | None = await to_thread.run_sync(get_service().presentations.get, presentation_id)
        assert found is not None
        NEWS.saw(found.id, requester(request.scope))
        if str(found.revision) == has:
            waited_for: list[asyncio.Future[Any]] = [ticket, gone]
            await asyncio.wait(waited_for, timeout=HOLD_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            found = ticket.result() if ticket.done() else found
    finally:
        gone.cancel()
        NEWS.give_back(presentation_id, ticket)
    if found is None:
        raise InvalidInput("presentation", "has ended")
    return JSONResponse(_told(found), headers=NO_STORE)


async def _gone(request: Request) -> None:
    """Until nobody waits for the answer any more."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def content(request: Request) -> dict[str, Any]:
    """The words on show and what the live view needs."""
    found = get_service().presentations.get(request.path_params["presentation_id"])
    return follow_feed.content(found.shown) | {"content": found.shown.content()}


def notes(request: Request) -> dict[str, Any]:
    """For whoever has the key to the notes."""
    found = get_service().presentations.get(request.path_params["presentation_id"])
    if not found.may_read_notes(request.headers.get(control.KEY_HEADER)):
        raise InvalidInput("key", "does not open these notes", "take the link from the window of the presentation")
    return follow_feed.notes(found) | {"content": found.shown.content()}


# -- the lecturer ------------------------------------------------------------------------------


async def begin(request: Request) -> Response:
    """A new presentation, with its links and their codes. A page of another origin cannot send the header."""
    values = await control.body(request)
    origin = values.get("origin") if isinstance(values, Mapping) else None
    if control.KEY_HEADER not in request.headers or not isinstance(origin, str) or not ORIGIN.fullmatch(origin):
        return _error_reply(InvalidInput("presentation", "can only be begun on a page of this server"), 400)
    who = requester(request.scope)

    def make() -> dict[str, Any]:
        made, key = get_service().presentations.create(who)
        link = f"{origin}{address('follow/')}{made.id}"
        secret = f"{origin}{address('notes/')}{made.id}#key={notes_key(key)}"
        return {"id": made.id, "key": key, "link": link, "code": code(link), "notes": secret, "notesCode": code(secret)}

    return await _commanded(who, make)


async def show(request: Request) -> Response:
    """What is on show from now on, or the end."""
    presentation_id, key = request.path_params["presentation_id"], request.headers.get(control.KEY_HEADER, "")
    values = await control.body(request)
    presentations = get_service().presentations
    now: list[Presentation | None] = []

    def make() -> dict[str, Any]:
        if values == {"end": True}:
            presentations.end(presentation_id, key)
            now.append(None)
        else:
            now.append(presentations.show(presentation_id, key, Shown.read(values)))
        return {"followers": NEWS.followers(presentation_id)}

    answer = await _commanded(requester(request.scope), make)
    if now:
        NEWS.tell(presentation_id, now[0])
    return answer


async def _commanded(who: str, make: Callable[[], dict[str, Any]]) -> Response:
    try:
        async with COMMANDS.turn(who):
            return JSONResponse(await to_thread.run_sync(make), headers=NO_STORE)
    except TooMany:
        return _busy()
    except InvalidInput as error:
        return _error_reply(error, 409)


def code(link: str) -> str:
    """The QR code of a link as a picture: dark on light in both themes, as cameras want it."""
    file = io.BytesIO()
    segno.make(link, error="m").save(file, kind="svg", border=3, light="#fff", svgclass=None, lineclass=None, omitsize=True)
    return "data:image/svg+xml;base64," + base64.b64encode(file.getvalue()).decode()


# -- the pages ---------------------------------------------------------------------------------

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · SeMF Studio</title>
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="{live}">
<link rel="stylesheet" href="{style}">
<script type="module" src="{script}"></script>
</head>
<body data-presentation="{id}" data-api="{api}" data-base="{base}"><main><p class="wait">Loading …</p></main></body>
</html>
"""


def _page(title: str, name: str) -> Callable[[Request], Response]:
    def endpoint(request: Request) -> Response:
        values = {
            "title": title,
            "icon": address("assets/icon/icon.png"),
            "live": script("live.css"),
            "style": script("follow.css"),
            "script": script(name),
            "id": request.path_params["presentation_id"],
            "api": address("presentations"),
            "base": address("").removesuffix("studio/"),
        }
        safe = {key: html.escape(value, quote=True) for key, value in values.items()}
        return HTMLResponse(PAGE.format(**safe), headers=NO_STORE)

    return endpoint


follow_page = _page("Follow", "follow.js")
notes_page = _page("Speaker notes", "notes.js")
