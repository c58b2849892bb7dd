"""The variants inside a file: each is checked like a file by itself, and all of them together are within its limits."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.runs.variant_strips import LONGEST_NAME
from semf_core.snapshots.archive import VARIANTS, Members, read_json_member, unpacked
from semf_core.snapshots.checking import checked_content
from semf_core.snapshots.content import Content, Variants
from semf_core.snapshots.label import readable

MOST_VARIANTS = 100
TOLD = {"names", "current", "before"}
_FILE = re.compile(r"variants/(0|[1-9][0-9]?)\.semf")


def taken_out(members: Members) -> tuple[bytes | None, dict[int, bytes], Members]:
    """What is told of the variants, their files by number, and the members of the run itself."""
    files = {int(found[1]): data for member, data in members.items() if (found := _FILE.fullmatch(member))}
    own = {member: data for member, data in members.items() if member != VARIANTS and not _FILE.fullmatch(member)}
    return members.get(VARIANTS), files, own


def checked_variants(
    name: str, told: bytes, files: Mapping[int, bytes], own: Content, most_bytes: int, texts: Mapping[str, int]
) -> Variants:
    """The strip of a file; together the variants unpack to at most `most_bytes`."""
    names, current, before = _told(name, read_json_member(name, VARIANTS, told))
    if set(files) != set(range(len(names))) - {current}:
        raise InvalidInput(name, "its variants and the list of them differ; the file was changed", whole=True)
    others = {}
    for k in sorted(files):
        inside = f"{name}, variant {k + 1}"
        members = unpacked(inside, io.BytesIO(files[k]), most_bytes, texts)
        most_bytes -= sum(map(len, members.values()))
        others[k] = _with_data(inside, checked_content(inside, members), own)
    return Variants(names, current, before, others)


def _told(name: str, told: Any) -> tuple[tuple[str, ...], int, int | None]:
    wrong = InvalidInput(name, "its list of variants is not as it should be; the file was changed", whole=True)
    if not isinstance(told, dict) or set(told) != TOLD or not isinstance(told["names"], list):
        raise wrong
    names = tuple(readable("variants", one, LONGEST_NAME) for one in told["names"])
    places = range(len(names))
    current, before = told["current"], told["before"]
    if not 2 <= len(names) <= MOST_VARIANTS or not all(names) or not _is_one_of(current, places):
        raise wrong
    if before is not None and (not _is_one_of(before, places) or before == current):
        raise wrong
    return names, current, before


def _is_one_of(value: Any, places: range) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value in places


def _with_data(name: str, content: Content, own: Content) -> Content:
    """A variant on the run's own data has it from there."""
    if content.dataset is not None or own.dataset is None or content.data.fingerprint != own.data.fingerprint:
        return content
    if content.data.shape != own.data.shape:
        raise InvalidInput(name, "has another shape than the data that it names; the file was changed")
    return replace(content, dataset=own.dataset)
