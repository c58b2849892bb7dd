"""Snapshots as visitors see them: looking needs the id, changing needs the key, and nothing lists those of others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.common.passwords import Guesses, word_from_env
from semf_core.common.server_limits import server_limits
from semf_core.common.visitors import current_visitor
from semf_core.runs.journal import note
from semf_core.snapshots.cards import Card
from semf_core.snapshots.format import SUFFIX
from semf_core.snapshots.label import Label
from semf_core.snapshots.store import SnapshotHandle, SnapshotStore

PAGE = 12
SHORTEST_CODE = 12


@dataclass(frozen=True)
class GalleryPage:
    """Some cards, and how many there are in all."""

    cards: list[Card]
    total: int


class Gallery:
    """The store behind a door; `may_write` rejects where nothing may be changed."""

    def __init__(self, store: SnapshotStore, may_write: Callable[[], None]) -> None:
        self._store, self._may_write = store, may_write
        self._guesses = Guesses()

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

    def open_file(self, snapshot_id: str) -> tuple[str, BinaryIO]:
        """The same without reading it all: the file, open."""
        return file_name(self.card(snapshot_id).title), self._store.open_file(snapshot_id)

    # -- changing ----------------------------------------------------------------------------

    def add_file(self, name: str, data: bytes) -> SnapshotHandle:
        """Keep a file that a visitor brings."""
        self._may_write()
        handle = self._store.add_file(name, data)
        note(self._store.home, "brought a snapshot", handle.id)
        return handle

    def duplicate(self, snapshot_id: str) -> SnapshotHandle:
        self._may_write()
        return self._store.duplicate(snapshot_id)

    def relabel(self, snapshot_id: str, key: str, label: Label) -> Card:
        self._authorize(self._store.card(snapshot_id), key)
        return self._store.relabel(snapshot_id, label)

    def publish(self, snapshot_id: str, key: str, published: bool, code: str = "") -> Card:
        """Show it to everybody, or no longer; the first may need the code that the operator gives."""
        self._authorize(self._store.card(snapshot_id), key)
        if published:
            self._may_publish(code)
        card = self._store.publish(snapshot_id, published)
        note(self._store.home, "published" if published else "withdrew", snapshot_id)
        return card

    def _may_publish(self, code: str) -> None:
        way = publishing()
        if way == "off":
            raise InvalidInput("snapshot", "cannot be shown in everybody's gallery: publishing is off on this server")
        if way == "code" and not self._guesses.check("code", current_visitor(), code, _publish_key()):
            note(self._store.home, "wrong publishing code")
            raise InvalidInput("code", "is not the one that the operator of this server gives", "ask for it")

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
            raise InvalidInput(
                "key", "only its owner can change this snapshot", "duplicate it to have one of your own", whole=True
            )


def publishing() -> str:
    """How one publishes here: "free" on one's own computer, with a "code" where the operator has set one, or "off"."""
    return "code" if _publish_key() else "off" if server_limits().public else "free"


def _publish_key() -> str:
    return word_from_env("SEMF_PUBLISH_KEY", SHORTEST_CODE)


def file_name(title: str, suffix: str = SUFFIX) -> str:
    """A name that every file system takes."""
    kept = "".join(c if c.isalnum() and c.isascii() else "-" for c in title.lower())
    words = "-".join(filter(None, kept.split("-")))[:60]
    return (words or "run") + suffix
