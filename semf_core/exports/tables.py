"""Factors and history as numbers: CSV in a ZIP, NPZ, MAT. The same run gives the same bytes."""

from __future__ import annotations

import csv
import io
import zipfile

import numpy as np
from scipy.io import savemat

from semf_core.codegen import readable_json
from semf_core.datasets import Dataset
from semf_core.exports.story import Story, gather
from semf_core.runs.folder import RunFolder
from semf_core.solvers import COLUMNS

FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The date of every member of a ZIP."""
HEADER = 116
"""Bytes of free text at the head of a MAT file; there would be the time of day."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A cell of text that begins like this is taken for a formula by spreadsheets."""


def zipped(members: dict[str, bytes]) -> bytes:
    """A ZIP file of these members, in this order."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, FIRST_DAY)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return file.getvalue()


def csv_tables(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """One CSV file for each factor and for the history, events and the model beside them."""
    story = gather(folder, dataset)
    members = {f"{name}.csv": _matrix(factor) for name, factor in story.factors().items()}
    numbered = np.column_stack([np.arange(1, len(story.rows) + 1), story.rows])
    members["history.csv"] = _matrix(numbered, ",".join(("iteration", *COLUMNS)))
    members["events.csv"] = _events(story)
    members["model.json"] = _model(story).encode()
    return zipped(members)


def npz(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """Factors, `history` with the names of its `columns`, and the `model` as JSON; opens without pickle."""
    story = gather(folder, dataset)
    file = io.BytesIO()
    extra = {"history": story.rows, "columns": np.array(COLUMNS), "model": np.array(_model(story))}
    np.savez_compressed(file, **story.factors(), **extra)  # type: ignore[arg-type]
    return file.getvalue()


def mat(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """Factors, `history` as a struct of columns, and the `model` as JSON, for MATLAB and Octave."""
    story = gather(folder, dataset)
    history = {name: story.rows[:, [i]] for i, name in enumerate(COLUMNS)}
    file = io.BytesIO()
    savemat(file, {**story.factors(), "history": history, "model": _model(story)}, do_compression=True)
    content = bytearray(file.getvalue())
    content[:HEADER] = b"MATLAB 5.0 MAT-file, written by SeMF Studio".ljust(HEADER)
    return bytes(content)


def _model(story: Story) -> str:
    return readable_json(story.spec.to_dict()) + "\n"


def _matrix(A: np.ndarray, header: str = "") -> bytes:
    """Enough digits to read the same numbers back."""
    file = io.StringIO()
    digits = 9 if A.dtype == np.float32 else 17
    np.savetxt(file, A, fmt=f"%.{digits}g", delimiter=",", header=header, comments="")
    return file.getvalue().encode()


def _events(story: Story) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("iteration", "kind", "text"))
    writer.writerows((e.iteration, _cell(e.kind), _cell(e.text)) for e in story.events)
    return file.getvalue().encode()


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text
