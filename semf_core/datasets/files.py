"""A file or folder of the user's own as a dataset source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from semf_core.datasets.base import DATASETS, Dataset, DatasetSource
from semf_core.datasets.loaders import load_path
from semf_core.datasets.reading import Reading
from semf_core.parameters import param, params_of


@DATASETS.register
@dataclass(frozen=True, eq=False)
class FileSource(DatasetSource, Reading):
    """Read on every load; whoever needs to know that the file is still the same compares fingerprints."""

    name = "file"
    title = "File"
    summary = "A table (CSV, TSV), NPY, NPZ, MAT or picture file, a ZIP or a folder of pictures."
    built_in = False

    path: str = param("text", help="a file or a folder of pictures")

    def load(self) -> Dataset:
        return load_path(self.path, Reading(**{p.name: getattr(self, p.name) for p in params_of(Reading)}))


def source_from_word(word: str) -> DatasetSource:
    """A built-in set by name, with its parameters if wanted (swimmer:noise=0.1), otherwise a file."""
    if word.partition(":")[0] in DATASETS.names() and not Path(word).exists():
        return DATASETS.parse(word)
    return FileSource(path=word)
