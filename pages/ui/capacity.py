"""How many pages of this server visitors may have open, and how many of one visitor are drawn at a time."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse

from pages.ui.bare_page import bare_page
from pages.ui.live import address
from pages.ui.visitors import requester
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits

Message = dict[str, Any]
TRY_LATER = 1013
PATIENCE = 60.0
AGAIN_SECONDS = 20
"""A page that was not let in asks again by itself."""
_DRAWING: Counter[str] = Counter()
_CHANGED = threading.Condition()


@contextmanager
def drawing(who: str) -> Iterator[None]:
    """While a page of a visitor is drawn; more pages of his wait, so that those of others need not."""
    most = server_limits().pages_per_visitor
    with _CHANGED:
        if not _CHANGED.wait_for(lambda: _DRAWING[who] < most, PATIENCE):
            raise InvalidInput("server", "has many pages of yours to draw", "close some of them, and reload this one")
        _DRAWING[who] += 1
    try:
        yield
    finally:
        with _CHANGED:
            _DRAWING[who] -= 1
            if not _DRAWING[who]:
                del _DRAWING[who]
            _CHANGED.notify_all()


class Sessions:
    """ASGI middleware that counts open pages; a closed one counts as long as Streamlit keeps it for a reconnection."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        full = self._full(scope) if scope["type"] == "websocket" or _asks_for_page(scope) else ""
        if full and scope["type"] == "http":
            body = f"<main><h1>SeMF Studio</h1><p>{full} This page tries again by itself.</p></main>"
            page = bare_page(body, f'<meta http-equiv="refresh" content="{AGAIN_SECONDS}">')
            answer = HTMLResponse(page, 503, headers={"Retry-After": str(AGAIN_SECONDS), "Cache-Control": "no-store"})
            await answer(scope, receive, send)
        elif full:
            await receive()
            await send({"type": "websocket.close", "code": TRY_LATER})
        elif scope["type"] == "websocket":
            await self._visited(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _full(self, scope: Message) -> str:
        """Why no more pages can be opened; empty where one can."""
        limits = server_limits()
        if self._open[requester(scope)] >= limits.sessions_per_visitor:
            return "Too many pages of yours are open on this server, those of the last minutes included: close some of them."
        return "All places on this server are taken at the moment." if self._open.total() >= limits.sessions else ""

    async def _visited(self, scope: Message, receive: Any, send: Any) -> None:
        who = requester(scope)
        self._open[who] += 1
        try:
            await self.app(scope, receive, send)
        finally:
            kept = st.get_option("server.disconnectedSessionTTL")
            asyncio.get_running_loop().call_later(kept, self._leave, who)

    def _leave(self, who: str) -> None:
        self._open[who] -= 1
        if not self._open[who]:
            del self._open[who]


def _asks_for_page(scope: Message) -> bool:
    """A browser goes to one of the pages, not to data or a file beside them."""
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(address("")):
        return False
    return "text/html" in Request(scope).headers.get("accept", "")
