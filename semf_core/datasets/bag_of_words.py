"""Counts of words as the UCI collections (docword) and 20 Newsgroups keep them: document, word, count in each line."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets.matrix_market import check_sides, list_of_names, side_and_title, with_names
from semf_core.datasets.reading import Limits, Raw

SIZES = re.compile(
    rb"\s*(\d{1,9})[ \t]*\r?\n\s*(\d{1,9})[ \t]*\r?\n\s*(\d{1,12})[ \t]*\r?\n(?=\s*\d+[ \t]+\d+[ \t]+\d+[ \t]*(?:\r?\n|\Z))"
)
"""Documents, words and lines of what follows."""
TRIPLE = re.compile(rb"(\d{1,9})[ \t]+(\d{1,9})[ \t]+\d{1,9}[ \t]*\r?")
LOOKED_AT = 4096
FEWEST = 8
"""Lines that must go on from document to document where nothing else says what they are."""
WRITE_AGAIN = "write it again, with a document, a word and a count in each line"


def is_bag(content: bytes) -> bool:
    """Whether a text begins like such a file: with three sizes, or with lines in order of documents and their words."""
    if SIZES.match(content[:LOOKED_AT]):
        return True
    lines = content[:LOOKED_AT].split(b"\n")
    found = [TRIPLE.fullmatch(line) for line in (lines[:-1] if len(content) > LOOKED_AT else lines) if line.strip()]
    pairs = [(int(one[1]), int(one[2])) for one in found if one]
    ordered = all(before < after for before, after in pairwise(pairs))
    return len(pairs) == len(found) >= FEWEST and ordered and pairs[0][0] == 1 and len({word for _, word in pairs}) > 2


def read_bag(name: str, content: bytes, lists: Sequence[tuple[str, bytes]], limits: Limits) -> Raw:
    """Words × documents, sparse; `lists` are files with one name a line, such as the vocabulary."""
    sizes = SIZES.match(content)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lines = np.loadtxt(io.BytesIO(content[sizes.end() if sizes else 0 :]), dtype=np.int64, ndmin=2)
    except (ValueError, UserWarning):
        raise InvalidInput(name, "has a line that is not three whole numbers", WRITE_AGAIN) from None
    if lines.shape[1] != 3 or lines[:, :2].min() < 1:
        raise InvalidInput(name, "counts documents and words from 1 on, and a line does not", WRITE_AGAIN)
    documents, words = (int(v) for v in lines[:, :2].max(axis=0))
    if sizes:
        told = [int(size) for size in sizes.groups()]
        if documents > told[0] or words > told[1] or len(lines) != told[2]:
            raise InvalidInput(name, "does not hold what its first three lines say", "copy it again")
        documents, words = told[:2]
    else:  # words at the end of the vocabulary that no document has
        vocabularies = [len(list_of_names(file, text, limits)) for file, text in lists if side_and_title(file)[0] == "rows"]
        words = max([words, *vocabularies])
    check_sides(name, words, documents, "check its largest numbers of documents and words")
    matrix = sparse.csc_array((lines[:, 2].astype(float), (lines[:, 1] - 1, lines[:, 0] - 1)), shape=(words, documents))
    raw = with_names(matrix, lists, limits)
    return replace(raw, index="long", question=raw.question or f"{words:,} words × {documents:,} documents")
