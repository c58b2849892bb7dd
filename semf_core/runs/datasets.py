"""Datasets as a server looks at them: nothing large is in its own memory.

Uploads and large generated data lie in folders, from which they are mapped; a child process with limits has read
or made them, and describes and draws them. What is small is made, described and drawn here, at once.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from pathlib import Path

from semf_core import sandbox
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, DatasetSource, FileSource
from semf_core.drawing.overview import overview, unpacked
from semf_core.drawing.pictures import Picture
from semf_core.runs import sandboxed
from semf_core.runs.caches import Cache
from semf_core.runs.descriptions import Description, describe, read_description
from semf_core.runs.folder_cache import FolderCache
from semf_core.runs.home import number_from_env
from semf_core.runs.uploads import LOOKED_AT_BYTES, Upload, no_longer_here, read_dataset

SMALL_ENTRIES = 1_000_000
"""Generated data of so many entries are made in the server itself."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A dataset with its fingerprint, which keys everything derived from it."""

    dataset: Dataset
    fingerprint: str


class Datasets:
    """Data by their source, shared by all who look at them; any number of threads may ask."""

    def __init__(self, home: Path, folders: FolderCache) -> None:
        self._home, self._folders = home, folders
        self._loaded: Cache[DatasetSource, Loaded] = Cache()
        self._described: Cache[DatasetSource, Description] = Cache()
        self._drawn: Cache[tuple[DatasetSource, tuple[int, int] | None, bool], Picture] = Cache()

    def dataset(self, source: DatasetSource) -> Dataset:
        return self.loaded(source).dataset

    def loaded(self, source: DatasetSource) -> Loaded:
        """The data of a source; a large matrix is mapped."""
        return self._loaded.get(source, lambda: self._load(source))

    def describe(self, source: DatasetSource) -> Description:
        """Range, zeros, singular values."""
        return self._described.get(source, lambda: self._describe(source))

    def draw(self, source: DatasetSource, shape: tuple[int, int] | None, theme: str, small: bool = False) -> Picture:
        """Samples as pictures of this height and width, or the matrix as a heat map; `small` for a thumbnail."""
        return replace(self._drawn.get((source, shape, small), lambda: self._draw(source, shape, small)), theme=theme)

    def _load(self, source: DatasetSource) -> Loaded:
        folder = self._folder(source)
        dataset = source.load() if folder is None else read_dataset(folder, LOOKED_AT_BYTES)
        known = None if folder is None else read_description(folder)
        return Loaded(dataset, dataset.fingerprint() if known is None else known.fingerprint)

    def _describe(self, source: DatasetSource) -> Description:
        folder = self._folder(source)
        if folder is None:
            return describe(self.dataset(source))
        known = read_description(folder)
        return known or Description.from_dict(sandbox.call(sandboxed.describe_folder, source.title, folder=str(folder)))

    def _draw(self, source: DatasetSource, shape: tuple[int, int] | None, small: bool) -> Picture:
        folder = self._folder(source)
        if folder is None:
            return overview(self.dataset(source), shape, small)
        return unpacked(sandbox.call(sandboxed.draw_folder, source.title, folder=str(folder), shape=shape, small=small))

    def _folder(self, source: DatasetSource) -> Path | None:
        """Where the data lie; None if they are small enough to be made here."""
        if isinstance(source, Upload):
            folder = source.folder(self._home)
            if not folder.is_dir():
                raise no_longer_here()
            if not source.prepare:
                return folder
        elif sum(rows * columns for rows, columns in source.arrays().values()) <= SMALL_ENTRIES:
            return None
        form = source.to_dict()
        name = "data-" + hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:32]
        home = str(self._home) if self._folders.counts else None
        order = {"source": form, "home": home, "uploads": str(self._home)}
        make = sandboxed.store_source
        return self._folders.get(name, lambda folder: sandbox.call(make, source.title, folder=str(folder), **order))


def check_visitors_source(source: DatasetSource) -> None:
    """Reject what a visitor of a server may not ask for: its files, and data that would fill its memory."""
    if isinstance(source, FileSource):
        raise InvalidInput("dataset", "files of the server are not read", "upload the file on the Data page instead", whole=True)
    source.check_entries(int(1e6 * number_from_env("SEMF_MAX_ENTRIES_MILLIONS", 20)))
