"""What the rows and columns of a table are called: names, an id or an axis among the numbers, dates; and what the samples are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from semf_core.datasets.axes import TIMES, Axes, Axis, clock_times, moments, quantities, titled
from semf_core.datasets.maps import map_of
from semf_core.datasets.reading import Raw, listed, shown
from semf_core.datasets.table_layout import COUNTED, FEWEST, LOOKED_AT, Layout, Words, in_order, is_axis_word, is_number

Array = np.ndarray
UNTITLED = frozenset(("name", "axis"))
"""Headings of first columns that say nothing."""
ID_WORDS = frozenset(("", "id", "ids", "index", "idx", "no", "no.", "nr", "nr.", "#", "row", "sample", "sample id", "unnamed: 0"))
LABEL_WORDS = frozenset(("label", "labels", "class", "classes", "target"))
"""Titles of a first column of whole numbers that are the classes of the rows."""
BESIDE_NAMES = frozenset(
    ("id", "ids", "entrez", "start", "end", "stop", "length", "chr", "chrom", "chromosome", "strand", "gweight")
)
"""How the headings of numbers end that say more of a named row, as of a gene, and are no data."""
FEATURES = frozenset(
    [
        "gene",
        "genes",
        "symbol",
        "probeset",
        "transcript",
        "protein",
        "proteins",
        "peptide",
        "metabolite",
        "feature",
        "features",
        "term",
        "terms",
        "word",
        "words",
        "token",
        "tokens",
        "ref",
        "ensembl",
        "geneid",
        "accession",
        "otu",
    ]
)
"""Words in the title of names whose rows are measured in every sample."""
SAMPLES = frozenset(
    [
        "sample",
        "samples",
        "patient",
        "patients",
        "subject",
        "subjects",
        "cell",
        "cells",
        "barcode",
        "document",
        "documents",
        "doc",
        "docs",
        "gsm",
        "srr",
        "tcga",
        "spectrum",
        "participant",
    ]
)
"""Words in the title of names that are those of samples."""


def named_table(data: Array, layout: Layout, words: Words, header: str, index: str) -> Raw:
    """The numbers of a table with what its first line and its columns of words say about them."""
    remarks: list[str] = []
    map_shape = None
    top = None if layout.header is None else [layout.header[j] for j in layout.numbers]
    if top is None and header != "data" and (header == "axis" or _row_is_axis(data)):
        top, data = ["" if np.isnan(v) else repr(float(v)) for v in data[0]], data[1:]
        words = Words({j: cells[1:] for j, cells in words.columns.items()}, words.marked)
    told = "axis" if layout.across is not None and index == "auto" else index
    rows, labels, labels_title = _from_words(layout, words, told, remarks)
    used = "axis" if rows.values is not None else "auto"
    if not rows and data.shape[1] > 1 and (told == "labels" or (told == "auto" and labels is None and _is_class(data, top))):
        if told == "auto":
            remarks.append(
                f"The first column “{shown(top[0] if top else '')}” holds the classes of the rows. Say so if it is data."
            )
        labels, used, labels_title = _classes(data[:, 0]), "labels", top[0] if top else ""
        data, top = data[:, 1:], None if top is None else top[1:]
    elif top is not None and told in ("auto", "names") and (coordinates := _coordinates(top)):
        placed, map_shape, order = map_of(top[:coordinates], list(data[:, :coordinates].T))
        what = f"The first {coordinates} columns are the places of the rows."
        if rows and map_shape is None:
            what = f"Left out, because they say more of the rows: {listed(top[:coordinates])}."
        remarks.append(f"{what} Say so if they are data.")
        rows, labels = rows.take(order) if rows else placed, None if labels is None else labels[order]
        data, top, used = data[order, coordinates:], top[coordinates:], "names"
    elif not rows and data.shape[1] > 1:
        rows, used = _from_numbers(data, top, told, remarks)
        if used in ("names", "axis"):
            data, top = data[:, 1:], None if top is None else top[1:]
    elif top is not None and layout.across is None and (more := _beside_names(data, top)) and index != "data":
        remarks.append(f"Left out, because {_says(more)} more of the rows: {listed(top[:more])}. Say so if it is data.")
        data, top, used = data[:, more:], top[more:], "names"
    corner = layout.header[layout.words[0]] if layout.header and layout.words else ""
    columns = Axis()
    if layout.across and layout.across.startswith(COUNTED) and top == [str(j + 1) for j in range(data.shape[1])]:
        columns = titled(layout.across[len(COUNTED) :].lstrip(": "))
    elif top is not None and (layout.texts or header == "names"):
        columns = titled(layout.across or "", names=tuple(top))
    elif top is not None:
        sure = layout.across is not None or header == "axis"
        heads = is_axis_word(corner) and quantities(top) is None  # which say themselves what they are
        columns = axis_of(top, layout.across or (corner if heads else ""), sure)
        if columns.values is None and layout.across is None:  # the corner heads the first column
            columns = Axis(names=columns.names)
    if columns.values is not None and columns.title and rows.title == columns.title:
        rows = Axis(names=rows.names, values=rows.values, calendar=rows.calendar)
    column_labels, column_title = _column_labels(layout, data.shape[1], remarks)
    orientation, why = samples_of(data.shape, rows, columns, labels)
    if column_labels is not None and labels is None:
        orientation, why, labels_title = "columns", ", with a label for each column", column_title
    return Raw(
        data,
        axes=Axes(rows, columns),
        labels=column_labels,
        row_labels=labels,
        labels_title=labels_title,
        extras={} if map_shape is None else {"map_shape": np.array(map_shape)},
        guess=orientation,
        question=f"{data.shape[0]:,} rows × {data.shape[1]:,} columns{why}",
        index=used if index == "auto" or used != "auto" else index,
        header="axis" if columns.values is not None else "names" if header == "names" or columns.numbered else "auto",
        remarks=tuple(remarks),
    )


def _says(count: int) -> str:
    return "it says" if count == 1 else "they say"


def _from_words(layout: Layout, words: Words, told: str, remarks: list[str]) -> tuple[Axis, Array | None, str]:
    """The names of the rows, their labels and what those are called, from the columns of words."""
    names, labels, called, left = Axis(), None, "", []
    behind = set(layout.words) & {j + 1 for j in layout.numbers}
    remarked = behind if len(behind) > max(1, len(layout.numbers) // 2) else set()  # on each number: present, absent
    for j in layout.words:
        title = layout.header[j] if layout.header else ""
        cells = words.columns.get(j, [])
        different = len(set(cells))
        if not title and not any(cells):  # nothing but the end of every line
            continue
        if j in remarked:
            left.append(title or f"column {j + 1}")
        elif not names and (different > len(cells) // 2 or (len(layout.words) == 1 and j == 0)):
            plain = told == "names" or j in words.marked
            title = "" if title in UNTITLED else title
            names = titled(title, names=tuple(cells)) if plain else _in_time(title, cells, told == "axis")
        elif labels is None and 1 < different <= max(2, len(cells) // 2):
            labels, called = np.array(cells), title
        else:
            left.append(title or f"column {j + 1}")
    if left:
        remarks.append(f"Left out, because {'it holds' if len(left) == 1 else 'they hold'} words: {listed(left)}.")
    return names, labels, called


def _in_time(title: str, cells: Sequence[str], told: bool) -> Axis:
    """Names; with their places if they are dates, numbers with a unit, or times of day that go on, which are told in hours."""
    dates = _dates(cells, told)
    if dates is not None:
        return titled(title, names=tuple(cells), values=dates, calendar=True)
    hours = clock_times(cells)
    values, usual, unit = (hours, "time", "h") if hours is not None else quantities(cells) or (None, "", "")
    axis = titled(title or usual, names=tuple(cells), values=values)
    return axis if axis.unit else replace(axis, unit=unit)


def _dates(cells: Sequence[str], told: bool) -> Array | None:
    """Dates, if they go on from one to the next or that was `told`; others are names, as several samples of one day have."""
    dates = moments(cells)
    return dates if dates is not None and (told or in_order(dates)) else None


def _column_labels(layout: Layout, count: int, remarks: list[str]) -> tuple[Array | None, str]:
    """A class for each column, from the first line of words below the header that repeats itself, and what it is called.

    Of others it is said that they are left out.
    """
    labels, called, left = None, "", []
    for k, line in enumerate(layout.annotations):
        cells = [line[j] for j in layout.numbers][-count:]
        title = line[layout.words[0]] if layout.words else ""
        if labels is None and 1 < len(set(cells)) <= max(2, len(cells) // 2):
            labels, called = np.array(cells), title
        else:
            left.append(shown(title) or f"line {k + 2}")
    if left:
        remarks.append(f"Left out, because {'it holds' if len(left) == 1 else 'they hold'} words: {listed(left)}.")
    return labels, called


def _beside_names(data: Array, top: Sequence[str]) -> int:
    """How many of the first columns of numbers are no data but say more of rows that have names: ids, places on a chromosome."""
    count = 0
    while count < len(top) - 1 and (title_words(top[count]) or [""])[-1] in BESIDE_NAMES and _is_whole(data[:, count]):
        count += 1
    return count


def title_words(title: str) -> list[str]:
    """The words of a heading in lower case, also where capitals alone divide them: GeneSymbol."""
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", title).lower())


def shared_words(axis: Axis) -> set[str]:
    """The words that all names of an axis have in common: doc of doc1, doc2, …"""
    names = (axis.names or ())[:LOOKED_AT]
    return set.intersection(*(set(title_words(name)) for name in names)) if names else set()


def _is_whole(values: Array) -> bool:
    there = values[np.isfinite(values)]
    return bool((there == np.rint(there)).all())


def _from_numbers(data: Array, top: list[str] | None, index: str, remarks: list[str]) -> tuple[Axis, str]:
    """The first column of numbers as an id or an axis, if it is one; what it was taken for."""
    first, title = data[:, 0], top[0] if top else ""
    whole = bool(np.isfinite(first).all() and (first == np.rint(first)).all()) and len(set(first.tolist())) == len(first)
    if index == "data" or not np.isfinite(first).all():
        return Axis(), index
    last = (title_words(title) or [""])[-1]
    called = top is not None and (title.strip().lower() in ID_WORDS or last in ("id", "ids") or last in SAMPLES)
    counted = whole and len(first) > 1 and bool((np.diff(first) == 1).all())
    lonely = not any(in_order(data[:LOOKED_AT, j]) for j in range(1, min(data.shape[1], LOOKED_AT)))
    is_id = whole and (
        (called and (counted or title.strip() != "")) or (counted and top is None and len(first) >= FEWEST and lonely)
    )
    if index == "names" or (index == "auto" and is_id):
        if index == "auto":
            named = f"“{shown(title)}” " if title else ""
            remarks.append(f"The first column {named}looks like an id, not like data: it names the rows. Say so if it is data.")
        cells = [str(int(v)) if v == int(v) else repr(float(v)) for v in first]
        return titled("" if title.strip().lower() in ID_WORDS else title, names=tuple(cells)), "names"
    ordered = in_order(first) and ((is_axis_word(title) and len(first) > 2) or (len(first) >= FEWEST and lonely))
    if index == "axis" or (index == "auto" and ordered):
        if index == "auto":
            remarks.append(
                f"The first column ({shown(title) or 'numbers in order'}) is the axis of the rows. Say so if it is data."
            )
        return titled("" if title in UNTITLED else title, values=first), "axis"
    return Axis(), index


def _coordinates(top: Sequence[str]) -> int:
    """How many columns stand before those that the axis of the first line heads, if several: x and y of a map."""
    texts = np.array([not is_number(cell.encode()) or cell == "" for cell in top])
    count = int(np.argmin(texts)) if texts.size and not texts.all() else 0
    if not 2 <= count <= 3 or texts[count:].any() or len(texts) - count < FEWEST:
        return 0
    return count if in_order(np.array([float(cell) for cell in top[count:]])) else 0


def _is_class(data: Array, top: Sequence[str] | None) -> bool:
    """Whether the first column of numbers is headed as one of classes, and its numbers repeat themselves."""
    first = data[:, 0]
    if top is None or top[0].strip().lower() not in LABEL_WORDS or not np.isfinite(first).all() or not _is_whole(first):
        return False
    return 1 < len(set(first.tolist())) <= max(2, len(first) // 2)


def _classes(values: Array) -> Array:
    whole = bool(np.isfinite(values).all()) and _is_whole(values)
    return values.astype(np.int64) if whole else np.array([f"{v:g}" for v in values])


def _row_is_axis(data: Array) -> bool:
    """Whether the first of the rows goes up or down throughout, as no other does."""
    if len(data) < 2 or data.shape[1] <= FEWEST:
        return False
    blank = int(np.argmin(np.isnan(data[0])))  # above the coordinates of a map stands nothing
    start = 0 if in_order(data[0]) else max(1, blank)  # and above the axis of the rows anything
    return in_order(data[0, start:]) and not any(in_order(row[start:]) for row in data[1:LOOKED_AT])


def axis_of(cells: Sequence[str], title: str, told: bool = False) -> Axis:
    """Names from the first line, or an axis if they are numbers in order (any numbers, if that was `told`) or dates.

    Numbers that merely count the columns name them.
    """
    title = "" if title in UNTITLED else title
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError:
        return _in_time(title, cells, told)
    names = titled(title, names=tuple(cells))
    counts = names.numbered and not title
    if np.isfinite(values).all() and (told or (len(values) > 2 and in_order(values) and not counts)):
        return titled(title, values=values)
    return names


def samples_of(shape: tuple[int, ...], rows: Axis, columns: Axis, labels: Array | None) -> tuple[str, str]:
    """Whether columns or rows are the samples, and what speaks for it."""
    times = _are_times(rows)
    across = columns.values is not None and columns.names is None
    word = set(title_words(rows.title)) if rows.names is not None and not times and not across else set()
    titled_so = f", “{rows.title}” in the first column"
    if word & FEATURES:
        return "columns", titled_so
    if labels is not None:
        return "rows", ", with a label for each row"
    if word & SAMPLES:
        return "rows", titled_so
    if times or across:
        return "rows", ", with " + ("times in the first column" if times else "an axis in the first row")
    if columns.values is not None or rows.values is not None:
        place = "first row" if columns.values is not None else "first column"
        return "columns", f", with {'times' if _are_times(columns) else 'an axis'} in the {place}"
    for axis, other, this, place in ((columns, "rows", "columns", "row"), (rows, "columns", "rows", "column")):
        if (shared := shared_words(axis)) & (SAMPLES | FEATURES):
            return this if shared & SAMPLES else other, f", names such as “{shown(axis.label(0))}” in the first {place}"
    if rows.names is not None and columns.names is not None:
        return ("columns" if shape[0] > shape[1] else "rows"), ", names in the first row and in the first column"
    if rows.names is not None:
        return "rows", ", names in the first column"
    return "columns", ", names in the first row" if columns.names is not None else ""


def _are_times(axis: Axis) -> bool:
    """Whether names have places that are dates, times of day or durations."""
    if axis.names is None or axis.values is None:
        return False
    measured = quantities(axis.names)
    return measured is None or measured[2] in TIMES
