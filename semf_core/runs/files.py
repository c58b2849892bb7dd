"""Small file-system habits: write whole or not at all, lock between processes, measure, remove."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO


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
            sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any, durable: bool = False) -> None:
    write_whole(path, lambda file: file.write(json.dumps(value, ensure_ascii=False).encode()), durable)


def read_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes (and between services in one process)."""
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def try_lock(path: Path) -> BinaryIO | None:
    """A file that holds the lock until it is closed or its process ends, or None if someone else has it."""
    file = open(path, "ab")  # noqa: SIM115 - the lock lives as long as the file stays open
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock; nothing is written."""
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def remove_folder(folder: Path, trash: Path) -> None:
    """Rename first, so that the folder is gone at once for everybody, then delete."""
    trash.mkdir(parents=True, exist_ok=True)
    aside = trash / secrets.token_hex(8)
    os.rename(folder, aside)
    shutil.rmtree(aside)


class FolderSizes:
    """Bytes in the folders below a root; a folder whose modification time stands still is not walked again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, int]] = {}

    def total(self, root: Path) -> int:
        if not root.is_dir():
            return 0
        with os.scandir(root) as entries:
            found = {entry.path: self._folder(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)}
        self._known = {path: size for path, size in self._known.items() if not path.startswith(f"{root}{os.sep}")} | found
        return sum(size for _, size in found.values())

    def _folder(self, path: str) -> tuple[int, int]:
        """Modification time and size of one folder."""
        try:
            stamp = os.stat(path).st_mtime_ns
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known
            with os.scandir(path) as files:
                return stamp, sum(f.stat(follow_symlinks=False).st_size for f in files)
        except FileNotFoundError:  # deleted while it was measured
            return 0, 0
