"""A process that works on a study by itself: python -m semf_core.studies.background STUDY

The dashboard starts one and may end, be restarted or be killed meanwhile; the study goes on. One study of a home
folder runs at a time, the others wait for their turn.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

from semf_core.runs.home import default_home
from semf_core.runs.pool import worker_environment
from semf_core.runs.worker import in_words
from semf_core.studies.execution import make_executor
from semf_core.studies.runner import Loop
from semf_core.studies.store import Runner, StudyStore

NICENESS = 10
"""Studies leave the cores to runs that somebody watches."""
TURN_SECONDS = 0.5

_STARTED: list[subprocess.Popen[bytes]] = []


def start_in_background(store: StudyStore, home: Path) -> None:
    """Start a process for the study, unless one works on it or waits to."""
    _STARTED[:] = [process for process in _STARTED if process.poll() is None]  # takes note of those that have ended
    store.note("message", "")
    store.ask("run")
    if store.living():
        return
    with (store.folder / "log.txt").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "semf_core.studies.background", store.id],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=worker_environment(home),
            start_new_session=True,  # it outlives the server and its terminal
        )
    _STARTED.append(process)
    _wait_for_sign(store, process)


def _wait_for_sign(store: StudyStore, process: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    """Until the new process has announced itself, or was so quick that it is already gone."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None and not store.living():
        time.sleep(0.05)


def main(study_id: str) -> int:
    """Wait for the turn, then work until the study is finished, paused or cancelled.

    Somebody may ask to go on while this process is about to leave, and starts no other because of it: so it looks
    once more after it has left.
    """
    home = default_home()
    store = StudyStore.find(study_id, home)
    os.nice(NICENESS)
    while True:
        code = _once(store, home)
        if code or store.progress().state != "interrupted":
            return code


def _once(store: StudyStore, home: Path) -> int:
    runner = store.announce(0)
    try:
        with (home / "studies" / "turn.lock").open("ab") as turn:
            return _work(store, runner, home) if _turn_comes(turn.fileno(), store) else 0
    finally:
        runner.leave()


def _turn_comes(turn: int, store: StudyStore) -> bool:
    """Whether the turn came before somebody asked to stop."""
    while store.wish() == "run":
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(TURN_SECONDS)
    return False


def _work(store: StudyStore, runner: Runner, home: Path) -> int:
    try:
        executor = make_executor(home=home)
        try:
            with store.held():
                Loop(store, store.study(), executor, runner).run()
        finally:
            executor.close()
    except Exception as error:
        traceback.print_exc()
        store.note("message", in_words(error))
        store.ask("pause")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
