"""How an intersection is projected onto: the closed form that its members allow, or repeated projections.

A plan depends on the members alone, not on the size of the matrix, so what is known of it (`exact`,
`reason`) can be shown before there is any data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from semf_core.sets import kernels
from semf_core.sets.base import Array, Scope, StructureSet, VectorSet
from semf_core.sets.counting import EqualNonzeros, Sparse
from semf_core.sets.coupled import DisjointSupports, OrthogonalTo
from semf_core.sets.entrywise import Box, Nonnegative, Support
from semf_core.sets.fixed_columns import fixed_columns_plan
from semf_core.sets.hoyer_groups import share_ratios, share_ratios_on_sphere
from semf_core.sets.iterate import MAX_ROUNDS, dykstra, successive
from semf_core.sets.norms import L1Ball, NormBall, Simplex, UnitNorm
from semf_core.sets.plans import Plan, Sets, axis_of, clips_in, holds_everywhere, is_entrywise, lets_zeros_be, without
from semf_core.sets.rules import RULES
from semf_core.sets.sparseness import GroupSparseness, Sparseness


def make_plan(sets: Sets) -> Plan:
    """The best known way to project onto the intersection."""
    if not sets:
        return Plan(lambda A: A.copy(), True, "no constraint")
    for attempt in (_single, _bounds, _known, _masked, _disjoint, _orthogonal, _group_sparseness, _vectorwise):
        plan = attempt(sets)
        if plan is not None:
            return plan
    names = ", ".join(s.name for s in sets)
    if all(s.convex for s in sets):
        return Plan(lambda A: dykstra(sets, A), False, f"Dykstra's algorithm over {names}: its limit is the nearest point")
    return Plan(
        lambda A: successive(sets, A, MAX_ROUNDS), False, f"rounds of projections in the order {names}; no closed form is known"
    )


def successive_plan(sets: Sets, rounds: int) -> Plan:
    """Rounds of one projection after the other, as in SeMF §4.4.3, whatever closed form there may be."""
    times = "one round" if rounds == 1 else f"{rounds} rounds"
    reason = f"{times} of projections in the order {', '.join(s.name for s in sets)}"
    return Plan(lambda A: successive(sets, A, rounds) if sets else A.copy(), not sets, reason)


def _single(sets: Sets) -> Plan | None:
    return Plan(sets[0].project, sets[0].exact, sets[0].reason) if len(sets) == 1 else None


def _bounds(sets: Sets) -> Plan | None:
    """Intervals on single entries: clipping to one after the other ends at the nearest common point."""
    if not all(is_entrywise(s) for s in sets):
        return None
    return Plan(lambda A: successive(sets, A, 1), True, "bounds entry by entry")


def _known(sets: Sets) -> Plan | None:
    return fixed_columns_plan(sets, make_plan)


def _masked(sets: Sets) -> Plan | None:
    """Mask first where the other sets leave zeros alone; else project each vector on its own support."""
    masks = [s for s in sets if isinstance(s, Support)]
    if not masks:
        return None
    others = without(sets, masks)
    mask = np.logical_and.reduce([s.mask for s in masks])
    rest = make_plan(others)
    if all(lets_zeros_be(s) for s in others):
        return Plan(lambda A: rest.project(A * mask), rest.exact, f"mask, then: {rest.reason}" if others else "masks multiply")
    axes = {axis_of(s) for s in others} - {None}
    if len(axes) != 1 or "all" in axes or not all(_ignores_places(s) for s in others):
        return None
    rows = "row" in axes
    patterns = _patterns(mask.T if rows else mask)

    def project(A: Array) -> Array:
        out = np.zeros_like(A)
        for entries, columns in patterns:
            block = np.ix_(columns, entries) if rows else np.ix_(entries, columns)
            out[block] = rest.project(A[block])
        return out

    return Plan(project, rest.exact, f"each vector on its own support: {rest.reason}")


def _ignores_places(s: StructureSet) -> bool:
    """Asks of whole vectors something that entries held at zero have no part in."""
    if isinstance(s, Box):
        return s.binds_all_entries and s.holds_zero
    kinds = Nonnegative | Sparse | EqualNonzeros | UnitNorm | NormBall | L1Ball | Simplex
    return isinstance(s, kinds) and s.binds_all_entries


def _patterns(mask: Array) -> list[tuple[Array, Array]]:
    """The distinct supports among the columns of a mask, and the columns that have each; empty ones left out."""
    distinct, which = np.unique(mask, axis=1, return_inverse=True)
    found = [(np.flatnonzero(distinct[:, i]), np.flatnonzero(which.ravel() == i)) for i in range(distinct.shape[1])]
    return [(entries, columns) for entries, columns in found if entries.size]


def _disjoint(sets: Sets) -> Plan | None:
    """Nonnegativity and disjoint supports: clip, then each row keeps its largest entry."""
    disjoint, clips = [s for s in sets if isinstance(s, DisjointSupports)], clips_in(sets)
    if len(disjoint) != 1 or not clips or len(sets) != len(clips) + 1:
        return None
    return Plan(lambda A: disjoint[0].project(kernels.clip_nonnegative(A)), True, "clip, then each row keeps its largest entry")


def _orthogonal(sets: Sets) -> Plan | None:
    """Nonnegative columns orthogonal to one column: orthogonal means disjoint supports (SeMF eq. 34)."""
    tied, clips = [s for s in sets if isinstance(s, OrthogonalTo)], clips_in(sets)
    counts = [s for s in sets if isinstance(s, Sparse)]
    if len(tied) != 1 or not clips or len(sets) != 1 + len(clips) + len(counts):
        return None
    if any(s.scope != Scope(tied[0].axis, (tied[0].column,)) for s in counts):
        return None
    k = min((s.k for s in counts), default=None)
    kernel = kernels.clear_shared_support if tied[0].hold else kernels.share_rows_with_column
    scope, column = tied[0].reach

    def project(A: Array) -> Array:
        return scope.apply(kernels.clip_nonnegative(A), lambda P: kernel(P, column, k))

    if tied[0].hold:
        reason = (
            "clip, keep the chosen column's largest entries, clear the others on its support: "
            "feasible, and nearest among the points that keep that column"
        )
        return Plan(project, False, reason)
    reason = "nonnegative and orthogonal means disjoint: each row goes to the column or to the others, whichever costs less"
    return Plan(project, True, reason)


def _group_sparseness(sets: Sets) -> Plan | None:
    """Mean sparseness of groups, with signs and unit norms if asked: eq. 2 of Potluru et al. 2013."""
    shared, clips = [s for s in sets if isinstance(s, GroupSparseness)], clips_in(sets)
    units = [s for s in sets if isinstance(s, UnitNorm)]
    if len(shared) != 1 or len(sets) != 1 + len(clips) + len(units):
        return None
    group = shared[0]
    if any(s.scope != Scope(group.axis) for s in units):
        return None
    outside = make_plan([*clips, *units])
    kernel = share_ratios_on_sphere if units else share_ratios
    scope = Scope(group.axis, tuple(j for members in group.groups for j in members))

    def project(A: Array) -> Array:
        out = outside.project(A)
        scope.write(out, scope.take(group.project_groups(A, kernel, bool(clips))))
        return out

    if units:
        return Plan(project, True, "Sparse-opt with one threshold for all columns of a group, then unit norm")
    return Plan(project, group.exact, group.reason)


# ---------------------------------------------------------------------------------------------
# Sets that bind vectors one by one


def _vectorwise(sets: Sets) -> Plan | None:
    """Vectors bound by the same sets form a cell; each cell has its own closed form.

    Entrywise sets that hold everywhere can be cut into any pieces: they join the closed form of every
    cell and stand alone where nothing else binds.
    """
    axes = {axis_of(s) for s in sets} - {None}
    if len(axes) > 1 or "matrix" in axes:
        return None
    axis = next((a for a in axes if a), "column")
    everywhere = [s for s in sets if holds_everywhere(s) and isinstance(s, VectorSet)]
    scoped = [_along(s, axis) for s in without(sets, everywhere) if isinstance(s, VectorSet)]
    if any(s is None for s in scoped):
        return None
    steps: list[tuple[Scope, Plan]] = []
    for columns, inverted, bound in _cells([s for s in scoped if s], axis):
        entries = {s.entries for s in bound}
        if _overlap(entries):
            return None
        for chosen in entries:
            closed = _closed_form([*(s for s in bound if s.entries == chosen), *everywhere])
            if closed is None:
                return None
            steps.append((Scope(axis, columns, chosen, inverted), closed))
    if axis == "all" and _overlap({scope.columns for scope, _ in steps}):
        return None
    return _stepwise(steps, everywhere)


def _stepwise(steps: Sequence[tuple[Scope, Plan]], everywhere: Sets) -> Plan:
    """Each step on its own scope, `everywhere` on what the steps leave out."""
    if len(steps) == 1 and steps[0][0].columns is None and steps[0][0].entries is None:
        scope, only = steps[0]
        return Plan(lambda A: scope.apply(A, only.project), only.exact, only.reason)
    background = make_plan(everywhere)

    def project(A: Array) -> Array:
        out = background.project(A)
        for scope, step in steps:
            scope.write(out, step.project(scope.take(A)))
        return out

    reasons = list(dict.fromkeys(step.reason for _, step in steps))
    return Plan(project, all(step.exact for _, step in steps), "; ".join(reasons))


def _along(s: VectorSet, axis: str) -> VectorSet | None:
    """An entrywise set said along the axis of its companions; None if its scope does not carry over."""
    if s.axis == axis:
        return s
    carries = is_entrywise(s) and s.entries is None and {s.axis, axis} == {"column", "all"}
    return dataclasses.replace(s, axis=axis) if carries else None


def _cells(sets: Sequence[VectorSet], axis: str) -> list[tuple[Sequence[int] | None, bool, tuple[VectorSet, ...]]]:
    """Columns (or their complement) and the sets that bind each of them."""
    if axis == "all":
        blocks = dict.fromkeys(s.columns for s in sets)
        return [(columns, False, tuple(s for s in sets if s.columns == columns)) for columns in blocks]
    chosen = [None if s.columns is None else set(s.columns) for s in sets]
    named = sorted(set().union(*(c for c in chosen if c)))
    cells: dict[tuple[VectorSet, ...], list[int]] = {}
    for j in named:
        cells.setdefault(tuple(s for s, c in zip(sets, chosen, strict=True) if c is None or j in c), []).append(j)
    found: list[tuple[Sequence[int] | None, bool, tuple[VectorSet, ...]]]
    found = [(tuple(columns), False, bound) for bound, columns in cells.items()]
    unnamed = tuple(s for s in sets if s.columns is None)
    if unnamed:
        found.append((tuple(named) or None, bool(named), unnamed))
    return found


def _overlap(choices: set[Sequence[int] | None]) -> bool:
    """Do two of these choices of indices share one? None chooses all."""
    named = [set(c) for c in choices if c is not None]
    return (len(choices) > 1 and None in choices) or sum(map(len, named)) > len(set().union(*named))


def _closed_form(bound: Sequence[VectorSet]) -> Plan | None:
    """The projection of vectors, as columns, that all the sets in `bound` constrain."""
    merged = _merge(bound)
    if merged is None:
        return None
    if len(merged) == 1:
        only = next(iter(merged.values()))
        return Plan(only.project_vectors, only.exact, only.reason)
    found = RULES.get(frozenset(merged))
    box = merged.get("box")
    if found is None or (isinstance(box, Box) and "sparse" in merged and not box.holds_zero):
        return None
    return Plan(lambda B: found.project(B, merged), True, found.because)


def _merge(bound: Sequence[VectorSet]) -> dict[str, VectorSet] | None:
    """One set per name: the tighter of two; None if two of a name cannot be joined."""
    merged: dict[str, VectorSet] = {}
    for s in bound:
        joined = _tighter(merged.get(s.name, s), s)
        if joined is None:
            return None
        merged[s.name] = joined
    return merged


def _tighter(a: VectorSet, b: VectorSet) -> VectorSet | None:
    """Two sets of a kind on the same vectors as one."""
    if isinstance(a, Sparse) and isinstance(b, Sparse):
        return a if a.k <= b.k else b
    if isinstance(a, NormBall | L1Ball) and isinstance(b, NormBall | L1Ball):
        return a if a.radius <= b.radius else b
    if isinstance(a, Box) and isinstance(b, Box):
        return dataclasses.replace(a, low=max(a.low, b.low), high=min(a.high, b.high))
    if isinstance(a, Sparseness) and isinstance(b, Sparseness):
        return dataclasses.replace(a, low=max(a.low, b.low), high=min(a.highest, b.highest))
    if isinstance(a, EqualNonzeros) and isinstance(b, EqualNonzeros):
        return b if a.k is None else a
    if a is b or isinstance(a, Nonnegative | UnitNorm):
        return a
    return a if dataclasses.replace(b, axis=a.axis, columns=a.columns, entries=a.entries) == a else None
