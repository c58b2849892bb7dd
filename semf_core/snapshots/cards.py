"""What a gallery knows of a snapshot without opening it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.runs.ids import VARIANT, checked_id, key_matches
from semf_core.runs.variant_strips import Strip, Variant
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
    revision: int
    data_title: str
    shape: tuple[int, int]
    fingerprint: str
    image_shape: tuple[int, int] | None
    headline: Mapping[str, Any]
    published: bool = False
    upload: str = field(default="", repr=False)
    """The upload on this server that is the run's data; never in the file itself."""
    holds_data: bool = False
    strip: Mapping[str, Any] | None = None
    """The variants that it was saved with: `names`, which is `current` and `before`, and the `cards` of the others."""

    @property
    def label(self) -> Label:
        return Label(self.title, self.tags, self.note)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the variants; empty where there are none."""
        return tuple(self.strip["names"]) if self.strip else ()

    def variant_id(self, k: int) -> str:
        """What opens a variant: the id of the snapshot itself for the one that was on show, otherwise with its number."""
        return self.id if self.strip is None or k == self.strip["current"] else f"{self.id}.{k}"

    def of_variant(self, k: int) -> Card:
        """The card of one of the others; nobody has a key to it, it goes with the snapshot."""
        cards = self.strip["cards"] if self.strip else []
        if k >= len(cards) or cards[k] is None:
            raise unknown_snapshot()
        its = {"id": self.variant_id(k), "key": "", "added": self.added, "size": self.size, "published": self.published}
        return Card.from_dict({**cards[k], **its})

    def uploads(self) -> dict[int, str]:
        """Uploads on this server that are the data of variants."""
        return {k: one["upload"] for k, one in enumerate(self.strip["cards"]) if one} if self.strip else {}

    def as_strip(self, shown: str = "") -> Strip | None:
        """The strip to look at, with one of its variants on show, set against what was on show before or stands before it."""
        if self.strip is None:
            return None
        runs = [self.variant_id(k) for k in range(len(self.variants))]
        at = runs.index(shown) if shown in runs else self.strip["current"]
        before = self.strip["before"] if at == self.strip["current"] else None
        before = at - 1 if before is None else before
        variants = tuple(Variant(run, name) for run, name in zip(runs, self.variants, strict=True))
        return Strip(self.id, "", variants, (runs[at],), 0, runs[before] if before >= 0 else "")

    def owner_ok(self, key: object) -> bool:
        """Whether the key controls this snapshot."""
        return key_matches(key, self.key)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Any) -> Card:
        names = {f.name for f in fields(cls)}
        known = {name: value for name, value in values.items() if name in names}
        known.setdefault("revision", values.get("edition", 0))  # as cards were written before it was called so
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
        revision=len(content.revisions) - 1,
        data_title=content.data.title,
        shape=content.data.shape,
        fingerprint=content.data.fingerprint,
        image_shape=content.data.image_shape,
        headline=content.headline(),
        holds_data=content.dataset is not None,
        strip=_strip(content),
        **more,
    )


def _strip(content: Content) -> dict[str, Any] | None:
    variants = content.variants
    if variants is None:
        return None
    cards = {k: card_of(one, id="", key="", added=0.0, size=0).to_dict() for k, one in variants.others.items()}
    places = {"current": variants.current, "before": variants.before}
    return {"names": list(variants.names), **places, "cards": [cards.get(k) for k in range(len(variants.names))]}


def parted_id(field: str, value: object) -> tuple[str, int | None]:
    """The id of a snapshot, and the number of one of its variants where the id names that."""
    found = VARIANT.fullmatch(value) if isinstance(value, str) else None
    return (found[1], int(found[2])) if found else (checked_id(field, value), None)


def unknown_snapshot() -> InvalidInput:
    return InvalidInput("snapshot", "there is no snapshot with this id; it may have been deleted", whole=True)
