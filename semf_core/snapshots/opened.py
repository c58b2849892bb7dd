"""Snapshots laid out as folders, so that everything that looks at runs looks at them too. Only a cache."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from semf_core.runs.folder import RunFolder
from semf_core.runs.home import MB, number_from_env
from semf_core.runs.uploads import write_dataset
from semf_core.snapshots.cards import Card
from semf_core.snapshots.content import Content
from semf_core.snapshots.laying import describe, lay_out

QUIET_SECONDS = 3600.0
"""A folder that was looked at within this time is not removed."""
TOUCH_SECONDS = 60.0


class Opened:
    """Folders of opened snapshots, the least recently used ones removed above SEMF_MAX_OPENED_MB."""

    def __init__(self, root: Path | None) -> None:
        """None takes a temporary folder that goes with this process."""
        self._temporary = tempfile.TemporaryDirectory(prefix="semf-") if root is None else None
        self.root = root or Path(self._temporary.name if self._temporary else "")
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def folder(self, snapshot_id: str, read: Callable[[], Content]) -> RunFolder:
        """The folder of a snapshot, made from its verified content if it is not there."""
        folder = RunFolder(self.root / snapshot_id)
        try:
            if time.time() - folder.path.stat().st_mtime > TOUCH_SECONDS:
                os.utime(folder.path)
        except FileNotFoundError:
            self._make(folder, read())
        return folder

    def _make(self, folder: RunFolder, content: Content) -> None:
        self._make_room()
        aside = RunFolder(self.root / f".{secrets.token_hex(8)}")
        aside.path.mkdir(mode=0o700)
        try:
            lay_out(content, aside)
            if content.dataset is not None:
                data_folder(aside).mkdir()
                write_dataset(content.dataset, data_folder(aside))
            os.rename(aside.path, folder.path)
        except OSError:
            if not folder.path.is_dir():  # otherwise someone else was quicker, with the same files
                raise
        finally:
            shutil.rmtree(aside.path, ignore_errors=True)

    def relabel(self, card: Card) -> None:
        """Other words stand on an opened snapshot."""
        folder = RunFolder(self.root / card.id)
        if folder.path.is_dir():
            describe(folder, card.label, card.created, card.image_shape)

    def remove(self, snapshot_id: str) -> None:
        shutil.rmtree(self.root / snapshot_id, ignore_errors=True)

    def _make_room(self) -> None:
        limit, now = number_from_env("SEMF_MAX_OPENED_MB", 1000) * MB, time.time()
        sizes = {path: _size(path) for path in self.root.iterdir() if path.is_dir()}
        total = sum(size for size, _ in sizes.values())
        for path, (size, used) in sorted(sizes.items(), key=lambda item: item[1][1]):
            if total <= limit or now - used < QUIET_SECONDS:
                break
            shutil.rmtree(path, ignore_errors=True)
            total -= size


def data_folder(folder: RunFolder) -> Path:
    """Where the data of an opened snapshot lies, if it holds it."""
    return folder.path / "data"


def _size(folder: Path) -> tuple[int, float]:
    """Bytes, and when it was used last."""
    try:
        return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()), folder.stat().st_mtime
    except FileNotFoundError:  # removed by another server
        return 0, 0.0
