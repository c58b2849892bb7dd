"""Who asks: an id for each browser, so that limits and queues are fair between visitors, and nothing about the person.

A cookie that the server has signed carries it. Whoever sends none, or has had too many made, counts as one visitor
with all others at the same address: nobody gets more by throwing cookies away.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from typing import Any

import streamlit as st

from semf_core.common.server_limits import flag_from_env
from semf_core.runs.ids import ID
from semf_core.service.public import default_home, new_id

Message = dict[str, Any]
COOKIE = "semf_visitor"
PERSON = "user-"
"""The id of somebody who is logged in begins so."""
HEADER = "x-semf-visitor"
"""Set by the server itself on every request that comes in; what a client sends under this name is thrown away."""
GREETING = "/_stcore/host-config"
"""What Streamlit asks for before it opens its connection, each time anew, while a page itself may come from a cache."""
YEAR_SECONDS = 365 * 86400
MOST_NEW, RENEWAL_SECONDS = 100, 60.0
"""New visitors of one address: a whole course may arrive at once, later one a minute."""
MOST_PLACES = 10_000
_ASKING: ContextVar[str] = ContextVar("asking", default="")
"""The visitor of the request that is answered now, by whichever thread; pages are drawn by threads that know no request."""
_UNTIL_RESTART = secrets.token_bytes(32)


def visitor(person: bool = True) -> str:
    """The visitor whose page is drawn, or whose request is answered now; empty where there is no browser.

    A person who is logged in is the same visitor in every browser, unless the browser alone is asked for.
    """
    if asking := _ASKING.get():
        return asking
    if person and flag_from_env("SEMF_LOGIN") and st.user.is_logged_in:
        account = f"{st.user.get('iss')} {st.user.get('sub') or st.user.get('email')}"
        return f"{PERSON}{hashlib.sha256(signing_key() + account.encode()).hexdigest()[:20]}"
    return st.context.headers.get(HEADER, "")


def requester(scope: Mapping[str, Any]) -> str:
    """The visitor behind a request that has passed `Visitors`."""
    return dict(scope["headers"])[HEADER.encode()].decode()


def is_known(who: str) -> bool:
    """Whether this is one browser, and not all at an address."""
    return bool(ID.fullmatch(who))


def cookies_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """The cookies of a request."""
    jar: SimpleCookie = SimpleCookie()
    for name, value in scope["headers"]:
        if name == b"cookie":
            with suppress(CookieError):
                jar.load(value.decode("latin-1"))
    return {name: morsel.value for name, morsel in jar.items()}


class Visitors:
    """ASGI middleware that knows visitors again."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self._key = signing_key()
        self._new: dict[str, tuple[float, float]] = {}
        """For each address how many new visitors may still come from there, and at which time that was so."""

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self.app(scope, receive, send)
            return
        known = self._known(scope)
        place = place_of(scope)
        who = known or f"at-{hashlib.sha256(self._key + place.encode()).hexdigest()[:20]}"
        rest = [pair for pair in scope["headers"] if pair[0] != HEADER.encode()]

        async def greeting(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200 and self._may_be_new(place):
                message = message | {"headers": [*message["headers"], (b"set-cookie", self._cookie(scope))]}
            await send(message)

        _ASKING.set(who if scope["type"] == "http" else "")
        asking = scope | {"headers": [*rest, (HEADER.encode(), who.encode())]}
        new = not known and scope["type"] == "http" and scope["path"].endswith(GREETING)
        await self.app(asking, receive, greeting if new else send)

    def _known(self, scope: Message) -> str:
        """The id in a cookie of ours, or nothing."""
        who, _, signature = cookies_of(scope).get(COOKIE, "").partition(".")
        return who if is_known(who) and hmac.compare_digest(signature.encode(), self._signature(who)) else ""

    def _signature(self, who: str) -> bytes:
        return hmac.new(self._key, who.encode(), hashlib.sha256).hexdigest()[:32].encode()

    def _cookie(self, scope: Message) -> bytes:
        who = new_id()
        secure = "; Secure" if scope.get("scheme") == "https" else ""
        path = f"Path=/; Max-Age={YEAR_SECONDS}; HttpOnly; SameSite=Lax{secure}"
        return f"{COOKIE}={who}.{self._signature(who).decode()}; {path}".encode()

    def _may_be_new(self, place: str) -> bool:
        """Whether one more visitor may come from there."""
        now = time.monotonic()
        left, since = self._new.pop(place, (float(MOST_NEW), now))
        left = min(MOST_NEW, left + (now - since) / RENEWAL_SECONDS)
        self._new[place] = (max(0.0, left - 1), now)
        if len(self._new) > MOST_PLACES:
            del self._new[next(iter(self._new))]
        return left >= 1


def place_of(scope: Mapping[str, Any]) -> str:
    """The address that a request comes from; of IPv6 the network, because one household has all addresses in it."""
    host = (scope.get("client") or ("",))[0]
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


def signing_key() -> bytes:
    """The key of this store, so that visitors are known after a restart; that of this process where nothing can be written."""
    path = default_home() / "visitors.key"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with suppress(FileExistsError), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        key = path.read_bytes()
        if len(key) == 32:
            return key
    return _UNTIL_RESTART
