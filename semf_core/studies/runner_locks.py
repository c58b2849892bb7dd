"""Which processes work on a study: each holds a lock that the system releases with it, however it ends."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import BinaryIO

from semf_core.runs.files import DamagedFile, locked, read_json, try_lock, write_json
from semf_core.studies.database import is_writable


class Runner:
    """The right to work on a study, as long as the process lives."""

    def __init__(self, token: str, path: Path, lock: BinaryIO) -> None:
        self.token, self._path, self._lock = token, path, lock

    def has_slots(self, slots: int) -> None:
        """Say how many cells run at a time."""
        write_json(self._path.with_suffix(".json"), {"slots": slots})

    def leave(self) -> None:
        self._path.with_suffix(".json").unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)
        self._lock.close()


def announce(folder: Path, slots: int) -> Runner:
    """A sign of life of a process that works on the study of this folder."""
    token = secrets.token_hex(8)
    path = folder / "runners" / f"{token}.lock"
    with locked(folder / "runners.lock"):
        lock = try_lock(path)
    assert lock is not None, "a fresh token is nobody else's"
    runner = Runner(token, path, lock)
    runner.has_slots(slots)
    return runner


def living(folder: Path) -> dict[str, int]:
    """The processes that work on it now and how many cells each runs at a time; signs of dead ones are swept up."""
    alive: dict[str, int] = {}
    if not is_writable(folder):
        return alive
    with locked(folder / "runners.lock"):
        for path in (folder / "runners").glob("*.lock"):
            lock = try_lock(path)
            if lock is None:
                alive[path.stem] = _slots(path)
            else:
                path.with_suffix(".json").unlink(missing_ok=True)
                path.unlink(missing_ok=True)
                lock.close()
    return alive


def _slots(lock: Path) -> int:
    try:
        return int(read_json(lock.with_suffix(".json")).get("slots", 0))
    except (FileNotFoundError, DamagedFile):  # it is just announcing itself or just leaving, or could not write
        return 0
