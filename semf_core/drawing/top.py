"""The rows and the samples that weigh most in each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from semf_core.datasets import Axes

Array = np.ndarray
MOST = 20
NEGLIGIBLE = 1e-6
"""Of the largest entry: factors are recorded in single precision."""


class Top(NamedTuple):
    """One place of a ranked list: a row of M (kind "row") or a sample, with its entry in U or V as its score."""

    component: str
    kind: str
    place: int
    name: str
    score: float


def plural(title: str) -> str:
    """A title for several of what it names."""
    return title if title.endswith("s") else f"{title}s"


def strongest(values: Array, most: int = MOST) -> Array:
    """Indices of the largest entries by modulus, the largest first; zeros, and what is one up to rounding, are left out."""
    size = np.abs(values)
    count = min(most, len(values))
    found = np.argpartition(-size, count - 1)[:count]
    found = found[np.lexsort((found, -size[found]))]
    return found[size[found] > NEGLIGIBLE * size[found[:1]]]


def word_lists(U: Array, axes: Axes, image_shape: tuple[int, int] | None, most: int) -> list[list[tuple[str, float]]] | None:
    """The strongest rows of each component with their scores; None where rows are no words but pixels or places."""
    if axes.rows.names is None or axes.rows.ordered or axes.rows.numbered or image_shape is not None:
        return None
    return [[(axes.rows.names[i], float(f"{U[i, k]:.3g}")) for i in strongest(U[:, k], most)] for k in range(U.shape[1])]


def top(U: Array, V: Array, axes: Axes, names: Sequence[str], most: int = MOST) -> list[Top]:
    """Ranked lists of rows and samples, one component after the other."""
    found = []
    for k, component in enumerate(names):
        for kind, axis, values in (("row", axes.rows, U[:, k]), ("sample", axes.columns, V[k])):
            for place, i in enumerate(strongest(values, most), 1):
                found.append(Top(component, kind, place, axis.label(int(i), kind), float(values[i])))
    return found
