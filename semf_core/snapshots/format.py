"""The `.semf` file: written whole or not at all, and read with everything in it checked."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from semf_core.parameters import InvalidInput
from semf_core.runs.home import MB, number_from_env
from semf_core.snapshots.archive import packed, unpacked
from semf_core.snapshots.checking import checked_content
from semf_core.snapshots.content import Content
from semf_core.snapshots.label import Label

SUFFIX = ".semf"


def most_file_bytes() -> int:
    """The largest snapshot file that is opened."""
    return int(number_from_env("SEMF_MAX_UPLOAD_MB", 200) * MB)


def most_content_bytes() -> int:
    """The most that a file may unpack to."""
    return int(number_from_env("SEMF_MAX_UPLOAD_MB", 500) * MB)


def snapshot_bytes(content: Content) -> bytes:
    """The file of a content; the same content gives the same bytes."""
    members = content.members()
    size, limit = sum(map(len, members.values())), most_content_bytes()
    if size > limit:
        raise too_large("snapshot", size, limit)
    return packed(members)


def read_snapshot(name: str, data: bytes) -> Content:
    """What a file holds, verified; InvalidInput says what is wrong with it. `name` is for the messages."""
    limit = most_file_bytes()
    if len(data) > limit:
        raise too_large(name, len(data), limit)
    return checked_content(name, unpacked(name, io.BytesIO(data), most_content_bytes()))


def read_file(path: Path) -> Content:
    """The same from disk; the size is looked at before anything is read."""
    size, limit = path.stat().st_size, most_file_bytes()
    if size > limit:
        raise too_large(path.name, size, limit)
    return read_snapshot(path.name, path.read_bytes())


def relabelled(content: Content, label: Label) -> Content:
    """The same run with another title, other tags, another note."""
    return replace(content, label=label.titled(content.spec.title or "Run"))


def too_large(name: str, size: int, limit: int) -> InvalidInput:
    sizes = f"has {size / MB:.0f} MB, and a snapshot may have {limit / MB:.0f} MB here"
    return InvalidInput(name, f"{sizes}; save it without its data")
