"""A snapshot as a file: an ordinary ZIP whose first member names, measures and hashes all the others.

The same members give the same bytes: fixed order, times and compression. A file from a stranger is judged by
its directory before anything is unpacked, is unpacked into memory only, and no name in it becomes a path.
"""

from __future__ import annotations

import hashlib
import io
import json
import stat
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

from semf_core.common.errors import InvalidInput
from semf_core.datasets.archives import open_archive, read_member
from semf_core.datasets.reading import Limits, shown

FORMAT = "semf-snapshot"
SCHEMA = 2
"""1: a run; 2: a run with the other variants of its strip, each a file of its own inside."""
MANIFEST = "manifest.json"
MANIFEST_BYTES = 1 << 20
MOST_MEMBERS = 1000
MOST_INSIDE = 10_000
"""Members of a file, those of the files inside it included."""
EPOCH = (1980, 1, 1, 0, 0, 0)
LEVEL = 6

Members = dict[str, bytes]
VARIANTS = "variants.json"
UPGRADES: dict[int, Callable[[Members], Members]] = {1: lambda members: members}
"""What makes the members of schema k those of schema k + 1."""


def packed(members: Mapping[str, bytes]) -> bytes:
    """The file that holds these members."""
    listed = {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()}
    schema = SCHEMA if VARIANTS in members else 1  # what an older version can read says so
    manifest = canonical_json({"format": FORMAT, "schema": schema, "members": listed})
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in (MANIFEST, *sorted(members)):
            info = zipfile.ZipInfo(name, EPOCH)
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            stored = name.endswith((".png", ".semf"))
            info.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, manifest if name == MANIFEST else members[name], compresslevel=LEVEL)
    return file.getvalue()


def unpacked(name: str, file: IO[bytes], most_bytes: int, texts: Mapping[str, int] | None = None) -> Members:
    """The members of a file, every one as the manifest says; or an error. `texts` are members with limits of their own."""
    with open_archive(name, file, Limits(max_bytes=most_bytes, max_members=MOST_INSIDE)) as archive:
        infos = _by_name(name, archive)
        if MANIFEST not in infos or infos[MANIFEST].file_size > MANIFEST_BYTES:
            raise InvalidInput(name, "is not a snapshot: it has no manifest", "choose a file that SeMF Studio has saved")
        schema, listed = _manifest(name, read_member(name, archive, infos[MANIFEST]))
        if set(listed) != set(infos) - {MANIFEST}:
            odd = sorted(set(listed) ^ (set(infos) - {MANIFEST}))[0]
            raise InvalidInput(name, f"its manifest and its members differ ({shown(odd)}); the file was changed", whole=True)
        for member, most in (texts or {}).items():
            if member in infos and infos[member].file_size > most:
                raise InvalidInput(name, f"its member {member} has more than {most >> 20} MB, which no run writes", whole=True)
        members = {member: read_member(name, archive, infos[member]) for member in listed}
    for member, data in members.items():
        if listed[member] != {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}:
            raise InvalidInput(name, f"the checksum of {shown(member)} is wrong; the file was damaged or changed", whole=True)
    for version in range(schema, SCHEMA):
        members = UPGRADES[version](members)
    return members


def one_member(name: str, file: IO[bytes], member: str, most_bytes: int) -> bytes:
    """A member by itself, unchecked; empty if there is none of that name."""
    with open_archive(name, file, Limits(max_members=MOST_INSIDE)) as archive:
        info = _by_name(name, archive).get(member)
        return b"" if info is None or info.file_size > most_bytes else read_member(name, archive, info)


def _by_name(name: str, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Members by name; links, folders, paths that lead elsewhere and repeated names are rejected."""
    Limits(max_members=MOST_MEMBERS).check_members(name, len(archive.infolist()))
    infos: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        member = info.filename
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in {0, stat.S_IFREG}:
            raise InvalidInput(
                name, f"its member {shown(member)} is a link or a folder, which a snapshot has none of", whole=True
            )
        if "\\" in info.orig_filename or any(part in {"", ".", ".."} for part in member.split("/")):
            raise InvalidInput(name, f"its member {shown(member)} leads out of the file; it is rejected as a whole", whole=True)
        if member in infos:
            raise InvalidInput(name, f"its member {shown(member)} is there twice", whole=True)
        infos[member] = info
    return infos


def _manifest(name: str, data: bytes) -> tuple[int, dict[str, Any]]:
    """Schema and the list of members."""
    manifest = read_json_member(name, MANIFEST, data)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or not isinstance(manifest.get("members"), dict):
        raise InvalidInput(
            name, "is not a snapshot: its manifest says something else", "choose a file that SeMF Studio has saved"
        )
    schema = manifest.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise InvalidInput(name, "its manifest names no schema version", "save it again", whole=True)
    if schema > SCHEMA:
        raise InvalidInput(name, f"was saved by a newer version (schema {schema}, known is {SCHEMA})", "update SeMF Studio")
    return schema, manifest["members"]


def canonical_json(value: Any) -> bytes:
    """One spelling for each value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def read_json_member(name: str, member: str, data: bytes) -> Any:
    """A JSON member, whose text can be written out again."""
    try:
        value = json.loads(data)
        canonical_json(value)  # half a surrogate pair, say, would fail somewhere later
    except (ValueError, RecursionError):
        raise InvalidInput(name, f"its member {shown(member)} is not valid JSON", "save it again", whole=True) from None
    return value
