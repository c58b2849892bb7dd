"""One run in a worker: opened, iterated between two looks at the command line, changed, brought to rest."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from semf_core.datasets import Dataset
from semf_core.model import ModelSpec
from semf_core.runs.edits import keeps_problem
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import remove_outcome, write_outcome
from semf_core.runs.recorder import Recorder
from semf_core.runs.worker_lock import take
from semf_core.solvers import Event, Run

LOOK_SECONDS = 0.02
"""Between two looks at commands and clocks; an iteration itself costs nothing extra."""


class Session:
    """A run with its folder. Only one worker at a time has a session on a folder."""

    def __init__(self, folder: RunFolder, revision: int, fresh: bool, wanted: Callable[[], object] = lambda: None) -> None:
        """`wanted` raises if nobody wants the session any more; it is asked before anything is touched."""
        self.folder = folder
        self._lock = take(folder.worker_lock, wanted)
        wanted()  # an order of a server that has gone is void: another may have brought the run to its end since
        if fresh:
            _clear(folder, revision)
        _sweep(folder)
        position = folder.checkpoint_position()
        self.revision = 0 if fresh else revision if position is None else position[1]
        self.spec: ModelSpec = folder.spec(self.revision)
        self.dataset: Dataset = self.spec.dataset.load()
        self.run = self._fresh_run() if position is None else self._resumed_run()
        self.recorder = Recorder(folder, self.run)
        self.iterating = False
        self.ending = ""
        """How the run ended, once it has."""
        self.until: float = np.inf

    def _fresh_run(self) -> Run:
        start = self.folder.start()
        run = self.spec.run(self.dataset, start, bounded=True)
        if start is not None:
            run.events.append(Event(0, "fork", "starts from the factors of another run"))
        return run

    def _resumed_run(self) -> Run:
        problem = self.spec.problem(self.dataset, self.folder.start())
        return Run.resume(self.folder.checkpoint, problem, self.spec.solver, self.spec.limits, bounded=True)

    def close(self) -> None:
        self.recorder.close()
        self._lock.close()

    # -- iterating ---------------------------------------------------------------------------

    def go(self, budget: int | None) -> None:
        """Iterate from now on, to the end or for a number of iterations."""
        remove_outcome(self.folder)
        self.until = np.inf if budget is None else self.run.iterations + budget
        self.iterating = True

    def work(self, interrupted: Callable[[], bool]) -> str | None:
        """Iterate until `interrupted()`, the end of the run ("ended") or of the budget ("rests")."""
        run, recorder, clock = self.run, self.recorder, time.perf_counter
        look, pace, due = clock() + LOOK_SECONDS, self.folder.pace(), clock()
        while run.stop_reason is None and run.iterations < self.until:
            now = clock()
            if not pace or now >= due:
                run.advance()
                recorder.after_iteration()
                now = clock()
                due = max(due, now - 1) + 1 / pace if pace else now
            else:
                time.sleep(min(due - now, LOOK_SECONDS))
            if now >= look:
                recorder.look(now)
                if interrupted():
                    return None
                pace, look = self.folder.pace(), clock() + LOOK_SECONDS
                due = min(due, look + 1 / pace) if pace else look
        return "rests" if run.stop_reason is None else "ended"

    # -- resting -----------------------------------------------------------------------------

    def pause(self) -> None:
        self.iterating = False
        self.recorder.settle()

    def finish(self) -> None:
        """The run has stopped by itself: polish, certificate, result."""
        self.run.complete()
        self._write("finished")

    def stop(self) -> None:
        """End it here; the checkpoint is from before, so that it can still be resumed."""
        self.recorder.settle()
        self.run.stop_reason = self.run.stop_reason or "cancelled"
        self._write("stopped")

    def _write(self, state: str) -> None:
        self.iterating = False
        if state == "finished":
            self.recorder.settle()
        self.ending = write_outcome(self.folder, self.run, self.spec, self.dataset, state).ending.text

    # -- changing ----------------------------------------------------------------------------

    def edit(self, revision: int, numbers: dict[str, float], text: str) -> None:
        """Go on under the model of that revision, from the current factors."""
        after = self.folder.spec(revision)
        kept = keeps_problem(self.spec, after)
        problem = self.run.problem if kept else after.problem(self.dataset, self.folder.start())
        self.run.edit(problem, after.solver, after.limits, numbers, text)
        self.spec, self.revision = after, revision
        remove_outcome(self.folder)
        self.recorder.checkpoint()


def _sweep(folder: RunFolder) -> None:
    """Remove what a worker was writing when it was killed."""
    for half_written in ("checkpoint", "frame", "live", "restore", "result"):
        for path in folder.path.glob(f".{half_written}*"):
            path.unlink(missing_ok=True)


def _clear(folder: RunFolder, revision: int) -> None:
    """A fresh start of the model as it is now: its history goes, and the edited model becomes the model."""
    folder.checkpoint.unlink(missing_ok=True)  # first: without it nothing refers to a revision
    remove_outcome(folder)
    if revision:
        folder.write_spec(folder.spec(revision))
    models, pictures = ("spec-*.json", "numbers-*.json"), ("frame-*.npz", "live.npz", "restore-*.npz")
    for stale in (*models, *pictures, "scalars.bin", "end.bin", "events.jsonl"):
        for path in folder.path.glob(stale):
            path.unlink()
