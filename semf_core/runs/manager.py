"""Commands to runs: start, pause, stop, reset, edit, and what is done where a worker does not answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.runs.files import DamagedFile
from semf_core.runs.ids import new_id
from semf_core.runs.scheduler import Active, Scheduler
from semf_core.runs.store import Store
from semf_core.runs.watchdog import Watchdog
from semf_core.solvers import COLUMNS

PATIENCE = 3.0
"""How long a command waits for the iteration in progress before it returns all the same."""
READY_SECONDS = 15.0
"""The same for a run that is still being opened, perhaps by a worker that is only starting."""
SHORT_SECONDS = 1.0
DEMO_SECONDS = 60.0
"""A demo that has shown no sign of life for this time goes on with another worker."""


class Manager(Scheduler):
    """The scheduler with its commands. Who may give a command is the service's business."""

    def __init__(self, store: Store, max_running: int, warm: bool = True) -> None:
        """`warm` starts a worker ahead of need, and watches over those at work."""
        super().__init__(store, max_running, warm)
        self._watchdog = Watchdog(self) if warm else None

    # -- commands ----------------------------------------------------------------------------

    @contextmanager
    def _command(self, run_id: str, patient: bool = True) -> Iterator[Active]:
        """One command at a time for a run: while it waits for the worker, others may call in.

        A patient command lets an errand (opening, an edit, a few steps) end first, so that its report is not taken
        for the command's and Play right after Step goes on from there.
        """
        with self._lock:
            if not self._changed.wait_for(lambda: run_id not in self._commanded, 2 * PATIENCE):
                raise InvalidInput("run", "is busy with another command", "try again in a moment")
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

    @contextmanager
    def room_for(self, visitor: str) -> Iterator[None]:
        """One of the places that a visitor has, for a run that is made inside the block; rejected if none is left."""
        place = new_id()
        with self._lock:
            self.check_room(visitor)
            self._live[place] = visitor
        try:
            yield
        finally:
            with self._lock:
                del self._live[place]

    def start(self, run_id: str, paused: bool, demo: bool = False) -> None:
        """Queue a run that was just created, or only get it ready; the demo does not queue behind visitors' runs."""
        with self._command(run_id) as active:
            self._live[run_id] = active.meta.visitor
            self._submit(active, {"fresh": True, "budget": 0 if paused else None}, errand=paused, demo=demo)

    def rests(self, run_id: str, visitor: str) -> None:
        """A run was made that waits for its owner; it takes one of his places."""
        with self._lock:
            self._live[run_id] = visitor

    def resume(self, run_id: str, budget: int | None = None, demo: bool = False) -> None:
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
                raise InvalidInput("run", "has finished", "change its limits or constraints to go on, or fork it")
            if run_id not in self._live and not demo:
                self.check_room(active.meta.visitor)
            short = budget is not None and self._is_short(active, budget)
            self._submit(active, {"budget": budget}, errand=short, demo=demo)

    def pause(self, run_id: str) -> None:
        """Stop iterating and give the slot free; returns when that is done, or after a few seconds."""
        with self._command(run_id) as active:
            state = active.meta.state
            if state not in {"queued", "running", "paused"}:
                raise InvalidInput("run", f"is {state}", "only a running or queued one can be paused")
            if active.silent:
                active.asked = "pause"
                self.end_silent(active)
            elif state == "queued":
                self._withdraw(active)
                self._set(active, state="paused", message="")
            elif state == "running":
                active.asked = "pause"
                self._amend(active, budget=0)
                self._wait(lambda: not active.asked, active, "it will pause after the iteration in progress")

    def stop(self, run_id: str) -> None:
        """End a run here, with a result from the best factors so far."""
        with self._command(run_id) as active:
            state = active.meta.state
            if state in {"finished", "stopped"}:
                raise InvalidInput("run", f"is already {state}")
            active.asked = "stop"
            if active.silent:
                self.end_silent(active)
            elif state == "running":
                self._amend(active, stop=True)
            else:
                self._withdraw(active)
                self._stop_at_rest(active)
            self._wait(lambda: not active.asked, active, "it will stop after the iteration in progress")

    def _stop_at_rest(self, active: Active) -> None:
        """The result comes from the factors in the checkpoint, or in the worker that holds the run."""
        if active.worker is None and not _has_checkpoint(active):
            active.asked = ""
            self._set(active, state="stopped", message=f"there is no result; {active.folder.what_is_left()}")
        else:
            active.stopping = True
            self._submit(active, {"stop": True}, errand=True)

    def reset(self, run_id: str, paused: bool, demo: bool = False) -> None:
        """Throw the history away and start the model, as it is now, afresh."""
        with self._command(run_id, patient=False) as active:
            self._detach(active)
            self._set(active, state="paused", message="", note="", generation=active.meta.generation + 1)
            self._submit(active, {"fresh": True, "budget": 0 if paused else None}, errand=paused, demo=demo)
            if paused:
                self._wait(lambda: self._is_at_rest(active), active, "")

    def edit(self, run_id: str, write_spec: Callable[[int], None], numbers: dict[str, float], text: str) -> None:
        """Change a run from its current factors on; `write_spec` stores the new model as the given revision."""
        with self._command(run_id) as active:
            if active.meta.state == "queued":
                raise InvalidInput("run", "is waiting for its turn", "pause it first, or change it when it runs")
            revision, answers = active.meta.revision + 1, active.answers
            write_spec(revision)
            edit = {"revision": revision, "numbers": numbers, "text": text}
            if active.meta.state == "running":
                self._amend(active, edit=edit)
            else:
                self._submit(active, {"edit": edit, "budget": 0}, errand=True)
            waiting = "the change follows after the iteration in progress"
            self._wait(lambda: active.answers > answers or self._is_at_rest(active), active, waiting)
            error, active.error = active.error, None
            if error is not None:
                raise error
            if active.answers == answers and self._is_at_rest(active):
                raise InvalidInput("run", f"is {active.meta.state} now and was not changed", "try again")

    def forget(self, run_id: str) -> None:
        """Let go of a run whose folder will be deleted."""
        with self._command(run_id, patient=False) as active:
            self._detach(active)
            self._live.pop(run_id, None)
            self._unwritten.pop(run_id, None)

    def close(self) -> None:
        """End the workers this server has started; they write their checkpoints."""
        with self._lock:
            self._closing = True
        self._worker_pool.close()
        if self._watchdog is not None:
            self._watchdog.close()
        for active in self._active.values():
            active.claim.close()

    # -- in the middle of a command ----------------------------------------------------------

    def _detach(self, active: Active) -> None:
        """Take a run from its worker without writing anything more; a worker that does not answer is killed."""
        self._withdraw(active)
        if active.worker is None:
            return
        if not active.silent:
            active.worker.send({"order": "amend", "run": active.id, "drop": True})
            self._changed.wait_for(lambda: active.worker is None or active.silent, PATIENCE)
        self._kill(active)

    def _kill(self, active: Active) -> None:
        """Take a run from a worker that does not answer. What it has written stays: it goes on from its checkpoint."""
        worker, active.worker = active.worker, None
        active.forget_requests()
        if worker is not None:
            self._worker_pool.kill(worker)

    def end_silent(self, active: Active) -> None:
        """Do without its worker what it was asked to do, because it shows no sign of life."""
        asked, reason, was_stopping = active.asked, active.reason, active.stopping
        self._kill(active)
        left = active.folder.what_is_left()
        if asked == "stop" and not was_stopping:
            active.asked = "stop"
            self._stop_at_rest(active)
        elif asked == "stop":
            self._set(active, state="stopped", message=f"there is no result: its worker did not answer and was ended; {left}")
        else:
            self._set(active, state="paused", message=f"{reason or 'its worker did not answer and was ended'}; {left}")
        self._rest(active)
        self._pump()
        self._changed.notify_all()

    def hold(self, active: Active, reason: str) -> None:
        """The server itself asks a run to pause, and says why."""
        active.asked, active.reason = "pause", reason
        self._amend(active, budget=0)

    # -- what the watchdog does ---------------------------------------------------------------

    def check_workers(self, now: float, errand_seconds: float) -> None:
        """End those that do not answer, give a slot to what takes long, and pause those whose time is over.

        Then let the run that has had its slot for longest make way for others, if its turn is over and somebody waits.
        """
        limits = server_limits()
        minutes = limits.run_minutes
        with self._lock:
            for active in list(self._active.values()):
                worker = active.worker
                if worker is None:
                    continue
                if active.asked and active.silent:
                    self.end_silent(active)
                elif worker.role == "demo" and active.silent and worker.quiet_seconds() > DEMO_SECONDS:
                    self._kill(active)  # nobody has its key, and all others would wait behind it
                    self._submit(active, {"budget": None}, demo=True)
                elif worker.role == "errand" and now - worker.since > errand_seconds:
                    worker.role = "busy"
                elif worker.role == "busy" and not active.asked and active.spent + now - worker.since > 60 * minutes:
                    self.hold(active, f"its {minutes:g} minutes are over, which is what a run gets at a time; Play goes on")
            self._take_turns(now - limits.turn_seconds)
            self._pump()

    def _take_turns(self, begun_before: float) -> None:
        """Ask one run at a time to make way, so that no more do than are waited for."""
        at_work = [a for w in self._worker_pool.with_role("busy") if (a := self._active.get(w.run_id)) is not None]
        if any(active.asked == "turn" for active in at_work):
            return
        for active in at_work:
            assert active.worker is not None, "it was found by its worker"
            overdue = active.worker.since < begun_before and not active.asked and not active.stepping
            if overdue and self._others_wait(active.meta.visitor):
                active.asked = "turn"
                self._amend(active, budget=0)
                return

    def visitors_at_work(self) -> set[str]:
        """Whose runs iterate now; the demo is nobody's."""
        with self._lock:
            return {a.meta.visitor for a in self._active.values() if a.worker is not None and a.worker.role == "busy"}

    def hold_runs(self, reason: str, visitors: set[str]) -> None:
        """Ask every run of these visitors that iterates to pause, except the demo."""
        with self._lock:
            for active in self._active.values():
                at_work = active.worker is not None and active.worker.role == "busy" and not active.asked
                if at_work and active.meta.visitor in visitors:
                    self.hold(active, reason)

    def forget_deleted(self, run_ids: list[str]) -> None:
        """Runs that were deleted without their owner."""
        with self._lock:
            for run_id in run_ids:
                self._live.pop(run_id, None)
                self._unwritten.pop(run_id, None)

    def write_late(self) -> None:
        """Write down what the disk had no room for before."""
        with self._lock:
            for run_id, meta in list(self._unwritten.items()):
                try:
                    folder = self.store.folder(run_id)
                    with nullcontext() if run_id in self._active else self.store.claim(folder):
                        self._write(run_id, folder, meta)
                except InvalidInput:  # it was deleted, or another server has taken it over
                    self._unwritten.pop(run_id, None)

    def _is_short(self, active: Active, budget: int) -> bool:
        """Whether so many iterations take about a second, judged by those before."""
        last = active.folder.row_file.last(1)
        if not len(last):
            return False
        return bool(budget * last.values[-1][COLUMNS.index("seconds")] / last.iterations[-1] <= SHORT_SECONDS)

    def _await_rest(self, active: Active) -> None:
        self._changed.wait_for(lambda: self._is_at_rest(active) or active.silent, READY_SECONDS)
        if not self._is_at_rest(active) and not active.silent:
            raise InvalidInput("run", "is getting ready", "try again in a moment")

    def _wait(self, done: Callable[[], bool], active: Active, otherwise: str) -> None:
        """Wait for the worker's answer; if an iteration takes longer, say what will happen."""
        if not self._changed.wait_for(done, PATIENCE) and active.id in self._active:
            active.meta = replace(active.meta, message=otherwise)


def _has_checkpoint(active: Active) -> bool:
    try:
        return active.folder.checkpoint_position() is not None
    except DamagedFile:
        return False
