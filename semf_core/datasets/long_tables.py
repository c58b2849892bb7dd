"""Long tables, one line for each number with its place beside it: x, y, wave, intensity; document, term, count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis, place_text, titled
from semf_core.datasets.maps import by_appearance, map_of, place_name, ranks
from semf_core.datasets.reading import Limits, Raw
from semf_core.datasets.table_layout import FEWEST, MOST_CELLS, Layout, Words, in_order, is_axis_word
from semf_core.datasets.table_names import FEATURES, SAMPLES, title_words

Array = np.ndarray
LONG = "long"
"""What the first column is called where it tells the place of the number that stands at the end of its line."""
WAVE = "wave"
"""What instruments call wavelengths and wavenumbers alike."""
COUNTS = frozenset(("n", "count", "counts", "freq", "tf", "reads", "umi", "umis", "abundance", "occurrences"))
"""In the title of numbers that are zero where no line tells them."""
VALUES = COUNTS | frozenset(
    (
        *("intensity", "value", "values", "signal", "absorbance", "reflectance", "transmittance", "expression", "expr"),
        *("amount", "concentration", "score", "rating", "weight", "response", "level", "power", "amplitude"),
    )
)
"""In the title of the numbers of a long table."""


class Key(NamedTuple):
    """A column that tells places: its different entries in order of appearance, and which of them each line has."""

    title: str
    entries: list[str] | Array
    codes: Array


def unfolded(data: Array, layout: Layout, words: Words, index: str, limits: Limits) -> Raw | None:
    """The matrix of a long table; None for any other, or if the reader was told that it is none.

    Every pair of a row (wavelength, term) and a sample (the other columns: x and y, a document) has at most one line.
    """
    possible = 3 <= layout.cells <= MOST_CELLS and len(layout.numbers) > 0 and len(data) >= FEWEST
    found = _unfolded(data, layout, words, index == LONG, limits) if possible and index in ("auto", LONG) else None
    if found is None and index == LONG:
        raise InvalidInput(
            "index", "is no place of a long table", "its last column must hold numbers, one for each pair of places"
        )
    return found


def _unfolded(data: Array, layout: Layout, words: Words, told: bool, limits: Limits) -> Raw | None:
    """The same for a table of a few columns; `told` that it is a long one, no title has to say so."""
    titles = layout.header or ("",) * layout.cells
    value = layout.numbers[-1]
    columns = [j for j in range(layout.cells) if j != value]
    first = _feature([titles[j] for j in columns])
    numeric = [j in layout.numbers for j in columns]
    there = all(np.isfinite(data[:, i]).all() for i, j in enumerate(layout.numbers) if j != value)
    if not there or not (told or _promising(titles, columns, value, numeric, first)):
        return None
    keys = [_key(titles[j], words.columns[j] if j in words.columns else data[:, layout.numbers.index(j)]) for j in columns]
    if first is None:  # as in other tables, the longer side is the rows
        first = int(np.argmax([len(key.entries) for key in keys]))
    row, others = keys[first], [key for i, key in enumerate(keys) if i != first]
    joint = np.zeros(len(data), np.int64)
    for key in others:
        joint = joint * len(key.entries) + key.codes
    starts, lines = np.unique(joint, return_index=True, return_inverse=True)[1:]
    m, n, count = len(row.entries), len(starts), len(data)
    pairs = np.unique(row.codes * n + lines).size
    whole, fits = count == m * n, m * n <= limits.max_entries or bool(set(title_words(titles[value])) & COUNTS)
    sure = whole or not any(numeric) or bool(set(title_words(titles[value])) & VALUES)
    if pairs != count or min(m, n) < 2 or max(m, n) > count // 2 or not ((sure and fits) or told):
        return None
    rows, row_order = _axis(row)
    columns_axis, map_shape, sample_order = _samples(others, starts)
    places = ranks(row_order)[row.codes], ranks(sample_order)[lines]
    matrix, absent = _matrix(data[:, layout.numbers.index(value)], places, (m, n), titles[value], limits)
    fixed = map_shape is not None or rows.values is not None
    said = (
        f"A long table, one number a line: {m:,} rows ({rows.heading or 'names'}) × {n:,} samples{absent}. Say so if it is not."
    )
    return Raw(
        matrix,
        axes=Axes(rows, columns_axis, map_shape),
        samples_fixed=fixed,
        question="" if fixed else f"{m:,} rows ({rows.heading or 'names'}) × {n:,} columns ({columns_axis.heading or 'names'})",
        index=LONG,
        remarks=(said,),
    )


def _promising(titles: Sequence[str], columns: Sequence[int], value: int, numeric: Sequence[bool], first: int | None) -> bool:
    """Whether titles, or words in all columns but the last, speak for a long table."""
    if not any(numeric):
        return len(columns) == 2
    return value == max(*columns, value) and (first is not None or bool(set(title_words(titles[value])) & VALUES))


def _feature(titles: Sequence[str]) -> int | None:
    """Which of the columns tells the row of the matrix, by its title: what is measured in every sample."""
    named = [set(title_words(title)) for title in titles]
    for rule in (lambda i: WAVE in named[i], lambda i: bool(named[i] & FEATURES), lambda i: is_axis_word(titles[i])):
        found = [i for i in range(len(titles)) if rule(i) and not named[i] & SAMPLES]
        if found:
            return found[-1]  # nearest to the number: time, wavelength, intensity
    return None


def _key(title: str, cells: list[str] | Array) -> Key:
    if isinstance(cells, list):
        places = {text: i for i, text in enumerate(dict.fromkeys(cells))}
        return Key(title, list(places), np.array([places[text] for text in cells]))
    return Key(title, *by_appearance(cells))


def _axis(key: Key) -> tuple[Axis, Array]:
    """Names, or places on an axis in the order of the file if that is one, otherwise ascending; and the order."""
    order = np.arange(len(key.entries))
    if isinstance(key.entries, list):
        return titled(key.title, names=tuple(key.entries)), order
    words = title_words(key.title)
    if words[-1:] in (["id"], ["ids"]) or set(words) & (FEATURES | SAMPLES):
        return titled(key.title, names=tuple(place_text(v) for v in key.entries)), order
    if not in_order(key.entries):
        order = np.argsort(key.entries)
    return titled(key.title, values=key.entries[order]), order


def _samples(keys: Sequence[Key], starts: Array) -> tuple[Axis, tuple[int, int] | None, Array]:
    """What the samples are called, of which these are the first lines; the picture that they make; and their order."""
    columns = [[key.entries[i] for i in key.codes[starts]] for key in keys]
    order = np.argsort(starts)
    if len(keys) == 1:
        axis, order = _axis(keys[0])
        return axis, None, order
    if all(isinstance(key.entries, np.ndarray) for key in keys):
        axis, map_shape, lined_up = map_of([key.title for key in keys], [np.array(column)[order] for column in columns])
        return axis, map_shape, order[lined_up]
    names = [place_name(place) for place in zip(*columns, strict=True)]
    return Axis(", ".join(key.title for key in keys), names=tuple(names[i] for i in order)), None, order


def _matrix(values: Array, places: tuple[Array, Array], shape: tuple[int, int], title: str, limits: Limits) -> tuple[Any, str]:
    """The numbers at their places; what no line tells is zero for counts, otherwise missing, and that is said."""
    if len(values) < shape[0] * shape[1] and set(title_words(title)) & COUNTS and (values >= 0).all():
        return sparse.csc_array((values, places), shape=shape), "; pairs without a line count zero"
    limits.check_entries("data", *shape)
    out = np.full(shape, np.nan)
    out[places] = values
    return out, "; pairs without a line are missing" if len(values) < out.size else ""
