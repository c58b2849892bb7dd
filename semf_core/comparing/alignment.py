"""Components of different factorizations in one order, so that like stands beside like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core import metrics

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Aligned:
    """The columns of a factor in the order of a reference; those that nothing was left for come last."""

    columns: tuple[int, ...]
    """Numbers of the columns; −1 where the reference has more of them."""
    cosines: tuple[float, ...]
    """|cosine| with the reference's column, 0 for those without one."""

    def of(self, U: Array) -> Array:
        """The columns in this order, each with the reference's sign unknown; zeros where there is none."""
        ordered = np.zeros((U.shape[0], len(self.columns)), U.dtype)
        for place, column in enumerate(self.columns):
            if column >= 0:
                ordered[:, place] = U[:, column]
        return ordered


def align(U: Array, reference: Array) -> Aligned:
    """The best one-to-one match of the columns of U with those of the reference (Hungarian method on |cosines|)."""
    matching = metrics.match_parts(U, reference)
    matched = [int(column) for column in matching.columns]
    rest = [k for k in range(U.shape[1]) if k not in set(matched)]
    cosines = [abs(float(c)) for c in matching.cosines] + [0.0] * len(rest)
    return Aligned((*matched, *rest), tuple(cosines))
