"""The store of snapshots: files below a home folder, a card beside each, and an index that follows from them.

A snapshot is there from the moment its file has its name: the card is written before, the index row after.
A crash in between leaves at most a card without a file, or a file that the next start adds to the index.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from semf_core.parameters import InvalidInput
from semf_core.runs.files import locked, read_json, sync_folder, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import Quota, default_home
from semf_core.runs.ids import ID, checked_id, key_hash, new_id
from semf_core.snapshots.archive import one_member
from semf_core.snapshots.cards import Card, card_of, unknown_snapshot
from semf_core.snapshots.content import THUMBNAIL, Content
from semf_core.snapshots.format import SUFFIX, read_file, read_snapshot, relabelled, snapshot_bytes
from semf_core.snapshots.index import Index
from semf_core.snapshots.label import Label
from semf_core.snapshots.opened import Opened
from semf_core.snapshots.thumbnails import MOST_BYTES

STALE_SECONDS = 3600.0
"""After this time a file that never got its name belongs to nobody."""
TRASH_SECONDS = 7 * 86400.0
"""How long a deleted snapshot can be brought back."""


@dataclass(frozen=True)
class SnapshotHandle:
    """The id opens a snapshot, the key controls it."""

    id: str
    key: str = field(repr=False)


class SnapshotStore:
    """Snapshots below a home folder; several servers may share it."""

    def __init__(self, home: Path | None = None, quota: Quota | None = None, read_only: bool = False) -> None:
        self.home = home or default_home()
        self._quota = quota or Quota(self.home)
        self._root = self.home / "snapshots"
        self._files, self._trash = self._root / "files", self._root / "trash"
        self._read_only = read_only
        self._listed = -1
        if not read_only:
            for folder in (self._files, self._trash):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._opened = Opened(None if read_only else self.home / "opened")
        self._index = Index(None if read_only else self._root / "index.sqlite")
        if not read_only:
            self._sweep()
        self.reindex()

    def close(self) -> None:
        self._index.close()
        self._opened.close()

    # -- adding ------------------------------------------------------------------------------

    def add(self, content: Content, upload: str = "") -> SnapshotHandle:
        """Keep a run; the id to look, the key to control."""
        data = snapshot_bytes(content)
        return self._keep(read_snapshot("snapshot", data), data, upload)  # what cannot be opened again is no snapshot

    def add_file(self, name: str, data: bytes) -> SnapshotHandle:
        """Keep a file that somebody brings, after everything in it was checked."""
        return self._keep(read_snapshot(name, data), data)

    def duplicate(self, snapshot_id: str) -> SnapshotHandle:
        """A copy of one's own, with the same content."""
        original = self.card(snapshot_id)
        return self._keep(self.read(snapshot_id), self.file(snapshot_id), original.upload)

    def _keep(self, content: Content, data: bytes, upload: str = "") -> SnapshotHandle:
        self._quota.check(len(data))
        handle = SnapshotHandle(new_id(), new_id())
        card = card_of(content, id=handle.id, key=key_hash(handle.key), added=time.time(), size=len(data), upload=upload)
        self._write_card(card)
        write_whole(self._path(handle.id), lambda file: file.write(data), durable=True)
        self._index.put(card, self._stamp(card.id), content.thumbnail)
        return handle

    # -- looking -----------------------------------------------------------------------------

    def has(self, snapshot_id: object) -> bool:
        return isinstance(snapshot_id, str) and bool(ID.fullmatch(snapshot_id)) and self._path(snapshot_id).exists()

    def card(self, snapshot_id: object) -> Card:
        """What is known without opening it, or a refusal."""
        if not self.has(checked_id("snapshot", snapshot_id)):
            raise unknown_snapshot()
        try:
            return Card.from_dict(read_json(self._card_path(str(snapshot_id))))
        except FileNotFoundError:  # an operator has put the file there
            return self._described(str(snapshot_id))

    def file(self, snapshot_id: str) -> bytes:
        """The file as it is."""
        try:
            return self._path(checked_id("snapshot", snapshot_id)).read_bytes()
        except FileNotFoundError:
            raise unknown_snapshot() from None

    def read(self, snapshot_id: str) -> Content:
        """The content, verified."""
        try:
            return read_file(self._path(checked_id("snapshot", snapshot_id)))
        except FileNotFoundError:
            raise unknown_snapshot() from None

    def folder(self, snapshot_id: str) -> RunFolder:
        """A folder that reads like that of a run."""
        if not self.has(snapshot_id):
            raise unknown_snapshot()
        return self._opened.folder(snapshot_id, lambda: self.read(snapshot_id))

    def cards(
        self, own: Sequence[str] | None, search: str = "", sort: str = "newest", offset: int = 0, limit: int = 24
    ) -> tuple[list[Card], int]:
        """A page of the caller's own and the published ones, and how many there are; None for `own` means all."""
        if self._read_only and self._listing_time() != self._listed:
            self.reindex()
        return self._index.cards(own, search, sort, offset, limit)

    def thumbnail(self, snapshot_id: str) -> bytes:
        return self._index.thumbnail(checked_id("snapshot", snapshot_id))

    # -- changing ----------------------------------------------------------------------------

    def relabel(self, snapshot_id: str, label: Label) -> Card:
        """Another title, other tags, another note, in the file itself."""
        with self._lock():
            card, content = self.card(snapshot_id), relabelled(self.read(snapshot_id), label)
            data = snapshot_bytes(content)
            changed = replace(card, title=content.label.title, tags=label.tags, note=label.note, size=len(data))
            write_whole(self._path(card.id), lambda file: file.write(data), durable=True)
            self._update(changed)
            self._opened.relabel(changed)
        return changed

    def publish(self, snapshot_id: str, published: bool) -> Card:
        """Show it to every visitor, or no longer."""
        with self._lock():
            changed = replace(self.card(snapshot_id), published=published)
            self._update(changed)
        return changed

    def delete(self, snapshot_id: str) -> None:
        """Into the trash, where it stays for a week."""
        with self._lock():
            self._write_card(self.card(snapshot_id))
            self._move(snapshot_id, self._files, self._trash)
            self._index.remove([snapshot_id])
        self._opened.remove(snapshot_id)

    def deleted(self, snapshot_id: object) -> Card:
        """The card of a snapshot in the trash."""
        try:
            return Card.from_dict(read_json(self._trash / f"{checked_id('snapshot', snapshot_id)}.json"))
        except FileNotFoundError:
            raise InvalidInput("snapshot", "is not in the trash any more") from None

    def restore(self, snapshot_id: str) -> Card:
        """Out of the trash again."""
        with self._lock():
            card = self.deleted(snapshot_id)
            self._move(card.id, self._trash, self._files)
            self._update(card)
        return card

    # -- the index follows from the files ----------------------------------------------------

    def reindex(self) -> int:
        """Make the index say what the folder says; how many rows had to change."""
        self._listed = self._listing_time()
        known = self._index.stamps()
        there = {p.name.removesuffix(SUFFIX) for p in self._files.glob(f"*{SUFFIX}")} if self._files.is_dir() else set()
        present = {one for one in there if ID.fullmatch(one)}
        self._index.remove(known.keys() - present)
        changed = [one for one in sorted(present) if known.get(one) != self._stamp(one)]
        for snapshot_id in changed:
            with suppress(InvalidInput):  # not a snapshot, or deleted meanwhile: it is not listed, and opening it says why
                self._index.put(self.card(snapshot_id), self._stamp(snapshot_id), self._thumbnail_in_file(snapshot_id))
        return len(changed) + len(known.keys() - present)

    def _listing_time(self) -> int:
        return self._files.stat().st_mtime_ns if self._files.is_dir() else 0

    def _stamp(self, snapshot_id: str) -> int:
        """Changes with the card; 0 where there is none."""
        try:
            return self._card_path(snapshot_id).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def _described(self, snapshot_id: str) -> Card:
        """The card of a file that has none: nobody has a key to it."""
        path = self._path(snapshot_id)
        stat = path.stat()
        return card_of(self.read(snapshot_id), id=snapshot_id, key="", added=stat.st_mtime, size=stat.st_size)

    def _thumbnail_in_file(self, snapshot_id: str) -> bytes:
        path = self._path(snapshot_id)
        with open(path, "rb") as file:
            return one_member(path.name, file, THUMBNAIL, MOST_BYTES)

    def _sweep(self) -> None:
        """Remove what a crash has left, and what has been in the trash for long."""
        now = time.time()
        for folder, age in ((self._files, STALE_SECONDS), (self._trash, TRASH_SECONDS)):
            for path in folder.iterdir():
                orphan = path.name.startswith(".") or (path.suffix == ".json" and not path.with_suffix(SUFFIX).exists())
                with suppress(FileNotFoundError):  # another server sweeps too
                    if (orphan or folder is self._trash) and now - path.stat().st_mtime > age:
                        path.unlink()

    # -- files -------------------------------------------------------------------------------

    def _path(self, snapshot_id: str) -> Path:
        return self._files / f"{snapshot_id}{SUFFIX}"

    def _card_path(self, snapshot_id: str) -> Path:
        return self._files / f"{snapshot_id}.json"

    def _lock(self) -> AbstractContextManager[None]:
        return locked(self._root / "lock")

    def _write_card(self, card: Card) -> None:
        write_json(self._card_path(card.id), card.to_dict(), durable=True)

    def _update(self, card: Card) -> None:
        self._write_card(card)
        self._index.put(card, self._stamp(card.id), self._thumbnail_in_file(card.id))

    def _move(self, snapshot_id: str, source: Path, target: Path) -> None:
        """The card is at both ends while the file moves, so that the file never is anywhere without it."""
        card, name = f"{snapshot_id}.json", f"{snapshot_id}{SUFFIX}"
        write_json(target / card, read_json(source / card), durable=True)
        os.replace(source / name, target / name)
        os.utime(target / name)
        sync_folder(target)
        (source / card).unlink()
