"""Worker processes: started ahead of need, talked to through pipes, ended by closing their input.

The one place that starts, limits, watches and ends them: those of runs, of a study's cells, and those that read files.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import semf_core

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS")
END_SECONDS = 5.0
"""What a worker gets to write its last checkpoint before it is killed."""

SILENT_SECONDS = 8.0
"""A worker that has something to do reports every BEAT_SECONDS; after this time without a word it counts as hung."""
STARTING_SECONDS = 60.0
"""The same for one that is still importing, on a busy computer."""

Report = dict[str, Any]
LOG = logging.getLogger(__name__)


def start_process(module: str, home: Path, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
    """A module of this library as a process; `options` are those of `subprocess.Popen`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],  # -P: the current folder must not shadow modules
        env=worker_environment(home),
        start_new_session=True,  # Ctrl-C in the server's terminal ends the server; what it has started sees its input end
        **options,
    )


class WorkerProcess:
    """One process, and the thread that reads its reports.

    `on_report` and `on_exit` are called from that thread. `run_id` is the run the worker has in memory,
    `role` what it does: "idle", "busy" (holds a slot), "errand" (too short to need one), "demo" (the shared one),
    "holding" (a paused run).
    """

    def __init__(
        self,
        home: Path,
        on_report: Callable[[WorkerProcess, Report], None],
        on_exit: Callable[[WorkerProcess, int], None],
        module: str = "semf_core.runs.worker",
        *arguments: str,
    ) -> None:
        self.role = "idle"
        self.run_id = ""
        self.ready = False
        self.sent = 0
        """Orders so far: a report carries the number of the last one that the worker had seen."""
        self.since = self.heard = time.monotonic()
        """When it got what it does now, and when it was heard of last."""
        self._process = start_process(module, home, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._reader = threading.Thread(target=self._read, args=(on_report, on_exit), daemon=True, name=f"worker-{self.pid}")
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def _read(self, on_report: Callable[[WorkerProcess, Report], None], on_exit: Callable[[WorkerProcess, int], None]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self.heard = time.monotonic()
                try:
                    on_report(self, json.loads(line))
                except Exception:  # a full disk, say: the next report must still be heard
                    LOG.exception("a report of worker %d could not be handled", self.pid)
        on_exit(self, self._process.wait())

    def take(self, role: str, run_id: str = "") -> None:
        """Remember what it does from now on."""
        self.role, self.run_id, self.since = role, run_id, time.monotonic()
        self.heard = self.since

    def busy_seconds(self) -> float:
        """How long it has done what it does now."""
        return time.monotonic() - self.since

    def is_silent(self) -> bool:
        """It has something to do and has not been heard of for long: stopped, swapped out, or in an endless step."""
        patience = SILENT_SECONDS if self.ready else STARTING_SECONDS
        return self.role in {"busy", "errand", "demo"} and self.quiet_seconds() > patience

    def quiet_seconds(self) -> float:
        """Since it was heard of last."""
        return time.monotonic() - self.heard

    def send(self, order: dict[str, Any]) -> None:
        """Lines are short (large things go through files), so this does not wait for a busy worker."""
        assert self._process.stdin is not None
        self.sent += 1
        try:
            self._process.stdin.write(json.dumps({**order, "number": self.sent}).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # it has died or was told to end; `on_exit` says so to whoever waits

    def end(self) -> None:
        """Close its input: it writes a checkpoint and ends."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            return  # already gone

    def kill(self) -> None:
        """End it and whatever it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def join(self, seconds: float = END_SECONDS) -> None:
        """Wait for it to end and kill it after that time."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._reader.join(seconds)


W = TypeVar("W", bound=WorkerProcess)


class WorkerPool(Generic[W]):
    """The workers of a server and what each is for; whoever uses it holds a lock."""

    SPARE = 5
    """Idle workers that are kept at most; more of them are dismissed."""
    MOST_FAILED_STARTS = 3
    """Workers in a row that ended before they were ready: then none is started ahead of need."""

    def __init__(self, start: Callable[[], W], limit: int) -> None:
        self._start, self._limit = start, limit
        self._failed_starts = 0
        self.workers: list[W] = []

    def count(self, role: str) -> int:
        return sum(w.role == role for w in self.workers)

    def with_role(self, role: str) -> list[W]:
        return sorted((w for w in self.workers if w.role == role), key=lambda w: w.since)

    def free(self) -> W | None:
        """An idle worker, else a new one if there may be more."""
        idle = [w for w in self.with_role("idle") if w.alive]
        if idle:
            return next((w for w in idle if w.ready), idle[0])
        return self._add() if self._present() < self._limit else None

    def pick(self) -> W:
        """A free worker, else the one that has held a paused run for longest; never none."""
        return self.free() or next(iter(self.with_role("holding")), None) or self._add()

    def keep_warm(self) -> None:
        """One idle worker in reserve, so that the next run starts at once."""
        idle = self.with_role("idle")
        if not idle and self._present() < self._limit and not self.fails_to_start:
            self._add()
        for worker in idle[self.SPARE :]:
            self.dismiss(worker)

    def dismiss(self, worker: W) -> None:
        worker.take("leaving")
        worker.end()

    def kill(self, worker: W) -> None:
        """Do without a worker that does not answer, or takes too long."""
        worker.take("leaving")
        worker.kill()

    def close(self) -> None:
        """End all of them, in END_SECONDS at most. Without the lock: what they still report is heard meanwhile."""
        workers, deadline = list(self.workers), time.monotonic() + END_SECONDS
        for worker in workers:
            if worker.ready:
                worker.end()
            else:
                worker.kill()  # it is still importing and has nothing to write
        for worker in workers:
            worker.join(max(0.1, deadline - time.monotonic()))

    @property
    def fails_to_start(self) -> bool:
        """The last MOST_FAILED_STARTS workers all ended before they were ready."""
        return self._failed_starts >= self.MOST_FAILED_STARTS

    def is_ready(self, worker: W) -> None:
        worker.ready = True
        self._failed_starts = 0

    def remove(self, worker: W) -> None:
        """It has ended."""
        self.workers.remove(worker)
        if not worker.ready and worker.role != "leaving":
            self._failed_starts += 1

    def _present(self) -> int:
        return len(self.workers) - self.count("leaving")

    def _add(self) -> W:
        self.workers.append(self._start())
        return self.workers[-1]


def worker_environment(home: Path) -> dict[str, str]:
    """One BLAS thread, the store of this server, and this copy of the library."""
    package = str(Path(semf_core.__file__).resolve().parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    threads = dict.fromkeys(ONE_THREAD, "1")
    return {**os.environ, **threads, "SEMF_HOME": str(home), "PYTHONPATH": os.pathsep.join(paths)}


def exit_message(code: int) -> str:
    """How a process ended, as the beginning of a sentence."""
    if code in (-signal.SIGABRT, -signal.SIGSEGV):
        return f"the worker crashed (signal {-code}; compiled code does that when it may not have more memory)"
    if code == -signal.SIGKILL:
        return "the worker was killed (signal 9; the system does that when memory runs out)"
    if code < 0:
        return f"the worker was ended by signal {-code}"
    return f"the worker ended unexpectedly (exit code {code})"
