"""Sets that count nonzeros: sparsity, combinatorial sparsity by group, equal nonzeros."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, Shape, StructureSet, VectorSet, latex_indices, renumber
from semf_core.sets.kernels import (
    Stacks,
    as_counts,
    equal_on_top,
    group_top_mask,
    groups_by_size,
    keep_largest,
    keep_largest_of_groups,
)


@SETS.register
class Sparse(VectorSet):
    """‖x‖₀ ≤ k for each bound vector (SeMF eq. 15).

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Sparse
    >>> Sparse(1).project(np.array([[3.0, 1.0], [-4.0, 0.5]]))
    array([[ 0.,  1.],
           [-4.,  0.]])
    >>> Sparse(2, axis="all").project(np.array([[3.0, 1.0], [-4.0, 0.5]]))
    array([[ 3.,  0.],
           [-4.,  0.]])
    """

    name: ClassVar[str] = "sparse"
    title: ClassVar[str] = "k-sparse"
    summary: ClassVar[str] = "at most k nonzeros"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"k": 2}
    ignores_zeros: ClassVar[bool] = True
    polish_sign: ClassVar[str | None] = "free"

    k: int = param("integer", low=1, symbol="k", help="largest number of nonzeros")

    def project_vectors(self, B: Array) -> Array:
        return keep_largest(B, self.k)

    def vector_nonzeros(self, length: int) -> int:
        return self.k

    def check_length(self, length: int) -> None:
        if self.k > length:
            raise InvalidInput("k", f"at most {length} nonzeros fit in a vector of length {length}, not {self.k}", whole=True)

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        s = super().restricted(keep, axis, shape)
        if not isinstance(s, Sparse):
            return None
        smaller = (len(keep), shape[1]) if axis == 0 else (shape[0], len(keep))
        return dataclasses.replace(s, k=min(s.k, s.vector_shape(smaller)[0]))

    def looser(self, shape: Shape, share: float) -> StructureSet:
        """Only where it binds all vectors, each as a whole."""
        more = min(self.vector_shape(shape)[0], self.k + max(1, round(share * self.k)))
        return dataclasses.replace(self, k=more) if self.binds_all_entries else self

    def vector_condition(self, x: str) -> str:
        return rf"\|{x}\|_0 \le {self.k}"


@SETS.register
class GroupSparse(VectorSet):
    """‖x_{G_t}‖₀ ≤ k_t for each group G_t of a partition (SeMF eqs. 18-20).

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import GroupSparse
    >>> GroupSparse([[0, 1], [2, 3]]).project(np.array([[3.0], [1.0], [-4.0], [0.5]])).ravel()
    array([ 3.,  0., -4.,  0.])
    """

    name: ClassVar[str] = "group_sparse"
    title: ClassVar[str] = "k per group"
    summary: ClassVar[str] = "each group of a partition holds at most k nonzeros (one, by default)"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"groups": [[0, 1], [2, 3, 4], [5]]}
    polish_sign: ClassVar[str | None] = "free"

    groups: Sequence[Sequence[int]] = param("groups", symbol="G_t", help="a partition of the entries of each vector")
    k: int | Sequence[int] = param("integers", 1, low=1, symbol="k_t", help="nonzeros allowed, one number or one per group")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.k, Sequence) and len(self.k) != len(self.groups):
            raise InvalidInput("k", f"holds {len(self.k)} numbers for {len(self.groups)} groups", "give one, or one per group")
        for t, (group, count) in enumerate(zip(self.groups, self.counts, strict=True)):
            if count > len(group):
                room = f"has {len(group)} entries, so at most {len(group)} nonzeros, not {count}"
                raise InvalidInput("k", f"group {{t}} (counted from {{origin}}) {room}", whole=True, t=t)

    @property
    def counts(self) -> tuple[int, ...]:
        return as_counts(self.k, self.groups)

    @cached_property
    def _stacks(self) -> Stacks:
        return groups_by_size(self.groups, self.counts)

    def mask(self, key: Array) -> Array:
        return group_top_mask(key, self._stacks)

    def keep_largest(self, B: Array, clip: bool = False) -> Array:
        """The projection, and with `clip` that onto the nonnegative members."""
        return keep_largest_of_groups(B, self._stacks, clip)

    def project_vectors(self, B: Array) -> Array:
        return self.keep_largest(B)

    def vector_nonzeros(self, length: int) -> int:
        return sum(self.counts)

    def check_length(self, length: int) -> None:
        flat = {i for g in self.groups for i in g}
        if max(flat) >= length:
            room = f"but the vectors have {length} entries (counted from {{origin}})"
            raise InvalidInput("groups", f"name entry {{entry}}, {room}", entry=max(flat))
        missing = sorted(set(range(length)) - flat)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            whole = f"a partition covers all {length} entries (counted from {{origin}})"
            raise InvalidInput("groups", f"leave out entry {{entry}}{more}", whole, entry=missing[0])

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        if axis == (0 if self.axis == "row" else 1) or self.axis == "all":
            return super().restricted(keep, axis, shape)
        positions = keep if self.entries is None else [i for i, e in enumerate(self.entries) if e in set(keep.tolist())]
        left = [(renumber(group, np.asarray(positions)), k) for group, k in zip(self.groups, self.counts, strict=True)]
        left = [(group, min(k, len(group))) for group, k in left if group]
        if not left:
            return None
        entries = None if self.entries is None else renumber(self.entries, keep)
        groups, counts = zip(*left, strict=True)
        return dataclasses.replace(self, groups=groups, k=counts, entries=entries)

    def vector_condition(self, x: str) -> str:
        terms = ",\\;".join(rf"G_{{{t + 1}}}=\{{{latex_indices(g)}\}}" for t, g in enumerate(self.groups))
        bound = str(self.k) if isinstance(self.k, int) else f"({','.join(map(str, self.k))})_t"
        return rf"\|({x})_{{G_t}}\|_0 \le {bound}\;\forall t,\; {terms}"


@SETS.register
class EqualNonzeros(VectorSet):
    """k entries share one value a ≥ 0, the others vanish (SeMF Prop. 2, eq. 33).

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import EqualNonzeros
    >>> EqualNonzeros(2).project(np.array([[3.0], [1.0], [-4.0], [2.0]])).ravel()
    array([2.5, 0. , 0. , 2.5])
    """

    name: ClassVar[str] = "equal_nonzeros"
    title: ClassVar[str] = "Equal nonzeros"
    summary: ClassVar[str] = "the nonzeros of a vector are positive and all equal"
    cost: ClassVar[str] = "O(N) for a given k, else O(N log d)"
    example: ClassVar[dict[str, Any]] = {"k": 2}

    k: int | None = param("integer", None, low=1, optional=True, symbol="k", help="number of nonzeros; empty leaves it free")

    @property
    def ignores_zeros(self) -> bool:  # type: ignore[override]
        """A fixed number of nonzeros may have to be filled up with entries that were zero."""
        return self.k is None

    def project_vectors(self, B: Array) -> Array:
        return equal_on_top(B, None, self.k)

    def vector_nonzeros(self, length: int) -> int:
        return self.k or length

    def check_length(self, length: int) -> None:
        if self.k is not None and self.k > length:
            raise InvalidInput("k", f"at most {length} nonzeros fit in a vector of length {length}, not {self.k}", whole=True)

    def vector_condition(self, x: str) -> str:
        count = "" if self.k is None else rf",\; |S| = {self.k}"
        return rf"{x} = a\,\mathbf{{1}}_{{S}},\; a \ge 0{count}"
