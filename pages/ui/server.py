"""What the dashboard serves beside Streamlit's own pages: the live view's scripts, its data, and plotly.js.

A view asks for what it lacks over plain HTTP: no point is lost when a browser is slow, nothing on the
page is redrawn by Streamlit, and all viewers of a run share the pictures.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Any

import plotly
from anyio import to_thread
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from pages.ui import compare_feed, feed
from pages.ui.arrival import Hints, Shelf
from pages.ui.live import address, modules, plotly_address
from pages.ui.places import ASSETS
from pages.ui.words import sentence
from semf_core.parameters import InvalidInput
from semf_core.service import get_service

YEAR = "public, max-age=31536000, immutable"
KINDS = {".js": "text/javascript", ".css": "text/css", ".png": "image/png", ".svg": "image/svg+xml"}
log = logging.getLogger("semf.live")


@cache
def _plotly_packed() -> bytes:
    """plotly.js of the installed package, compressed once for all."""
    return gzip.compress((Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes(), 6)


def _plotly(request: Request) -> Response:
    headers = {"Content-Encoding": "gzip", "Cache-Control": YEAR, "Vary": "Accept-Encoding"}
    return Response(_plotly_packed(), media_type="text/javascript", headers=headers)


def _asset(request: Request) -> Response:
    path = (ASSETS / request.path_params["path"]).resolve()
    if not path.is_relative_to(ASSETS) or path.suffix not in KINDS or not path.is_file():
        return JSONResponse({"message": "There is no such file."}, 404)
    return FileResponse(path, media_type=KINDS[path.suffix], headers={"Cache-Control": YEAR})


def _answered(make: Callable[[Request], dict[str, Any]]) -> Callable[[Request], Response]:
    """An endpoint that answers in JSON, refusals and failures included."""

    def endpoint(request: Request) -> Response:
        headers = {"Cache-Control": "no-store"}
        try:
            return JSONResponse(make(request), headers=headers)
        except InvalidInput as refusal:
            return JSONResponse({"message": sentence(refusal)}, 404, headers=headers)
        except Exception:
            log.exception("live view")
            return JSONResponse({"message": "This cannot be shown at the moment."}, 503, headers=headers)

    return endpoint


def _live(request: Request) -> dict[str, Any]:
    return feed.answer(get_service(), request.path_params["run_id"], feed.Ask.from_query(request.query_params))


def _compare(request: Request) -> dict[str, Any]:
    query = request.query_params
    runs, have = (tuple(filter(None, query.get(name, "").split(","))) for name in ("runs", "have"))
    return compare_feed.answer(runs, have, "dark" if query.get("theme") == "dark" else "light")


def _download(request: Request) -> Response:
    """A snapshot's file, or a run or snapshot as something else; always to be kept, never shown in the page's place."""
    kind, service = request.path_params["kind"], get_service()
    try:
        if kind == "semf":
            media = "application/octet-stream"
            name, data = service.gallery.file(request.path_params["run_id"])
        else:
            name, media, data = service.export(request.path_params["run_id"], kind)
    except InvalidInput as refusal:
        return Response(sentence(refusal), 404, media_type="text/plain")
    except Exception:
        log.exception("download of a run")
        return Response("This file cannot be made at the moment.", 503, media_type="text/plain")
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return Response(data, media_type=media, headers=headers | {"Cache-Control": "no-store"})


def routes() -> list[Route]:
    return [
        Route(address("download/{run_id}/{kind}"), _download),
        Route(plotly_address(), _plotly),
        Route(address("assets/{edition}/{path:path}"), _asset),
        Route(address("live/{run_id}"), _answered(_live)),
        Route(address("compare"), _answered(_compare)),
    ]


def middleware() -> list[Middleware]:
    return [Middleware(Hints, modules=modules()), Middleware(Shelf)]


@contextlib.asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Have everything at hand before the first visitor comes."""
    await to_thread.run_sync(_warm_up)
    yield


def _warm_up() -> None:
    _plotly_packed()
    get_service()
