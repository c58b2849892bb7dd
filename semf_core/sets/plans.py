"""What a plan is, and what planning asks of the members of an intersection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from semf_core.sets.base import Array, StructureSet, VectorSet
from semf_core.sets.counting import GroupSparse
from semf_core.sets.coupled import DisjointSupports
from semf_core.sets.entrywise import Box, Nonnegative

Sets = Sequence[StructureSet]


@dataclass(frozen=True)
class Plan:
    """How an intersection is projected onto, and what is known about the result."""

    project: Callable[[Array], Array]
    exact: bool
    reason: str


def is_entrywise(s: StructureSet) -> bool:
    """Binds every entry by itself, so that columns, rows and all entries mean the same to it."""
    return isinstance(s, Nonnegative | Box)


def holds_everywhere(s: StructureSet) -> bool:
    """An entrywise set that leaves no entry free."""
    return isinstance(s, Nonnegative | Box) and s.binds_all_entries


def lets_zeros_be(s: StructureSet) -> bool:
    """Entries of a member may be set to zero, and zeros in a matrix change nothing for the rest of it."""
    if isinstance(s, VectorSet):
        return s.ignores_zeros or isinstance(s, GroupSparse)
    return isinstance(s, DisjointSupports)


def axis_of(s: StructureSet) -> str | None:
    """Which vectors a set binds; None if it is entrywise, "matrix" if it ties vectors together."""
    if is_entrywise(s):
        return None
    return s.axis if isinstance(s, VectorSet) else "matrix"


def clips_in(sets: Sets) -> list[StructureSet]:
    """The members that make every entry nonnegative."""
    return [s for s in sets if isinstance(s, Nonnegative) and s.binds_all_entries]


def without(sets: Sets, taken: Iterable[StructureSet]) -> list[StructureSet]:
    gone = {id(s) for s in taken}
    return [s for s in sets if id(s) not in gone]
