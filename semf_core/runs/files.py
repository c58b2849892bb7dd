"""Small file-system habits: write whole or not at all, lock between processes, measure, remove.

What is wrong with a stored file, or with the disk, becomes an error in words, so one damaged file harms only itself.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.runs.ids import ID

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, OSError, RecursionError)
"""What reading a file raises whose content is not what was written."""


class DamagedFile(InvalidInput):
    """A stored file cannot be read. The rest of the store can."""

    def __init__(self, path: Path) -> None:
        """No id is told: whoever may look at a run must not get to its data by it."""
        name = next((part for part in reversed(path.parts) if not ID.search(part)), "")
        super().__init__("store", f"has a damaged file ({name})", "whoever runs the server finds it with `semf store check`")


class DiskFull(InvalidInput):
    """There is no room to write."""

    def __init__(self) -> None:
        super().__init__(
            "store", "is full: there is no room on the server's disk", "delete what is no longer needed, or try later"
        )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Around the reading of a stored file: one that is not there raises FileNotFoundError, a damaged one DamagedFile."""
    try:
        yield
    except (FileNotFoundError, InvalidInput):
        raise
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise DamagedFile(path) from error


def is_full(error: BaseException) -> bool:
    """Whether something failed because there is no room on the disk."""
    return isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in NO_ROOM)


@contextmanager
def needing_room() -> Iterator[None]:
    """Around whatever writes for a visitor: a full disk becomes an error."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise DiskFull from error
        raise


def write_whole(path: Path, write: Callable[[BinaryIO], object], durable: bool = False) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it: readers see the old or the new one.

    A durable one is on the disk when this returns, name and all.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
        if durable:
            sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def has_its_digest(path: Path) -> bool:
    """Whether a file is what was written: its name ends with the digest of its content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == path.name.partition(".")[2]


@contextmanager
def whole_or_nothing(folder: Path, durable: bool = True) -> Iterator[Path]:
    """A folder to fill, which then gets its name; where somebody was quicker, theirs stays.

    A durable one has all its files on the disk before.
    """
    aside = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        yield aside
        if aside.is_dir():
            for path in (*aside.rglob("*"), aside) if durable else ():
                sync(path)
            os.rename(aside, folder)
            if durable:
                sync(folder.parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def sync(path: Path) -> None:
    """Bring what a file holds, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any, durable: bool = False) -> None:
    write_whole(path, lambda file: file.write(json.dumps(value, ensure_ascii=False).encode()), durable)


def read_json(path: Path) -> dict[str, Any]:
    """A stored object; FileNotFoundError if there is none, DamagedFile if it is something else."""
    with reading(path):
        value = json.loads(path.read_bytes())
        if not isinstance(value, dict):
            raise TypeError("not an object")
        return value


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes (and between services in one process)."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def try_lock(path: Path) -> BinaryIO | None:
    """A file that holds the lock until it is closed or its process ends, or None if someone else has it."""
    file = open(path, "ab")  # noqa: SIM115 - the lock lives as long as the file stays open
    while not _flock(file, fcntl.LOCK_EX):
        if not _flock(file, fcntl.LOCK_SH):
            file.close()
            return None
        time.sleep(0.001)  # nobody has it: somebody just looks whether it is taken
    return file


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock; nothing is written, and any number may look at the same time."""
    try:
        with open(path, "rb") as file:
            return not _flock(file, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _flock(file: BinaryIO, kind: int) -> bool:
    """Whether the lock could be had at once."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def remove_folder(folder: Path, trash: Path) -> None:
    """Rename first, so that the folder is gone at once for everybody, then delete."""
    trash.mkdir(parents=True, exist_ok=True)
    aside = trash / secrets.token_hex(8)
    os.rename(folder, aside)
    shutil.rmtree(aside)


def set_aside(home: Path, *paths: Path) -> None:
    """Move files or folders below `home` that cannot be used to `damaged/`, under names that tell where they were."""
    place = home / "damaged"
    place.mkdir(exist_ok=True, mode=0o700)
    for path in paths:
        if path.exists():
            os.rename(path, place / f"{'-'.join(path.relative_to(home).parts)}.{secrets.token_hex(4)}")


GROWING = (".bin", ".jsonl", ".log", ".txt", ".db", "-wal", ".sqlite")
"""Files that change their size without the folder's modification time changing."""


class FolderSizes:
    """Bytes below a folder. Where its modification time stands still, only its files that may grow are looked at again."""

    def __init__(self) -> None:
        self._known: dict[str, _Folder] = {}
        self._lock = threading.Lock()

    def total(self, root: Path) -> int:
        """Bytes of all files below it; 0 if there is no such folder."""
        with self._lock:
            return self._total(str(root))

    def _total(self, path: str) -> int:
        try:
            stamp = os.stat(path).st_mtime_ns
            known = self._known.get(path)
            if known is None or known.stamp != stamp:
                known = self._known[path] = _listed(path, stamp)
        except (FileNotFoundError, NotADirectoryError):  # deleted while it was measured
            self._known.pop(path, None)
            return 0
        return known.size + sum(map(_size, known.growing)) + sum(map(self._total, known.folders))


@dataclass(frozen=True)
class _Folder:
    """What is in a folder."""

    stamp: int
    size: int
    growing: tuple[str, ...]
    folders: tuple[str, ...]


def _listed(path: str, stamp: int) -> _Folder:
    size, growing, folders = 0, [], []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif entry.name.endswith(GROWING):
                growing.append(entry.path)
            else:
                size += _size(entry.path)
    return _Folder(stamp, size, tuple(growing), tuple(folders))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0
