"""What this server has in hand: runs with a worker or waiting for one, the queue, and what workers report.

All state is guarded by one lock; reader threads of the workers and any number of sessions call in.
A run that is at rest without a worker exists only on disk, so memory stays flat.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.runs.fairness import FairQueue, check_places
from semf_core.runs.folder import RunFolder
from semf_core.runs.pool import Report, WorkerPool, WorkerProcess, exit_message
from semf_core.runs.store import LIVE_STATES, Meta, Store

ERRANDS = 2
"""Workers that may do something short (open, edit, a few steps) beside those that hold a slot."""
DEMOS = 1
"""Workers for the shared demo, beside all others: it always has its place."""
PEAK_MB = 1024
"""A worker that has needed more memory than this is replaced after its run, because little of it comes back."""
LOG = logging.getLogger(__name__)


@dataclass
class Active:
    """A run that has a worker, or waits for one."""

    id: str
    folder: RunFolder
    meta: Meta
    claim: BinaryIO
    """The lock that keeps other servers off."""
    worker: WorkerProcess | None = None
    order: dict[str, Any] | None = None
    """What it waits to do."""
    stepping: bool = False
    """It iterates for a given number of steps only."""
    asked: str = ""
    """"pause" or "stop" as long as its worker has not done so; "turn" if it is to let others go first."""
    reason: str = ""
    """Why the server has asked it to pause."""
    spent: float = 0.0
    """Seconds of the turns that it had since it was started or resumed."""
    stopping: bool = False
    """The result is being made of a run at rest."""
    answers: int = 0
    error: InvalidInput | None = None

    def forget_requests(self) -> None:
        """They are answered, or will not be."""
        self.asked = self.reason = ""
        self.stopping = False

    @property
    def silent(self) -> bool:
        """Its worker shows no sign of life."""
        return self.worker is not None and self.worker.is_silent()


class Scheduler:
    """Slots, queue and reports."""

    def __init__(self, store: Store, max_running: int, warm: bool = True) -> None:
        """`warm` starts a worker ahead of need."""
        self.store, self.max_running = store, max_running
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._active: dict[str, Active] = {}
        self._unwritten: dict[str, Meta] = {}
        """What could not be written of runs at rest, because the disk is full."""
        self._live: dict[str, str] = {}
        """The visitor of each run of this server that is queued, running or paused."""
        self._queue = FairQueue()
        self._errands: deque[str] = deque()
        self._demos: deque[str] = deque()
        self._commanded: set[str] = set()
        self._closing = False
        limit = 2 * max_running + 2 + DEMOS
        self._worker_pool = WorkerPool(lambda: WorkerProcess(store.home, self._on_report, self._on_exit), limit)
        with self._lock:
            if warm:
                self._worker_pool.keep_warm()

    # -- looking -----------------------------------------------------------------------------

    def meta(self, run_id: str, folder: RunFolder) -> Meta:
        """What is known of a run now."""
        with self._lock:
            active = self._active.get(run_id)
            if active is None and run_id in self._unwritten:
                return self._unwritten[run_id]
            if active is not None:
                return self._with_silence(active)
        return self.store.settled(folder, self.store.meta(folder))

    def _with_silence(self, active: Active) -> Meta:
        if active.worker is None or not active.silent:
            return active.meta
        silence = f"no sign of life for {active.worker.quiet_seconds():.0f} s"
        return replace(active.meta, message=f"{silence}: stopped, swapped out, or in a very long step")

    def position(self, run_id: str) -> int | None:
        """Place in the queue, from 1."""
        with self._lock:
            return self._queue.position(run_id)

    def load(self) -> tuple[int, int]:
        """Runs that iterate and runs that wait."""
        with self._lock:
            return self._worker_pool.count("busy") + self._worker_pool.count("demo"), len(self._queue) + len(self._demos)

    def check_room(self, visitor: str) -> None:
        """Reject one more run of a visitor who has as many queued, running or paused as anybody may have."""
        limits = server_limits()
        with self._lock:
            check_places(visitor, self._live.values(), limits.runs_per_visitor, limits.runs_per_address, "run")

    # -- the queue ---------------------------------------------------------------------------

    def _activate(self, run_id: str) -> Active:
        """The record of a run, taken from disk (and from a server that has gone) if need be."""
        if self._closing:
            raise InvalidInput("run", "the server is shutting down", whole=True)
        if run_id not in self._active:
            folder = self.store.folder(run_id)
            claim = self.store.claim(folder)
            try:
                meta = self._unwritten.get(run_id) or self.store.settled(folder, self.store.meta(folder))
            except BaseException:
                claim.close()
                raise
            self._active[run_id] = Active(run_id, folder, replace(meta, owner=self.store.token), claim)
        return self._active[run_id]

    def _submit(self, active: Active, order: dict[str, Any], errand: bool = False, demo: bool = False) -> None:
        most = server_limits().waiting
        if not errand and not demo and len(self._queue) >= most:
            raise InvalidInput("run", f"{most:.0f} runs are waiting already", "try again later", whole=True)
        active.order = order
        if errand or demo:
            (self._errands if errand else self._demos).append(active.id)
        else:
            self._queue.put(active.id, active.meta.visitor)
        if not errand:
            self._set(active, state="queued", message="")
        self._pump()

    def _pump(self) -> None:
        """Give work to whoever may have it."""
        if self._closing:
            return
        while self._errands and self._worker_pool.count("errand") < ERRANDS:
            self._begin(self._errands.popleft(), "errand")
        while self._demos and self._worker_pool.count("demo") < DEMOS:
            self._begin(self._demos.popleft(), "demo")
        while self._queue and self._worker_pool.count("busy") < self.max_running:
            run_id = self._queue.next(self._may_run_one_more())
            if run_id is None:
                break
            self._begin(run_id, "busy")
        self._worker_pool.keep_warm()

    def _may_run_one_more(self) -> Callable[[str], bool]:
        """For each visitor whether another of his runs may iterate at the same time."""
        running = Counter(self._live.get(w.run_id, "") for w in self._worker_pool.with_role("busy"))
        most = server_limits().running_per_visitor
        return lambda visitor: running[visitor] < most

    def _others_wait(self, visitor: str) -> bool:
        """Whether somebody else could have the slot of a visitor's run."""
        may_run = self._may_run_one_more()
        return any(other != visitor and may_run(other) for other in self._queue.visitors())

    def _begin(self, run_id: str, role: str) -> None:
        active = self._active[run_id]
        worker = active.worker or self._free_worker()
        worker.take(role, run_id)
        order, active.worker, active.order = active.order or {}, worker, None
        known = {"run": run_id, "folder": str(active.folder.path), "revision": active.meta.revision, "fresh": False}
        worker.send({"order": "work", **known, **order})
        active.stepping = order.get("budget") is not None
        if order.get("budget", 0) != 0:
            self._set(active, state="running", message="")

    def _free_worker(self) -> WorkerProcess:
        worker = self._worker_pool.pick()
        if worker.run_id:  # it holds a paused run, whose checkpoint is on disk
            other = self._active[worker.run_id]
            other.worker = None
            self._rest(other)
        return worker

    def _withdraw(self, active: Active) -> None:
        """Take it out of the queues."""
        self._queue.remove(active.id)
        for waiting in (self._errands, self._demos):
            if active.id in waiting:
                waiting.remove(active.id)
        active.order = None

    def _rest(self, active: Active) -> None:
        """A run without worker, order and command needs no memory."""
        if active.worker is None and active.order is None and active.id not in self._commanded:
            self._active.pop(active.id, None)
            active.claim.close()

    def _is_at_rest(self, active: Active) -> bool:
        """No worker does anything for it, and it waits for none."""
        return active.order is None and (active.worker is None or active.worker.role == "holding")

    def _is_on_errand(self, active: Active) -> bool:
        """It does something short, or waits to."""
        return active.id in self._errands or (active.worker is not None and active.worker.role == "errand")

    def _amend(self, active: Active, **order: Any) -> None:
        assert active.worker is not None, "a running run has a worker"
        active.worker.send({"order": "amend", "run": active.id, **order})

    def _set(self, active: Active, **changes: Any) -> None:
        """Remember and write down where a run stands; what cannot be written is kept until it can."""
        active.meta = replace(active.meta, **changes)
        if active.meta.state in LIVE_STATES:
            self._live[active.id] = active.meta.visitor
        else:
            self._live.pop(active.id, None)
        self._write(active.id, active.folder, active.meta)

    def _write(self, run_id: str, folder: RunFolder, meta: Meta) -> None:
        known = self._unwritten.pop(run_id, None)
        try:
            self.store.write_meta(folder, meta)
        except FileNotFoundError:
            return  # the run was deleted
        except OSError as error:
            self._unwritten[run_id] = meta
            if known is None:
                LOG.warning("the state of a run cannot be written now: %s", error)

    # -- what workers say --------------------------------------------------------------------

    def _on_report(self, worker: WorkerProcess, report: Report) -> None:
        kind = report["report"]
        with self._lock:
            if kind == "ready":
                self._worker_pool.is_ready(worker)
            if kind not in _REPORTS:
                return
            active = self._active.get(report["run"])
            if active is not None and active.worker is worker:
                _REPORTS[kind](self, active, worker, report)
                self._pump()
            self._changed.notify_all()

    def _running(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        if (active.meta.revision, active.meta.note) != (report["revision"], report["note"]):
            self._set(active, revision=report["revision"], note=report["note"])

    def _paused(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        if report["number"] < worker.sent:
            return  # it speaks of an earlier order; the later one has a report of its own
        turn_over, message = active.asked == "turn", active.reason
        known = {"revision": report["revision"], "note": report["note"]}
        active.spent = active.spent + worker.busy_seconds() if turn_over else 0.0
        worker.take("holding", active.id)
        active.forget_requests()
        if not turn_over:
            self._set(active, state="paused", message=message, **known)
            return
        active.order = {"budget": None}
        self._queue.put(active.id, active.meta.visitor)
        self._set(active, state="queued", message="", **known)

    def _done(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        self._set(active, state=report["state"], message=report["reason"])
        self._leave(active, worker)
        if report["peak_mb"] > PEAK_MB:
            self._worker_pool.dismiss(worker)

    def _failed(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        state = "interrupted" if report["full"] else "failed"
        self._set(active, state=state, message=f"{report['message']}; {active.folder.what_is_left()}")
        self._leave(active, worker)
        worker.take("leaving")  # it ends by itself after a failure

    def _edited(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        active.answers += 1
        self._set(active, revision=report["revision"], message="")

    def _rejected(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        active.answers += 1
        active.error = InvalidInput.from_dict(report["error"])
        active.meta = replace(active.meta, message=str(active.error))

    def _late(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        """The run ended before the order arrived; whoever waits sees that it is at rest."""

    def _dropped(self, active: Active, worker: WorkerProcess, report: Report) -> None:
        self._leave(active, worker)

    def _leave(self, active: Active, worker: WorkerProcess) -> None:
        """The worker no longer has this run."""
        worker.take("idle")
        active.worker = None
        active.forget_requests()
        self._rest(active)

    def _on_exit(self, worker: WorkerProcess, code: int) -> None:
        with self._lock:
            self._worker_pool.remove(worker)
            active = self._active.get(worker.run_id)
            if active is not None and active.worker is worker and not self._closing:
                active.worker = None
                active.forget_requests()
                if worker.role != "holding":
                    self._set(active, state="failed", message=f"{exit_message(code)}; {active.folder.what_is_left()}")
                self._rest(active)
            self._pump()
            self._changed.notify_all()


_REPORTS: dict[str, Callable[[Scheduler, Active, WorkerProcess, Report], None]] = {
    "running": Scheduler._running,
    "paused": Scheduler._paused,
    "done": Scheduler._done,
    "failed": Scheduler._failed,
    "edited": Scheduler._edited,
    "rejected": Scheduler._rejected,
    "late": Scheduler._late,
    "dropped": Scheduler._dropped,
}
