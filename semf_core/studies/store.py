"""The results of a study on disk. Every finished cell is committed at once; a crash of anything loses none.

A folder holds the study (`study.json`, as it was first given) and an SQLite database in write-ahead mode with one
row for each cell. Any number of processes may work on it: a cell is claimed in a transaction by one of them, and
claims of a process that has died are free again. A process proves that it lives by a lock that the system releases
with it.

The folder's name follows from what is run and measured, so all who ask for the same share its results. Title, labels
and views belong to whoever gave them: other words for the same runs lie beside (`words-….json`), named by what they
say, and nobody changes those of another.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.runs.files import DamagedFile, read_json, reading, set_aside, whole_or_nothing, write_json
from semf_core.runs.home import default_home
from semf_core.runs.ids import checked_id
from semf_core.studies.database import is_writable, open_database, told
from semf_core.studies.kept_arrays import HISTORY, unpacked
from semf_core.studies.progress import Finished, Progress, state_of
from semf_core.studies.queue import StudyQueue
from semf_core.studies.runner_locks import Runner, announce, living
from semf_core.studies.study import Cell, Study, content_id
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
MESSAGE_BYTES = 512


class StudyStore:
    """One study's folder. Opening it costs nothing; every call uses a connection of its own unless one is held."""

    def __init__(self, folder: Path, words: str = "") -> None:
        """`words` names other words than the first ones."""
        self.folder, self.words = folder, words
        self._held: sqlite3.Connection | None = None

    # -- making and finding ------------------------------------------------------------------

    @classmethod
    def create(cls, study: Study, home: Path | None = None, check: Callable[[Cell], object] = lambda cell: None) -> StudyStore:
        """This study with its words, made if it is not there yet and `check` rejects no cell.

        Checking may take its time: nobody else waits for it.
        """
        study = study.ready()
        store = cls.place(study, home)
        root = store.folder.parent
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not store.has_results():
            if store.folder.exists():  # without its study nothing can be made of it
                set_aside(root.parent, store.folder)
            with whole_or_nothing(store.folder) as aside:
                cls.make(aside, study, check)
            store = cls.place(study, home)  # somebody may have been quicker, with other words
        if store.writable and not store.exists():
            write_json(store._words_file, study.to_dict(), durable=True)
        return store

    @classmethod
    def place(cls, study: Study, home: Path | None = None) -> StudyStore:
        """Where the results of a study and its words belong, whether anything is there or not."""
        folder = (home or default_home()) / "studies" / study.id
        form = json.loads(json.dumps(study.to_dict()))
        try:
            first = read_json(folder / STUDY)
        except FileNotFoundError:
            first = form
        except DamagedFile:
            first = None
        return cls(folder, "" if form == first else content_id(form))

    @classmethod
    def make(cls, folder: Path, study: Study, check: Callable[[Cell], object]) -> StudyStore:
        """A new folder for a study whose shares are counts; it is complete or, where this raises, of no use."""
        store = cls(folder)
        turns = np.empty(study.count, dtype=int)
        turns[study.run_order()] = np.arange(study.count)
        rows = []
        for cell in study.cells():
            check(cell)
            rows.append((cell.number, cell.id, int(turns[cell.number])))
        (folder / "runners").mkdir(parents=True, exist_ok=True, mode=0o700)
        store._message.write_bytes(b" " * MESSAGE_BYTES)  # its room is there when the disk is full
        with told(store.file):
            base = open_database(store.file, make=True)
            try:
                with base:
                    base.execute("PRAGMA journal_mode=WAL")
                    base.executescript(SCHEMA)
                    base.executemany("INSERT INTO cells (number, id, turn) VALUES (?, ?, ?)", rows)
                    base.execute("INSERT INTO notes VALUES ('created', ?)", (repr(time.time()),))
            finally:
                base.close()
        write_json(folder / STUDY, study.to_dict(), durable=True)
        return store

    @classmethod
    def find(cls, study_id: object, home: Path | None = None) -> StudyStore:
        name, dot, words = str(study_id).partition(".")
        folder = (home or default_home()) / "studies" / checked_id("study", name)
        store = cls(folder, checked_id("study", words) if dot else "")
        if not store.exists():
            raise InvalidInput("study", "there is no study with this id; it may have been deleted", whole=True)
        return store

    def has_results(self) -> bool:
        """Whether it was ever made, with these words or with others."""
        return (self.folder / STUDY).exists()

    def exists(self) -> bool:
        return self._words_file.exists()

    @property
    def _words_file(self) -> Path:
        return self.folder / (f"words-{self.words}.json" if self.words else STUDY)

    @property
    def id(self) -> str:
        """What `find` takes: it opens the results with these words."""
        return f"{self.folder.name}.{self.words}" if self.words else self.folder.name

    @property
    def results(self) -> str:
        """Names the results, whatever the words."""
        return self.folder.name

    def study(self) -> Study:
        with reading(self._words_file):
            return Study.from_dict(read_json(self._words_file))

    def stamp(self) -> int:
        """Changes whenever the study is made anew."""
        return self._words_file.stat().st_mtime_ns

    # -- connections -------------------------------------------------------------------------

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection whose transaction is committed, with its data on the disk, when the block ends."""
        with told(self.file):
            base = self._held or open_database(self.file)
            try:
                with base:
                    yield base
            finally:
                if base is not self._held:
                    base.close()

    @property
    def file(self) -> Path:
        """The database."""
        return self.folder / "cells.db"

    @property
    def writable(self) -> bool:
        return is_writable(self.folder)

    @contextmanager
    def held(self) -> Iterator[StudyStore]:
        """One connection for all calls inside the block, which stay in one thread."""
        with told(self.file):
            self._held = open_database(self.file)
        try:
            yield self
        finally:
            self._held.close()
            self._held = None

    # -- working -----------------------------------------------------------------------------

    def announce(self, slots: int) -> Runner:
        """A sign of life of a process that works on this study."""
        return announce(self.folder, slots)

    def living(self) -> dict[str, int]:
        """The processes that work on it now and how many cells each runs at a time."""
        return living(self.folder)

    def waits(self) -> bool:
        """Whether a process will come to it."""
        queue = StudyQueue(self.folder.parent)
        return queue.served() and queue.has(self.results)

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

    @property
    def _message(self) -> Path:
        return self.folder / "message.txt"

    def say(self, sentence: str) -> None:
        """Why it stands still; told on a full disk too, because the file is written in place."""
        text = sentence.encode()[:MESSAGE_BYTES].decode(errors="ignore").encode().ljust(MESSAGE_BYTES)
        descriptor = os.open(self._message, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.pwrite(descriptor, text, 0)
        finally:
            os.close(descriptor)

    def message(self) -> str:
        try:
            return self._message.read_text(encoding="utf-8").strip("\0 ")
        except (FileNotFoundError, UnicodeDecodeError):  # a damaged one says nothing
            return ""

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
            state=state_of(open_cells, bool(living), not living and self.waits(), notes.get("wish", "")),
            total=sum(counts.values()),
            done=counts.get(DONE, 0),
            failed=counts.get(FAILED, 0),
            running=min(slots, counts.get(CLAIMED, 0)),
            seconds_left=left,
            message=self.message(),
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

    def newest(self) -> str:
        """How many cells have ended and when the last one did: another text whenever there is another result."""
        with self._connection() as base:
            return repr(base.execute("SELECT COUNT(*), MAX(ended), SUM(state) FROM cells WHERE state IN (2, 3)").fetchone())

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
        return {n: kept["U"].astype(float) for n, kept in self._arrays(numbers, ("U",)).items()}

    def histories(self, numbers: Sequence[int] | None = None) -> dict[int, History]:
        """Thinned histories of the cells (all, if none are named) that kept them."""
        return dict(self._arrays(numbers, HISTORY))

    def _arrays(self, numbers: Sequence[int] | None, names: Sequence[str]) -> dict[int, dict[str, Array]]:
        found = {n: unpacked(text, names) for n, text in sorted(self.kept(numbers).items())}
        return {n: arrays for n, arrays in found.items() if arrays}

    def created(self) -> float:
        return float(self.notes().get("created", 0))

    def is_sound(self) -> bool:
        """Whether every page of the database can be read."""
        with self._connection() as base:
            return base.execute("PRAGMA quick_check").fetchone() == ("ok",)

    def readable(self) -> bool:
        """Whether neither of its files is damaged, at a glance."""
        try:
            self.study(), self.created()
        except InvalidInput:
            return False
        return True
