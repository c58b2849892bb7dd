"""What of a store belongs to which visitor, so that one alone cannot fill it: a ledger for each, a line for each thing."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from semf_core.runs.files import FolderSizes, locked, write_whole

FOLDER = "owned"
MOST_GONE = 200
"""Lines of things that are no longer there, after which a ledger is written anew."""
MAKING_SECONDS, MAKING = 3600.0, 50
"""What was noted within this time, and so many things of a visitor, may still be in the making."""
SNAPSHOTS = "snapshots"


def owner_of(visitor: str) -> str:
    """Who has what a visitor made, wherever he comes from: a visitor may be "address/browser"."""
    return visitor.rpartition("/")[2]


class Shares:
    """The ledgers below a home folder. Whoever owns the computer has no name, and so no ledger and no limit."""

    def __init__(self, home: Path, sizes: FolderSizes) -> None:
        self._home, self._sizes = home, sizes

    def add(self, visitor: str, kind: str, name: str) -> None:
        """Note that something belongs to a visitor; before it is made, so that nothing there is ever left out."""
        owner = owner_of(visitor)
        if owner:
            (self._home / FOLDER).mkdir(parents=True, exist_ok=True, mode=0o700)
            with locked(self._home / "owned.lock"), open(self._ledger(owner), "a", encoding="utf-8") as file:
                file.write(f"{kind}/{name}\n")

    def used(self, visitor: str) -> int:
        """Bytes of what a visitor has."""
        owner = owner_of(visitor)
        things = self._things(owner) if owner else []
        sizes = {thing: self._size(thing) for thing in things}
        gone = [thing for thing, size in sizes.items() if size is None]
        if len(gone) > MOST_GONE:
            self._forget(owner, gone[:-MAKING])
        return sum(size or 0 for size in sizes.values())

    def forget_gone(self) -> None:
        """Remove the ledgers of visitors who have nothing any more."""
        before = time.time() - MAKING_SECONDS
        for path in (self._home / FOLDER).glob("*"):
            with locked(self._home / "owned.lock"), suppress(FileNotFoundError):  # another server forgets too
                if path.stat().st_mtime < before and all(self._size(thing) is None for thing in _lines(path)):
                    path.unlink()

    def _ledger(self, owner: str) -> Path:
        return self._home / FOLDER / hashlib.sha256(owner.encode()).hexdigest()[:32]

    def _things(self, owner: str) -> list[str]:
        return _lines(self._ledger(owner))

    def _size(self, thing: str) -> int | None:
        """Bytes of a thing; None if it is not there. A deleted snapshot takes its room until the trash is emptied."""
        kind, _, name = thing.partition("/")
        if kind != SNAPSHOTS:
            path = self._home / kind / name
            return self._sizes.total(path) if path.is_dir() else None
        found = [_file_size(self._home / SNAPSHOTS / place / f"{name}.semf") for place in ("files", "trash")]
        there = [size for size in found if size is not None]
        return sum(there) if there else None

    def _forget(self, owner: str, gone: list[str]) -> None:
        with locked(self._home / "owned.lock"):
            kept = [thing for thing in self._things(owner) if thing not in set(gone)]
            text = "".join(f"{thing}\n" for thing in kept)
            write_whole(self._ledger(owner), lambda file: file.write(text.encode()))


def _lines(path: Path) -> list[str]:
    """What a ledger names, each once; a damaged line names nothing that is there."""
    try:
        return list(dict.fromkeys(path.read_text(encoding="utf-8", errors="replace").splitlines()))
    except FileNotFoundError:
        return []


def _file_size(path: Path) -> int | None:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return None
