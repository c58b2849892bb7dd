"""Snapshots laid out as folders, so that everything that looks at runs looks at them too. Only a cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.runs.folder import RunFolder
from semf_core.runs.folder_cache import FolderCache
from semf_core.snapshots.cards import Card
from semf_core.snapshots.to_run_folder import describe

REFUSED_SECONDS = 60.0
"""A snapshot that could not be opened is not tried again within this time."""


class Opened:
    """Folders of opened snapshots."""

    def __init__(self, folders: FolderCache) -> None:
        self._folders = folders
        self._rejected: dict[str, tuple[float, InvalidInput]] = {}

    def folder(self, snapshot_id: str, fill: Callable[[Path], object]) -> RunFolder:
        """The folder of a snapshot; `fill` makes it if it is not there."""

        def remembered(folder: Path) -> None:
            now = time.monotonic()
            self._rejected = {k: v for k, v in self._rejected.items() if now - v[0] < REFUSED_SECONDS}
            if snapshot_id in self._rejected:
                raise self._rejected[snapshot_id][1]
            try:
                fill(folder)
            except InvalidInput as error:
                self._rejected[snapshot_id] = (now, error)
                raise

        return RunFolder(self._folders.get(snapshot_id, remembered))

    def relabel(self, card: Card) -> None:
        """Other words stand on an opened snapshot."""
        folder = RunFolder(self._folders.root / card.id)
        if folder.path.is_dir():
            describe(folder, card.label, card.created, card.image_shape)

    def remove(self, snapshot_id: str) -> None:
        self._rejected.pop(snapshot_id, None)
        self._folders.remove(snapshot_id)
