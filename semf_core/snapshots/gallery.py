"""Snapshots as visitors see them: looking needs the id, changing needs the key, and nothing lists those of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semf_core.parameters import InvalidInput
from semf_core.snapshots.cards import Card
from semf_core.snapshots.format import SUFFIX
from semf_core.snapshots.label import Label
from semf_core.snapshots.store import SnapshotHandle, SnapshotStore

PAGE = 12


@dataclass(frozen=True)
class GalleryPage:
    """Some cards, and how many there are in all."""

    cards: list[Card]
    total: int


class Gallery:
    """The store behind a door; `may_write` refuses where nothing may be changed."""

    def __init__(self, store: SnapshotStore, may_write: Callable[[], None]) -> None:
        self._store, self._may_write = store, may_write

    # -- looking -----------------------------------------------------------------------------

    def has(self, snapshot_id: object) -> bool:
        return self._store.has(snapshot_id)

    def card(self, snapshot_id: object) -> Card:
        return self._store.card(snapshot_id)

    def page(self, own: Sequence[str], search: str = "", sort: str = "newest", number: int = 0) -> GalleryPage:
        """A page of the caller's own and the published snapshots."""
        return GalleryPage(*self._store.cards(own, search, sort, offset=PAGE * number, limit=PAGE))

    def thumbnail(self, snapshot_id: str) -> bytes:
        return self._store.thumbnail(snapshot_id)

    def file(self, snapshot_id: str) -> tuple[str, bytes]:
        """A name for the file, made of the title, and its bytes."""
        return file_name(self.card(snapshot_id).title), self._store.file(snapshot_id)

    # -- changing ----------------------------------------------------------------------------

    def add_file(self, name: str, data: bytes) -> SnapshotHandle:
        """Keep a file that a visitor brings."""
        self._may_write()
        return self._store.add_file(name, data)

    def duplicate(self, snapshot_id: str) -> SnapshotHandle:
        self._may_write()
        return self._store.duplicate(snapshot_id)

    def relabel(self, snapshot_id: str, key: str, label: Label) -> Card:
        self._authorize(self._store.card(snapshot_id), key)
        return self._store.relabel(snapshot_id, label)

    def publish(self, snapshot_id: str, key: str, published: bool) -> Card:
        self._authorize(self._store.card(snapshot_id), key)
        return self._store.publish(snapshot_id, published)

    def delete(self, snapshot_id: str, key: str) -> None:
        """Into the trash."""
        self._authorize(self._store.card(snapshot_id), key)
        self._store.delete(snapshot_id)

    def restore(self, snapshot_id: str, key: str) -> Card:
        """Undo `delete`."""
        self._authorize(self._store.deleted(snapshot_id), key)
        return self._store.restore(snapshot_id)

    def _authorize(self, card: Card, key: str) -> None:
        self._may_write()
        if not card.owner_ok(key):
            raise InvalidInput("key", "only its owner can change this snapshot; duplicate it to have one of your own")


def file_name(title: str, suffix: str = SUFFIX) -> str:
    """A name that every file system takes."""
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in title.lower())
    words = "-".join(filter(None, kept.split("-")))[:60]
    return (words or "run") + suffix
