"""The index of the snapshots: SQLite for searching, sorting and paging. It can be thrown away and made again."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.snapshots.cards import Card

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE snapshots (
        id TEXT PRIMARY KEY, stamp INTEGER NOT NULL, published INTEGER NOT NULL, added REAL NOT NULL, title TEXT NOT NULL,
        error REAL, iterations INTEGER NOT NULL, words TEXT NOT NULL, card TEXT NOT NULL, thumbnail BLOB NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX by_added ON snapshots (added);
    CREATE INDEX by_published ON snapshots (published, added);
    """,
)
"""Each takes the index one version further; a version is never changed, only followed by another."""
SORTS = {
    "newest": "added DESC, id",
    "oldest": "added, id",
    "title": "title COLLATE NOCASE, id",
    "smallest error": "error IS NULL, error, id",
    "most iterations": "iterations DESC, id",
}
PATIENCE = 20.0
MOST_OWN = 5000


class Index:
    """Rows of cards. Any number of threads and processes may use the same file."""

    def __init__(self, path: Path | None) -> None:
        """None keeps the index in memory, for a folder that must not be written to."""
        self._path = path
        self._lock = threading.Lock()
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) or self._path is None:
                raise
            for name in (self._path, Path(f"{self._path}-wal"), Path(f"{self._path}-shm")):  # it is no database any more
                name.unlink(missing_ok=True)
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        where = ":memory:" if self._path is None else str(self._path)
        connection = sqlite3.connect(where, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise sqlite3.DatabaseError("the index is damaged")
            self._migrate(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _migrate(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")  # two servers that start at once: the second finds it done
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > len(MIGRATIONS):
                raise InvalidInput(
                    "snapshots", f"their index was made by a newer version ({version})", "update this server", whole=True
                )
            for script in MIGRATIONS[version:]:
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection
            except sqlite3.OperationalError as error:
                raise InvalidInput(
                    "snapshots", f"their index cannot be used at the moment ({error})", "try again", whole=True
                ) from None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    # -- writing -----------------------------------------------------------------------------

    def put(self, card: Card, stamp: int, thumbnail: bytes) -> None:
        """Add or replace the row of a snapshot; `stamp` tells revisions of the card apart."""
        words = " ".join((card.title, card.tags, card.note, card.data_title, str(card.headline.get("solver", "")))).casefold()
        error, iterations = card.headline.get("relative_error"), card.headline["iterations"]
        with self._using() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (card.id, stamp, card.published, card.added, card.title, error, iterations, words,
                 json.dumps(card.to_dict()), thumbnail),
            )  # fmt: skip

    def remove(self, ids: Iterable[str]) -> None:
        with self._using() as connection:
            connection.executemany("DELETE FROM snapshots WHERE id = ?", [(one,) for one in ids])

    # -- reading -----------------------------------------------------------------------------

    def stamps(self) -> dict[str, int]:
        """Which revisions of which cards it has."""
        with self._using() as connection:
            return dict(connection.execute("SELECT id, stamp FROM snapshots").fetchall())

    def cards(self, own: Sequence[str] | None, search: str, sort: str, offset: int, limit: int) -> tuple[list[Card], int]:
        """A page of the caller's own and the published snapshots that hold every word; and how many there are in all.

        None for `own` shows everything, which is for the owner of the computer.
        """
        if sort not in SORTS:
            raise InvalidInput("sort", f"must be one of {', '.join(SORTS)}")
        words = search.casefold().split()[:10]
        where = ["words LIKE ? ESCAPE '\\'"] * len(words)
        values: list[object] = [f"%{_literal(word)}%" for word in words]
        if own is not None:
            where.append("(published OR id IN (SELECT value FROM json_each(?)))")
            values.append(json.dumps(list(own)[:MOST_OWN]))
        condition = f"WHERE {' AND '.join(where)}" if where else ""
        with self._using() as connection:
            (total,) = connection.execute(f"SELECT count(*) FROM snapshots {condition}", values).fetchone()
            rows = connection.execute(
                f"SELECT card FROM snapshots {condition} ORDER BY {SORTS[sort]} LIMIT ? OFFSET ?", [*values, limit, offset]
            ).fetchall()
        return [Card.from_dict(json.loads(text)) for (text,) in rows], total

    def thumbnail(self, snapshot_id: str) -> bytes:
        """The small picture; empty if there is none."""
        with self._using() as connection:
            row = connection.execute("SELECT thumbnail FROM snapshots WHERE id = ?", (snapshot_id,)).fetchone()
        return bytes(row[0]) if row else b""


def _literal(word: str) -> str:
    """A word for LIKE that stands for itself."""
    return "".join(f"\\{c}" if c in "%_\\" else c for c in word)
