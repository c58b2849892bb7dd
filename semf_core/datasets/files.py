"""A file or folder of the user's own as a dataset source."""

from __future__ import annotations

from pathlib import Path

from semf_core.common.parameters import param, params_of
from semf_core.datasets.base import DATASETS, Dataset, DatasetSource
from semf_core.datasets.loaders import load_path
from semf_core.datasets.reading import Reading


@DATASETS.register
class FileSource(DatasetSource, Reading):
    """Read on every load; whoever needs to know that the file is still the same compares fingerprints."""

    name = "file"
    title = "File"
    summary = "A table (CSV, TSV, Parquet), an array (NPY, NPZ, MAT, TIFF), AnnData, Matrix Market, WAV or pictures."
    built_in = False

    path: str = param("text", help="a file, or a folder of pictures or of tables")

    def load(self) -> Dataset:
        return load_path(self.path, Reading(**{p.name: getattr(self, p.name) for p in params_of(Reading)}))


def source_from_word(word: str) -> DatasetSource:
    """The data that a word of the command line names.

    Parameters
    ----------
    word : str
        A built-in data set, with its parameters if wanted (swimmer:noise=0.1); otherwise the path of a file.

    Returns
    -------
    DatasetSource
        A recipe; `load()` makes the data.

    Examples
    --------
    >>> from semf_core.datasets import source_from_word
    >>> source_from_word("swimmer:noise=0.1").load().shape
    (1024, 256)
    >>> source_from_word("mine.csv").path
    'mine.csv'
    """
    if word.partition(":")[0] in DATASETS.names() and not Path(word).exists():
        return DATASETS.parse(word)
    return FileSource(path=word)
