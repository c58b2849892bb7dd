"""What the limited child process does with data: read the files of a visitor, make large data, describe and draw it.

Everything here takes and gives JSON types and leaves arrays in files, because it is called through `semf_core.sandbox`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.datasets import DATASETS, Dataset, Limits, Reading, load_files
from semf_core.datasets.loaders import find_files
from semf_core.datasets.reading import shown
from semf_core.drawing.overview import overview, packed
from semf_core.runs.descriptions import describe, write_description
from semf_core.runs.files import needing_room
from semf_core.runs.home import MB, Quota, number_from_env
from semf_core.runs.uploads import LOOKED_AT_BYTES, checked_size, load_source, most_decoded_bytes, read_dataset, write_dataset

MOST_LISTED = 1000
"""Members of a file that a visitor can choose from."""
MATRIX_BYTES = 20 * MB
"""A matrix that belongs to a constraint: the file, and what it is decoded to."""


def most_upload_bytes() -> int:
    """The largest file that a visitor may send, and the most that it may unpack to."""
    return int(number_from_env("SEMF_MAX_UPLOAD_MB", 200) * MB)


def store_files(
    files: Sequence[tuple[str, str]], reading: dict[str, Any], folder: str, home: str, visitor: str = ""
) -> dict[str, Any]:
    """Read files, (name, path) each, and write the dataset that they make into a folder, within the quota of `home`
    and the share of `visitor`.

    How they were read is returned, and what else could be read from them.
    """
    limits = Limits(max_bytes=most_upload_bytes(), max_entries=most_decoded_bytes() // 8)
    limits.check_bytes(files[0][0] if len(files) == 1 else "files", sum(Path(path).stat().st_size for _, path in files))
    how = Reading.from_params({k: v for k, v in reading.items() if k != "name"})
    found = find_files([(name, Path(path).read_bytes()) for name, path in files], how, limits)
    _store(found.dataset, folder, home, visitor)
    told = {"question": found.question, "remarks": found.remarks, "orientable": found.orientable}
    return {"reading": found.reading.to_dict(), "members": list(found.members.items())[:MOST_LISTED], **told}


def store_source(source: dict[str, Any], folder: str, home: str | None, uploads: str) -> None:
    """Make the data of a source and write it into a folder, within the quota of `home`; uploads lie below `uploads`."""
    _store(load_source(DATASETS.build(source), Path(uploads)), folder, home)


@needing_room()
def _store(dataset: Dataset, folder: str, home: str | None, visitor: str = "") -> None:
    size = checked_size(dataset)
    with nullcontext() if home is None else Quota(Path(home)).reserved(size, visitor):
        write_dataset(dataset, Path(folder))
        write_description(dataset, Path(folder))


def describe_folder(folder: str) -> dict[str, Any]:
    """The description of a stored dataset."""
    return describe(read_dataset(Path(folder), LOOKED_AT_BYTES)).to_dict()


def draw_folder(folder: str, shape: Sequence[int] | None, small: bool = False) -> dict[str, Any]:
    """The picture of a stored dataset."""
    pair = None if shape is None else (int(shape[0]), int(shape[1]))
    return packed(overview(read_dataset(Path(folder), LOOKED_AT_BYTES), pair, small))


def store_matrix(name: str, path: str, out: str) -> None:
    """Read one file as a plain matrix and write it as NPY."""
    limits = Limits(max_bytes=MATRIX_BYTES, max_entries=MATRIX_BYTES // 8)
    limits.check_bytes(shown(name), Path(path).stat().st_size)
    data = load_files([(name, Path(path).read_bytes())], Reading(), limits).data
    limits.check_entries(shown(name), *data.shape)
    np.save(out, data.toarray() if hasattr(data, "toarray") else np.ascontiguousarray(data), allow_pickle=False)
