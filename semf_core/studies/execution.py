"""Where cells are computed: one protocol, with processes of this computer behind it or a Dask cluster."""

from __future__ import annotations

import os
import queue
import threading
from collections import Counter, deque
from pathlib import Path
from typing import Protocol

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import number_from_env, server_limits
from semf_core.distributed.connection import cluster_address
from semf_core.runs.home import default_home
from semf_core.runs.pool import Report, WorkerPool, WorkerProcess, exit_message
from semf_core.studies.cell_run import Order
from semf_core.studies.cluster import DaskExecutor
from semf_core.studies.progress import Finished

ATTEMPTS = 3
"""Workers that may die on one cell before it is given up."""


class Executor(Protocol):
    """Takes cells and gives back what became of them, in any order."""

    @property
    def slots(self) -> int:
        """Cells that are computed at a time."""

    def submit(self, order: Order) -> None:
        """Take a cell."""

    def finished(self, seconds: float) -> list[Finished]:
        """What has finished since the last call; waits that long for the first one."""

    def withdraw(self) -> list[int]:
        """Give back the cells that have not begun, and those that show no sign of life."""

    def silent(self) -> list[int]:
        """Cells in progress whose worker has shown no sign of life for SILENT_SECONDS."""

    def close(self) -> None:
        """Break off what is being computed and let the workers go."""


class LocalExecutor:
    """Fresh processes of this computer, one BLAS thread each. One that dies takes only its own cell with it."""

    def __init__(self, workers: int | None = None, home: Path | None = None) -> None:
        self.slots = workers or default_workers()
        self._seconds = 60 * server_limits().run_minutes
        self._home = home or default_home()
        self._inbox: queue.SimpleQueue[Finished | RuntimeError] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: deque[Order] = deque()
        self._workers = WorkerPool(self._start, self.slots)
        self._orders: dict[WorkerProcess, Order] = {}
        """What each busy worker computes."""
        self._deaths: Counter[int] = Counter()
        self._closed = False

    def _start(self) -> WorkerProcess:
        return WorkerProcess(self._home, self._reported, self._ended, "semf_core.studies.worker")

    def submit(self, order: Order) -> None:
        with self._lock:
            self._waiting.append(order)
            self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting cells to free workers."""
        while self._waiting and not self._closed and (worker := self._workers.free()) is not None:
            self._orders[worker] = order = self._waiting.popleft()
            worker.take("busy")
            worker.send(order)

    def _reported(self, worker: WorkerProcess, report: Report) -> None:
        """In the worker's reading thread: the next cell goes out before the result is looked at."""
        with self._lock:
            self._workers.is_ready(worker)
            if report["report"] != "cell" or self._orders.pop(worker, None) is None:  # a sign of life; or it was given up
                return
            worker.take("idle")
            self._hand_out()
        names = Finished.__dataclass_fields__
        self._inbox.put(Finished(**{k: v for k, v in report.items() if k in names}))

    def _ended(self, worker: WorkerProcess, code: int) -> None:
        with self._lock:
            self._workers.remove(worker)
            order = self._orders.pop(worker, None)
            if self._closed:
                return
            if self._workers.fails_to_start:
                self._closed = True
                times = f"{self._workers.MOST_FAILED_STARTS} times in a row"
                self._inbox.put(RuntimeError(f"{exit_message(code)} before it was ready, {times}"))
                return
            if order is not None:
                self._lost(order, code, counts=worker.ready)
            self._hand_out()

    def _lost(self, order: Order, code: int, counts: bool) -> None:
        self._deaths[order["cell"]] += counts
        if self._deaths[order["cell"]] < ATTEMPTS:
            self._waiting.appendleft(order)
            return
        sentence = f"{exit_message(code)}, {ATTEMPTS} times in a row"
        self._inbox.put(Finished(order["cell"], error=sentence, lost=True))

    def finished(self, seconds: float) -> list[Finished]:
        self._end_overdue()
        found: list[Finished] = []
        try:
            while True:
                item = self._inbox.get(timeout=0 if found else seconds)
                if isinstance(item, RuntimeError):
                    raise item
                found.append(item)
        except queue.Empty:
            return found

    def _end_overdue(self) -> None:
        """End cells that take longer than a run may take here."""
        with self._lock:
            numbers = [self._break_off(worker) for worker in list(self._orders) if worker.busy_seconds() > self._seconds]
        for number in numbers:
            sentence = f"took longer than the {self._seconds / 60:g} minutes that a run may take on this server"
            self._inbox.put(Finished(number, seconds=self._seconds, error=sentence))

    def _break_off(self, worker: WorkerProcess) -> int:
        self._workers.kill(worker)
        return int(self._orders.pop(worker)["cell"])

    def silent(self) -> list[int]:
        with self._lock:
            return [order["cell"] for worker, order in self._orders.items() if worker.is_silent()]

    def withdraw(self) -> list[int]:
        with self._lock:
            numbers = [order["cell"] for order in self._waiting]
            self._waiting.clear()
            return numbers + [self._break_off(worker) for worker in list(self._orders) if worker.is_silent()]

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._workers.close()


def default_workers() -> int:
    """SEMF_STUDY_WORKERS, or one for each core that this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(number_from_env("SEMF_STUDY_WORKERS", cores, low=1))


def make_executor(workers: int | None = None, home: Path | None = None) -> Executor:
    """The cluster that SEMF_DASK names, otherwise processes of this computer."""
    address = cluster_address()
    if not address:
        return LocalExecutor(workers, home)
    if workers is not None:
        raise InvalidInput("workers", "are those of the Dask cluster", "leave the number out, or unset SEMF_DASK")
    return DaskExecutor(address, home)
