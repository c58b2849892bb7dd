"""States of a run, and errors, in words."""

from __future__ import annotations

import re
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.common.notation import FIRST, NAMES, symbol

THINGS = {
    "address": "This address",
    "checkpoint": "The checkpoint",
    "data": "The data",
    "dataset": "The data set",
    "edit": "The change",
    "key": "The key",
    "presentation": "This presentation",
    "run": "The run",
    "server": "This server",
    "snapshot": "The snapshot",
    "solver": "The algorithm",
    "spec": "The model",
    "store": "The server's store",
    "study": "The study",
}
"""What is rejected, where it is no field that somebody fills in."""
READ_ONLY = "This server shows results: everything can be looked at and downloaded, nothing can be started or changed."
ENDED = frozenset({"finished", "stopped"})
"""States with a result; how it was come to is said beside them, because that takes sentences."""
LIVE = frozenset({"queued", "running", "paused"})
"""States that may still change by themselves: a view of any other run asks for nothing."""


def state_words(status: Any) -> str:
    """What a run is doing, as one short sentence."""
    if status.state == "queued":
        place = status.queue_position
        return f"Queued, number {place} in line" if place else "Queued, starting"
    if status.state == "running":
        if status.message:
            return f"Running: {status.message}"
        rate = status.iterations_per_second
        spelled = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        return f"Running, {spelled} iteration{'' if spelled == '1' else 's'} a second" if rate else "Running"
    if status.state == "paused":
        if status.message:
            return f"Paused: {status.message}"
        return "Paused" if status.iterations else "Ready: press Play"
    if status.state == "finished":
        return "Finished"
    if status.state == "stopped":
        return "Stopped" if status.has_result else f"Stopped: {status.message}"
    if status.state == "snapshot":
        return "Saved before it had finished"
    if status.state == "interrupted":
        return f"Interrupted: {status.message or 'the server was restarted'}"
    return f"Failed: {status.message or 'the worker ended unexpectedly'}"


def sentence(error: InvalidInput) -> str:
    """An error as one sentence, in the way of counting that pages have."""
    field, message = error.field, error.counted(FIRST)
    is_file = "." in field  # its name stays as its owner writes it
    subject = field if is_file else THINGS.get(field) or NAMES.get(field) or _capital(symbol(field).replace("_", " "))
    if not error.whole:
        text = f"{subject} {message}"
    elif field in THINGS or not field:
        text = _capital(message)
    else:
        text = f"{subject}: {message}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def told(error: InvalidInput) -> dict[str, str]:
    """An error as an answer over HTTP: the sentence, and its parts for programs."""
    return {
        "message": sentence(error),
        "field": error.field,
        "problem": error.problem,
        "remedy": error.remedy,
    }


def _capital(text: str) -> str:
    """Words begin with a capital; a symbol alone (k, α₀) stays what it is."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]{2}", text) else text
