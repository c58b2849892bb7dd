"""A few children of the server, at least one of them started ahead of need."""

from __future__ import annotations

import atexit
import logging
import queue
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.common.visitors import current_visitor
from semf_core.runs.fairness import FairQueue
from semf_core.runs.home import default_home
from semf_core.runs.ids import new_id
from semf_core.runs.pool import Report, WorkerPool, WorkerProcess

AT_ONCE = 2
"""Functions that run at a time, all but one of them of one visitor; the others wait, and visitors take turns."""
PATIENCE = 60.0
"""Seconds that one waits for its turn."""
SPARE_SECONDS = 600.0
"""Seconds that a call may take beyond those that it may compute: others may need the processor too."""
START_SECONDS = 60.0
LONGEST_WAIT = 1e6
"""Seconds of one wait that the system can still measure: who has no limit waits that long."""
INSIDE: list[bool] = []
"""Not empty in a process that carries out an order: what it calls in turn is under the same limits already."""
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """How a call ended: `kind` is "value", "rejected", "memory", "time" (of the processor), "hung", "crashed", "failed",
    or "busy" if it never began."""

    kind: str
    value: Any = None
    """What the function returned; for "rejected" what makes the InvalidInput, for "failed" the traceback."""
    seconds: float = 0.0
    peak_mb: float = 0.0


class _Child(WorkerProcess):
    """A worker that carries out one order at a time, for the thread that waits for it."""

    _greeted = False
    """That it is ready was heard by whoever sent it the first order."""

    def __init__(self, ahead: Sequence[str], pool: WorkerPool[_Child], lock: threading.Condition) -> None:
        self.reports: queue.SimpleQueue[Report | None] = queue.SimpleQueue()

        def reported(_: WorkerProcess, report: Report) -> None:
            if report["report"] == "ready":
                with lock:
                    pool.is_ready(self)
            self.reports.put(report)

        def ended(_: WorkerProcess, code: int) -> None:
            with lock:
                pool.remove(self)
            self.reports.put(None)

        super().__init__(default_home(), reported, ended, "semf_core.sandbox.child", *ahead)

    def carry_out(self, order: dict[str, Any]) -> Outcome:
        """Wait for the answer, longer than it may compute; afterwards the child may be dead."""
        try:
            if not self._greeted:
                self._report(time.monotonic() + START_SECONDS)
                self._greeted = True
            self.send(order)
            deadline = time.monotonic() + order["seconds"] + order["spare"]
            answer = self._report(deadline)
            ended = answer if answer["report"] == "ended" else self._report(deadline + 1)
        except queue.Empty:
            self.kill()
            self.join()
            return Outcome("hung" if self._greeted else "busy", seconds=order["seconds"] + order["spare"])
        except EOFError:
            self.kill()  # what it has forked
            return Outcome("crashed")
        return _outcome(answer, ended)

    def _report(self, deadline: float) -> Report:
        """The next report."""
        report = self.reports.get(timeout=min(max(0.0, deadline - time.monotonic()), LONGEST_WAIT))
        if report is None:
            raise EOFError
        return report


def _outcome(answer: Report, ended: Report) -> Outcome:
    kind, value = answer["report"], answer.get("value")
    if kind == "ended":  # without an answer
        kind = {-signal.SIGKILL: "memory", -signal.SIGXCPU: "time"}.get(ended["code"], "crashed")
    return Outcome(kind, value, float(ended["seconds"]), float(ended["peak_mb"]))


class Pool:
    """Runs functions of this library in children; any number of threads may ask."""

    def __init__(self, ahead: Sequence[str] = (), at_once: int = AT_ONCE, niceness: int = 0) -> None:
        """`ahead` names modules that the functions need, `niceness` says how far they stand back behind others."""
        self._ahead, self._at_once, self._niceness = ahead, at_once, niceness
        self._changed = threading.Condition()
        self._workers: WorkerPool[_Child] = WorkerPool(self._start, at_once)
        self._running: set[str] = set()
        self._visitors: dict[str, str] = {}
        """Who asks for each function that runs or waits; whoever owns the computer has no name, and no limit."""
        self._line = FairQueue()
        self._closed = False

    def _start(self) -> _Child:
        return _Child(self._ahead, self._workers, self._changed)

    def start_ahead(self) -> None:
        """Have a child ready before the first call."""
        with self._changed:
            if not self._closed:
                self._workers.keep_warm()

    def outcome(
        self, function: Callable[..., Any], arguments: dict[str, Any], megabytes: float, seconds: float, spare: float = 0.0
    ) -> Outcome:
        """Run a function of a module with arguments that JSON can hold, and whose value it can hold too.

        It may compute for so many `seconds`, and take `spare` more of them.
        """
        name = f"{function.__module__}:{function.__qualname__}"
        order = {"function": name, "arguments": arguments, "megabytes": megabytes, "seconds": seconds}
        order |= {"spare": spare, "niceness": self._niceness}
        with self._turn():
            with self._changed:
                child = self._workers.pick()
                child.take("busy")
            try:
                return child.carry_out(order)
            finally:
                self._give_back(child)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a place."""
        ticket = new_id()
        with self._changed:
            self._visitors[ticket] = current_visitor()
            self._line.put(ticket, self._visitors[ticket])
            self._serve()
            self._changed.wait_for(lambda: ticket in self._running or self._closed, PATIENCE)
            if ticket not in self._running or self._closed:
                self._leave(ticket)
                raise busy()
        try:
            yield
        finally:
            with self._changed:
                self._leave(ticket)

    def _serve(self) -> None:
        """Give free places to whoever is next."""
        most = max(1, self._at_once - 1)
        while len(self._running) < self._at_once:
            busy = Counter(self._visitors[ticket] for ticket in self._running)
            ticket = self._line.next(lambda visitor: not visitor or busy[visitor] < most)  # noqa: B023 - called at once
            if ticket is None:
                break
            self._running.add(ticket)
        self._changed.notify_all()

    def _leave(self, ticket: str) -> None:
        self._line.remove(ticket)
        self._running.discard(ticket)
        del self._visitors[ticket]
        self._serve()

    def _give_back(self, child: _Child) -> None:
        """Keep it for the next call; one that was killed is replaced ahead of need."""
        with self._changed:
            if not self._closed:
                child.take("idle")
                self._workers.keep_warm()
                return
        child.kill()

    def close(self) -> None:
        """End the children, with what they are doing."""
        with self._changed:
            self._closed = True
            for child in self._workers.with_role("busy"):
                self._workers.kill(child)
        self._workers.close()


_POOL = Pool()
atexit.register(_POOL.close)


def start_ahead() -> None:
    """Have a child of this process ready."""
    _POOL.start_ahead()


def call(function: Callable[..., Any], subject: str, **arguments: Any) -> Any:
    """The value of a function that runs in a child; an error of its own, or one about `subject` if it breaks a limit."""
    if INSIDE:
        return function(**arguments)
    allowed = server_limits()
    outcome = _POOL.outcome(function, arguments, allowed.read_mb, allowed.read_seconds, SPARE_SECONDS)
    if outcome.kind == "value":
        return outcome.value
    if outcome.kind == "rejected":
        raise InvalidInput.from_dict(outcome.value)
    if outcome.kind == "failed":
        LOG.error("%s failed on %s\n%s", function.__qualname__, subject, outcome.value)
    raise failure(subject, outcome.kind)


def busy() -> InvalidInput:
    """The file was not even looked at."""
    return InvalidInput("server", "is busy with the files of others", "try again in a moment")


def failure(subject: str, kind: str) -> InvalidInput:
    """Why a call has no value."""
    allowed, smaller = server_limits(), "choose a smaller part of the data"
    if kind == "memory":
        return InvalidInput(subject, f"needs more than the {allowed.read_mb:g} MB of memory that it may take", smaller)
    if kind == "busy":
        return busy()
    if kind == "time":
        return InvalidInput(subject, f"was broken off after {allowed.read_seconds:g} s of computing", smaller)
    if kind == "hung":
        waited = allowed.read_seconds + SPARE_SECONDS
        return InvalidInput(subject, f"was broken off after {waited:g} s", "try again when the server has less to do")
    return InvalidInput(subject, "cannot be read: it is not as such files are", "save it again, or choose another file")
