"""Datasets: generators with known truth, real pictures, and files of the user's own."""

from semf_core.common.registry import discover
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.base import DATASETS, Dataset, DatasetSource
from semf_core.datasets.files import FileSource, source_from_word
from semf_core.datasets.loaders import load_bytes, load_files, load_path
from semf_core.datasets.pictures import Digits, Faces, Olivetti, Patches
from semf_core.datasets.planted import Genes, HiddenFactors, NoisyDictionary, Paatero, Rectangle, SparseCodes
from semf_core.datasets.reading import Limits, Reading
from semf_core.datasets.swimmer import SlimSwimmer, Swimmer
from semf_core.datasets.titles import Titles

__all__ = [
    "DATASETS",
    "Axes",
    "Axis",
    "Dataset",
    "DatasetSource",
    "Digits",
    "Faces",
    "FileSource",
    "Genes",
    "HiddenFactors",
    "Limits",
    "NoisyDictionary",
    "Olivetti",
    "Paatero",
    "Patches",
    "Reading",
    "Rectangle",
    "SlimSwimmer",
    "SparseCodes",
    "Swimmer",
    "Titles",
    "load_bytes",
    "load_files",
    "load_path",
    "source_from_word",
]

discover(__name__, __path__, "semf.datasets")
