"""What became of a cell, and where a study stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Finished:
    """What became of a cell: its numbers, or a sentence that says why there are none."""

    number: int
    values: Mapping[str, float | None] | None = None
    seconds: float = 0.0
    error: str = ""
    lost: bool = False
    """The worker died; another attempt may succeed."""
    kept: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a study stands. `state` is new, queued, running, pausing, paused, cancelled, interrupted or finished."""

    state: str
    total: int
    done: int
    failed: int
    running: int
    seconds_left: float | None
    message: str = ""

    @property
    def moving(self) -> bool:
        return self.state in {"queued", "running", "pausing"}


def state_of(open_cells: int, working: bool, waits: bool, wish: str) -> str:
    """The state of a study with so many cells that have not ended, from who works on it and what was asked for last."""
    if not open_cells:
        return "finished"
    if working:
        return "running" if wish in ("", "run") else "pausing"
    if waits and wish == "run":
        return "queued"
    return {"": "new", "run": "interrupted", "pause": "paused", "cancel": "cancelled"}[wish]
