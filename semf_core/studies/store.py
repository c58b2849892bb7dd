"""The results of a study on disk. Every finished cell is committed at once; a crash of anything loses none.

A folder holds the study (`study.json`) and an SQLite database in write-ahead mode with one row for each cell.
Any number of processes may work on it: a cell is claimed in a transaction by one of them, and claims of a
process that has died are free again. A process proves that it lives by a lock that the system releases with it.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from semf_core.parameters import InvalidInput
from semf_core.runs.files import locked, read_json, try_lock, write_json
from semf_core.runs.home import default_home
from semf_core.runs.ids import checked_id
from semf_core.studies.keeping import unpacked
from semf_core.studies.study import Cell, Study
from semf_core.studies.tables import History, ResultTable

Array = np.ndarray
STUDY = "study.json"
WAITING, CLAIMED, DONE, FAILED = range(4)
SCHEMA = """
CREATE TABLE cells (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, turn INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0,
  owner TEXT, began REAL, ended REAL, seconds REAL, result TEXT, error TEXT, lost INTEGER NOT NULL DEFAULT 0,
  claims INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX by_state ON cells (state, turn);
CREATE TABLE kept (number INTEGER PRIMARY KEY, content TEXT NOT NULL);
CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
RECORD = """
UPDATE cells SET state=?, ended=?, seconds=?, result=?, error=?, lost=?, owner=NULL WHERE number=? AND state<>2
"""
WAIT_SECONDS = 30.0
"""How long a transaction waits for another process's."""


@dataclass(frozen=True)
class Finished:
    """What became of a cell: its numbers, or a sentence that says why there are none."""

    number: int
    values: dict[str, float | None] | None = None
    seconds: float = 0.0
    error: str = ""
    lost: bool = False
    """The worker died; another attempt may succeed."""
    kept: str = ""


@dataclass(frozen=True)
class Progress:
    """Where a study stands. `state` is new, queued, running, pausing, paused, cancelled, interrupted or finished."""

    state: str
    total: int
    done: int
    failed: int
    running: int
    seconds_left: float | None
    message: str = ""

    @property
    def moving(self) -> bool:
        return self.state in {"queued", "running", "pausing"}


class StudyStore:
    """One study's folder. Opening it costs nothing; every call uses a connection of its own unless one is held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._held: sqlite3.Connection | None = None

    # -- making and finding ------------------------------------------------------------------

    @classmethod
    def create(cls, study: Study, home: Path | None = None, check: Callable[[Cell], object] = lambda cell: None) -> StudyStore:
        """The folder of this study, made if it is not there yet and `check` refuses no cell.

        The id follows from what is run and measured; words and views are always those of the study given last.
        """
        study = study.ready()
        store = cls.place(study, home)
        root = store.folder.parent
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(root / "create.lock"):
            if not store.exists():
                cls.make(store.folder, study, check)
            elif store.writable and read_json(store.folder / STUDY) != (form := json.loads(json.dumps(study.to_dict()))):
                write_json(store.folder / STUDY, form)  # the same runs with other words, names or views
        return store

    @classmethod
    def place(cls, study: Study, home: Path | None = None) -> StudyStore:
        """Where the results of a study belong, whether anything is there or not."""
        return cls((home or default_home()) / "studies" / study.id)

    @classmethod
    def make(cls, folder: Path, study: Study, check: Callable[[Cell], object]) -> StudyStore:
        """A new folder for a study whose shares are counts."""
        store = cls(folder)
        turns = np.empty(study.count, dtype=int)
        turns[study.run_order()] = np.arange(study.count)
        rows = []
        for cell in study.cells():
            check(cell)
            rows.append((cell.number, cell.id, int(turns[cell.number])))
        (folder / "runners").mkdir(parents=True, exist_ok=True, mode=0o700)
        with store._connection() as base:
            base.execute("PRAGMA journal_mode=WAL")
            base.executescript(SCHEMA)
            base.executemany("INSERT INTO cells (number, id, turn) VALUES (?, ?, ?)", rows)
            base.execute("INSERT INTO notes VALUES ('created', ?)", (repr(time.time()),))
        write_json(folder / STUDY, study.to_dict())  # last: it says that the folder is complete
        return store

    @classmethod
    def find(cls, study_id: object, home: Path | None = None) -> StudyStore:
        store = cls((home or default_home()) / "studies" / checked_id("study", study_id))
        if not store.exists():
            raise InvalidInput("study", "there is no study with this id; it may have been deleted")
        return store

    def exists(self) -> bool:
        return (self.folder / STUDY).exists()

    @property
    def id(self) -> str:
        return self.folder.name

    def study(self) -> Study:
        return Study.from_dict(read_json(self.folder / STUDY))

    def stamp(self) -> int:
        """Changes whenever the study is written, with other words or anew."""
        return (self.folder / STUDY).stat().st_mtime_ns

    # -- connections -------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection whose transaction is committed, with its data on the disk, when the block ends."""
        base = self._held or self._open()
        try:
            with base:
                yield base
        finally:
            if base is not self._held:
                base.close()

    def _open(self) -> sqlite3.Connection:
        file = self.folder / "cells.db"
        if not self.writable:
            return sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)
        base = sqlite3.connect(file, timeout=WAIT_SECONDS)
        base.execute("PRAGMA synchronous=FULL")
        return base

    @property
    def writable(self) -> bool:
        """A folder that can only be read (a copy for showing) is opened without locks, because nothing changes in it."""
        return os.access(self.folder, os.W_OK)

    @contextmanager
    def held(self) -> Iterator[StudyStore]:
        """One connection for all calls inside the block, which stay in one thread."""
        self._held = self._open()
        try:
            yield self
        finally:
            self._held.close()
            self._held = None

    # -- working -----------------------------------------------------------------------------

    def announce(self, slots: int) -> Runner:
        """A sign of life of a process that works on this study."""
        token = secrets.token_hex(8)
        with locked(self.folder / "runners.lock"):
            lock = try_lock(self._lock_of(token))
        assert lock is not None, "a fresh token is nobody else's"
        runner = Runner(self, token, lock)
        runner.has_slots(slots)
        return runner

    def _lock_of(self, token: str) -> Path:
        return self.folder / "runners" / f"{token}.lock"

    def living(self) -> dict[str, int]:
        """The processes that work on it now and how many cells each runs at a time; signs of dead ones are swept up."""
        alive: dict[str, int] = {}
        if not self.writable:
            return alive
        with locked(self.folder / "runners.lock"):
            for path in (self.folder / "runners").glob("*.lock"):
                lock = try_lock(path)
                if lock is None:
                    alive[path.stem] = _slots(path)
                else:
                    path.with_suffix(".json").unlink(missing_ok=True)
                    path.unlink(missing_ok=True)
                    lock.close()
        return alive

    def claim(self, token: str, count: int) -> list[int]:
        """At most `count` cells that nobody else works on, in the order in which they should run."""
        with self._connection() as base:
            base.execute("BEGIN IMMEDIATE")
            living = [token, *self.living()]  # inside: whoever has claimed by now has announced itself before
            marks = ",".join("?" * len(living))
            base.execute(f"UPDATE cells SET state=0, owner=NULL WHERE state=1 AND owner NOT IN ({marks})", living)
            found = base.execute("SELECT number FROM cells WHERE state=0 ORDER BY turn LIMIT ?", (count,)).fetchall()
            numbers = [number for (number,) in found]
            values = [(token, time.time(), n) for n in numbers]
            base.executemany("UPDATE cells SET state=1, owner=?, began=?, claims=claims+1 WHERE number=?", values)
        return numbers

    def release(self, numbers: Iterable[int], token: str) -> None:
        """Give claimed cells back."""
        with self._connection() as base:
            base.executemany(
                "UPDATE cells SET state=0, owner=NULL WHERE state=1 AND number=? AND owner=?", [(n, token) for n in numbers]
            )

    def record(self, finished: Sequence[Finished]) -> int:
        """Commit results; a cell that is already done stays as it is. How many were new."""
        new = 0
        with self._connection() as base:
            base.execute("BEGIN IMMEDIATE")
            for f in finished:
                state = DONE if f.values is not None else FAILED
                result = None if f.values is None else json.dumps(f.values)
                values = (state, time.time(), f.seconds, result, f.error or None, f.lost, f.number)
                count = base.execute(RECORD, values).rowcount
                if count and f.kept:
                    base.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (f.number, f.kept))
                new += count
        return new

    def retry(self, every: bool = False) -> int:
        """Give cells another chance whose worker died, or every failed one: what it lacked may be there by now."""
        with self._connection() as base:
            return base.execute("UPDATE cells SET state=0, error=NULL WHERE state=3 AND (lost=1 OR ?)", (every,)).rowcount

    def ask(self, wish: str) -> None:
        """Tell whoever works on it to go on ("run"), to "pause" or to "cancel"."""
        self.note("wish", wish)

    def wish(self) -> str:
        return self.notes().get("wish", "run")

    def note(self, name: str, value: str) -> None:
        with self._connection() as base:
            base.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def notes(self) -> dict[str, str]:
        with self._connection() as base:
            return dict(base.execute("SELECT name, value FROM notes").fetchall())

    # -- looking -----------------------------------------------------------------------------

    def progress(self) -> Progress:
        with self._connection() as base:
            counts = dict(base.execute("SELECT state, COUNT(*) FROM cells GROUP BY state").fetchall())
            (mean,) = base.execute("SELECT AVG(seconds) FROM cells WHERE state=2").fetchone()
            (spent,) = base.execute("SELECT SUM(? - began) FROM cells WHERE state=1", (time.time(),)).fetchone()
            notes = dict(base.execute("SELECT name, value FROM notes").fetchall())
        living = self.living()
        slots = sum(living.values())
        open_cells = counts.get(WAITING, 0) + counts.get(CLAIMED, 0)
        left = None
        if mean is not None and slots:
            left = max(0.0, (open_cells * mean - min(spent or 0.0, slots * mean)) / min(slots, max(1, open_cells)))
        return Progress(
            state=_state(open_cells, bool(living), bool(slots), notes.get("wish", "")),
            total=sum(counts.values()),
            done=counts.get(DONE, 0),
            failed=counts.get(FAILED, 0),
            running=min(slots, counts.get(CLAIMED, 0)),
            seconds_left=left,
            message=notes.get("message", ""),
        )

    def table(self, study: Study | None = None) -> ResultTable:
        """All numbers so far."""
        study = study or self.study()
        with self._connection() as base:
            rows = base.execute("SELECT number, result FROM cells WHERE state=2").fetchall()
        results = json.loads("[" + ",".join(result for _, result in rows) + "]")
        numbers = np.array([number for number, _ in rows], dtype=int)
        columns = {}
        for measure in study.measures:
            column = np.full(study.count, np.nan)
            column[numbers] = [np.nan if (v := r.get(measure.key)) is None else v for r in results]
            columns[measure.key] = column
        done = np.zeros(study.count, dtype=bool)
        done[numbers] = True
        return ResultTable(study.axes, study.measures, columns, done, self.components, self.histories)

    def stamps(self) -> dict[int, str]:
        """For every finished cell when it was recorded: proof that it was not computed again."""
        with self._connection() as base:
            return dict(base.execute("SELECT number, CAST(ended AS TEXT) FROM cells WHERE state=2").fetchall())

    def cell_seconds(self) -> list[float]:
        """How long each finished cell took its worker."""
        with self._connection() as base:
            return [seconds for (seconds,) in base.execute("SELECT seconds FROM cells WHERE state=2").fetchall()]

    def failures(self, most: int = 20) -> list[tuple[int, str]]:
        """Cells without a result, and why."""
        with self._connection() as base:
            return base.execute("SELECT number, error FROM cells WHERE state=3 ORDER BY number LIMIT ?", (most,)).fetchall()

    def finished(self) -> list[Finished]:
        """Everything that has been recorded, as it was."""
        columns = "number, result, seconds, error, lost, content"
        with self._connection() as base:
            rows = base.execute(f"SELECT {columns} FROM cells LEFT JOIN kept USING (number) WHERE state IN (2, 3)").fetchall()
        return [
            Finished(number, None if result is None else json.loads(result), seconds, error or "", bool(lost), content or "")
            for number, result, seconds, error, lost, content in rows
        ]

    def kept(self, numbers: Sequence[int] | None = None) -> dict[int, str]:
        """What was stored of the runs beside their numbers."""
        with self._connection() as base:
            if numbers is None:
                return dict(base.execute("SELECT number, content FROM kept").fetchall())
            found = [base.execute("SELECT number, content FROM kept WHERE number=?", (int(n),)).fetchone() for n in numbers]
            return dict(row for row in found if row)

    def components(self, numbers: Sequence[int] | None = None) -> dict[int, Array]:
        """U of the cells (all, if none are named) that kept it."""
        return {n: kept["U"].astype(float) for n, kept in self._arrays(numbers).items() if "U" in kept}

    def histories(self, numbers: Sequence[int] | None = None) -> dict[int, History]:
        """Thinned histories of the cells (all, if none are named) that kept them."""
        return {n: kept for n, kept in self._arrays(numbers).items() if "iteration" in kept}

    def _arrays(self, numbers: Sequence[int] | None) -> dict[int, dict[str, Array]]:
        return {n: unpacked(text) for n, text in sorted(self.kept(numbers).items())}

    def created(self) -> float:
        return float(self.notes().get("created", 0))


class Runner:
    """The right to work on a study, as long as the process lives."""

    def __init__(self, store: StudyStore, token: str, lock: BinaryIO) -> None:
        self.store, self.token, self._lock = store, token, lock

    def has_slots(self, slots: int) -> None:
        """Say how many cells run at a time; 0 while it waits for its turn."""
        write_json(self.store._lock_of(self.token).with_suffix(".json"), {"slots": slots})

    def leave(self) -> None:
        path = self.store._lock_of(self.token)
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        self._lock.close()


def _slots(lock: Path) -> int:
    try:
        return int(read_json(lock.with_suffix(".json"))["slots"])
    except FileNotFoundError:  # it is just announcing itself, or just leaving
        return 0


def _state(open_cells: int, living: bool, working: bool, wish: str) -> str:
    if not open_cells:
        return "finished"
    if living:
        return "queued" if not working else "running" if wish in ("", "run") else "pausing"
    return {"": "new", "run": "interrupted", "pause": "paused", "cancel": "cancelled"}[wish]


def all_studies(home: Path | None = None) -> list[StudyStore]:
    """Every study below a home folder, newest first. For the owner of the computer, not for visitors."""
    root = (home or default_home()) / "studies"
    stores = [StudyStore(path) for path in root.iterdir()] if root.is_dir() else []
    return sorted((s for s in stores if s.exists()), key=lambda s: -s.created())
