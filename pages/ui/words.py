"""States of a run, in words."""

from __future__ import annotations

from typing import Any

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
        return "Paused"
    if status.state == "finished":
        return f"Finished: {status.message}" if status.message else "Finished"
    if status.state == "stopped":
        return "Stopped"
    if status.state == "snapshot":
        return "Saved before it had finished"
    if status.state == "interrupted":
        return f"Interrupted: {status.message or 'the server was restarted'}"
    return f"Failed: {status.message or 'the worker ended unexpectedly'}"
