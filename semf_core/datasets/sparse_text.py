"""Sparse matrices as text, whose names are in files beside them: Matrix Market, and counts of words."""

from __future__ import annotations

from collections.abc import Sequence

from semf_core.common.errors import InvalidInput
from semf_core.datasets import matrix_market
from semf_core.datasets.bag_of_words import is_bag, read_bag
from semf_core.datasets.joined import is_table
from semf_core.datasets.reading import Limits, Raw, shown


def is_matrix_or_list(filename: str) -> bool:
    """Whether a file may be such a matrix or a list of names, by its ending."""
    return filename.lower().removesuffix(".gz").endswith((matrix_market.ENDING, *matrix_market.NAME_ENDINGS))


def is_sparse_text(filename: str, content: bytes) -> bool:
    """Whether a file holds such a matrix."""
    return filename.lower().endswith(matrix_market.ENDING) or (is_table(filename) and is_bag(content))


def read_sparse_text(name: str, files: Sequence[tuple[str, bytes]], limits: Limits) -> Raw:
    """The one matrix among the files; the others are lists of names."""
    matrices = [(f, content) for f, content in files if is_sparse_text(f, content)]
    others = [(f, content) for f, content in files if not is_sparse_text(f, content)]
    if len(matrices) != 1:
        raise InvalidInput(name, "holds several sparse matrices", "choose one of them and its lists of names")
    for f, _ in others:
        if not f.lower().endswith(matrix_market.NAME_ENDINGS):
            raise InvalidInput(shown(f), "is no list of names for the matrix", "choose files with one name a line (.tsv, .txt)")
    file, content = matrices[0]
    read = matrix_market.read_mtx if file.lower().endswith(matrix_market.ENDING) else read_bag
    return read(shown(file), content, others, limits)
