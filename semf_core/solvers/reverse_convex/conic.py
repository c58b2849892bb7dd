"""Second-order cone programs with a quadratic objective, solved by Clarabel.

    min ½xᵀPx + qᵀx   s.t.   Ax + s = b,  s ∈ K₁ × K₂ × …

The programs of one factor have the same nonzeros at every iteration; only the numbers change. A
`Program` keeps Clarabel's solver with its symbolic factorization and hands over new numbers.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from semf_core.common.extras import optional

Array = np.ndarray
CONES = {
    "zero": "ZeroConeT",
    "nonnegative": "NonnegativeConeT",
    "second-order": "SecondOrderConeT",
}
"""Classes of Clarabel; the second-order cone holds its bound first: (t, x) with ‖x‖₂ ≤ t."""
SOLVED = frozenset(("Solved", "AlmostSolved"))
USABLE = SOLVED | {"InsufficientProgress", "MaxIterations"}
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
        self._solver: Any = None
        self._form: tuple[Array, ...] = ()
        self._cones: tuple[tuple[str, int], ...] = ()
        self.solves = 0
        self.seconds = 0.0
        """Spent in Clarabel."""

    def solve(self, P: Entries, q: Array, parts: Sequence[Part]) -> Array:
        """A minimiser; P holds the upper triangle."""
        A, b, cones = _stacked(parts)
        form = (P.rows, P.columns, A.rows, A.columns)
        if self._solver is None or cones != self._cones or not all(map(np.array_equal, form, self._form)):
            self._order = np.lexsort((P.rows, P.columns)), np.lexsort((A.rows, A.columns))
            self._form, self._cones = form, cones
            self._solver = self._made(P, q, A, b)
        else:
            in_p, in_a = self._order
            self._solver.update(P=P.values[in_p], q=q, A=A.values[in_a], b=b)
        began = time.perf_counter()
        solution = self._solver.solve()
        if str(solution.status) not in SOLVED:
            solution = self._made(P, q, A, b, scaling=True).solve()
        self.seconds += time.perf_counter() - began
        self.solves += 1
        x = np.array(solution.x)
        if str(solution.status) not in USABLE or not np.isfinite(x).all():
            raise ArithmeticError(f"the conic solver gave up ({solution.status})")
        return x

    def _made(self, P: Entries, q: Array, A: Entries, b: Array, scaling: bool = False) -> Any:
        with optional():
            import clarabel

        in_p, in_a = self._order
        matrices = _by_columns(P, in_p, len(q), len(q)), _by_columns(A, in_a, len(b), len(q))
        cones = [getattr(clarabel, CONES[kind])(size) for kind, size in self._cones]
        return clarabel.DefaultSolver(matrices[0], q, matrices[1], b, cones, _settings(clarabel.DefaultSettings(), scaling))


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


def _settings(settings: Any, scaling: bool) -> Any:
    """Quiet and repeatable: presolve would forbid new numbers, and scaling would depend on the first ones.

    The programs come scaled. Scaling of the solver's own is for a second attempt. Steps that stop a
    little shorter of the boundary keep large cones accurate to the end.
    """
    settings.verbose = False
    settings.presolve_enable = False
    settings.equilibrate_enable = scaling
    settings.max_threads = 1
    settings.max_step_fraction = 0.95
    return settings
