"""Log in with an account (SEMF_LOGIN=1), by the provider that Streamlit's secrets name: pages, live views and files.

Streamlit tells a page who is logged in, and nobody else. So a page that has been drawn for somebody lets the browser in
(by the visitor's cookie), and requests beside the pages ask whether it was.
"""

from __future__ import annotations

import importlib.util
import os
import time
from typing import Any

import streamlit as st
from starlette.responses import JSONResponse

from pages.ui.live import is_data
from pages.ui.visitors import is_known, requester, visitor
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import flag_from_env

Message = dict[str, Any]
HOURS = 24
_ADMITTED: dict[str, float] = {}
"""Browsers of people who are logged in, and until when."""


def login_wanted() -> bool:
    return flag_from_env("SEMF_LOGIN")


def check_settings() -> None:
    """Reject to start where nobody could log in."""
    if not login_wanted():
        return
    if "auth" not in st.secrets:
        raise InvalidInput("SEMF_LOGIN", "needs a provider under [auth] in .streamlit/secrets.toml", "see docs/deployment.md")
    if importlib.util.find_spec("authlib") is None:
        raise InvalidInput("SEMF_LOGIN", "needs Authlib", 'run: pip install "streamlit[auth]"')


def require_login() -> None:
    """Draw the way in and stop, unless whoever looks is logged in and may come in."""
    if not login_wanted():
        return
    browser = visitor(person=False)
    if st.user.is_logged_in and is_allowed(dict(st.user)):
        now = time.time()
        for gone in [one for one, until in list(_ADMITTED.items()) if until < now]:
            _ADMITTED.pop(gone, None)
        _ADMITTED[browser] = now + HOURS * 3600
        return
    _ADMITTED.pop(browser, None)
    st.title("SeMF Studio", anchor=False)
    if st.user.is_logged_in:
        st.markdown("You are logged in, but this account may not use this server. Ask its operator, or take another account.")
        st.button("Log out", on_click=st.logout, icon=":material/logout:")
    else:
        st.markdown("This server asks you to log in.")
        st.button("Log in", on_click=st.login, type="primary", icon=":material/login:")
    st.stop()


def is_allowed(user: dict[str, Any]) -> bool:
    """Whether SEMF_LOGIN_ALLOW names the address of this account, or its domain as @example.org; all may if it is empty."""
    allowed = os.environ.get("SEMF_LOGIN_ALLOW", "").replace(",", " ").lower().split()
    mail = str(user.get("email") or "").lower()
    checked = mail if user.get("email_verified") is not False else ""
    return not allowed or (bool(checked) and (checked in allowed or f"@{checked.rpartition('@')[2]}" in allowed))


class Admission:
    """ASGI middleware before what is served beside the pages: only for browsers of people who are logged in."""

    def __init__(self, app: Any) -> None:
        self.app, self._wanted = app, login_wanted()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        closed = self._wanted and scope["type"] == "http" and is_data(scope["path"])
        if closed and not _is_admitted(requester(scope)):
            await JSONResponse({"message": "Log in first, on a page of this server."}, 401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _is_admitted(browser: str) -> bool:
    """Those without a cookie share their id with others at the same address, so they never are."""
    return is_known(browser) and _ADMITTED.get(browser, 0.0) > time.time()
