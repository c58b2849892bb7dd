"""Second-order cone programs with a quadratic objective, solved by Clarabel.

    min ½xᵀPx + qᵀx   s.t.   Ax + s = b,  s ∈ K₁ × K₂ × …

The programs of one factor have the same nonzeros at every iteration; only the numbers change. A
`Program` keeps Clarabel's solver with its symbolic factorization and hands over new numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

Array = np.ndarray
CONES = {
    "zero": clarabel.ZeroConeT,
    "nonnegative": clarabel.NonnegativeConeT,
    "second-order": clarabel.SecondOrderConeT,
}
"""The second-order cone holds its bound first: (t, x) with ‖x‖₂ ≤ t."""
USABLE = frozenset(("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"))
"""Outcomes with a point that can be made exactly feasible; what becomes of it is checked by the caller."""


class Entries(NamedTuple):
    """Nonzeros of a matrix by place and value, no place twice."""

    rows: Array
    columns: Array
    values: Array


class Part(NamedTuple):
    """Some rows of A with their right-hand side and the cones that they are in, in this order."""

    entries: Entries
    b: Array
    cones: tuple[tuple[str, int], ...]


class Program:
    """A conic program whose numbers change more often than its nonzeros."""

    def __init__(self) -> None:
        self._solver: clarabel.DefaultSolver | None = None
        self._form: tuple[Array, ...] = ()
        self._cones: tuple[tuple[str, int], ...] = ()
        self.solves = 0

    def solve(self, P: Entries, q: Array, parts: Sequence[Part]) -> Array:
        """A minimiser; P holds the upper triangle."""
        A, b, cones = _stacked(parts)
        form = (P.rows, P.columns, A.rows, A.columns)
        if self._solver is None or cones != self._cones or not all(map(np.array_equal, form, self._form)):
            self._order = np.lexsort((P.rows, P.columns)), np.lexsort((A.rows, A.columns))
            Pc, Ac = _by_columns(P, self._order[0], len(q), len(q)), _by_columns(A, self._order[1], len(b), len(q))
            made = [CONES[kind](size) for kind, size in cones]
            self._solver = clarabel.DefaultSolver(Pc, q, Ac, b, made, _settings())
            self._form, self._cones = form, cones
        else:
            in_p, in_a = self._order
            self._solver.update(P=P.values[in_p], q=q, A=A.values[in_a], b=b)
        self.solves += 1
        solution = self._solver.solve()
        x = np.array(solution.x)
        if str(solution.status) not in USABLE or not np.isfinite(x).all():
            raise ArithmeticError(f"the conic solver gave up ({solution.status})")
        return x


def _by_columns(M: Entries, order: Array, rows: int, columns: int) -> sparse.csc_matrix:
    ends = np.cumsum(np.bincount(M.columns, minlength=columns))
    return sparse.csc_matrix((M.values[order], M.rows[order], np.concatenate(([0], ends))), (rows, columns))


def _stacked(parts: Sequence[Part]) -> tuple[Entries, Array, tuple[tuple[str, int], ...]]:
    """The parts one below the other."""
    offsets = np.cumsum([0, *(len(part.b) for part in parts)])
    entries = Entries(
        np.concatenate([part.entries.rows + offset for part, offset in zip(parts, offsets, strict=False)]),
        np.concatenate([part.entries.columns for part in parts]),
        np.concatenate([part.entries.values for part in parts]),
    )
    return entries, np.concatenate([part.b for part in parts]), tuple(cone for part in parts for cone in part.cones)


def _settings() -> clarabel.DefaultSettings:
    """Quiet and repeatable: presolve would forbid new numbers, and scaling would depend on the first ones."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    settings.equilibrate_enable = False
    settings.max_threads = 1
    return settings
