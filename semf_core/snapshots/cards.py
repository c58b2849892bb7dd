"""What a gallery knows of a snapshot without opening it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from semf_core.parameters import InvalidInput
from semf_core.runs.ids import key_matches
from semf_core.snapshots.content import Content
from semf_core.snapshots.label import Label


@dataclass(frozen=True)
class Card:
    """A snapshot in short. It lies beside the file, so the index can be made again from the folder."""

    id: str
    key: str = field(repr=False)
    """SHA-256 of the control key."""
    added: float
    size: int
    title: str
    tags: str
    note: str
    created: float
    state: str
    message: str
    remark: str
    edition: int
    data_title: str
    shape: tuple[int, int]
    fingerprint: str
    image_shape: tuple[int, int] | None
    headline: Mapping[str, Any]
    published: bool = False
    upload: str = field(default="", repr=False)
    """The upload on this server that is the run's data; never in the file itself."""
    holds_data: bool = False

    @property
    def label(self) -> Label:
        return Label(self.title, self.tags, self.note)

    def owner_ok(self, key: object) -> bool:
        """Whether the key controls this snapshot."""
        return key_matches(key, self.key)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Card:
        names = {f.name for f in fields(cls)}
        known = {name: value for name, value in values.items() if name in names}
        for name in ("shape", "image_shape"):
            known[name] = None if known[name] is None else tuple(known[name])
        return cls(**known)


def card_of(content: Content, **more: Any) -> Card:
    """The card of a content; `more` is what only the store knows: id, key, added, size, upload."""
    return Card(
        title=content.label.title,
        tags=content.label.tags,
        note=content.label.note,
        created=content.created,
        state=content.state,
        message=content.message,
        remark=content.remark,
        edition=len(content.editions) - 1,
        data_title=content.data.title,
        shape=content.data.shape,
        fingerprint=content.data.fingerprint,
        image_shape=content.data.image_shape,
        headline=content.headline(),
        holds_data=content.dataset is not None,
        **more,
    )


def unknown_snapshot() -> InvalidInput:
    return InvalidInput("snapshot", "there is no snapshot with this id; it may have been deleted")
