"""What makes the first visit quick: on the way to the first picture most time goes into fetching scripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]
MOST_BYTES = 64 * 2**20


class ResponseCache:
    """ASGI middleware that keeps whole answers that can never change, and gives them again from memory.

    Streamlit's own sixty scripts are named by their content and marked `immutable`; it reads them from
    disk in pieces, by a pool of threads, for every visitor.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self._kept: dict[str, list[Message]] = {}
        self._bytes = 0

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if not _is_whole_get(scope):
            await self.app(scope, receive, send)
            return
        kept = self._kept.get(scope["path"])
        if kept is None:
            await self.app(scope, receive, self._recorder(scope["path"], send))
            return
        for message in kept:
            await send(message)

    def _recorder(self, path: str, send: Any) -> Any:
        """Passes messages on, and keeps them once the answer is whole."""
        start: Message = {}
        body: list[bytes] = []

        async def passed_on(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.start":
                start.update(message if _is_for_ever(message) else {})
            elif start and message["type"] == "http.response.body":
                body.append(message.get("body", b""))
                if not message.get("more_body"):
                    self._keep(path, start, b"".join(body))

        return passed_on

    def _keep(self, path: str, start: Message, body: bytes) -> None:
        if path in self._kept or self._bytes + len(body) > MOST_BYTES:
            return
        self._bytes += len(body)
        self._kept[path] = [start, {"type": "http.response.body", "body": body}]


class Hints:
    """ASGI middleware that names the live view's scripts beside every page, so that they come with Streamlit's own."""

    def __init__(self, app: Any, modules: Sequence[str]) -> None:
        self.app = app
        self._header = (b"link", ", ".join(f'<{m}>; rel="modulepreload"' for m in modules).encode())

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and _header(message, b"content-type").startswith(b"text/html"):
                message = message | {"headers": [*message["headers"], self._header]}
            await send(message)

        await self.app(scope, receive, named if _is_whole_get(scope) else send)


def _is_whole_get(scope: Message) -> bool:
    """Asks for a whole file, not for a range or for what has changed."""
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    return not any(name in {b"range", b"if-none-match", b"if-modified-since"} for name, _ in scope["headers"])


def _is_for_ever(message: Message) -> bool:
    """The same answer to everybody, at any time."""
    personal = _header(message, b"set-cookie") or _header(message, b"content-encoding")
    return message["status"] == 200 and not personal and b"immutable" in _header(message, b"cache-control")


def _header(message: Message, name: bytes) -> bytes:
    return dict(message.get("headers", ())).get(name, b"")
