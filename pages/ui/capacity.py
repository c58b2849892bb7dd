"""How many pages of this server visitors may have open, and how many of one visitor are drawn at a time."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st

from pages.ui.visitors import requester
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits

Message = dict[str, Any]
TRY_LATER = 1013
PATIENCE = 60.0
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
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        who, limits = requester(scope), server_limits()
        if self._open[who] >= limits.sessions_per_visitor or self._open.total() >= limits.sessions:
            await receive()
            await send({"type": "websocket.close", "code": TRY_LATER})
            return
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
