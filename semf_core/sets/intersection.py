"""Several sets on one factor: a closed form where a proof exists, otherwise repeated projections."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from semf_core.common.parameters import InvalidInput, Param, param
from semf_core.sets import base
from semf_core.sets.base import SETS, Array, Shape, StructureSet, as_matrix
from semf_core.sets.coupled import OrthogonalTo
from semf_core.sets.entrywise import Nonnegative
from semf_core.sets.feasibility import check_pairs, check_together
from semf_core.sets.iterate import MAX_ROUNDS
from semf_core.sets.planning import make_plan, successive_plan
from semf_core.sets.plans import Plan

ROUNDS = Param(
    "integer", 0, low=0, high=MAX_ROUNDS, name="rounds",
    help="rounds of one projection after the other in their order (SeMF §3.4, §4.4.3); 0: a closed form where one is known",
)  # fmt: skip


class Intersection(StructureSet):
    """All of `sets` at once; no sets leave the factor free. `A & B` makes one.

    Parameters
    ----------
    sets : tuple of StructureSet
        The members; intersections among them are taken apart.
    method : {'auto', 'successive'}
        "auto" uses a closed form where one is known; "successive" makes `rounds` rounds of one projection after
        the other in the given order, as in SeMF §4.4.3.
    rounds : int
        Rounds of successive projections.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Nonnegative, Sparse, UnitNorm
    >>> both = Nonnegative() & Sparse(2)
    >>> both.project(np.array([[3.0], [-4.0], [1.0], [2.0]])).ravel()
    array([3., 0., 0., 2.])
    >>> both.exact, both.reason
    (True, 'clip, then keep the k largest (Proposition 1 of the SeMF paper)')
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
    def workspace(self) -> float:  # type: ignore[override]
        """That of the hungriest member, and a matrix for each of them where corrections are kept."""
        return max((s.workspace for s in self.sets), default=0) + len(self.sets)

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

    @cached_property
    def columnwise(self) -> bool:
        """Rounds that stop when all columns are well would not treat them by themselves."""
        return (self.exact or (self.method == "successive" and self.rounds == 1)) and all(s.columnwise for s in self.sets)

    def nonzeros(self, length: int) -> int:
        return min((s.nonzeros(length) for s in self.sets), default=length)

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

    def looser(self, shape: Shape, share: float) -> StructureSet:
        return dataclasses.replace(self, sets=tuple(s.looser(shape, share) for s in self.sets))

    def condition(self, symbol: str) -> str:
        conditions = list(dict.fromkeys(s.condition(symbol) for s in self.sets))
        return r",\; ".join(conditions) if conditions else r"\text{no constraint}"

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "sets": [s.to_dict() for s in self.sets]}


base.enter_intersection(Intersection)


def combine(sets: Sequence[StructureSet]) -> StructureSet:
    """One set that holds all the given constraints.

    Parameters
    ----------
    sets : sequence of StructureSet
        The constraints; none leave the factor free.

    Returns
    -------
    StructureSet
        The only one of them, or their intersection.

    Examples
    --------
    >>> from semf_core.sets import Nonnegative, Sparse, combine
    >>> combine([Sparse(3)])
    Sparse(axis='column', columns=None, entries=None, k=3)
    >>> [s.name for s in combine([Nonnegative(), Sparse(3)]).sets]
    ['nonnegative', 'sparse']
    """
    return sets[0] if len(sets) == 1 else Intersection(tuple(sets))


def members_of(s: StructureSet) -> tuple[StructureSet, ...]:
    """The constraints of a set, one by one.

    Parameters
    ----------
    s : StructureSet
        Any set, an intersection or not.

    Returns
    -------
    tuple of StructureSet
        Its members; the set itself where it is no intersection.

    Examples
    --------
    >>> from semf_core.sets import Nonnegative, Sparse, members_of
    >>> [s.name for s in members_of(Nonnegative() & Sparse(3))]
    ['nonnegative', 'sparse']
    """
    return s.sets if isinstance(s, Intersection) else (s,)


def in_rounds(sets: Sequence[StructureSet], rounds: int) -> tuple[StructureSet, ...]:
    """The constraints, projected onto one after the other instead of by a closed form.

    Parameters
    ----------
    sets : sequence of StructureSet
        The constraints in their order.
    rounds : int
        How often each of them has its turn; 0: a closed form where one is known.

    Returns
    -------
    tuple of StructureSet
        What to pass on as the constraints of a factor.

    Examples
    --------
    >>> from semf_core.sets import Nonnegative, Sparse, in_rounds, without_rounds
    >>> (turns,) = in_rounds([Nonnegative(), Sparse(3)], 2)
    >>> turns.method, turns.rounds, turns.exact
    ('successive', 2, False)
    """
    members = tuple(sets)
    return (Intersection(members, "successive", rounds),) if rounds and members else members


def without_rounds(sets: Sequence[StructureSet]) -> tuple[tuple[StructureSet, ...], int]:
    """What `in_rounds` was given.

    Parameters
    ----------
    sets : sequence of StructureSet
        The constraints of a factor.

    Returns
    -------
    members : tuple of StructureSet
        The constraints one by one.
    rounds : int
        The rounds; 0 for a closed form where one is known.

    Examples
    --------
    >>> from semf_core.sets import Nonnegative, Sparse, in_rounds, without_rounds
    >>> members, rounds = without_rounds(in_rounds([Nonnegative(), Sparse(3)], 2))
    >>> [s.name for s in members], rounds
    (['nonnegative', 'sparse'], 2)
    """
    only = sets[0] if len(sets) == 1 else None
    if isinstance(only, Intersection) and only.method == "successive":
        return only.sets, only.rounds
    return tuple(sets), 0


def set_from_dict(values: object) -> StructureSet:
    """The set that a JSON object describes: the inverse of `to_dict`.

    Parameters
    ----------
    values : dict
        `{"name": …, parameter: value, …}`; an intersection holds its members under "sets".

    Returns
    -------
    StructureSet
        An equal set.

    Examples
    --------
    >>> from semf_core.sets import Sparse, set_from_dict
    >>> Sparse(3, columns=[0, 1]).to_dict()
    {'name': 'sparse', 'k': 3, 'columns': [0, 1]}
    >>> set_from_dict({"name": "sparse", "k": 3, "columns": [0, 1]}) == Sparse(3, columns=[0, 1])
    True
    """
    if isinstance(values, Mapping) and values.get("name") == Intersection.name:
        nested = values.get("sets")
        if not isinstance(nested, list):
            raise InvalidInput("sets", "an intersection lists its members", whole=True)
        rest = {k: v for k, v in values.items() if k not in {"name", "sets"}}
        unknown = set(rest) - {"method", "rounds"}
        if unknown:
            raise InvalidInput(sorted(unknown)[0], "is not a parameter of intersection", "it takes sets, method, rounds")
        return Intersection(tuple(set_from_dict(v) for v in nested), **rest)
    return SETS.build(values)


def _sign_on_support(s: StructureSet, companions: Sequence[StructureSet]) -> str | None:
    """What a member leaves on a fixed support; orthogonality of nonnegative columns is one of supports."""
    if isinstance(s, OrthogonalTo) and any(isinstance(c, Nonnegative) and c.binds_all_entries for c in companions):
        return "free"
    return s.polish_sign
