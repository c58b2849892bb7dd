"""Tables of one sample each, as instruments and counting programs write them, side by side as one matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.images import natural_key
from semf_core.datasets.reading import Limits, Raw, Reading, shown
from semf_core.datasets.tables import read_table

ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".asc", ".data")
SHORTEST = 3
"""Letters of a title that says something."""


def shared_title(filenames: Iterable[str]) -> str:
    """What the names of several files begin with, in whole words and numbers; empty if that is next to nothing."""
    stems = [PurePosixPath(name).stem for name in filenames]
    first, last = min(stems), max(stems)
    title = first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
    following = [stem[len(title) : len(title) + 1] for stem in stems]
    if any(map(str.isalpha, following)):
        title = re.sub(r"[^\W\d_]+$", "", title)
    if any(map(str.isdigit, following)):
        title = re.sub(r"\d+$", "", title)
    title = re.sub(r"[\W_]+$", "", title)
    return title if len(title) >= SHORTEST else ""


def is_table(filename: str) -> bool:
    return filename.lower().endswith(ENDINGS)


def join_tables(name: str, files: Sequence[tuple[str, bytes]], reading: Reading, limits: Limits) -> Raw:
    """The columns of all tables, in natural order of their names; the first column must be the same in all of them."""
    limits.check_members(name, len(files))
    ordered = sorted(files, key=lambda item: natural_key(item[0]))
    raws: list[Raw] = []
    for file, content in ordered:
        raw = read_table(shown(file), content, limits, reading.header, reading.index, reading.encoding)
        raws.append(raw)
        first = raws[0]
        if not raw.axes.rows or raw.axes.rows != first.axes.rows:
            which = f"{shown(file)} and {shown(ordered[0][0])} differ in it" if raw.axes.rows else f"{shown(file)} has none"
            wanted = "several tables together need the same axis or names in their first column"
            raise InvalidInput(name, f"{wanted}, and {which}; choose one of them", whole=True)
        limits.check_entries(name, raw.data.shape[0], sum(one.data.shape[1] for one in raws))
    columns = [label for (file, _), raw in zip(ordered, raws, strict=True) for label in _labels(file, raw)]
    return replace(
        raws[0],
        data=np.hstack([raw.data for raw in raws]),
        axes=Axes(raws[0].axes.rows, Axis(names=tuple(columns))),
        labels=None,
        row_labels=None,
        samples_fixed=True,
        question="",
        remarks=(f"{len(files)} tables with the same first column: the samples are named by their files.",),
    )


def _labels(file: str, raw: Raw) -> list[str]:
    """The name of the file for its only column, before the names of several."""
    stem = PurePosixPath(file).stem
    count = raw.data.shape[1]
    return [stem] if count == 1 else [f"{stem}: {raw.axes.columns.label(j)}" for j in range(count)]
