"""SQLite files of studies: opened only where they are, and what is wrong with them told in words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.runs.files import DamagedFile, DiskFull

WAIT_SECONDS = 30.0
"""How long a transaction waits for another process's."""
PRIMARY = 0xFF
"""The part of an SQLite error code that tells the kind."""


@contextmanager
def told(file: Path) -> Iterator[None]:
    """Around the use of a database: a full disk, one that is in use for long and a damaged one are errors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = getattr(error, "sqlite_errorcode", 0) & PRIMARY
        if kind == sqlite3.SQLITE_FULL or (kind in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and no_room(file.parent)):
            raise DiskFull from error
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise InvalidInput("study", "is in use by another process for long", "try again in a moment") from error
        raise DamagedFile(file) from error


def no_room(folder: Path) -> bool:
    """Whether the disk of a folder is full."""
    try:
        disk = os.statvfs(folder)
    except FileNotFoundError:
        return False
    return disk.f_bavail * disk.f_frsize < 1 << 16 or (disk.f_files > 0 and disk.f_favail == 0)


def is_writable(folder: Path) -> bool:
    """A folder that can only be read (a copy for showing) is opened without locks, because nothing changes in it."""
    return os.access(folder, os.W_OK)


def open_database(file: Path, make: bool = False) -> sqlite3.Connection:
    """A connection whose commits are on the disk; without `make` the file must be there."""
    address = file.absolute().as_uri()
    if not is_writable(file.parent):
        return sqlite3.connect(f"{address}?immutable=1", uri=True)
    base = sqlite3.connect(f"{address}?mode={'rwc' if make else 'rw'}", timeout=WAIT_SECONDS, uri=True)
    base.execute("PRAGMA synchronous=FULL")
    return base
