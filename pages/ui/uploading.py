"""Files on their way from a browser: out of the server's memory as soon as they are stored, and never too many in it."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any, TypeVar

import streamlit as st
from starlette.requests import ClientDisconnect
from starlette.responses import PlainTextResponse
from streamlit.runtime import get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from pages.ui import params
from pages.ui.visitors import requester
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.runs.home import MB
from semf_core.runs.uploads import Upload
from semf_core.service import get_service
from semf_core.service.public import Basket

BASKET, REJECTED = "semf_basket", "semf_rejected_files"
T = TypeVar("T")
UPLOADS = "/_stcore/upload_file/"


def basket() -> Basket:
    """This visitor's files on the server's disk."""
    if BASKET not in st.session_state:
        st.session_state[BASKET] = get_service().arrivals.basket()
    return st.session_state[BASKET]


def holds(source: Upload) -> bool:
    """Whether this visitor's files have just been read as this upload, which is not used yet."""
    return BASKET in st.session_state and basket().holds(source.id)


def store(files: list[UploadedFile], key: str) -> None:
    """Put the files of an uploader (by its key) on disk, in the basket. One for which there is no room has to be sent again."""
    there = basket()
    there.keep_only([file.file_id for file in files])
    for file in files:
        if file.file_id not in there:
            try:
                there.put(file.file_id, file.name, file.getvalue())
            finally:
                release(file, key)


def release(file: UploadedFile, key: str) -> None:
    """Let Streamlit forget what a file holds; its uploader goes on to show the name.

    It has the content three times: among the files of the session, in the value of the widget, and in the copy of that
    value which the page gets.
    """
    context = get_script_run_ctx()
    if context is not None:
        empty = UploadedFileRec(file.file_id, file.name, file.type, b"")
        context.uploaded_file_mgr.add_file(context.session_id, empty)  # type: ignore[attr-defined]
    value = st.session_state.get(key)
    for copy in (file, *(value if isinstance(value, list) else [value])):
        if copy == file:
            copy.seek(0)
            copy.truncate()


def once(file: UploadedFile, key: str, take: Callable[[str, bytes], T]) -> T | None:
    """Hand a file of an uploader (by its key) on, once; if it is rejected, the reason stands there as long as the file does."""
    rejected: dict[str, str] = st.session_state.setdefault(REJECTED, {})
    if file.file_id not in rejected:
        try:
            return take(file.name, file.getvalue())
        except InvalidInput as error:
            rejected[file.file_id] = params.sentence(error)
        finally:
            release(file, key)
    st.error(rejected[file.file_id], icon=":material/block:")
    return None


class UploadRoom:
    """ASGI middleware: a file is let in only if those in memory leave room for it, those of all and those of its visitor.

    Streamlit keeps a file until it is stored or its page is left, whether the page reads it or not.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self._coming: Counter[str] = Counter()
        self._sessions: defaultdict[str, set[str]] = defaultdict(set)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "PUT" or UPLOADS not in scope["path"]:
            await self.app(scope, receive, send)
            return
        who, size = requester(scope), _announced(scope)
        if size is None:
            await PlainTextResponse("The length of the file must be announced.", 411)(scope, receive, send)
        elif not self._fits(who, scope["path"].partition(UPLOADS)[2].partition("/")[0], size):
            await PlainTextResponse("Too many files are arriving; try again in a minute.", 503)(scope, receive, send)
        else:
            self._coming[who] += size
            try:
                with contextlib.suppress(ClientDisconnect):  # nobody waits for an answer any more
                    await self.app(scope, _bounded(receive, size), send)
            finally:
                self._coming[who] -= size
                if not self._coming[who]:
                    del self._coming[who]

    def _fits(self, who: str, session: str, size: int) -> bool:
        """Whether there is room among the files of all, and in the half of it that one visitor may take."""
        held, limit = held_bytes(), server_limits().uploads_held_mb * MB
        self._sessions[who].add(session)
        for one in [one for one, known in self._sessions.items() if one != who and not known & held.keys()]:
            del self._sessions[one]
        mine = sum(held.get(one, 0) for one in self._sessions[who]) + self._coming[who]
        return mine + size <= limit / 2 and sum(held.values()) + self._coming.total() + size <= limit


def _announced(scope: dict[str, Any]) -> int | None:
    """The length that the request has announced."""
    text = dict(scope["headers"]).get(b"content-length", b"")
    return int(text) if text.isdigit() and len(text) < 16 else None


def _bounded(receive: Any, size: int) -> Any:
    """The same request, which ends where it said that it would."""
    left = size

    async def bounded() -> dict[str, Any]:
        nonlocal left
        message = await receive()
        left -= len(message.get("body", b""))
        return message if left >= 0 else {"type": "http.disconnect"}

    return bounded


def held_bytes() -> dict[str, int]:
    """What Streamlit has of the files of each session."""
    with contextlib.suppress(RuntimeError):  # there is no server, as in a test of a page
        files = get_instance().uploaded_file_mgr.file_storage  # type: ignore[attr-defined]
        return {session: sum(len(file.data) for file in list(kept.values())) for session, kept in list(files.items())}
    return {}
