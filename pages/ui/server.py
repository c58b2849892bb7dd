"""What the dashboard serves beside Streamlit's own pages: the live view's scripts, its data, and plotly.js.

A view asks for what it lacks over plain HTTP: no point is lost when a browser is slow, nothing on the
page is redrawn by Streamlit, and all viewers of a run share the pictures.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import gzip
import importlib
import logging
import math
import pkgutil
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import plotly
import streamlit as st
from anyio import CapacityLimiter, to_thread
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

import pages.ui
from pages.ui import compare_feed, control, feed, glossary, images, presentations, strip_feed
from pages.ui.capacity import Sessions
from pages.ui.downloads import DownloadDesk
from pages.ui.live import DESCRIPTION, address, modules
from pages.ui.login import Admission, check_settings
from pages.ui.messages import told
from pages.ui.page_order import keep_pages_in_order
from pages.ui.password import Password
from pages.ui.places import ASSETS
from pages.ui.preload import Hints, ResponseCache
from pages.ui.protection import Protection
from pages.ui.rate_limits import TooMany, Turns
from pages.ui.uploading import UploadRoom
from pages.ui.visitors import Visitors, requester, visitor
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.common.visitors import ask_who
from semf_core.exports import curves
from semf_core.exports.document import CHART_MODULES, PLOTLY, SHARED
from semf_core.service import get_service
from semf_core.service.public import start_ahead

YEAR = "public, max-age=31536000, immutable"
KINDS = {".js": "text/javascript", ".css": "text/css", ".png": "image/png", ".svg": "image/svg+xml"}
AT_ONCE, EACH, WAITING = 8, 4, 32
"""Live answers at a time, of one visitor, and how many of his may wait."""
PACKED_BYTES = 1000
SWITCH_SECONDS = 0.0005
M_MMAP_THRESHOLD, LARGE_BLOCK = -3, 1 << 20
"""From malloc.h; in bytes."""
LIVE = Turns(AT_ONCE, EACH, WAITING)
COMMANDS = Turns(AT_ONCE, EACH, WAITING)
"""Apart from them: a command may wait for a worker."""
log = logging.getLogger("semf.live")


@cache
def _plotly_packed(basic: bool) -> bytes:
    """plotly.js, compressed once for all: the bundle of the charts of runs, or all of it, from the installed package."""
    full = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    return gzip.compress((SHARED / PLOTLY if basic else full).read_bytes(), 6)


def _plotly(request: Request) -> Response:
    headers = {"Content-Encoding": "gzip", "Cache-Control": YEAR, "Vary": "Accept-Encoding"}
    return Response(_plotly_packed(request.path_params["bundle"] == "basic"), media_type=KINDS[".js"], headers=headers)


def _asset(request: Request) -> Response:
    folder, _, name = request.path_params["path"].rpartition("/")
    if folder == "live" and name == DESCRIPTION:
        return Response(curves.script(), media_type=KINDS[".js"], headers={"Cache-Control": YEAR})
    shared = folder == "live" and name in CHART_MODULES
    path = SHARED / name if shared else (ASSETS / request.path_params["path"]).resolve()
    if not (shared or path.is_relative_to(ASSETS)) or path.suffix not in KINDS or not path.is_file():
        return JSONResponse({"message": "There is no such file."}, 404)
    return FileResponse(path, media_type=KINDS[path.suffix], headers={"Cache-Control": YEAR})


def _words(request: Request) -> Response:
    return _packed(request, JSONResponse(glossary.as_json(), headers={"Cache-Control": "public, max-age=3600"}))


def _answered(make: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers in JSON, errors and failures included; visitors take turns."""

    def answer(request: Request) -> Response:
        headers = {"Cache-Control": "no-store"}
        try:
            return _packed(request, JSONResponse(finite(make(request)), headers=headers))
        except InvalidInput as error:
            return JSONResponse(told(error), 404, headers=headers)
        except Exception:
            log.exception("live view")
            return JSONResponse({"message": "This cannot be shown at the moment."}, 503, headers=headers)

    async def endpoint(request: Request) -> Response:
        try:
            async with LIVE.turn(requester(request.scope)):
                return await to_thread.run_sync(answer, request, limiter=_threads())
        except TooMany:
            return JSONResponse({"message": "This browser asks for too much at once."}, 429, headers={"Retry-After": "2"})

    return endpoint


def finite(value: Any) -> Any:
    """The same JSON value, with null for what JSON has no number for: data of 10¹⁵⁰ are beyond what a picture holds."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    return [finite(one) for one in value] if isinstance(value, list | tuple) else value


def _packed(request: Request, answer: Response) -> Response:
    """Compressed here and now: Streamlit would hand it to one more thread, behind all that compute."""
    if len(answer.body) > PACKED_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
        answer.body = gzip.compress(answer.body, 5)
        answer.headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(answer.body)), "Vary": "Accept-Encoding"})
    return answer


@cache
def _threads() -> CapacityLimiter:
    """Threads of their own: a live view never waits for files that are read for others."""
    return CapacityLimiter(AT_ONCE)


@cache
def _command_threads() -> CapacityLimiter:
    return CapacityLimiter(AT_ONCE)


def _live(request: Request) -> dict[str, Any]:
    return feed.answer(get_service(), request.path_params["run_id"], feed.Ask.from_query(request.query_params))


def _compare(request: Request) -> dict[str, Any]:
    query = request.query_params
    runs, have = (tuple(filter(None, query.get(name, "").split(","))) for name in ("runs", "have"))
    return compare_feed.answer(runs, have, _theme(request), images.room(query.get("hall", "")))


def _theme(request: Request) -> str:
    return "dark" if request.query_params.get("theme") == "dark" else "light"


def _strip(request: Request) -> dict[str, Any]:
    have = tuple(filter(None, request.query_params.get("have", "").split(",")))
    return strip_feed.answer(request.path_params["strip_id"], have, _theme(request), request.query_params.get("shown", ""))


def _before(request: Request) -> dict[str, Any]:
    query, run_id = request.query_params, request.path_params["run_id"]
    place = images.room(query.get("hall", ""))
    return strip_feed.before(run_id, query.get("before", ""), query.get("factor", "U"), _theme(request), place)


async def _control(request: Request) -> Response:
    run_id, key = request.path_params["run_id"], request.headers.get(control.KEY_HEADER, "")
    values = await control.body(request)
    try:
        async with COMMANDS.turn(requester(request.scope)):
            return await to_thread.run_sync(control.answer, run_id, key, values, limiter=_command_threads())
    except TooMany:
        return JSONResponse({"message": "This browser asks for too much at once."}, 429, headers={"Retry-After": "2"})


def _moved(request: Request) -> Response:
    """Model and Run were pages of their own; what their links name is on the workbench."""
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{_base()}/workbench{query}", 307)


def _base() -> str:
    """Where Streamlit's own pages are below."""
    base = st.get_option("server.baseUrlPath").strip("/")
    return f"/{base}" if base else ""


@cache
def _desk() -> DownloadDesk:
    return DownloadDesk()


def _download(name: str) -> Callable[[Request], Awaitable[Any]]:
    """A way of the desk that makes files; it is opened when the server starts, not when this module is read."""

    async def endpoint(request: Request) -> Any:
        return await getattr(_desk(), name)(request)

    return endpoint


def routes() -> list[Route]:
    return [
        Route(address("download/comparison.{kind}"), _download("of_comparison")),
        Route(address("download/study/{study_id}/{kind}"), _download("of_study")),
        Route(address("download/lesson/{name}/{kind}"), _download("of_lesson")),
        Route(address("download/{run_id}/{kind}"), _download("of_run")),
        Route(address("plotly/{revision}/{bundle}.js"), _plotly),
        Route(address("assets/{revision}/{path:path}"), _asset),
        Route(address("words.json"), _words),
        Route(address("live/{run_id}"), _answered(_live)),
        Route(address("compare"), _answered(_compare)),
        Route(address("strip/{strip_id}"), _answered(_strip)),
        Route(address("before/{run_id}"), _answered(_before)),
        Route(address("control/{run_id}"), _control, methods=["POST"]),
        Route(address("presentations"), presentations.begin, methods=["POST"]),
        Route(address("presentations/{presentation_id}"), presentations.show, methods=["POST"]),
        Route(address("presentations/{presentation_id}"), presentations.follow),
        Route(address("presentations/{presentation_id}/content"), _answered(presentations.content)),
        Route(address("presentations/{presentation_id}/notes"), _answered(presentations.notes)),
        Route(address("follow/{presentation_id}"), presentations.follow_page),
        Route(address("notes/{presentation_id}"), presentations.notes_page),
        *(Route(f"{_base()}/{old}", _moved) for old in ("model", "run")),
    ]


def middleware() -> list[Middleware]:
    """From the outermost inwards."""
    guards = [Middleware(one) for one in (Protection, Password, Visitors, Admission, Sessions, UploadRoom)]
    return [*guards, Middleware(Hints, modules=modules()), Middleware(ResponseCache)]


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Have everything at hand before the first visitor comes."""
    await to_thread.run_sync(_warm_up)
    yield
    _desk().close()


def _warm_up() -> None:
    check_settings()
    keep_pages_in_order()
    _warn_of_strangers()
    ask_who(visitor)
    _plotly_packed(basic=True)
    get_service()
    start_ahead()
    _desk()
    _make_nimble()


def _make_nimble() -> None:
    """Let short answers through while pages compute.

    Nobody else runs while garbage is collected: what is there now, all modules of all pages, is left out of that for
    good, which takes a tenth of a second off each time. And a thread that computes gives way to one that has an answer
    to send ten times as often as Python would have it.
    """
    for module in pkgutil.iter_modules(pages.ui.__path__, "pages.ui."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_SECONDS)
    _return_large_blocks()


def _return_large_blocks() -> None:
    """Have blocks of a megabyte and more go back to the system as soon as they are free.

    By itself glibc keeps blocks of up to 32 MB, once it has seen one, in the heap of the thread that asked for it, and
    every page is drawn in a thread: the memory of the largest files would stay, many times over.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)


def _warn_of_strangers() -> None:
    """Say so where others can reach a server that was set up for one person."""
    host = st.get_option("server.address") or "every address"
    if host not in {"localhost", "127.0.0.1", "::1"} and not server_limits().public:
        log.warning("Others can reach this server (%s): SEMF_PUBLIC=1 sets limits for strangers; see docs/deployment.md", host)
