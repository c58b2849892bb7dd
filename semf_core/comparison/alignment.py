"""Components of different factorizations in one order, so that like stands beside like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.mathematics import metrics

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Aligned:
    """The columns of a factor in the order of a reference; those that nothing was left for come last."""

    columns: tuple[int, ...]
    """Numbers of the columns; −1 where the reference has more of them."""
    cosines: tuple[float, ...]
    """|cosine| with the reference's column, 0 for those without one."""
    signs: tuple[int, ...]
    """−1 for a column that points away from the reference's: a factorization determines it up to its sign."""

    def of(self, U: Array) -> Array:
        """The columns in this order, each turned towards the reference's; zeros where there is none."""
        ordered = np.zeros((U.shape[0], len(self.columns)), U.dtype)
        for place, (column, sign) in enumerate(zip(self.columns, self.signs, strict=True)):
            if column >= 0:
                ordered[:, place] = sign * U[:, column]
        return ordered

    @property
    def found(self) -> tuple[int, ...]:
        """Places of the columns that are a column of the reference."""
        return tuple(place for place, cosine in enumerate(self.cosines) if cosine > metrics.FOUND)

    @property
    def mixed(self) -> tuple[int, ...]:
        """Those of them in which something else can be seen besides."""
        return tuple(place for place in self.found if metrics.beside(self.cosines[place]) > metrics.CLEAN)


def align(U: Array, reference: Array) -> Aligned:
    """The columns of U in the order of a reference: the best one-to-one match (Hungarian method on |cosines|).

    Parameters
    ----------
    U : array
        Components in columns.
    reference : array
        The same number of rows; any number of columns.

    Returns
    -------
    Aligned
        Which column stands where, with which cosine and sign.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.comparison import align
    >>> found = align(np.array([[0.0, -2.0], [3.0, 0.0]]), np.eye(2))
    >>> found.columns, found.signs
    ((1, 0), (-1, 1))
    >>> found.of(np.array([[0.0, -2.0], [3.0, 0.0]]))
    array([[ 2.,  0.],
           [-0.,  3.]])
    """
    matching = metrics.match_parts(U, reference)
    matched = [int(column) for column in matching.columns]
    rest = [k for k in range(U.shape[1]) if k not in set(matched)]
    cosines = [float(c) for c in matching.cosines] + [0.0] * len(rest)
    return Aligned((*matched, *rest), tuple(map(abs, cosines)), tuple(-1 if c < 0 else 1 for c in cosines))


def as_they_are(U: Array) -> Aligned:
    """The order of the columns of U, for which there is no reference."""
    count = U.shape[1]
    return Aligned(tuple(range(count)), (0.0,) * count, (1,) * count)
