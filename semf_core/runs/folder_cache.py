"""Folders that can be made again: opened snapshots, generated data. The least recently used ones go first."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.runs.files import needing_room, whole_or_nothing
from semf_core.runs.home import MB

TOUCH_SECONDS = 30.0
QUIET_SECONDS = 2 * TOUCH_SECONDS
"""A folder that was looked at within this time is not removed."""


class FolderCache:
    """Folders below a root, removed above SEMF_MAX_OPENED_MB; several servers may share it."""

    def __init__(self, root: Path | None) -> None:
        """None takes a temporary folder that goes with this process, and counts for no quota."""
        self._temporary = tempfile.TemporaryDirectory(prefix="semf-") if root is None else None
        self.root = root or Path(self._temporary.name if self._temporary else "")
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    @property
    def counts(self) -> bool:
        """Whether it is a part of the store."""
        return self._temporary is None

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def get(self, name: str, fill: Callable[[Path], object]) -> Path:
        """The folder of this name; if it is not there, `fill` puts everything into an empty one, which then takes its place."""
        folder = self.root / name
        try:
            if time.time() - folder.stat().st_mtime > TOUCH_SECONDS:
                os.utime(folder)
        except FileNotFoundError:
            self._make(folder, fill)
        return folder

    @needing_room()
    def _make(self, folder: Path, fill: Callable[[Path], object]) -> None:
        self._make_room()
        with whole_or_nothing(folder, durable=False) as aside:
            aside.mkdir(mode=0o700)
            fill(aside)

    def remove(self, name: str) -> None:
        shutil.rmtree(self.root / name, ignore_errors=True)

    def _make_room(self) -> None:
        """Remove what was not looked at for longest; reject if all of it is being looked at."""
        limit, now = server_limits().opened_mb, time.time()
        sizes = {path: _size(path) for path in self.root.iterdir() if path.is_dir()}
        total = sum(size for size, _ in sizes.values())
        for path, (size, used) in sorted(sizes.items(), key=lambda item: item[1][1]):
            if total <= limit * MB or now - used < QUIET_SECONDS:
                break
            shutil.rmtree(path, ignore_errors=True)
            total -= size
        if total > limit * MB:
            raise InvalidInput("server", f"has {limit:.0f} MB of opened data that others look at", "try again in a minute")


def _size(folder: Path) -> tuple[int, float]:
    """Bytes, and when it was used last."""
    try:
        return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()), folder.stat().st_mtime
    except FileNotFoundError:  # removed by another server
        return 0, 0.0
