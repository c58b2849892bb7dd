"""Samples at places of a map: what they are called, and the picture that they make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from semf_core.datasets.axes import Axis, place_text

Array = np.ndarray


def by_appearance(cells: Array) -> tuple[Array, Array]:
    """The different numbers in the order in which they appear, and which of them each cell has."""
    entries, starts, codes = np.unique(cells, return_index=True, return_inverse=True)
    order = np.argsort(starts)
    return entries[order], ranks(order)[codes]


def ranks(order: Array) -> Array:
    """The place of each index in an order."""
    places = np.empty(len(order), np.intp)
    places[order] = np.arange(len(order))
    return places


def place_name(place: Sequence[str | float]) -> str:
    """Coordinates as one name: (0.5, 2)."""
    return f"({', '.join(text if isinstance(text, str) else place_text(text) for text in place)})"


def map_of(titles: Sequence[str], columns: Sequence[Array]) -> tuple[Axis, tuple[int, int] | None, Array]:
    """Samples called by their coordinates; of two that fill a grid also height, width and the order line by line.

    The second coordinate, or the one called y, goes down the picture; both in the order in which the file has them.
    """
    names = [place_name(place) for place in zip(*columns, strict=True)]
    order, map_shape = np.arange(len(names)), None
    if len(columns) == 2:
        down = 0 if titles[0].strip().lower().startswith("y") else 1
        (lines, y), (across, x) = by_appearance(columns[down]), by_appearance(columns[1 - down])
        if np.unique(y * len(across) + x).size == len(names) == len(lines) * len(across) and min(len(lines), len(across)) > 1:
            order, map_shape = np.lexsort((x, y)), (len(lines), len(across))
    return Axis(", ".join(filter(None, titles)), names=tuple(names[i] for i in order)), map_shape, order
