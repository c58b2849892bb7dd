"""Files are made in a process beside the server, under limits, and kept to be given again."""

from __future__ import annotations

import logging
import os
import secrets
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.downloads.kinds import Wanted, made
from semf_core.runs.files import digest_of, has_its_digest
from semf_core.runs.home import MB
from semf_core.sandbox import Pool
from semf_core.service import Service

AHEAD = ("semf_core.downloads.file_cache", "semf_core.exports.figures")
NICENESS = 10
"""Whoever watches a run comes first."""
STALE_SECONDS = 3600.0
"""After this time a file that never got its name belongs to nobody."""
LOG = logging.getLogger(__name__)


class Downloads:
    """What was made, by its mark, and the process that makes more. Any number of threads may use it."""

    def __init__(self, home: Path, read_only: bool) -> None:
        """The files lie below the home folder, or where temporary files do if that must not be written to."""
        self._home = home
        self._temporary = tempfile.TemporaryDirectory(prefix="semf-") if read_only else None
        self._kept = Path(self._temporary.name) if self._temporary else home / "downloads"
        self._kept.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._pool = Pool(AHEAD, int(server_limits().download_workers), NICENESS)
        self._pool.start_ahead()

    def close(self) -> None:
        self._pool.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def kept(self, wanted: Wanted) -> BinaryIO | None:
        """The file, open, if it is there: whoever has it open can read it to its end, even if it is removed meanwhile."""
        for path in self._kept.glob(f"{wanted.mark}.*"):
            with suppress(FileNotFoundError):  # another server makes room
                file = open(path, "rb")  # noqa: SIM115 - the caller closes it
                if has_its_digest(path):
                    os.utime(file.fileno())
                    return file
                file.close()
                path.unlink(missing_ok=True)
        return None

    def make(self, wanted: Wanted) -> BinaryIO:
        """The file, made if it is not there; rejected in words if that takes too much."""
        known = self.kept(wanted)
        if known is not None:
            return known
        limits, part = server_limits(), self._kept / f".{secrets.token_hex(8)}"
        arguments = {"home": str(self._home), "order": wanted.order, "path": str(part)}
        try:
            outcome = self._pool.outcome(write_file, arguments, limits.download_mb, limits.download_seconds)
            if outcome.kind != "value":
                raise _failure(wanted.name, outcome.kind, outcome.value)
            file = open(part, "rb")  # noqa: SIM115 - the caller closes it
            os.replace(part, self._kept / f"{wanted.mark}.{outcome.value}")
        finally:
            part.unlink(missing_ok=True)
        self._make_room()
        return file

    def _make_room(self) -> None:
        """Remove the files that were asked for longest ago, as long as there are too many bytes."""
        limit, now = server_limits().downloads_kept_mb * MB, time.time()
        found = []
        for path in self._kept.iterdir():
            with suppress(FileNotFoundError):  # another server makes room too
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        total = sum(size for _, size, _ in found)
        for used, size, path in sorted(found):
            if total <= limit:
                return
            if not path.name.startswith(".") or now - used > STALE_SECONDS:
                path.unlink(missing_ok=True)
                total -= size


def write_file(home: str, order: dict[str, Any], path: str) -> str:
    """Make a file; the digest of its content. This is what the other process runs."""
    service = Service(home, max_running=1, read_only=True)
    try:
        data = made(service, order)
        Path(path).write_bytes(data)
    finally:
        service.close()
    return digest_of(data)


def _failure(name: str, kind: str, value: Any) -> InvalidInput:
    limits = server_limits()
    if kind == "rejected":
        return InvalidInput.from_dict(value)
    if kind == "memory":
        return InvalidInput(name, f"needs more than the {limits.download_mb:g} MB of memory that making a file may take here")
    if kind in ("time", "hung"):
        return InvalidInput(name, f"takes longer than the {limits.download_seconds:g} s that making a file may take here")
    LOG.error("%s could not be made\n%s", name, value)
    return InvalidInput(name, "cannot be made at the moment; the details are in the server's log")
