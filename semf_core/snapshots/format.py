"""The `.semf` file: written whole or not at all, and read with everything in it checked."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.runs.home import MB, number_from_env
from semf_core.snapshots import content as parts
from semf_core.snapshots.archive import VARIANTS, packed, unpacked
from semf_core.snapshots.checking import checked_content
from semf_core.snapshots.content import Content
from semf_core.snapshots.label import Label
from semf_core.snapshots.variants import checked_variants, taken_out

SUFFIX = ".semf"
TEXT_BYTES = {VARIANTS: MB, parts.ABOUT: MB, parts.RESULT: MB, parts.CHECKPOINT: MB, parts.EVENTS: 16 * MB}
TEXT_BYTES |= {parts.MODEL: 64 * MB, parts.BUNDLE: 64 * MB, parts.AXES: 64 * MB}
"""What the texts of a file may have: objects of Python take many times the bytes of their JSON."""


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
    most = most_content_bytes()
    members = unpacked(name, io.BytesIO(data), most, TEXT_BYTES)
    told, files, own = taken_out(members)
    content = checked_content(name, own)
    if told is None and not files:
        return content
    left = most - sum(map(len, members.values()))
    return replace(content, variants=checked_variants(name, told or b"", files, content, left, TEXT_BYTES))


def read_file(path: Path, name: str = "") -> Content:
    """The same from disk; the size is looked at before anything is read. `name` is that of the file for the user."""
    size, limit = path.stat().st_size, most_file_bytes()
    if size > limit:
        raise too_large(name or path.name, size, limit)
    return read_snapshot(name or path.name, path.read_bytes())


def relabelled(content: Content, label: Label) -> Content:
    """The same run with another title, other tags, another note."""
    return replace(content, label=label.titled(content.spec.title or "Run"))


def too_large(name: str, size: int, limit: int) -> InvalidInput:
    sizes = f"has {size / MB:.0f} MB, and a snapshot may have {limit / MB:.0f} MB here"
    return InvalidInput(name, sizes, "save it without its data, or without its variants")
