"""The process that serves the queue of studies: python -m semf_core.studies.background

The dashboard starts it and may end, be restarted or be killed meanwhile; the studies go on. One process serves all
studies of a home folder, one at a time; where several wait, each has its turn for a while.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.runs.files import DamagedFile, DiskFull, needing_room, try_lock
from semf_core.runs.home import Quota, default_home
from semf_core.runs.pool import start_process
from semf_core.runs.worker import error_message
from semf_core.sandbox.rlimits import lower_priority
from semf_core.studies.execution import Executor, make_executor
from semf_core.studies.queue import StudyQueue
from semf_core.studies.runner import Loop
from semf_core.studies.store import StudyStore

NICENESS = 10
"""Studies leave the cores to runs that somebody watches."""
TURN_SECONDS = 30.0
"""How long a study runs while others wait."""
IDLE_SECONDS = 2.0
"""How long the process waits for more before it ends."""
LOOK_SECONDS = 0.25
STORE_SECONDS = 3.0
"""Between two looks at the size of the store."""
MOST_LOG_BYTES = 1 << 20

_STARTED: list[subprocess.Popen[bytes]] = []


def start_in_background(store: StudyStore, home: Path, visitor: str = "") -> None:
    """Put a study into the queue, and start the process that serves it unless there is one."""
    _STARTED[:] = [process for process in _STARTED if process.poll() is None]  # takes note of those that have ended
    queue = StudyQueue(store.folder.parent)
    with needing_room():
        store.say("")
        store.ask("run")
        queue.put(store.results, visitor)
        lock = try_lock(queue.lock)
        if lock is not None:
            with lock:
                _STARTED.append(_start(queue, home, lock))


def _start(queue: StudyQueue, home: Path, lock: BinaryIO) -> subprocess.Popen[bytes]:
    """The lock goes to the new process, so that nobody starts a second one before it has taken it."""
    path = queue.root / "runner.log"
    with path.open("wb" if path.exists() and path.stat().st_size > MOST_LOG_BYTES else "ab") as log:
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}  # it outlives the server, so it has no pipes to it
        handle = lock.fileno()
        return start_process("semf_core.studies.background", home, str(handle), pass_fds=(handle,), **streams)


def main(inherited: int) -> int:
    """Serve until nothing is left. Somebody may put a study into the queue while this process is about to leave, and
    starts no other because of it: so it looks once more after it has given up the lock."""
    home = default_home()
    lower_priority(NICENESS)
    lock: BinaryIO | None = os.fdopen(inherited, "ab")
    queue = StudyQueue(home / "studies")
    stuck: set[str] = set()
    while lock is not None:
        with lock:
            Service(queue, home, stuck).serve()
        lock = try_lock(queue.lock) if queue.next(without=stuck) is not None else None
    return 0


class Service:
    """Works on one study after the other; workers stay from one to the next."""

    def __init__(self, queue: StudyQueue, home: Path, stuck: set[str]) -> None:
        """`stuck` are studies that cannot go on now, nor even be taken out of the queue: the disk is full."""
        self.queue, self.home, self.stuck = queue, home, stuck
        self._quota = Quota(home)
        self._executor: Executor | None = None

    def serve(self) -> None:
        """Until nothing has been waiting for a moment."""
        deadline = time.monotonic() + IDLE_SECONDS
        try:
            while time.monotonic() < deadline:
                study_id = self.queue.next(without=self.stuck)
                if study_id is None:
                    time.sleep(LOOK_SECONDS)
                    continue
                self._turn(study_id)
                deadline = time.monotonic() + IDLE_SECONDS
        finally:
            self._dismiss()

    def _turn(self, study_id: str) -> None:
        """Work on a study until it is over, or until others have waited long enough."""
        try:
            store = StudyStore.find(study_id, self.home)
            ended = self._work(store) if store.wish() == "run" else "pause"
            if ended == "turn":
                self.queue.later(study_id)
            elif store.progress().state != "queued":  # as it is again if it was asked to go on just now
                self.queue.remove(study_id)
        except Exception as error:
            self._dismiss()
            traceback.print_exc()
            self._give_up(study_id, error)

    def _work(self, store: StudyStore) -> str:
        executor = self._executor = self._executor or make_executor(home=self.home)
        began = time.monotonic()

        visitor, due = self.queue.visitor(store.results), 0.0

        def over() -> bool:
            return time.monotonic() - began > TURN_SECONDS and self.queue.others_wait(store.results)

        def check_room() -> None:
            nonlocal due
            if time.monotonic() >= due:
                self._quota.check_growth(visitor)
                due = time.monotonic() + STORE_SECONDS

        with store.held():
            runner = store.announce(executor.slots)
            try:
                ended = Loop(store, store.study(), executor, runner, turn_over=over, check_room=check_room).run()
            finally:
                runner.leave()
        if ended == "cancel":
            self._dismiss()
        return ended

    def _dismiss(self) -> None:
        if self._executor is not None:
            self._executor.close()
        self._executor = None

    def _give_up(self, study_id: str, error: Exception) -> None:
        """Say why, and leave the others their turn; on a full disk it stays in the queue for the next process."""
        sentence = f"{error_message(error)}; resume the study when that is put right"
        with suppress(InvalidInput, OSError):
            StudyStore.find(study_id, self.home).say(sentence)
        try:
            with suppress(DamagedFile):
                StudyStore.find(study_id, self.home).ask("pause")
            self.queue.remove(study_id)
        except DiskFull:
            self.stuck.add(study_id)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
