"""Plans for intersections with known columns: the others are projected with what the known ones leave them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from semf_core.sets import kernels
from semf_core.sets.base import Array
from semf_core.sets.counting import GroupSparse, Sparse
from semf_core.sets.coupled import DisjointSupports, OrthogonalTo, Orthonormal
from semf_core.sets.entrywise import FixedColumns, Support
from semf_core.sets.plans import Plan, Sets, axis_of, clips_in, without

Planner = Callable[[Sets], Plan]
Fixed = Sequence[FixedColumns]


def fixed_columns_plan(sets: Sets, make_plan: Planner) -> Plan | None:
    """The plan for known columns with any other constraints; None if there are none, or no good way."""
    fixed = [s for s in sets if isinstance(s, FixedColumns)]
    if not fixed or len({f.axis for f in fixed}) > 1:
        return None
    others, axis = without(sets, fixed), fixed[0].axis
    turned = [s for s in others if isinstance(s, OrthogonalTo)]
    if len(others) == 1 and isinstance(others[0], Orthonormal) and others[0].axis == axis:
        return _completed(fixed)
    if turned:
        plain = len(turned) == 1 and axis == turned[0].axis and len(others) == 1 + len(clips_in(others))
        return _beside_a_column(fixed, turned[0], clips_in(others), make_plan) if plain else None
    counts = [s for s in others if isinstance(s, Sparse | GroupSparse)]
    if counts and len(others) == len(counts) + len(clips_in(others)):
        return _counted(fixed, make_plan(others))
    return _separate(fixed, others, make_plan)


def _written(fixed: Fixed, A: Array) -> Array:
    for f in fixed:
        A = f.project(A)
    return A


def _known(fixed: Fixed) -> list[int]:
    return sorted({j for f in fixed for j in f.columns})


def _vectors(fixed: Fixed, A: Array) -> Array:
    """A with the known vectors among its columns; a view."""
    return A.T if fixed[0].axis == "row" else A


def _completed(fixed: Fixed) -> Plan:
    """Orthonormal columns, some of them known: Procrustes in the complement of the known ones."""

    def project(A: Array) -> Array:
        out = _written(fixed, A)
        B = _vectors(fixed, out)
        known = _known(fixed)
        free = np.setdiff1d(np.arange(B.shape[1]), known)
        if free.size:
            # A basis of the complement keeps the answer orthogonal even where the rest of B lies in the span.
            basis = np.linalg.svd(B[:, known])[0][:, len(known) :]
            B[:, free] = basis @ kernels.polar(basis.T @ B[:, free])
        return out

    return Plan(project, True, "Procrustes in the complement of the known vectors")


def _beside_a_column(fixed: Fixed, s: OrthogonalTo, clips: Sets, make_plan: Planner) -> Plan:
    """Known vectors and orthogonality to a vector, which may be one of them.

    If it is known, eq. 16 is exact: nearest among the points that keep the column. If not, it first
    leaves the span (for nonnegative columns: the support) of the known ones.
    """
    known = _known(fixed)
    if s.column in known:
        rest = make_plan([dataclasses.replace(s, hold=True), *clips])
        reason = f"known {s.axis}s are set; the others: {rest.reason}"
        return Plan(lambda A: _written(fixed, rest.project(_written(fixed, A))), True, reason)
    hold = s.hold or not clips
    rest = make_plan([dataclasses.replace(s, hold=hold), *clips])
    bound = known if s.columns is None else sorted(set(known) & set(s.columns))

    def project(A: Array) -> Array:
        out = _written(fixed, A)
        B = _vectors(fixed, out)
        K = B[:, bound]
        if clips:
            B[K.any(axis=1), s.column] = 0
        else:
            basis = np.linalg.svd(K, full_matrices=False)
            span = basis[0][:, basis[1] > 1e-12 * basis[1].max(initial=0)]
            B[:, s.column] -= span @ (span.T @ B[:, s.column])
        B[:, known] = 0
        return _written(fixed, rest.project(out))

    return Plan(project, not hold, f"the {s.axis} keeps off the known ones; then: {rest.reason}")


def _counted(fixed: Fixed, rest: Plan) -> Plan:
    """Counts across known columns: a known nonzero is always counted, so it is made the largest of all."""

    def project(A: Array) -> Array:
        out = _written(fixed, A)
        B = _vectors(fixed, out)
        known = _known(fixed)
        B[:, known] = np.where(B[:, known] != 0, 1 + 2 * np.abs(A).max(), 0)
        return _written(fixed, rest.project(out))

    return Plan(project, rest.exact, f"known {fixed[0].axis}s are set and counted first; the others: {rest.reason}")


def _separate(fixed: Fixed, others: Sets, make_plan: Planner) -> Plan | None:
    """Sets that bind each column by itself, or only ask that columns do not overlap."""
    axis = fixed[0].axis
    spread = [s for s in others if isinstance(s, DisjointSupports) and s.axis == axis]
    apart = (s for s in without(others, spread) if not isinstance(s, Support))
    if any(axis_of(s) not in (None, axis) for s in apart):
        return None
    rest = make_plan(others)
    known = set(_known(fixed))

    def project(A: Array) -> Array:
        out = _written(fixed, A)
        for s in spread:
            _make_way(_vectors(fixed, out), sorted(known if s.columns is None else known & set(s.columns)), s.columns)
        return _written(fixed, rest.project(out))

    return Plan(project, rest.exact, f"known {axis}s are set; the others: {rest.reason}")


def _make_way(B: Array, known: list[int], columns: Sequence[int] | None) -> None:
    """Clear the columns that must not overlap the known ones where those are nonzero, and clear those."""
    taken = np.flatnonzero(B[:, known].any(axis=1))
    bound = np.arange(B.shape[1]) if columns is None else np.array(columns)
    B[np.ix_(taken, bound)] = 0
    B[:, known] = 0
