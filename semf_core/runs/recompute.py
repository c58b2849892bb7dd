"""Factors of an iteration that was not recorded, computed again from the last restore point before it.

A run repeats itself bit for bit from its model, seed and edits. What is near a restore point is there at once. What is
not (a huge run, a snapshot, a folder of an earlier version) is computed beside everything else, as long as somebody asks.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.threads import one_blas_thread
from semf_core.datasets import Dataset
from semf_core.mathematics.precision import single
from semf_core.model import ModelSpec
from semf_core.model.memory import run_bytes
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame
from semf_core.runs.restore_points import restored
from semf_core.snapshots.content import Revision
from semf_core.snapshots.reproduce import go_on, replay
from semf_core.solvers import Run

SHORT_SECONDS = 1.5
"""What took the run longer than this is computed by a thread of its own, one after the other."""
PATIENCE = 0.5
"""Seconds that a question waits for its answer; then it is asked again."""
ASKED_SECONDS = 6.0
"""What nobody has asked for in this time is given up."""
KEPT = 24
"""Iterations up to the wanted one that are kept as well: stepping back comes next."""
MOST_BYTES = 64 << 20
MOST_RUN_BYTES = 256 << 20
"""A run that takes more memory is not computed again: that is done by the server itself, beside all its pages."""


def affordable(spec: ModelSpec, dataset: Dataset) -> bool:
    """Whether a run may be computed again."""
    return run_bytes(spec, dataset) <= MOST_RUN_BYTES


class Abandoned(Exception):
    """Nobody wants it any more."""


def replayed_before(folder: RunFolder, dataset: Dataset, iteration: int, watch: Callable[[Run], object] | None = None) -> Run:
    """The run as it was when this iteration began, with every edit that was made before it."""
    events = [e for e in folder.events() if e.iteration < iteration]
    edits = sum(e.kind == "edit" for e in events)
    start = folder.start()
    with one_blas_thread(), np.errstate(all="ignore"):
        near = restored(folder, dataset, iteration, events)
        known = near[1] if near is not None else 0
        done = sum(e.kind == "edit" for e in events[:known])
        revisions = tuple(Revision(folder.spec(k), folder.numbers(k) if k else {}) for k in range(done, edits + 1))
        if near is None:
            return replay(revisions, start, events, iteration - 1, dataset, watch, bounded=True)
        return go_on(near[0], revisions, start, events[known:], iteration - 1, dataset, watch)


def made_again(run: Run) -> None:
    """The next step of a run, without what is decided after it: a kick or a new start would take its factors away."""
    with one_blas_thread(), np.errstate(all="ignore"):
        run.state = run.solver.step(run.problem, run.state)
        run.solver.frame(run.problem, run.state)


def frame_of(run: Run, iteration: int) -> FactorFrame:
    U, V, X, Y = map(single, run.factors(best=False))
    return FactorFrame(iteration, U, V, X, Y)


@dataclass(frozen=True)
class Recomputation:
    """What is known of an iteration's factors."""

    frame: FactorFrame | None = None
    computing: bool = False
    """They are on their way."""


@dataclass
class _Job:
    iteration: int
    asked: float
    future: Future[None] | None = None


class Recomputed:
    """Frames that were computed again, the latest of them kept; any number of threads may ask."""

    def __init__(self) -> None:
        self._frames: OrderedDict[tuple[str, int, float], FactorFrame] = OrderedDict()
        self._jobs: dict[tuple[str, int, float], _Job] = {}
        self._lock = threading.Lock()
        """Held for a moment only, never while something is computed."""
        self._short = ThreadPoolExecutor(2, "recompute")
        self._long = ThreadPoolExecutor(1, "recompute-long")
        self._closed = False

    def close(self) -> None:
        """Give up what is under way."""
        self._closed = True
        for pool in (self._short, self._long):
            pool.shutdown(wait=True, cancel_futures=True)

    def ask(self, run_id: str, folder: RunFolder, dataset: Dataset, iteration: int, patience: float = PATIENCE) -> Recomputation:
        """The factors after exactly this iteration, if they are there within `patience` seconds; else they are computed."""
        if not 1 <= iteration <= folder.iterations():
            return Recomputation()
        key = (run_id, iteration, folder.row_file.seconds(iteration))  # the time it took tells a run from its repetition
        with self._lock:
            if key in self._frames:
                self._frames.move_to_end(key)
                return Recomputation(self._frames[key])
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = _Job(iteration, time.monotonic())
                job.future = self._pool(folder, iteration).submit(self._compute, key, job, folder, dataset)
            job.asked = time.monotonic()
        assert job.future is not None
        wait([job.future], patience)
        if not job.future.done():
            return Recomputation(computing=True)
        try:
            job.future.result()
        except Abandoned:  # between this question and the one before; the next one begins it again
            return Recomputation(computing=True)
        except (InvalidInput, FileNotFoundError):  # an edit of an older version was not kept whole, or the run was deleted
            return Recomputation()
        with self._lock:
            return Recomputation(self._frames.get(key))

    def _pool(self, folder: RunFolder, iteration: int) -> ThreadPoolExecutor:
        before = [k for k in folder.restore_points() if k < iteration]
        seconds = folder.row_file.seconds(iteration) - (folder.row_file.seconds(before[-1]) if before else 0.0)
        return self._short if seconds <= SHORT_SECONDS else self._long

    def _compute(self, key: tuple[str, int, float], job: _Job, folder: RunFolder, dataset: Dataset) -> None:
        run_id, iteration, _ = key
        found: list[FactorFrame] = []

        def watch(run: Run) -> None:
            if self._closed or time.monotonic() - job.asked > ASKED_SECONDS:
                raise Abandoned
            if run.iterations > iteration - KEPT and not _changed(run):
                found.append(frame_of(run, run.iterations))

        try:
            run = replayed_before(folder, dataset, iteration, watch)
            made_again(run)
            found.append(frame_of(run, iteration))
            times = [folder.row_file.seconds(frame.iteration) for frame in found]
            if times[-1] != key[2]:  # the run began afresh meanwhile
                raise Abandoned
            with self._lock:
                for frame, seconds in zip(found, times, strict=True):
                    self._frames[(run_id, frame.iteration, seconds)] = frame
                self._forget()
        finally:
            with self._lock:
                self._jobs.pop(key, None)

    def _forget(self) -> None:
        size = sum(_bytes(frame) for frame in self._frames.values())
        while size > MOST_BYTES and len(self._frames) > 1:
            size -= _bytes(self._frames.popitem(last=False)[1])


def _changed(run: Run) -> bool:
    """Whether something has happened since the last iteration, so that the factors are no longer those after it."""
    return run.moved or (bool(run.events) and run.events[-1].iteration == run.iterations)


def _bytes(frame: FactorFrame) -> int:
    return frame.U.nbytes + frame.V.nbytes + frame.X.nbytes + frame.Y.nbytes
