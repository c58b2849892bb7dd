"""Studies that wait for their turn: rows of one small database, and one process that serves them.

Visitors take turns: the next study is that of the visitor who was served longest ago.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from semf_core.runs.files import DamagedFile, DiskFull, is_locked, locked
from semf_core.studies.database import is_writable, open_database, told

SCHEMA = """
CREATE TABLE IF NOT EXISTS queue (study TEXT PRIMARY KEY, visitor TEXT NOT NULL, since REAL NOT NULL);
CREATE TABLE IF NOT EXISTS served (visitor TEXT PRIMARY KEY, at REAL NOT NULL);
"""
NEXT = """
SELECT study, visitor FROM queue LEFT JOIN served USING (visitor) ORDER BY COALESCE(at, 0), since, study
"""


FORGET_SECONDS = 3600.0
"""After this time without a turn a visitor counts as new."""


class StudyQueue:
    """The queue of a folder of studies. Any number of processes may use it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._file = root / "queue.db"

    @property
    def lock(self) -> Path:
        """Held by the process that serves the queue."""
        return self.root / "runner.lock"

    def served(self) -> bool:
        """Whether a process works on it."""
        return is_locked(self.lock)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with told(self._file):
            base = open_database(self._file, make=True)
            try:
                with base:
                    base.executescript(SCHEMA)
                    yield base
            finally:
                base.close()

    def put(self, study_id: str, visitor: str) -> None:
        """Let a study wait for its turn; one that waits already keeps its place."""
        try:
            self._put(study_id, visitor)
        except DamagedFile:  # a queue is no record: whatever waited is interrupted and can be resumed
            self._set_aside()
            self._put(study_id, visitor)

    def _put(self, study_id: str, visitor: str) -> None:
        with self._connection() as base:
            base.execute("INSERT OR IGNORE INTO queue VALUES (?, ?, ?)", (study_id, visitor, time.time()))

    def _set_aside(self) -> None:
        with locked(self.root / "queue.lock"):
            for name in ("", "-wal", "-shm"):
                path = Path(f"{self._file}{name}")
                if path.exists():
                    os.replace(path, path.with_name(f"{path.name}.damaged"))

    def next(self, without: Collection[str] = ()) -> str | None:
        """The study whose turn it is; its visitor goes to the end of the line."""
        with self._connection() as base:
            waiting = [row for row in base.execute(NEXT).fetchall() if row[0] not in without]
        if not waiting:
            return None
        study, visitor = waiting[0]
        with suppress(DiskFull), self._connection() as base:
            base.execute("INSERT OR REPLACE INTO served VALUES (?, ?)", (visitor, time.time()))
        return str(study)

    def others_wait(self, study_id: str) -> bool:
        with self._connection() as base:
            (count,) = base.execute("SELECT COUNT(*) FROM queue WHERE study<>?", (study_id,)).fetchone()
        return bool(count)

    def later(self, study_id: str) -> None:
        """Its turn is over; it goes to the end of the line of its visitor."""
        with self._connection() as base:
            base.execute("UPDATE queue SET since=? WHERE study=?", (time.time(), study_id))

    def remove(self, study_id: str) -> None:
        with self._connection() as base:
            base.execute("DELETE FROM queue WHERE study=?", (study_id,))
            base.execute("DELETE FROM served WHERE at<?", (time.time() - FORGET_SECONDS,))

    def has(self, study_id: str) -> bool:
        if not self._file.exists() or not is_writable(self.root):
            return False
        try:
            with self._connection() as base:
                return base.execute("SELECT 1 FROM queue WHERE study=?", (study_id,)).fetchone() is not None
        except DamagedFile:
            return False

    def visitor(self, study_id: str) -> str:
        """Who has asked for a study that runs or waits."""
        with self._connection() as base:
            found = base.execute("SELECT visitor FROM queue WHERE study=?", (study_id,)).fetchone()
        return found[0] if found else ""

    def visitors(self) -> list[str]:
        """The visitor of each study that runs or waits; nobody where the file is damaged, which `put` sets aside."""
        with suppress(DamagedFile), self._connection() as base:
            return [visitor for (visitor,) in base.execute("SELECT visitor FROM queue").fetchall()]
        return []
