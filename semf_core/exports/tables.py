"""Factors and history as numbers with their names: CSV or Parquet in a ZIP, NPZ, MAT. The same run gives the same bytes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.io import savemat

from semf_core.common.extras import optional
from semf_core.common.spreadsheets import MARK, csv_line, csv_text, safe_cell, text_cell
from semf_core.datasets import Axes, Axis, Dataset
from semf_core.datasets.axes import clock_times, moments, quantities
from semf_core.datasets.parquet import INDEX
from semf_core.datasets.table_layout import ACROSS, COUNTED, is_axis_word
from semf_core.drawing.top import Top, top
from semf_core.exports.story import Story, from_run
from semf_core.model.codegen import readable_json
from semf_core.runs.folder import RunFolder
from semf_core.solvers import COLUMNS

FIRST_DAY = (1980, 1, 1, 0, 0, 0)
"""The date of every member of a ZIP."""
HEADER = 116
"""Bytes of free text at the head of a MAT file; there would be the time of day."""


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


# -- CSV ---------------------------------------------------------------------------------------


def csv_tables(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """One CSV file for each factor, the strongest rows and samples, the history, and events and the model beside them."""
    story = from_run(folder, dataset)
    names = story.component_names
    members = {}
    for name, factor in story.factors().items():
        if name in "UX":
            members[f"{name}.csv"] = _named(factor, story.axes.rows, Axis(names=tuple(names)))
        else:
            members[f"{name}.csv"] = _named(factor, Axis("component", names=tuple(names)), story.axes.columns)
    members["top.csv"] = _top(story)
    numbered = np.column_stack([story.numbers, story.rows])
    members["history.csv"] = _matrix(numbered, ",".join(("iteration", *COLUMNS)))
    members["events.csv"] = _lines(("iteration", "kind", "text"), ((e.iteration, e.kind, e.text) for e in story.events))
    members["model.json"] = _model(story).encode()
    return zipped(members)


def top_rows(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """The rows and samples that weigh most in each component, with their scores, as CSV."""
    return _top(from_run(folder, dataset))


def _top(story: Story) -> bytes:
    factors = story.factors()
    return _lines(Top._fields, top(factors["U"], factors["V"], story.axes, story.component_names))


def _named(A: np.ndarray, rows: Axis, columns: Axis) -> bytes:
    """A factor with its names; without a first column where the rows have none."""
    cells, form = _cells(rows), _form(A)
    header = _cells(columns) or [str(j + 1) for j in range(A.shape[1])]
    if cells is None:
        return (csv_line(header) + "".join(csv_line(form % v for v in line) for line in A)).encode()
    lines = (csv_line([name, *(form % v for v in line)]) for name, line in zip(cells, A, strict=True))
    return (csv_line([_corner(rows, columns), *header]) + "".join(lines)).encode()


def _cells(axis: Axis) -> list[str] | None:
    """Names, marked where they would be taken for numbers, dates or times of day, or places."""
    if axis.names is None:
        return axis.cells()
    dates = not axis.calendar and moments(axis.names) is not None
    placed = clock_times(axis.names) is not None or quantities(axis.names) is not None
    taken = dates or (axis.values is None and placed)
    return [MARK + name if taken else text_cell(name) for name in axis.names]


def _corner(rows: Axis, columns: Axis) -> str:
    """The heading of the first column and, behind a backslash, that of the first line, where either would not be known."""
    heading = safe_cell(rows.heading) or ("axis" if rows.names is None else "name")
    told = (columns.names is None and columns.values is not None) or (columns.calendar and not columns.ordered)
    across = columns.heading or ("axis" if told else "")
    if columns.cells() is None:
        across = f"{COUNTED}: {across}" if across else COUNTED
    named = rows.names is not None and (rows.ordered or not rows.calendar)
    plain = named or (is_axis_word(rows.heading) and rows.ordered and len(rows) > 2)
    return heading if plain and not across else f"{heading}{ACROSS}{across}"


def _lines(header: Iterable[str], rows: Iterable[Sequence[Any]]) -> bytes:
    return csv_text([header, *rows]).encode()


def _form(A: np.ndarray) -> str:
    """Enough digits to read the same numbers back."""
    return f"%.{9 if A.dtype == np.float32 else 17}g"


def _matrix(A: np.ndarray, header: str) -> bytes:
    file = io.StringIO()
    np.savetxt(file, A, fmt=_form(A), delimiter=",", header=header, comments="")
    return file.getvalue().encode()


# -- Parquet -----------------------------------------------------------------------------------


def parquet(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """A Parquet file for each factor, one column a component: U has a line for each row of M, V one for each sample."""
    with optional():
        import pyarrow as pa
        from pyarrow import parquet as pq

    story = from_run(folder, dataset)
    factors = story.factors()

    def table(A: np.ndarray, axis: Axis) -> bytes:
        columns: dict[str, Any] = {}
        if axis.names is not None:
            columns[axis.heading or "name"] = pa.array(axis.names)
        elif axis.values is not None:
            columns[axis.heading or "axis"] = pa.array(axis.cells() if axis.calendar else axis.values)
        told = {INDEX: "names" if axis.values is None else "axis"}
        arrays = [*columns.values(), *(pa.array(A[:, k]) for k in range(A.shape[1]))]
        file = io.BytesIO()
        made = pa.Table.from_arrays(arrays, [*columns, *story.component_names])
        pq.write_table(made.replace_schema_metadata(told), file)
        return file.getvalue()

    members = {"U.parquet": table(factors["U"], story.axes.rows), "V.parquet": table(factors["V"].T, story.axes.columns)}
    return zipped(members | {"model.json": _model(story).encode()})


# -- NumPy and MATLAB --------------------------------------------------------------------------


def npz(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """Factors and their names, `history` with its `columns` and the `iteration` of each row, `model` as JSON; no pickle."""
    story = from_run(folder, dataset)
    file = io.BytesIO()
    extra = {"history": story.rows, "columns": np.array(COLUMNS), "iteration": story.numbers, "model": np.array(_model(story))}
    np.savez_compressed(file, **story.factors(), **named_arrays(story.axes, story.component_names), **extra)  # type: ignore[arg-type]
    return file.getvalue()


def mat(folder: RunFolder, dataset: Dataset | None) -> bytes:
    """Factors and their names, `history` as a struct of columns, and the `model` as JSON, for MATLAB and Octave."""
    story = from_run(folder, dataset)
    history = {"iteration": story.numbers[:, None]} | {name: story.rows[:, [i]] for i, name in enumerate(COLUMNS)}
    file = io.BytesIO()
    named = named_arrays(story.axes, story.component_names)
    savemat(file, {**story.factors(), **named, "history": history, "model": _model(story)}, do_compression=True)
    content = bytearray(file.getvalue())
    content[:HEADER] = b"MATLAB 5.0 MAT-file, written by SeMF Studio".ljust(HEADER)
    return bytes(content)


def named_arrays(axes: Axes, components: Sequence[str]) -> dict[str, np.ndarray]:
    """What is known of names and axes, under the names that the readers of NPZ and MAT files look for."""
    found: dict[str, np.ndarray] = {"component_names": np.array(components)}
    for side, axis in (("row", axes.rows), ("column", axes.columns)):
        if axis.names is not None:
            found[f"{side}_names"] = np.array(axis.names)
        elif axis.calendar:  # which the numbers alone do not say
            found[f"{side}_names"] = np.array(axis.cells())
        if axis.values is not None:
            found[f"{side}_axis"] = axis.values
        if axis.heading:
            found[f"{side}_title"] = np.array([axis.heading])
    if axes.map_shape is not None:
        found["map_shape"] = np.array(axes.map_shape)
    return found


def _model(story: Story) -> str:
    return readable_json(story.spec.to_dict()) + "\n"
