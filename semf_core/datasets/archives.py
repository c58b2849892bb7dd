"""ZIP archives from strangers: looked at before anything is unpacked, and never unpacked to disk."""

from __future__ import annotations

import zipfile
from typing import IO

from semf_core.common.errors import InvalidInput
from semf_core.datasets.reading import Limits, shown
from semf_core.datasets.text_encoding import WESTERN, told_or_judged

CENTRAL_HEADER = b"PK\x01\x02"
ARCHIVE_ENDINGS = (".zip", ".npz", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".tar")
CHUNK = 1 << 20
UTF8_FLAG = 0x800


def open_archive(name: str, stream: IO[bytes], limits: Limits) -> zipfile.ZipFile:
    """An archive whose number of members, declared sizes and methods are within the limits."""
    # zipfile builds an object for every entry of the directory. Each needs its own signature in
    # the file, so counting signatures bounds the work without trusting any declared number.
    limits.check_members(name, _count(stream, CENTRAL_HEADER))
    try:
        archive = zipfile.ZipFile(stream)
        if (form := _names_encoding(archive)) is not None:
            archive = zipfile.ZipFile(stream, metadata_encoding=form)
    except Exception:  # any failure of the parser on foreign bytes is the same error
        raise InvalidInput(name, "is not a readable ZIP archive", "pack it again") from None
    infos = archive.infolist()
    limits.check_bytes(name, sum(info.file_size for info in infos), unpacked=True)
    for info in infos:
        if info.flag_bits & 1:
            raise InvalidInput(name, "is locked with a password", "pack it again without one")
        # The other methods can ask for gigabytes of working memory.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidInput(name, "is packed with an unusual method", "pack it again as an ordinary ZIP")
    return archive


def _names_encoding(archive: zipfile.ZipFile) -> str | None:
    """How names of members are encoded that are neither ASCII nor, as they would say, UTF-8: zipfile takes them for cp437."""
    old = [info.filename for info in archive.infolist() if not info.flag_bits & UTF8_FLAG and not info.filename.isascii()]
    names = "\n".join(old).encode("cp437")
    if not old:
        return None
    form = told_or_judged(names, "auto")[1]
    return {"auto": "utf-8", WESTERN: None}.get(form, form)


def content_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Members with content: no folders (their names end in /), hidden files or what macOS adds."""
    return [info for info in archive.infolist() if _is_visible(info.filename)]


def _is_visible(filename: str) -> bool:
    last = filename.rpartition("/")[2]
    return bool(last) and not last.startswith(".") and not filename.startswith("__MACOSX/")


def is_archive(filename: str) -> bool:
    return filename.lower().endswith(ARCHIVE_ENDINGS)


def read_member(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A member's bytes, never more than it declared."""
    try:
        with archive.open(info) as stream:
            content = stream.read(info.file_size + 1)
    except MemoryError:
        raise
    except Exception:
        raise broken_member(name, info.filename) from None
    if len(content) != info.file_size:
        raise broken_member(name, info.filename)
    return content


def broken_member(name: str, member: str) -> InvalidInput:
    return InvalidInput(name, f"its member {shown(member)} is damaged", "pack it again", whole=True)


def _count(stream: IO[bytes], needle: bytes) -> int:
    """Occurrences of `needle`, also across the borders of chunks; the stream is rewound."""
    stream.seek(0)
    total, tail = 0, b""
    while chunk := stream.read(CHUNK):
        window = tail + chunk
        total += window.count(needle)
        tail = window[-(len(needle) - 1) :]
    stream.seek(0)
    return total
