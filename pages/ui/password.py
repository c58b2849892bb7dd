"""One password for all visitors (SEMF_PASSWORD): without it nothing of this server is reached, by no protocol."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from pages.ui.bare_page import bare_page
from pages.ui.messages import sentence
from pages.ui.protection import streamlit_address
from pages.ui.visitors import cookies_of, place_of, signing_key
from semf_core.common.errors import InvalidInput
from semf_core.common.passwords import Guesses, word_from_env

Message = dict[str, Any]
COOKIE = "semf_entry"
DAYS = 30
SHORTEST = 8
MOST_WRONG = 20
"""Wrong passwords a minute from one address, where a whole course may sit."""
MOST_BYTES = 4096
FORM = """<form method="post" action=""><h1>SeMF Studio</h1><p role="alert">{said}</p>
<label for="password">Password</label><input id="password" name="password" type="password" required autofocus
autocomplete="current-password"><button>Enter</button></form>"""
"""The form is sent to the address where it stands, so that what is behind its # is still there afterwards."""


class Password:
    """ASGI middleware that lets through whoever has given the password, and questions about the server's health."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._password = word_from_env("SEMF_PASSWORD", SHORTEST)
        self._key = hashlib.sha256(signing_key() + self._password.encode()).digest()
        self._guesses = Guesses(MOST_WRONG)
        self._health = streamlit_address("_stcore/health")

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or not self._password or self._is_in(scope) or scope.get("path") == self._health:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            answer = await self._asked(Request(scope, receive))
            await answer(scope, receive, send)

    def _is_in(self, scope: Message) -> bool:
        """Whether the cookie of somebody who has given the password is there."""
        until, _, signature = cookies_of(scope).get(COOKIE, "").partition(".")
        fits = hmac.compare_digest(signature.encode(), self._signature(until).encode())
        return fits and until.isdecimal() and int(until) > time.time()

    def _signature(self, until: str) -> str:
        return hmac.new(self._key, until.encode(), hashlib.sha256).hexdigest()

    async def _asked(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._answered(request)
        if "text/html" in request.headers.get("accept", "") and request.method == "GET":
            return HTMLResponse(bare_page(FORM.format(said="This server is for those who know its password.")), 401)
        return PlainTextResponse("This server asks for a password; open it in a browser.", 401)

    async def _answered(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return PlainTextResponse("That is no password.", 413)
        given = parse_qs(body.decode("latin-1"), encoding="utf-8", errors="replace").get("password", [""])[0]
        try:
            right = self._guesses.check("password", place_of(request.scope), given, self._password)
            said = "That was not it."
        except InvalidInput as error:
            right, said = False, sentence(error)
        if not right:
            return HTMLResponse(bare_page(FORM.format(said=said)), 401)
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        answer = RedirectResponse("/" + here.lstrip("/"), 303)  # never to another server
        until = str(int(time.time()) + DAYS * 86400)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, f"{until}.{self._signature(until)}", DAYS * 86400, secure=secure, httponly=True, samesite="lax")
        return answer
