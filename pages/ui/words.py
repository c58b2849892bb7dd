"""States of a run, and refusals, in words."""

from __future__ import annotations

import re
from typing import Any

from semf_core.parameters import InvalidInput
from semf_core.spelling import FIRST

GREEK = {"alpha": "α", "beta": "β", "gamma": "γ", "epsilon": "ε", "mu": "μ", "nu": "ν", "sigma": "σ", "lambda": "λ", "rho": "ρ"}
GREEK |= {"theta": "θ", "delta": "δ", "Delta": "Δ"}
LOWERED = str.maketrans("0123456789t", "₀₁₂₃₄₅₆₇₈₉ₜ")
THINGS = {
    "address": "This address",
    "checkpoint": "The checkpoint",
    "data": "The data",
    "dataset": "The data set",
    "edit": "The change",
    "key": "The key",
    "run": "The run",
    "server": "This server",
    "snapshot": "The snapshot",
    "solver": "The algorithm",
    "spec": "The model",
    "store": "The server's store",
    "study": "The study",
}
"""What is refused, where it is no field that somebody fills in."""
PREDICATE = re.compile(
    r"(is|are|was|must|cannot|has|have|holds?|names?|leaves?|allows?|declares?|changes|needs?|shows|takes|overlap)\b"
)
"""A message that goes on after the name of its field: "must be positive"; others are sentences of their own."""

READ_ONLY = "This server shows results: everything can be looked at and downloaded, nothing can be started or changed."
LIVE = frozenset({"queued", "running", "paused"})
"""States that may still change by themselves: a view of any other run asks for nothing."""


def state_words(status: Any) -> str:
    """What a run is doing, as one short sentence."""
    if status.state == "queued":
        place = status.queue_position
        return f"Queued, number {place} in line" if place else "Queued, starting"
    if status.state == "running":
        rate = status.iterations_per_second
        return f"Running, {rate:,.0f} iterations a second" if rate else "Running"
    if status.state == "paused":
        return "Paused" if status.iterations else "Ready: press Play"
    if status.state == "finished":
        return f"Finished: {status.message}" if status.message else "Finished"
    if status.state == "stopped":
        return "Stopped"
    if status.state == "snapshot":
        return "Saved before it had finished"
    if status.state == "interrupted":
        return f"Interrupted: {status.message or 'the server was restarted'}"
    return f"Failed: {status.message or 'the worker ended unexpectedly'}"


def symbol(text: str) -> str:
    """A LaTeX symbol or a name like it, in plain characters: alpha_0 and alpha0 are α₀."""
    found = re.fullmatch(r"([A-Za-z]+?)(?:_(\w+)|(\d+))?", text)
    if found is None or (found[1] not in GREEK and len(found[1]) > 1):
        return text
    return GREEK.get(found[1], found[1]) + (found[2] or found[3] or "").translate(LOWERED)


def sentence(refusal: InvalidInput) -> str:
    """A refusal as one sentence, in the way of counting that pages have."""
    field, message = refusal.field, refusal.counted(FIRST)
    is_file = "." in field  # its name stays as its owner writes it
    subject = field if is_file else THINGS.get(field) or _capital(symbol(field).replace("_", " "))
    if PREDICATE.match(message):
        text = f"{subject} {message}"
    elif field in THINGS or not field:
        text = _capital(message)
    else:
        text = f"{subject}: {message}"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _capital(text: str) -> str:
    """Words begin with a capital; a symbol alone (k, α₀) stays what it is."""
    return text[:1].upper() + text[1:] if re.match(r"[a-z]{2}", text) else text
