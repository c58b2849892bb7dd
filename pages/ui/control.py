"""What the live view asks for at the press of a key or a slider: the run's commands over HTTP.

They do not go through Streamlit, so nothing on the page is redrawn and no press is lost while a script runs.
The control key comes in a header of its own, which a page of another origin cannot send.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from pages.ui.messages import told
from semf_core.common.errors import InvalidInput, parsed_json
from semf_core.runs.edits import Edit
from semf_core.service import Service, get_service
from semf_core.solvers import ADMM, RelativeADMM

KEY_HEADER = "x-semf-key"
LARGEST = 4096
"""Bytes of a command."""

Values = Mapping[str, Any]


def _step(service: Service, run_id: str, key: str, values: Values) -> None:
    service.step(run_id, key, values.get("steps", 1))


def _penalty(service: Service, run_id: str, key: str, values: Values) -> None:
    service.edit(run_id, key, Edit(alpha=values.get("alpha"), beta=values.get("beta")))


def _hold(service: Service, run_id: str, key: str, values: Values) -> None:
    """Algorithm 2 off (the penalties stay as they are) or on again."""
    solver = service.status(run_id).spec.solver
    if not isinstance(solver, ADMM | RelativeADMM):
        raise InvalidInput("solver", "has no penalties that could be held")
    service.edit(run_id, key, Edit(solver=replace(solver, penalty="fixed" if values.get("on") else "adaptive")))


def _pace(service: Service, run_id: str, key: str, values: Values) -> None:
    service.set_pace(run_id, key, values.get("rate", 0))


COMMANDS: dict[str, Callable[[Service, str, str, Values], None]] = {
    "play": lambda service, run_id, key, values: service.resume(run_id, key),
    "pause": lambda service, run_id, key, values: service.pause(run_id, key),
    "stop": lambda service, run_id, key, values: service.stop(run_id, key),
    "restart": lambda service, run_id, key, values: service.reset(run_id, key, paused=bool(values.get("paused"))),
    "step": _step,
    "penalty": _penalty,
    "hold": _hold,
    "pace": _pace,
}


def obey(run_id: str, key: str, values: object) -> None:
    """Carry out one command; errors are InvalidInput."""
    if not isinstance(values, Mapping) or values.get("do") not in list(COMMANDS):  # whatever stands there, hashable or not
        raise InvalidInput("command", f"must be one of {', '.join(COMMANDS)}")
    COMMANDS[values["do"]](get_service(), run_id, key, values)


async def body(request: Request) -> object:
    """The command in a request; None if it is too long or no JSON."""
    text = b""
    async for piece in request.stream():
        text += piece
        if len(text) > LARGEST:
            return None
    try:
        return parsed_json("command", text)
    except InvalidInput:
        return None


def answer(run_id: str, key: str, values: object) -> JSONResponse:
    """{} if it was done, a sentence if not."""
    headers = {"Cache-Control": "no-store"}
    try:
        obey(run_id, key, values)
    except InvalidInput as error:
        return JSONResponse(told(error), 409, headers=headers)
    return JSONResponse({}, headers=headers)
