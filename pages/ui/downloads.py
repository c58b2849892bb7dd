"""Files to keep, over HTTP: made beside the server, a few at a time, in turn between visitors, and streamed."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic
from typing import BinaryIO

from anyio import sleep, to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.ui.messages import sentence
from pages.ui.rate_limits import TooMany, Turns
from pages.ui.visitors import requester
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.downloads import Downloads, Wanted, comparison_file, lesson_file, run_file, study_file
from semf_core.service import Service, get_service

Find = Callable[[Service], Wanted | tuple[str, BinaryIO] | None]
"""A file that is to be made, or the name of one that is there and the file, open; None as long as its runs go on."""
STREAMS = 8
"""Files that one visitor may be sent at a time."""
ALL = 1_000_000
CHUNK = 1 << 18
LOOK_SECONDS = 0.5
"""Between two looks at runs that a file waits for."""
log = logging.getLogger("semf.downloads")


class DownloadDesk:
    """Answers requests for files."""

    def __init__(self) -> None:
        service, limits = get_service(), server_limits()
        workers, waiting = int(limits.download_workers), int(min(limits.downloads_waiting, ALL))
        self._files = Downloads(service.home, service.read_only)
        self._sending = Turns(ALL, STREAMS, waiting)
        self._making = Turns(workers, workers, waiting)

    def close(self) -> None:
        self._files.close()

    async def of_run(self, request: Request) -> ASGIApp:
        """A snapshot's own file, or a run or snapshot as something else."""
        run_id, kind = (request.path_params[name] for name in ("run_id", "kind"))
        if kind == "semf":
            return self._answer(request, lambda service: service.gallery.open_file(run_id))
        return self._answer(request, lambda service: run_file(service, run_id, kind))

    async def of_study(self, request: Request) -> ASGIApp:
        study_id, kind = (request.path_params[name] for name in ("study_id", "kind"))
        return self._answer(request, lambda service: study_file(service, study_id, kind))

    async def of_comparison(self, request: Request) -> ASGIApp:
        kind, query = request.path_params["kind"], request.query_params
        runs, axis = query.get("runs", "").split(","), query.get("axis", "iterations")
        return self._answer(request, lambda service: comparison_file(service, runs, kind, axis))

    async def of_lesson(self, request: Request) -> ASGIApp:
        name, kind = (request.path_params[part] for part in ("name", "kind"))
        return self._answer(request, lambda service: lesson_file(service, name, kind))

    def _answer(self, request: Request, find: Find) -> ASGIApp:
        """What waits for its turns, makes the file and sends it; a file that is being sent counts for its visitor."""
        visitor = requester(request.scope)

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                async with self._sending.turn(visitor):
                    name, media_type, file = await self._found(visitor, find, request.is_disconnected)
                    with file:
                        await _stream(name, media_type, file)(scope, receive, send)
            except TooMany:
                words = "You have asked for many files at once: wait until some of them are there, then ask again."
                await PlainTextResponse(words, 429, {"Retry-After": "10"})(scope, receive, send)
            except _NotMade as rejected:
                await PlainTextResponse(str(rejected), rejected.status, {"Cache-Control": "no-store"})(scope, receive, send)

        return answer

    async def _found(self, visitor: str, find: Find, gone: Callable[[], Awaitable[bool]]) -> tuple[str, str, BinaryIO]:
        """Name, media type and the open file."""
        try:
            wanted = await _ready(find, gone)
            if isinstance(wanted, tuple):
                return wanted[0], "application/octet-stream", wanted[1]
            file = await to_thread.run_sync(self._files.kept, wanted)
            if file is None:
                async with self._making.turn(visitor):
                    if await gone():
                        raise _NotMade("Nobody waits for this file any more.", 499)
                    file = await to_thread.run_sync(self._files.make, wanted)
        except InvalidInput as error:
            raise _NotMade(sentence(error), 404) from None
        except OSError:
            log.exception("download")
            raise _NotMade("This file cannot be made at the moment.", 503) from None
        return wanted.name, wanted.media_type, file


async def _ready(find: Find, gone: Callable[[], Awaitable[bool]]) -> Wanted | tuple[str, BinaryIO]:
    """What is found once the runs that it is made of have come to rest; nobody waits longer than a file may take to make."""
    end = monotonic() + server_limits().download_seconds
    while (wanted := await to_thread.run_sync(find, get_service())) is None:
        if await gone():
            raise _NotMade("Nobody waits for this file any more.", 499)
        if monotonic() > end:
            raise _NotMade("The runs of this lesson are still being made: ask again in a few minutes.", 503)
        await sleep(LOOK_SECONDS)
    return wanted


class _NotMade(Exception):
    """No file; the text says why."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def _stream(name: str, media_type: str, file: BinaryIO) -> StreamingResponse:
    """Always to be kept, never shown in the page's place."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    headers["Content-Length"] = str(os.fstat(file.fileno()).st_size)
    return StreamingResponse(_chunks(file), media_type=media_type, headers=headers)


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    while data := await to_thread.run_sync(file.read, CHUNK):
        yield data
