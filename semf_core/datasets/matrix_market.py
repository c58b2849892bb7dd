"""Matrix Market files with their lists of names, as 10x Genomics and text tools write them: sparse stays sparse."""

from __future__ import annotations

import codecs
import io
from collections.abc import Sequence
from typing import Any

from scipy import sparse
from scipy.io import mminfo, mmread

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.reading import Limits, Raw, shown
from semf_core.datasets.text_encoding import told_or_judged

ENDING = ".mtx"
NAME_ENDINGS = (".tsv", ".txt", ".csv", ".terms", ".docs")
TITLES = {
    "rows": {"feature": "feature", "gene": "gene", "term": "term", "word": "word", "vocab": "word"},
    "columns": {"barcode": "barcode", "cell": "cell", "sample": "sample", "doc": "document"},
}
"""What stands in the names of such lists, and the title of what they list: of what is measured, and of samples."""
NAMELESS = "No names came with the matrix: choose it with its lists (.tsv, .txt; one name a line), or the folder that holds them."
MOST_SIDE = 50_000_000


def read_mtx(name: str, content: bytes, lists: Sequence[tuple[str, bytes]], limits: Limits) -> Raw:
    """A matrix in coordinates; `lists` are files with one name a line, for its rows or its columns."""
    return with_names(_matrix(name, content, limits), lists, limits)


def with_names(matrix: Any, lists: Sequence[tuple[str, bytes]], limits: Limits) -> Raw:
    """The matrix with the names of the lists, each for the side that it fits."""
    rows = columns = Axis()
    turned = 0
    for file, text in sorted(lists):
        names = list_of_names(file, text, limits)
        for_rows, for_columns = len(names) == matrix.shape[0], len(names) == matrix.shape[1]
        if not (for_rows or for_columns):
            sides = f"{matrix.shape[0]:,} × {matrix.shape[1]:,}"
            raise InvalidInput(
                shown(file), f"has {len(names):,} names, and the matrix is {sides}", "choose the list that belongs to it"
            )
        side, title = side_and_title(file)
        if for_rows and (not for_columns or side != "columns"):
            rows = Axis(title, names=tuple(names))
            turned += side == "columns"
        else:
            columns = Axis(title, names=tuple(names))
            turned += side == "rows"
    if not lists:
        return Raw(matrix, remarks=(NAMELESS,))
    sizes = f"{matrix.shape[0]:,} rows × {matrix.shape[1]:,} columns"
    named = ", ".join(f"a {axis.title} in each {word}" for axis, word in ((rows, "row"), (columns, "column")) if axis.title)
    question = f"{sizes}, {named}" if named else ""
    return Raw(matrix, axes=Axes(rows, columns), guess="rows" if turned else "columns", question=question)


def side_and_title(path: str) -> tuple[str, str]:
    """The side of the matrix that a list of this name is usually for, and the title of what it lists; blank if unknown."""
    file = path.rpartition("/")[2].lower()
    for side, known in TITLES.items():
        for word, title in known.items():
            if word in file:
                return side, title
    return next((side for side in TITLES if side[:-1] in file), ""), ""


def _matrix(name: str, content: bytes, limits: Limits) -> Any:
    try:
        rows, columns, entries, form, kind, _ = mminfo(io.BytesIO(content))
    except MemoryError:
        raise
    except Exception:
        raise InvalidInput(name, "is not a readable Matrix Market file", "write it again") from None
    if kind not in ("real", "integer", "pattern", "unsigned-integer", "double"):
        raise InvalidInput(name, f"holds {shown(str(kind))} values", "store real numbers")
    check_sides(name, rows, columns, "check its second line")
    if form == "array":
        limits.check_entries(name, rows, columns)
    # An entry takes at least "1 1\n"; a symmetric one stands for two. This bounds the memory by the size of the file.
    elif entries > len(content) // 4:
        raise InvalidInput(name, "is cut off: it declares more entries than it holds", "copy or write it again")
    if b"\0" in content:  # to SciPy a line ends there, and it goes on at no address
        raise InvalidInput(name, "is a damaged Matrix Market file: it holds bytes that are no text", "write it again")
    if not content.endswith(b"\n"):  # more in the last line than belongs there: SciPy looks for its end, beyond the text
        content += b"\n"
    try:
        found = mmread(io.BytesIO(content), spmatrix=False)
    except MemoryError:
        raise
    except Exception:
        raise InvalidInput(name, "is a damaged Matrix Market file", "write it again") from None
    return sparse.csc_array(found) if sparse.issparse(found) else found


def check_sides(name: str, rows: int, columns: int, remedy: str) -> None:
    """Before anything is made: a sparse matrix takes memory for each of its columns, entries or not."""
    if not (0 < rows <= MOST_SIDE and 0 < columns <= MOST_SIDE):
        raise InvalidInput(name, f"declares {rows} × {columns} entries, which no matrix here has", remedy)


def list_of_names(file: str, text: bytes, limits: Limits) -> list[str]:
    """One name a line; of several columns the second if it has names (10x: id, name, kind), otherwise the first."""
    content, _ = told_or_judged(text.removeprefix(codecs.BOM_UTF8), "auto")
    lines = [line for line in content.decode().splitlines() if line.strip()]
    limits.check_entries(file, len(lines), 1)
    cells = [line.split("\t") for line in lines]
    if cells and all(len(row) >= 2 for row in cells) and len({row[1] for row in cells}) > len(cells) // 2:
        return [row[1] for row in cells]
    return [row[0] for row in cells]
