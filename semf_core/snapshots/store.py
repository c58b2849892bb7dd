"""The store of snapshots: files below a home folder, a card beside each, and an index that follows from them.

A snapshot is there from the moment its file has its name: the card is written before, the index row after.
A crash in between leaves at most a card without a file, or a file that the next start adds to the index.
"""

from __future__ import annotations

import base64
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.common.visitors import current_visitor
from semf_core.runs.files import DamagedFile, locked, read_json, reading, sync, write_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.folder_cache import FolderCache
from semf_core.runs.home import Quota, default_home
from semf_core.runs.ids import ID, checked_id, key_hash, new_id
from semf_core.runs.shares import SNAPSHOTS
from semf_core.snapshots.archive import one_member
from semf_core.snapshots.cards import Card, parted_id, unknown_snapshot
from semf_core.snapshots.content import THUMBNAIL, Content
from semf_core.snapshots.folder_cache import Opened
from semf_core.snapshots.format import SUFFIX, read_file, snapshot_bytes
from semf_core.snapshots.index import Index
from semf_core.snapshots.label import Label
from semf_core.snapshots.sandboxed import inspect, open_into, relabel
from semf_core.snapshots.thumbnails import MOST_BYTES
from semf_core.snapshots.to_run_folder import variant_folder

STALE_SECONDS = 3600.0
"""After this time a file that never got its name belongs to nobody."""
TRASH_SECONDS = 7 * 86400.0
"""How long a deleted snapshot can be brought back."""


@dataclass(frozen=True)
class SnapshotHandle:
    """The id opens a snapshot, the key controls it."""

    id: str
    key: str = field(repr=False)


Call = Callable[..., Any]
"""Runs a function: call(function, subject, **arguments)."""


def in_process(function: Callable[..., Any], subject: str, **arguments: Any) -> Any:
    """Here and now, without limits: for files of one's own."""
    return function(**arguments)


class SnapshotStore:
    """Snapshots below a home folder; several servers may share it. Files are read and written through `call`."""

    def __init__(
        self,
        home: Path | None = None,
        quota: Quota | None = None,
        read_only: bool = False,
        call: Call = in_process,
    ) -> None:
        self.home = home or default_home()
        self._quota = quota or Quota(self.home)
        self._root = self.home / "snapshots"
        self._files, self._trash = self._root / "files", self._root / "trash"
        self._read_only, self._call = read_only, call
        self._listed = -1
        if not read_only:
            for folder in (self._files, self._trash):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folders = FolderCache(None if read_only else self.home / "opened")
        self._opened = Opened(self.folders)
        self._index = Index(None if read_only else self._root / "index.sqlite")
        if not read_only:
            self._sweep()
            self.reindex()

    def close(self) -> None:
        self._index.close()
        self.folders.close()

    @property
    def _quota_home(self) -> str | None:
        """Where opened snapshots count, if they do."""
        return str(self.home) if self.folders.counts else None

    # -- adding ------------------------------------------------------------------------------

    def add(self, content: Content, upload: str = "") -> SnapshotHandle:
        """Keep a run; the id to look, the key to control."""
        return self.add_file("snapshot", snapshot_bytes(content), upload)  # what cannot be opened again is no snapshot

    def add_file(self, name: str, data: bytes | Path, upload: str = "") -> SnapshotHandle:
        """Keep a file that somebody brings, after everything in it was checked."""
        with self.aside() as path:
            if isinstance(data, Path):
                shutil.copyfile(data, path)
            else:
                path.write_bytes(data)
            return self.take(name, path, upload)

    @contextmanager
    def aside(self) -> Iterator[Path]:
        """A place for a file that may become a snapshot; what stays there is removed."""
        path = self._files / f".{secrets.token_hex(8)}"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def take(self, name: str, path: Path, upload: str = "", others: Mapping[int, str] | None = None) -> SnapshotHandle:
        """Keep a file that lies `aside`, after everything in it was checked; `others` are the uploads of its variants."""
        self._quota.check()  # the file is there already, but nobody's yet
        self._quota.check_share(path.stat().st_size)
        told = self._call(inspect, name, name=name, path=str(path))
        for k, one in (others or {}).items():
            told["card"]["strip"]["cards"][k]["upload"] = one
        return self._keep(path, told, upload)

    def duplicate(self, snapshot_id: str) -> SnapshotHandle:
        """A copy of one's own, with the same content."""
        card = self.card(snapshot_id)
        with self.aside() as path:
            path.write_bytes(self.file(snapshot_id))
            return self.take(path.name, path, card.upload, card.uploads())

    def _keep(self, path: Path, told: dict[str, Any], upload: str) -> SnapshotHandle:
        handle = SnapshotHandle(new_id(), new_id())
        self._quota.shares.add(current_visitor(), SNAPSHOTS, handle.id)
        more = {"id": handle.id, "key": key_hash(handle.key), "added": time.time(), "size": path.stat().st_size}
        card = Card.from_dict({**told["card"], **more, "upload": upload})
        self._write_card(card)
        sync(path)
        os.replace(path, self._path(handle.id))
        sync(self._files)
        self._index.put(card, self._stamp(card.id), base64.b64decode(told["thumbnail"]))
        return handle

    # -- looking -----------------------------------------------------------------------------

    def has(self, snapshot_id: object) -> bool:
        try:
            whole, variant = parted_id("snapshot", snapshot_id)
        except InvalidInput:
            return False
        if not self._path(whole).exists():
            return False
        return variant is None or f"{whole}.{variant}" in self._runs(whole)

    def _runs(self, snapshot_id: str) -> list[str]:
        """What opens each of its variants."""
        card = self.card(snapshot_id)
        return [card.variant_id(k) for k in range(len(card.variants))]

    def card(self, snapshot_id: object) -> Card:
        """What is known of a snapshot, or of one of its variants, without opening it; or an error."""
        whole, variant = parted_id("snapshot", snapshot_id)
        if not self._path(whole).exists():
            raise unknown_snapshot()
        try:
            card = read_card(self._card_path(whole))
        except (FileNotFoundError, DamagedFile):  # an operator has put the file there, or the card has suffered
            card = self._described(whole)
        return card if variant is None else card.of_variant(variant)

    def rewrite_card(self, snapshot_id: str) -> None:
        """Make a card from the file, in place of one that cannot be read; nobody has a key to it."""
        self._update(self._described(snapshot_id))

    def files(self, snapshot_id: str) -> list[tuple[Path, os.stat_result]]:
        """The file and its card, as they are now."""
        whole, _ = parted_id("snapshot", snapshot_id)
        paths = (self._path(whole), self._card_path(whole))
        return [(path, path.stat()) for path in paths if path.exists()]

    def file(self, snapshot_id: str) -> bytes:
        """The file as it is."""
        with self.open_file(snapshot_id) as file:
            return file.read()

    def open_file(self, snapshot_id: str) -> BinaryIO:
        try:
            return open(self._path(checked_id("snapshot", snapshot_id)), "rb")
        except FileNotFoundError:
            raise unknown_snapshot() from None

    def read(self, snapshot_id: str) -> Content:
        """The content, verified."""
        try:
            return read_file(self._path(checked_id("snapshot", snapshot_id)))
        except FileNotFoundError:
            raise unknown_snapshot() from None

    def folder(self, snapshot_id: str) -> RunFolder:
        """A folder that reads like that of a run; the variants of a snapshot are opened with it."""
        if not self.has(snapshot_id):
            raise unknown_snapshot()
        whole, variant = parted_id("snapshot", snapshot_id)
        path = self._path(whole)
        opened = self._opened.folder(
            whole,
            lambda folder: self._call(
                open_into, path.name, name=path.name, path=str(path), folder=str(folder), home=self._quota_home
            ),
        )
        return opened if variant is None else variant_folder(opened, variant)

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
            card, path = self.card(snapshot_id), self._path(snapshot_id)
            words = {"title": label.title, "tags": label.tags, "note": label.note}
            told = self._call(relabel, path.name, path=str(path), label=words)["card"]
            changed = replace(card, title=told["title"], tags=label.tags, note=label.note, size=path.stat().st_size)
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
            return read_card(self._trash / f"{checked_id('snapshot', snapshot_id)}.json")
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
            with suppress(InvalidInput, FileNotFoundError):  # no snapshot, or deleted: not listed, and opening it says why
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
        told = self._call(inspect, path.name, name=path.name, path=str(path))["card"]
        return Card.from_dict({**told, "id": snapshot_id, "added": stat.st_mtime, "size": stat.st_size})

    def _thumbnail_in_file(self, snapshot_id: str) -> bytes:
        path = self._path(snapshot_id)
        with reading(path), open(path, "rb") as file:
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
        write_json(target / card, read_card(source / card).to_dict(), durable=True)
        os.replace(source / name, target / name)
        os.utime(target / name)
        sync(target)
        (source / card).unlink()


def read_card(path: Path) -> Card:
    """The card in a file; FileNotFoundError if there is none, DamagedFile if it is no card."""
    with reading(path):
        return Card.from_dict(read_json(path))
