"""Constraints that no matrix can satisfy together, found before the first iteration and said in a sentence.

What only the zero vector satisfies is rejected as well: it is never what was meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.sets.base import Array, Shape, StructureSet, VectorSet
from semf_core.sets.counting import EqualNonzeros, GroupSparse, Sparse
from semf_core.sets.coupled import DisjointSupports, OrthogonalTo, Orthonormal
from semf_core.sets.entrywise import Box, FixedColumns, Nonnegative, Support
from semf_core.sets.norms import L1Ball, NormBall, Simplex, UnitNorm
from semf_core.sets.plans import Sets, is_entrywise, lets_zeros_be
from semf_core.sets.sparseness import Sparseness

KNOWN_TOLERANCE = 1e-8


def check_pairs(sets: Sets) -> None:
    """Reject two constraints that contradict each other whatever the shape."""
    for a, b in _ordered_pairs(sets):
        sentence = _contradiction(a, b)
        if sentence:
            raise InvalidInput(f"{a.name} and {b.name}", sentence, whole=True)


def check_together(sets: Sets, shape: Shape) -> None:
    """Reject constraints that contradict each other in a matrix of this shape."""
    for a, b in _ordered_pairs(sets):
        if isinstance(a, VectorSet) and isinstance(b, VectorSet) and _same_vectors(a, b):
            sentence = _contradiction_at(a, b, b.vector_shape(shape)[0])
            if sentence:
                raise InvalidInput(f"{a.name} and {b.name}", sentence, whole=True)
    _check_bounds(sets, shape)
    masks = [s.mask for s in sets if isinstance(s, Support)]
    if masks:
        mask = np.logical_and.reduce(masks)
        for s in sets:
            _check_support(s, mask)
    _check_known(sets, shape)


def _ordered_pairs(sets: Sets) -> Iterator[tuple[StructureSet, StructureSet]]:
    return ((a, b) for i, a in enumerate(sets) for j, b in enumerate(sets) if i != j)


def _contradiction(a: StructureSet, b: StructureSet) -> str | None:
    if not isinstance(a, VectorSet) or not isinstance(b, VectorSet):
        return None
    if is_entrywise(a) and is_entrywise(b):
        return _empty_interval(a, b) if _share_an_entry(a, b) else None
    return _impossible_pair(a, b) if _same_vectors(a, b) else None


def _empty_interval(a: StructureSet, b: StructureSet) -> str | None:
    if isinstance(a, Nonnegative) and isinstance(b, Box) and b.high < 0:
        return f"no entry is nonnegative and at most {b.high:g}"
    if isinstance(a, Box) and isinstance(b, Box) and a.low > b.high:
        return f"no entry is at least {a.low:g} and at most {b.high:g}"
    return None


def _impossible_pair(a: VectorSet, b: VectorSet) -> str | None:
    """A contradiction on vectors of any length."""
    if isinstance(a, EqualNonzeros) and a.k is not None:
        if isinstance(b, Sparse) and b.k < a.k:
            return f"{a.k} equal nonzeros do not fit into at most {b.k} nonzeros; lower the first or raise the second"
        if isinstance(b, GroupSparse) and sum(b.counts) < a.k:
            return f"{a.k} equal nonzeros do not fit into groups that allow {sum(b.counts)} in all"
        if isinstance(b, EqualNonzeros) and b.k is not None and b.k != a.k:
            return f"cannot have exactly {a.k} and exactly {b.k} nonzeros"
    if isinstance(b, NormBall | L1Ball):
        least = 1.0 if isinstance(a, UnitNorm) else a.total if isinstance(a, Simplex) and isinstance(b, L1Ball) else 0.0
        if b.radius < least:
            return f"the first makes vectors of size {least:g} at least, above the bound {b.radius:g}"
    if isinstance(a, Simplex) and isinstance(b, Simplex) and a.total != b.total:
        return f"a vector cannot add up to {a.total:g} and to {b.total:g}"
    if isinstance(a, Simplex) and isinstance(b, UnitNorm) and a.total < 1:
        return f"nonnegative entries that add up to {a.total:g} have a length of at most {a.total:g}, never one"
    if isinstance(a, Sparseness) and isinstance(b, Sparseness) and a.low > b.highest:
        return f"a sparseness of at least {a.low:g} is not at most {b.highest:g}"
    return None


def _contradiction_at(a: VectorSet, b: VectorSet, length: int) -> str | None:
    """A contradiction on vectors of this length."""
    root = float(np.sqrt(length))
    if isinstance(a, Box):
        sentence = _box_contradiction(a, b, length)
        if sentence:
            return sentence
    if isinstance(a, Simplex):
        if isinstance(b, UnitNorm) and a.total > root:
            return f"{length} nonnegative entries that add up to {a.total:g} have a length above one"
        if isinstance(b, NormBall) and a.total / root > b.radius:
            return f"{length} entries that add up to {a.total:g} have a length of at least {a.total / root:g}, above {b.radius:g}"
    if isinstance(a, Sparseness) and length > 1:
        least, most = a.bounds(length)
        if isinstance(b, Sparse) and np.sqrt(b.k) < least * (1 - 1e-12):
            return f"{b.k} of {length} entries are sparser than {a.highest:g} already; raise k or the sparseness"
        if isinstance(b, EqualNonzeros) and b.k is not None and not least * (1 - 1e-12) <= np.sqrt(b.k) <= most * (1 + 1e-12):
            return f"{b.k} equal nonzeros among {length} entries have the sparseness {(root - np.sqrt(b.k)) / (root - 1):g}"
    return None


def _box_contradiction(box: Box, b: VectorSet, length: int) -> str | None:
    """Bounds on every entry against a demand on the vector they form."""
    near = max(box.low, -box.high, 0.0)
    far = max(abs(box.low), abs(box.high))
    root = float(np.sqrt(length))
    if not box.holds_zero:
        zeros = length - b.k if isinstance(b, Sparse) else length - sum(b.counts) if isinstance(b, GroupSparse) else 0
        if zeros > 0:
            return f"bounds that leave out zero do not allow the {zeros} zeros a vector must have"
    if isinstance(b, Simplex) and (box.high < 0 or not length * max(box.low, 0) <= b.total <= length * box.high):
        return f"{length} nonnegative entries within the bounds cannot add up to {b.total:g}"
    if isinstance(b, UnitNorm) and not near * root <= 1 <= far * root:
        return f"a vector of {length} entries within the bounds cannot have length one"
    size = near * root if isinstance(b, NormBall) else near * length if isinstance(b, L1Ball) else 0.0
    if isinstance(b, NormBall | L1Ball) and size > b.radius:
        return f"a vector of {length} entries within the bounds is larger than {b.radius:g}"
    return None


# ---------------------------------------------------------------------------------------------
# Bounds, masks and known columns


def _check_bounds(sets: Sets, shape: Shape) -> None:
    """Bounds on single entries, from scopes along any axis, must leave every entry a value."""
    bounds = [(s, s.low, s.high) if isinstance(s, Box) else (s, 0.0, np.inf) for s in sets if isinstance(s, Nonnegative | Box)]
    if not bounds or max(low for _, low, _ in bounds) <= min(high for _, _, high in bounds):
        return  # wherever they meet: there is no need to look at every entry
    place = np.arange(shape[0] * shape[1]).reshape(shape)
    lows, highs = np.full(place.size, -np.inf), np.full(place.size, np.inf)
    for s, low, high in bounds:
        bound = s.scope.take(place).ravel()
        lows[bound] = np.maximum(lows[bound], low)
        highs[bound] = np.minimum(highs[bound], high)
        empty = np.flatnonzero(lows > highs)
        if empty.size:
            e = int(empty[0])
            asked = f"would have to be at least {lows[e]:g} and at most {highs[e]:g}"
            where = "entry ({row}, {column}), counted from {origin},"
            raise InvalidInput(s.name, f"{where} {asked}", whole=True, row=e // shape[1], column=e % shape[1])


def _check_support(s: StructureSet, mask: Array) -> None:
    """Every bound vector must have room on the support for what the set asks of it."""
    needed: Callable[[Array], bool]
    if isinstance(s, UnitNorm | Simplex):
        needed, asks = (lambda allowed: bool(allowed.any())), "a nonzero vector"
    elif isinstance(s, EqualNonzeros) and s.k is not None:
        k = s.k
        needed, asks = (lambda allowed: int(allowed.sum()) >= k), f"{k} nonzeros"
    elif isinstance(s, Box) and not s.holds_zero:
        needed, asks = (lambda allowed: bool(allowed.all())), "that no entry be zero"
    elif isinstance(s, Orthonormal):
        empty = np.flatnonzero(~mask.any(axis=1 if s.axis == "row" else 0))
        if empty.size:
            where = f"{s.axis} {{place}} (counted from {{origin}})"
            asked = f"{s.name} asks for a vector of length one"
            raise InvalidInput("mask", f"allows no entry in {where}, but {asked}", place=int(empty[0]))
        return
    else:
        return
    vectors = s.scope.take(mask)
    for j in range(vectors.shape[1]):
        if not needed(vectors[:, j]):
            where = "" if s.axis == "all" else f" in {s.axis} {{place}} (counted from {{origin}})"
            allows = f"allows {int(vectors[:, j].sum())} entries{where}"
            raise InvalidInput("mask", f"{allows}, but {s.name} asks for {asks}", place=j if s.columns is None else s.columns[j])


def _check_known(sets: Sets, shape: Shape) -> None:
    """The known columns must satisfy the other constraints by themselves."""
    fixed = [s for s in sets if isinstance(s, FixedColumns)]
    if not fixed:
        return
    A = np.zeros(shape)
    for f in fixed:
        A = f.project(A)
    for f in fixed:
        for s in sets:
            if s is f or not _decides_alone(s, f, fixed):
                continue
            P = s.project(A)
            change = float(np.abs((P.T if f.axis == "row" else P)[:, list(f.columns)] - f.values).max())
            if change > KNOWN_TOLERANCE * (1 + float(np.abs(f.values).max())):
                raise InvalidInput(
                    "values", f"the known {f.axis}s break the constraint {s.name}", "change one of the two", whole=True
                )


def _decides_alone(s: StructureSet, f: FixedColumns, fixed: Sequence[FixedColumns]) -> bool:
    """Whether what `s` makes of the known vectors, all others being zero, tells if they can be kept."""
    if isinstance(s, VectorSet):
        return s.axis == f.axis or is_entrywise(s) or lets_zeros_be(s)
    if isinstance(s, Orthonormal):
        return s.axis == f.axis
    if isinstance(s, OrthogonalTo):
        return any(known.axis == s.axis and s.column in known.columns for known in fixed)
    return isinstance(s, Support | FixedColumns | DisjointSupports)


# ---------------------------------------------------------------------------------------------
# Scopes


def _same_vectors(a: VectorSet, b: VectorSet) -> bool:
    """Do the two sets bind a common vector, and the same entries of it?"""
    if any(is_entrywise(s) and s.binds_all_entries for s in (a, b)):
        return True
    if a.axis != b.axis or a.entries != b.entries:
        return False
    if a.axis == "all":
        return a.columns == b.columns
    return a.columns is None or b.columns is None or bool(set(a.columns) & set(b.columns))


def _share_an_entry(a: VectorSet, b: VectorSet) -> bool:
    """Do the scopes of two entrywise sets meet, as far as can be said without the shape?"""
    (rows, columns), (other_rows, other_columns) = _places(a), _places(b)
    return _meet(rows, other_rows) and _meet(columns, other_columns)


def _places(s: VectorSet) -> tuple[Any, Any]:
    """Rows and columns that a scope names; None for all, an empty set where it cannot be said."""
    if s.axis == "all":
        return (None if s.entries is None else set()), s.columns
    return (s.columns, s.entries) if s.axis == "row" else (s.entries, s.columns)


def _meet(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return (a is None or len(a) > 0) and (b is None or len(b) > 0)
    return bool(set(a) & set(b))
