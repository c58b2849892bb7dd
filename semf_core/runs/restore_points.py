"""States in the past of a run from which it can be computed again, bit for bit.

A keyframe holds the factors in single precision and no multipliers, so a run cannot go on from one. A restore point
holds the whole state. The history and the events before it are in the folder already, so that it stays small.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from semf_core.datasets import Dataset
from semf_core.runs.files import DamagedFile, reading, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.solvers import Event, Run
from semf_core.solvers.history import rows_after

RESTORE_SECONDS = 0.5
"""Run time between two of them."""
RESTORE_BYTES = 64 << 20
"""All of a run at most. Of as many as fit the younger half stay close together, the older ones are spread evenly."""


class RestorePoints:
    """Those of a run that is being recorded."""

    def __init__(self, folder: RunFolder, run: Run, share: int) -> None:
        """Writing takes at most one part in `share` of the time."""
        self._folder, self._run, self._share = folder, run, share
        for iteration in folder.restore_points():
            if iteration >= run.iterations:  # of a worker that died, and so perhaps of events that are unknown now
                folder.restore_point(iteration).unlink()
        self._kept = folder.restore_points()
        self._seconds = [folder.row_file.seconds(k) for k in self._kept]
        self._sizes = [folder.restore_point(k).stat().st_size for k in self._kept]
        self.due = (self._seconds[-1] if self._kept else 0.0) + RESTORE_SECONDS
        """Run time at which the next one is wanted."""

    def keep(self) -> None:
        """Write one, and give up others if there are too many; rows and events so far must be in the folder."""
        run, began = self._run, time.perf_counter()
        arrays = run.packed(past=False)
        if sum(array.nbytes for array in arrays.values()) > RESTORE_BYTES:
            self.due = np.inf
            return
        path = self._folder.restore_point(run.iterations)
        write_whole(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]
        size = path.stat().st_size
        for values, value in ((self._kept, run.iterations), (self._seconds, run.seconds), (self._sizes, size)):
            values.append(value)  # type: ignore[arg-type]
        while sum(self._sizes) > RESTORE_BYTES:
            self._give_up(one_too_many(self._seconds))
        self.due = run.seconds + max(RESTORE_SECONDS, self._share * (time.perf_counter() - began))

    def _give_up(self, index: int) -> None:
        self._folder.restore_point(self._kept[index]).unlink()
        for values in (self._kept, self._seconds, self._sizes):
            del values[index]


def one_too_many(seconds: Sequence[float]) -> int:
    """Which of these points, in order, to give up: of the older half the one that leaves the shortest stretch behind it."""
    older = range(max(1, len(seconds) // 2))
    before = (0.0, *seconds)
    return min(older, key=lambda k: (seconds[k + 1] if k + 1 < len(seconds) else np.inf) - before[k])


def restored(folder: RunFolder, dataset: Dataset, before: int, events: Sequence[Event]) -> tuple[Run, int] | None:
    """The run at the last restore point before an iteration, and how many of its events it knows; None if there is none."""
    for iteration in reversed([k for k in folder.restore_points() if k < before]):
        arrays = _read(folder, iteration, events)
        if arrays is None:
            continue
        known = len(json.loads(arrays["meta"].tobytes())["events"])
        spec = folder.spec(sum(e.kind == "edit" for e in events[:known]))
        return Run.resume(arrays, spec.problem(dataset, folder.start()), spec.solver, spec.limits, bounded=True), known
    return None


def _read(folder: RunFolder, iteration: int, events: Sequence[Event]) -> dict[str, np.ndarray] | None:
    """A checkpoint made of the restore point and the past in the folder; None where an earlier one has to do."""
    path = folder.restore_point(iteration)
    try:
        with reading(path), np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
            meta: dict[str, Any] = json.loads(arrays["meta"].tobytes())
            known = int(meta["events"])
    except (FileNotFoundError, DamagedFile):  # given up since it was listed, or no longer readable
        return None
    rows = folder.row_file.kept(iteration)
    if known > len(events) or len(rows) != (rows_after(iteration) if "history_end" in arrays else iteration):
        return None  # what it refers to was cut off
    past = {"events": [asdict(e) for e in events[:known]]}
    return arrays | {"history": rows, "meta": np.frombuffer(json.dumps(meta | past).encode(), np.uint8)}
