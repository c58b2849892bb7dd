"""What is told about runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from semf_core.model import ModelSpec
from semf_core.runs.files import reading
from semf_core.runs.folder import RunFolder
from semf_core.runs.ids import key_matches
from semf_core.runs.store import Meta
from semf_core.solvers import COLUMNS

RATE_ROWS = 200
"""Rows over which the current speed is taken."""
SECONDS, START = COLUMNS.index("seconds"), COLUMNS.index("start")


@dataclass(frozen=True)
class RunHandle:
    """The id opens a run for looking, the key controls it."""

    id: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands. `state` is queued, running, paused, finished, stopped, failed or interrupted.

    A snapshot reads as a run too: it is finished or stopped, or "snapshot" if the run had not come to an end.
    """

    id: str
    title: str
    state: str
    message: str
    """Why it stopped, failed or waits, in words."""
    note: str
    """What is not recorded, and why."""
    iterations: int
    start: int
    seconds: float
    iterations_per_second: float
    queue_position: int | None
    created: float
    generation: int
    """Changes with a reset: a viewer then forgets what it has and asks for everything."""
    edits: int
    spec: ModelSpec
    """The model as it is now, after any edits."""
    key_hash: str = field(repr=False)
    is_snapshot: bool = False
    """It never changes, and nothing controls it."""
    has_result: bool = False

    def owner_ok(self, key: object) -> bool:
        """Whether the key controls this run."""
        return key_matches(key, self.key_hash)

    @property
    def moving(self) -> bool:
        """New numbers may come without anybody doing anything."""
        return self.state in {"queued", "running"}


@dataclass(frozen=True)
class QueueStatus:
    """How busy the server is; no run is named."""

    slots: int
    running: int
    waiting: int


def status_of(run_id: str, folder: RunFolder, meta: Meta, spec: ModelSpec, position: int | None) -> RunStatus:
    """The numbers in a folder and the server's word on it, together."""
    with reading(folder.scalars):
        return _status_of(run_id, folder, meta, spec, position)


def _status_of(run_id: str, folder: RunFolder, meta: Meta, spec: ModelSpec, position: int | None) -> RunStatus:
    newest = folder.row_file.last(RATE_ROWS)
    rows, numbers = newest.values, newest.iterations
    seconds = rows[-1][SECONDS] if len(rows) else 0.0
    span = seconds - rows[0][SECONDS] if len(rows) > 1 else 0.0
    rate = float((numbers[-1] - numbers[0]) / span) if span > 0 else 0.0
    return RunStatus(
        id=run_id,
        title=meta.title,
        state=meta.state,
        message=meta.message,
        note=meta.note,
        iterations=int(numbers[-1]) if len(rows) else 0,
        start=int(rows[-1][START]) if len(rows) else 0,
        seconds=float(seconds),
        iterations_per_second=min(rate, folder.pace() or rate),  # the seconds are those of computing, without waiting
        queue_position=position,
        created=meta.created,
        generation=meta.generation,
        edits=meta.revision,
        spec=spec,
        key_hash=meta.key,
        is_snapshot=not meta.key,
        has_result=folder.result.exists(),
    )
