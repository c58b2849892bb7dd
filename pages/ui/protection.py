"""Headers that bind a browser to what these pages are: their own scripts, no frames, no addresses told to others."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from pages.ui.live import address, is_data
from semf_core.common.errors import InvalidInput

Message = dict[str, Any]
INDEX = Path(st.__file__).parent / "static" / "index.html"
ORIGIN = re.compile(r"'self'|https?://[A-Za-z0-9*.-]+(:\d+)?")


def _inline_scripts() -> list[str]:
    """Sources that allow the scripts which stand in Streamlit's own page, and no others."""
    found = re.findall(r"<script>(.*?)</script>", INDEX.read_text(encoding="utf-8"), re.DOTALL)
    return [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in found]


def frame_ancestors() -> str:
    """Who may show these pages in a frame: nobody, unless the operator names the origins of a learning platform."""
    named = os.environ.get("SEMF_FRAME_ANCESTORS", "").split()
    for origin in named:
        if not ORIGIN.fullmatch(origin):
            raise InvalidInput("SEMF_FRAME_ANCESTORS", f"takes origins like https://moodle.example.org, not {origin!r}")
    return " ".join(named) or "'none'"


def page_policy() -> str:
    """The content security policy of pages.

    Components are modules that Streamlit hands to the browser as blobs; its styles are made at run time.
    """
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(["'self'", "blob:", *_inline_scripts()]),
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "media-src": "'self' data: blob:",
        "connect-src": "'self'",
        "worker-src": "'self' blob:",
        "manifest-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "object-src": "'none'",
        "frame-src": "'none'",
        "frame-ancestors": frame_ancestors(),
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


FILE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
"""For data and files: should a browser ever show one as a page, it may do nothing."""


class Protection:
    """ASGI middleware: the same headers on every answer, and figures about the server for its operator only."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._media = streamlit_address("media/")
        self._metrics = streamlit_address("_stcore/metrics")
        self._page, self._file = headers(page_policy()), headers(FILE_POLICY)

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        mine = self._file if is_data(scope["path"]) or scope["path"].startswith(self._media) else self._page

        async def protected(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [pair for pair in message.get("headers", ()) if pair[0].lower() not in dict(mine)]
                message = {**message, "headers": [*own, *mine]}
            await send(message)

        rejected = scope["path"].rstrip("/") == self._metrics and not _may_see_metrics(Request(scope))
        app: ASGIApp = PlainTextResponse("Not Found", 404) if rejected else self.app
        await app(scope, receive, protected)


def headers(policy: str) -> list[tuple[bytes, bytes]]:
    """What every answer carries."""
    values = {
        "content-security-policy": policy,
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    }
    if "frame-ancestors 'none'" not in policy:
        del values["x-frame-options"]  # it knows no origins; the policy says who may
    return [(name.encode(), value.encode()) for name, value in values.items()]


def failure(request: Request, error: Exception) -> Response:
    """The answer where the server itself failed; it is made outside all middleware, so it brings its headers along."""
    plain = {name.decode(): value.decode() for name, value in headers(FILE_POLICY)}
    return PlainTextResponse("Something went wrong here; the details are in the server's log.", 500, headers=plain)


def streamlit_address(tail: str) -> str:
    """An address of Streamlit's own."""
    return address("").removesuffix("studio/") + tail


def _may_see_metrics(request: Request) -> bool:
    """Only with the key that the operator has set, as a bearer token."""
    key = os.environ.get("SEMF_METRICS_KEY", "")
    given = request.headers.get("authorization", "")
    return bool(key) and hmac.compare_digest(given.encode(), f"Bearer {key}".encode())
