"""One worker at a time on the folder of a run, whatever has become of the server that started the one before."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from semf_core.runs.files import try_lock

LOOK_SECONDS = 0.01
LEFT_SECONDS = 30.0
"""What a worker gets to write its last checkpoint once its server has gone; then it hangs, and is ended."""


def take(path: Path, waiting: Callable[[], object]) -> BinaryIO:
    """The lock of a run's folder, once nobody else has it; `waiting` is called meanwhile, and may raise.

    Only the server that has claimed the run starts a worker on it, so whoever holds the lock now was left by an earlier
    server, and ends when it has written its checkpoint. One that does not (stopped, or in a step without end) would keep
    the run from ever going on: it is killed, and what it has written stays.
    """
    patience = time.monotonic() + LEFT_SECONDS
    while (lock := try_lock(path)) is None:
        waiting()
        if time.monotonic() > patience:
            for process in holders(path):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
    return lock


def holders(path: Path) -> list[int]:
    """The processes that hold a lock on a file, as Linux tells; none where it does not."""
    found = os.stat(path)
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    try:
        rows = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    except OSError:
        return []
    return [int(row[4]) for row in rows if row[1] == "FLOCK" and row[5] == place]  # a row of one that waits has "->" there
