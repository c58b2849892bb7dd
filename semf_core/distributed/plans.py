"""Which sets can be enforced on X when its rows are on different workers, and how.

Either every row is projected by itself, or all that the rows of a column have to agree on is one threshold
(its k-th largest entry) and one length. Everything else is rejected before the first iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.sets import (
    DisjointSupports,
    FixedColumns,
    Nonnegative,
    NormBall,
    Sparse,
    StructureSet,
    Support,
    UnitNorm,
    VectorSet,
    combine,
    members_of,
)
from semf_core.sets.plans import is_entrywise

Array = np.ndarray
POSSIBLE = (
    "nonnegativity, bounds, a fixed support, known columns, any set that binds each row by itself (axis='row'), disjoint"
    " supports; or, on columns, any of nonnegative, k-sparse, and unit norm or norm ball"
)


@dataclass(frozen=True)
class ByRows:
    """Every row goes by itself: a block is projected where it is."""

    sets: tuple[StructureSet, ...]

    def of(self, rows: slice) -> ByRows:
        """The same on some of the rows."""
        return ByRows(tuple(_of_rows(s, rows) for s in self.sets))

    def project(self, A: Array) -> Array:
        return combine(self.sets).project(A)


@dataclass(frozen=True)
class ByColumns:
    """What each column is made to be: nonnegative, of at most so many nonzeros, of length one or at most the radius."""

    clip: Array
    count: Array
    """Nonzeros at most; zero: no limit."""
    unit: Array
    radius: Array

    @property
    def counted(self) -> Array:
        """The columns whose k-th largest entry is needed."""
        return np.flatnonzero(self.count)

    @property
    def sized(self) -> bool:
        """Some column's length is needed."""
        return bool(self.unit.any() or np.isfinite(self.radius).any())

    def of(self, rows: slice) -> ByColumns:
        """The same for all rows."""
        return self


Plan = ByRows | ByColumns


def plan_for(x_set: StructureSet, shape: tuple[int, int]) -> Plan:
    """How to project an X of this shape that is cut into blocks of rows; InvalidInput if it cannot be done."""
    members = members_of(x_set)
    if len(members) > 1 and not x_set.exact:
        raise InvalidInput(
            "X", f"on blocks of rows only closed forms are possible, and this is not one: {x_set.reason}", whole=True
        )
    if all(_goes_by_rows(s) for s in members):
        return ByRows(members)
    for s in members:
        if not _goes_by_columns(s):
            others = "" if len(members) == 1 else ", or not together with the other sets,"
            message = f"{s.title} ({s.name}){others} cannot be enforced on blocks of rows; possible are {POSSIBLE}"
            raise InvalidInput("X", message, whole=True)
    return _by_columns(members, shape)


def _goes_by_rows(s: StructureSet) -> bool:
    if isinstance(s, VectorSet):
        if s.axis == "row":
            return s.columns is None
        return is_entrywise(s) and s.entries is None
    if isinstance(s, FixedColumns | DisjointSupports):
        return s.axis == "column"
    return isinstance(s, Support)


def _of_rows(s: StructureSet, rows: slice) -> StructureSet:
    if isinstance(s, Support):
        return Support(s.mask[rows])
    if isinstance(s, FixedColumns):
        return replace(s, values=s.values[rows])
    return s


def _goes_by_columns(s: StructureSet) -> bool:
    kinds = Nonnegative | Sparse | UnitNorm | NormBall
    return isinstance(s, kinds) and s.entries is None and (s.axis == "column" or (s.axis == "all" and isinstance(s, Nonnegative)))


def _by_columns(members: tuple[StructureSet, ...], shape: tuple[int, int]) -> ByColumns:
    m, p = shape
    plan = ByColumns(np.zeros(p, bool), np.full(p, m), np.zeros(p, bool), np.full(p, np.inf))
    for s in members:
        chosen = slice(None) if not isinstance(s, VectorSet) or s.columns is None else list(s.columns)
        if isinstance(s, Nonnegative):
            plan.clip[chosen] = True
        elif isinstance(s, Sparse):
            plan.count[chosen] = np.minimum(plan.count[chosen], s.k)
        elif isinstance(s, UnitNorm):
            plan.unit[chosen] = True
        elif isinstance(s, NormBall):
            plan.radius[chosen] = np.minimum(plan.radius[chosen], s.radius)
    return replace(plan, count=np.where(plan.count < m, plan.count, 0))
