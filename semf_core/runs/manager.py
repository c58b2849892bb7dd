"""The queue and the workers behind it: which run may iterate, and what each worker is told.

All state is guarded by one lock; reader threads of the workers and any number of sessions call in.
A run that is at rest without a worker exists only on disk, so memory stays flat.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from semf_core.parameters import InvalidInput
from semf_core.runs.folder import RunFolder
from semf_core.runs.pool import END_SECONDS, Fleet, Report, WorkerProcess, exit_in_words
from semf_core.runs.store import Meta, Store
from semf_core.solvers import COLUMNS

PATIENCE = 3.0
"""How long a command waits for the iteration in progress before it returns all the same."""
READY_SECONDS = 15.0
"""The same for a run that is still being opened, perhaps by a worker that is only starting."""
ERRANDS = 2
"""Workers that may do something short (open, edit, a few steps) beside those that hold a slot."""
SHORT_SECONDS = 1.0
MAX_WAITING = 200
PEAK_MB = 1024
"""A worker that has needed more memory than this is replaced after its run, because little of it comes back."""


@dataclass
class Active:
    """A run that has a worker, or waits for one."""

    id: str
    folder: RunFolder
    meta: Meta
    worker: WorkerProcess | None = None
    order: dict[str, Any] | None = None
    """What it waits to do."""
    stepping: bool = False
    """It iterates for a given number of steps only."""
    answers: int = 0
    refusal: InvalidInput | None = None


class Manager:
    """Slots, queue and commands. Who may give a command is the service's business."""

    def __init__(self, store: Store, max_running: int, warm: bool = True) -> None:
        """`warm` starts a worker ahead of need."""
        self.store, self.max_running = store, max_running
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._active: dict[str, Active] = {}
        self._queue: deque[str] = deque()
        self._errands: deque[str] = deque()
        self._commanded: set[str] = set()
        self._closing = False
        self._fleet = Fleet(lambda: WorkerProcess(store.home, self._on_report, self._on_exit), limit=2 * max_running + 2)
        with self._lock:
            if warm:
                self._fleet.keep_warm()

    # -- looking -----------------------------------------------------------------------------

    def meta(self, run_id: str, folder: RunFolder) -> Meta:
        """What is known of a run now."""
        with self._lock:
            active = self._active.get(run_id)
            if active is not None:
                return active.meta
        return self.store.settled(folder, self.store.meta(folder))

    def position(self, run_id: str) -> int | None:
        """Place in the queue, from 1."""
        with self._lock:
            return self._queue.index(run_id) + 1 if run_id in self._queue else None

    def load(self) -> tuple[int, int]:
        """Runs that iterate and runs that wait."""
        with self._lock:
            return self._fleet.count("busy"), len(self._queue)

    # -- commands ----------------------------------------------------------------------------

    @contextmanager
    def _command(self, run_id: str, patient: bool = True) -> Iterator[Active]:
        """One command at a time for a run: while it waits for the worker, others may call in.

        A patient command lets an errand (opening, an edit, a few steps) end first, so that its report is not taken
        for the command's and Play right after Step goes on from there.
        """
        with self._lock:
            if not self._changed.wait_for(lambda: run_id not in self._commanded, 2 * PATIENCE):
                raise InvalidInput("run", "is busy with another command; try again in a moment")
            self._commanded.add(run_id)
            active = None
            try:
                active = self._activate(run_id)
                if patient and self._is_on_errand(active):
                    self._await_rest(active)
                yield active
            finally:
                self._commanded.discard(run_id)
                if active is not None:
                    self._rest(active)
                self._changed.notify_all()

    def start(self, run_id: str, paused: bool) -> None:
        """Queue a run that was just created, or only get it ready."""
        with self._command(run_id) as active:
            self._submit(active, {"fresh": True, "budget": 0 if paused else None}, errand=paused)

    def resume(self, run_id: str, budget: int | None = None) -> None:
        """Go on from the checkpoint, to the end or for some iterations."""
        with self._command(run_id) as active:
            state = active.meta.state
            if state == "running" and active.stepping and budget is None:
                active.stepping = False
                self._amend(active, budget=None)
                return
            if state in {"running", "queued"}:
                raise InvalidInput("run", f"is already {state}")
            if state == "finished":
                raise InvalidInput("run", "has finished; change its limits or constraints to go on, or fork it")
            self._submit(active, {"budget": budget}, errand=budget is not None and self._is_short(active, budget))

    def pause(self, run_id: str) -> None:
        """Stop iterating and give the slot free; returns when that is done, or after a few seconds."""
        with self._command(run_id) as active:
            if active.meta.state == "queued":
                self._withdraw(active)
                self._set(active, state="paused", message="")
                self._rest(active)
            elif active.meta.state == "running":
                self._amend(active, budget=0)
                self._wait(lambda: active.meta.state != "running", active, "it will pause after the iteration in progress")
            elif active.meta.state != "paused":
                raise InvalidInput("run", f"is {active.meta.state}; only a running or queued one can be paused")

    def stop(self, run_id: str) -> None:
        """End a run here, with a result from the best factors so far."""
        with self._command(run_id) as active:
            state = active.meta.state
            if state in {"finished", "stopped"}:
                raise InvalidInput("run", f"is already {state}")
            if state == "running":
                self._amend(active, stop=True)
            elif active.worker is None and active.folder.checkpoint_position() is None:
                self._withdraw(active)
                self._set(active, state="stopped", message="stopped before its first checkpoint, so there is no result")
                self._rest(active)
            else:
                self._withdraw(active)
                self._submit(active, {"stop": True}, errand=True)
            self._wait(lambda: active.meta.state == "stopped", active, "it will stop after the iteration in progress")

    def reset(self, run_id: str, paused: bool) -> None:
        """Throw the history away and start the model, as it is now, afresh."""
        with self._command(run_id, patient=False) as active:
            self._detach(active)
            self._set(active, state="paused", message="", note="", generation=active.meta.generation + 1)
            self._submit(active, {"fresh": True, "budget": 0 if paused else None}, errand=paused)
            if paused:
                self._wait(lambda: self._is_at_rest(active), active, "")

    def edit(self, run_id: str, write_spec: Callable[[int], None], numbers: dict[str, float], text: str) -> None:
        """Change a run from its current factors on; `write_spec` stores the new model as the given edition."""
        with self._command(run_id) as active:
            if active.meta.state == "queued":
                raise InvalidInput("run", "is waiting for its turn; pause it first, or change it when it runs")
            edition, answers = active.meta.edition + 1, active.answers
            write_spec(edition)
            edit = {"edition": edition, "numbers": numbers, "text": text}
            if active.meta.state == "running":
                self._amend(active, edit=edit)
            else:
                self._submit(active, {"edit": edit, "budget": 0}, errand=True)
            waiting = "the change follows after the iteration in progress"
            self._wait(lambda: active.answers > answers or self._is_at_rest(active), active, waiting)
            refusal, active.refusal = active.refusal, None
            if refusal is not None:
                raise refusal
            if active.answers == answers and self._is_at_rest(active):
                raise InvalidInput("run", f"is {active.meta.state} now and was not changed; try again")

    def forget(self, run_id: str) -> None:
        """Let go of a run whose folder will be deleted."""
        with self._command(run_id, patient=False) as active:
            self._detach(active)

    def close(self) -> None:
        """End the workers this server has started; they write their checkpoints."""
        with self._lock:
            self._closing = True
            workers = list(self._fleet.workers)
            for worker in workers:
                if worker.ready:
                    worker.end()
                else:
                    worker.kill()  # it is still importing and has nothing to write
        deadline = time.monotonic() + END_SECONDS
        for worker in workers:
            worker.join(max(0.1, deadline - time.monotonic()))

    # -- the queue ---------------------------------------------------------------------------

    def _activate(self, run_id: str) -> Active:
        """The record of a run, taken from disk (and from a server that has gone) if need be."""
        if self._closing:
            raise InvalidInput("run", "the server is shutting down")
        if run_id not in self._active:
            folder = self.store.folder(run_id)
            self._active[run_id] = Active(run_id, folder, self.store.adopt(folder))
        return self._active[run_id]

    def _submit(self, active: Active, order: dict[str, Any], errand: bool) -> None:
        if not errand and len(self._queue) >= MAX_WAITING:
            raise InvalidInput("run", f"{MAX_WAITING} runs are waiting already; try again later")
        active.order = order
        (self._errands if errand else self._queue).append(active.id)
        if not errand:
            self._set(active, state="queued", message="")
        self._pump()

    def _pump(self) -> None:
        """Give work to whoever may have it."""
        if self._closing:
            return
        while self._errands and self._fleet.count("errand") < ERRANDS:
            self._begin(self._errands.popleft(), "errand")
        while self._queue and self._fleet.count("busy") < self.max_running:
            self._begin(self._queue.popleft(), "busy")
        self._fleet.keep_warm()

    def _begin(self, run_id: str, role: str) -> None:
        active = self._active[run_id]
        worker = active.worker or self._free_worker()
        worker.take(role, run_id)
        order, active.worker, active.order = active.order or {}, worker, None
        known = {"run": run_id, "folder": str(active.folder.path), "edition": active.meta.edition, "fresh": False}
        worker.send({"order": "work", **known, **order})
        active.stepping = order.get("budget") is not None
        if order.get("budget", 0) != 0:
            self._set(active, state="running", message="")

    def _free_worker(self) -> WorkerProcess:
        worker = self._fleet.pick()
        if worker.run_id:  # it holds a paused run, whose checkpoint is on disk
            other = self._active[worker.run_id]
            other.worker = None
            self._rest(other)
        return worker

    def _withdraw(self, active: Active) -> None:
        """Take it out of the queues."""
        for waiting in (self._queue, self._errands):
            if active.id in waiting:
                waiting.remove(active.id)
        active.order = None

    def _rest(self, active: Active) -> None:
        """A run without worker, order and command needs no memory."""
        if active.worker is None and active.order is None and active.id not in self._commanded:
            self._active.pop(active.id, None)

    def _detach(self, active: Active) -> None:
        """Take a run from its worker without writing anything more; a worker that does not answer is killed."""
        self._withdraw(active)
        worker = active.worker
        if worker is None:
            return
        worker.send({"order": "amend", "run": active.id, "drop": True})
        if not self._changed.wait_for(lambda: active.worker is None, PATIENCE):
            active.worker = None
            worker.take("leaving")
            worker.kill()

    def _is_short(self, active: Active, budget: int) -> bool:
        """Whether so many iterations take about a second, judged by those before."""
        count = active.folder.row_count()
        rows = active.folder.rows(max(0, count - 1))
        return bool(len(rows)) and budget * rows[0][COLUMNS.index("seconds")] / count <= SHORT_SECONDS

    def _is_at_rest(self, active: Active) -> bool:
        """No worker does anything for it, and it waits for none."""
        return active.order is None and (active.worker is None or active.worker.role == "holding")

    def _is_on_errand(self, active: Active) -> bool:
        """It does something short, or waits to."""
        return active.id in self._errands or (active.worker is not None and active.worker.role == "errand")

    def _await_rest(self, active: Active) -> None:
        if not self._changed.wait_for(lambda: self._is_at_rest(active), READY_SECONDS):
            raise InvalidInput("run", "is getting ready; try again in a moment")

    def _amend(self, active: Active, **order: Any) -> None:
        assert active.worker is not None, "a running run has a worker"
        active.worker.send({"order": "amend", "run": active.id, **order})

    def _wait(self, done: Callable[[], bool], active: Active, otherwise: str) -> None:
        """Wait for the worker's answer; if an iteration takes longer, say what will happen."""
        if not self._changed.wait_for(done, PATIENCE) and active.id in self._active:
            active.meta = replace(active.meta, message=otherwise)

    def _set(self, active: Active, **changes: Any) -> None:
        active.meta = replace(active.meta, **changes)
        self.store.write_meta(active.folder, active.meta)

    # -- what workers say --------------------------------------------------------------------

    def _on_report(self, worker: WorkerProcess, report: Report) -> None:
        with self._lock:
            if report["report"] == "ready":
                self._fleet.is_ready(worker)
                return
            active = self._active.get(report["run"])
            if active is not None and active.worker is worker:
                _REPORTS[report["report"]](self, active, worker, report)
                self._pump()
            self._changed.notify_all()

    def _running(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        if (active.meta.edition, active.meta.note) != (report["edition"], report["note"]):
            self._set(active, edition=report["edition"], note=report["note"])

    def _paused(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        if report["number"] < worker.sent:
            return  # it speaks of an earlier order; the later one has a report of its own
        worker.take("holding", active.id)
        self._set(active, state="paused", message="", edition=report["edition"], note=report["note"])

    def _done(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        self._leave(active, worker)
        self._set(active, state=report["state"], message=report["reason"])
        if report["peak_mb"] > PEAK_MB:
            self._fleet.send_home(worker)

    def _failed(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        self._leave(active, worker)
        worker.take("leaving")  # it ends by itself after a failure
        self._set(active, state="failed", message=f"{report['message']}; {active.folder.what_is_left()}")

    def _edited(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        active.answers += 1
        self._set(active, edition=report["edition"], message="")

    def _refused(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        active.answers += 1
        active.refusal = InvalidInput(report["field"], report["message"])
        active.meta = replace(active.meta, message=str(active.refusal))

    def _late(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        """The run ended before the order arrived; whoever waits sees that it is at rest."""

    def _dropped(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        self._leave(active, worker)

    def _leave(self, active: Active, worker: WorkerProcess) -> None:
        """The worker no longer has this run."""
        worker.take("idle")
        active.worker = None
        self._rest(active)

    def _on_exit(self, worker: WorkerProcess, code: int) -> None:
        with self._lock:
            self._fleet.remove(worker)
            active = self._active.get(worker.run_id)
            if active is not None and active.worker is worker and not self._closing:
                active.worker = None
                if worker.role != "holding":
                    self._set(active, state="failed", message=f"{exit_in_words(code)}; {active.folder.what_is_left()}")
                self._rest(active)
            self._pump()
            self._changed.notify_all()


_REPORTS: dict[str, Callable[[Manager, Active, WorkerProcess, Report], None]] = {
    "running": Manager._running,
    "paused": Manager._paused,
    "done": Manager._done,
    "failed": Manager._failed,
    "edited": Manager._edited,
    "refused": Manager._refused,
    "late": Manager._late,
    "dropped": Manager._dropped,
}
