"""Several sets on one factor: a closed form where a proof exists, otherwise repeated projections."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from semf_core.parameters import InvalidInput, param
from semf_core.sets import base
from semf_core.sets.base import SETS, Array, Shape, StructureSet, as_matrix
from semf_core.sets.coupled import OrthogonalTo
from semf_core.sets.entrywise import Nonnegative
from semf_core.sets.feasibility import check_pairs, check_together
from semf_core.sets.iterate import MAX_ROUNDS
from semf_core.sets.planning import make_plan, successive_plan
from semf_core.sets.plans import Plan


@dataclass(frozen=True, eq=False)
class Intersection(StructureSet):
    """All of `sets` at once; no sets leave the factor free.

    `method` "auto" uses a closed form where one is known; "successive" makes `rounds` rounds of one
    projection after the other in the given order, as in SeMF §4.4.3.
    """

    name: ClassVar[str] = "intersection"
    title: ClassVar[str] = "Intersection"

    sets: tuple[StructureSet, ...] = ()
    method: str = param("choice", "auto", choices=("auto", "successive"), help="closed form where known, or rounds in order")
    rounds: int = param("integer", 1, low=1, high=MAX_ROUNDS, help="rounds of successive projections")

    def __post_init__(self) -> None:
        super().__post_init__()
        members: list[StructureSet] = []
        for s in self.sets:
            if not isinstance(s, StructureSet):
                raise InvalidInput("sets", f"must be structure sets, not {type(s).__name__}")
            nested = isinstance(s, Intersection) and s.method == "auto" and self.method == "auto"
            members.extend(members_of(s) if nested else [s])
        object.__setattr__(self, "sets", tuple(members))
        check_pairs(self.sets)

    def __reduce__(self) -> tuple[Any, ...]:
        """A plan holds functions, which cannot be pickled; it is made again from the members."""
        return Intersection, (self.sets, self.method, self.rounds)

    def identity(self) -> tuple[Any, ...]:
        return (*super().identity(), self.sets)

    @property
    def convex(self) -> bool:
        return all(s.convex for s in self.sets)

    @property
    def size(self) -> str:  # type: ignore[override]
        sizes = {s.size for s in self.sets}
        return "fixed" if "fixed" in sizes else "ball" if "ball" in sizes else "free"

    @property
    def binds_support(self) -> bool:  # type: ignore[override]
        return any(s.binds_support for s in self.sets)

    @property
    def polish_sign(self) -> str | None:  # type: ignore[override]
        signs = {_sign_on_support(s, self.sets) for s in self.sets}
        return None if None in signs else "nonnegative" if "nonnegative" in signs else "free"

    @property
    def exact(self) -> bool:
        return self.plan.exact

    @property
    def reason(self) -> str:
        return self.plan.reason

    @cached_property
    def plan(self) -> Plan:
        """How a matrix is projected, and what is known about the result."""
        return make_plan(self.sets) if self.method == "auto" else successive_plan(self.sets, self.rounds)

    def project(self, A: Array) -> Array:
        return self.plan.project(as_matrix(A))

    def violation(self, A: Array) -> float:
        """The largest violation among the members."""
        return max((s.violation(A) for s in self.sets), default=0.0)

    def check_shape(self, shape: Shape) -> None:
        for s in self.sets:
            s.check_shape(shape)
        check_together(self.sets, shape)

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        members = [s.restricted(keep, axis, shape) for s in self.sets]
        found = tuple(s for s in members if s is not None)
        return dataclasses.replace(self, sets=found) if len(found) == len(members) else None

    def condition(self, symbol: str) -> str:
        conditions = list(dict.fromkeys(s.condition(symbol) for s in self.sets))
        return r",\; ".join(conditions) if conditions else r"\text{no constraint}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "sets": [s.to_dict() for s in self.sets]}


base.enter_intersection(Intersection)


def combine(sets: Sequence[StructureSet]) -> StructureSet:
    """One set that holds all the given constraints."""
    return sets[0] if len(sets) == 1 else Intersection(tuple(sets))


def members_of(s: StructureSet) -> tuple[StructureSet, ...]:
    """The constraints of a set, one by one."""
    return s.sets if isinstance(s, Intersection) else (s,)


def set_from_dict(values: object) -> StructureSet:
    """The set described by JSON; an intersection holds its members under "sets"."""
    if isinstance(values, Mapping) and values.get("name") == Intersection.name:
        nested = values.get("sets")
        if not isinstance(nested, list):
            raise InvalidInput("sets", "an intersection lists its members")
        rest = {k: v for k, v in values.items() if k not in {"name", "sets"}}
        unknown = set(rest) - {"method", "rounds"}
        if unknown:
            raise InvalidInput(sorted(unknown)[0], "is not a parameter of intersection; it takes sets, method, rounds")
        return Intersection(tuple(set_from_dict(v) for v in nested), **rest)
    return SETS.build(values)


def _sign_on_support(s: StructureSet, companions: Sequence[StructureSet]) -> str | None:
    """What a member leaves on a fixed support; orthogonality of nonnegative columns is one of supports."""
    if isinstance(s, OrthogonalTo) and any(isinstance(c, Nonnegative) and c.binds_all_entries for c in companions):
        return "free"
    return s.polish_sign
