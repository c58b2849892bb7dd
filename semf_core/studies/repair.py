"""Whether the database of a study is sound, and what can be saved of one that is not."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.runs.files import set_aside
from semf_core.studies.store import DONE, FAILED, Finished, StudyStore

ENDED = f"SELECT result, seconds, error, lost FROM cells WHERE number=? AND state IN ({DONE}, {FAILED})"


def database_is_sound(store: StudyStore) -> bool:
    """Every page of it, and as many cells as the study has."""
    try:
        return store.is_sound() and store.progress().total == store.study().count
    except InvalidInput:
        return False


def salvage(store: StudyStore, home: Path) -> int:
    """Put another database in its place with what can be read of the old one; how many results that are."""
    study = store.study()
    known = [f for number in range(study.count) if (f := _ended(store.file, number)) is not None]
    notes = _rows(store.file, "SELECT name, value FROM notes")
    with tempfile.TemporaryDirectory(prefix=".repaired-", dir=store.folder) as place:
        fresh = StudyStore.make(Path(place) / "study", study, lambda cell: None)
        fresh.record(known)
        for name, value in notes:
            fresh.note(str(name), str(value))
        set_aside(home, store.file, *(Path(f"{store.file}{end}") for end in ("-wal", "-shm")))
        os.rename(fresh.file, store.file)
    return len(known)


def _ended(file: Path, number: int) -> Finished | None:
    """What became of a cell, if it has ended and that can be read."""
    try:
        for result, seconds, error, lost in _rows(file, ENDED, number):
            kept = [str(content) for (content,) in _rows(file, "SELECT content FROM kept WHERE number=?", number)]
            values = None if result is None else dict(json.loads(result))
            return Finished(number, values, float(seconds or 0), str(error or ""), bool(lost), kept[0] if kept else "")
    except (ValueError, TypeError):
        return None
    return None


def _rows(file: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query gives; nothing where the file is damaged."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as base:
            return base.execute(query, values).fetchall()
    except sqlite3.DatabaseError:
        return []
