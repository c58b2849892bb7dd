"""Sets that tie columns to one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, Scope, Shape, StructureSet, as_matrix, check_indices, latex_indices
from semf_core.sets.kernels import orthogonal_pair, polar, remove_component, top_mask


@SETS.register
class OrthogonalTo(StructureSet):
    """X_j ⊥ X_c for all j ≠ c, or for some of them (SeMF eq. 16); of columns or of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import OrthogonalTo
    >>> OrthogonalTo(0).project(np.array([[1.0, 3.0], [0.0, 2.0]]))
    array([[1., 0.],
           [0., 2.]])
    """

    name: ClassVar[str] = "orthogonal_to"
    title: ClassVar[str] = "Orthogonal to a column"
    summary: ClassVar[str] = "other columns (or rows), all or some, are orthogonal to a chosen one"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"column": 2}

    column: int = param("integer", low=0, index=True, symbol="c", help="the column (row) that the others are orthogonal to")
    hold: bool = param("boolean", True, help="keep that column and move the others; off: move all to the joint nearest point")
    _: KW_ONLY
    axis: str = param("choice", "column", choices=("column", "row"), help="which vectors are orthogonal")
    columns: Sequence[int] | None = param("indices", None, optional=True, help="which of the others are bound; empty binds all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.columns == (self.column,):
            raise InvalidInput("columns", "name only the chosen one itself", "name others, or leave it empty to bind all")

    @property
    def exact(self) -> bool:
        return not self.hold

    @property
    def reason(self) -> str:
        if self.hold:
            return f"nearest among the points that keep the chosen {self.axis}; moving it too may come nearer"
        return "closed form: one eigenvector of a p×p matrix"

    def project(self, A: Array) -> Array:
        scope, column = self.reach
        kernel = remove_component if self.hold else orthogonal_pair
        return scope.apply(as_matrix(A), lambda B: kernel(B, column))

    @cached_property
    def reach(self) -> tuple[Scope, int]:
        """The chosen vector and those bound to it, and which of them is the chosen one."""
        if self.columns is None:
            return Scope(self.axis), self.column
        return Scope(self.axis, (self.column, *(j for j in self.columns if j != self.column))), 0

    def check_shape(self, shape: Shape) -> None:
        count = shape[0] if self.axis == "row" else shape[1]
        if self.column >= count:
            room = f"but there are only {count} {self.axis}s (counted from {{origin}})"
            raise InvalidInput("column", f"is {{column}}, {room}", column=self.column)
        if self.columns is not None:
            check_indices("columns", self.columns, count, self.axis)

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        return self if axis == (1 if self.axis == "row" else 0) else None

    def condition(self, symbol: str) -> str:
        index, after = ("i", ",:") if self.axis == "row" else ("j", "")
        chosen = self.column + 1
        others = () if self.columns is None else [j for j in self.columns if j != self.column]
        over = rf"\in\{{{latex_indices(others)}\}}" if others else rf" \ne {chosen}"
        return rf"{symbol}_{{{index}{after}}} \perp {symbol}_{{{chosen}{after}}}\;\forall {index}{over}"


@SETS.register
class Orthonormal(StructureSet):
    """XᵀX = I, by orthogonal Procrustes.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Orthonormal
    >>> Orthonormal().project(np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]]))
    array([[1., 0.],
           [0., 1.],
           [0., 0.]])
    """

    name: ClassVar[str] = "orthonormal"
    title: ClassVar[str] = "Orthonormal"
    summary: ClassVar[str] = "columns (or rows) are unit vectors, mutually orthogonal"
    cost: ClassVar[str] = "O(Np), p the number of vectors"
    size: ClassVar[str] = "fixed"

    axis: str = param("choice", "column", choices=("column", "row"), help="which vectors are orthonormal")

    def project(self, A: Array) -> Array:
        A = as_matrix(A)
        return polar(A.T).T if self.axis == "row" else polar(A)

    @property
    def reason(self) -> str:
        return "polar factor (orthogonal Procrustes)"

    def check_shape(self, shape: Shape) -> None:
        length, count = shape[::-1] if self.axis == "row" else shape
        if count > length:
            raise InvalidInput(
                "axis", f"{count} {self.axis}s of length {length} cannot be orthonormal", f"use at most {length}", whole=True
            )

    def condition(self, symbol: str) -> str:
        return f"{symbol}^T {symbol} = I" if self.axis == "column" else f"{symbol} {symbol}^T = I"


@SETS.register
class DisjointSupports(StructureSet):
    """No two columns are nonzero in the same row: Σ_{i≠j} |x_i|ᵀ|x_j| = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import DisjointSupports
    >>> DisjointSupports().project(np.array([[1.0, 3.0], [2.0, 1.0]]))
    array([[0., 3.],
           [2., 0.]])
    """

    name: ClassVar[str] = "disjoint_supports"
    title: ClassVar[str] = "Disjoint supports"
    summary: ClassVar[str] = "no two columns (or rows) are nonzero at the same place"
    cost: ClassVar[str] = "O(N)"
    polish_sign: ClassVar[str | None] = "free"

    axis: str = param("choice", "column", choices=("column", "row"), help="which vectors must not overlap")
    columns: Sequence[int] | None = param("indices", None, optional=True, help="which of them; empty binds all")

    def project(self, A: Array) -> Array:
        A = as_matrix(A)
        B = A if self.axis == "row" else A.T
        if self.columns is None:
            P = B * top_mask(np.abs(B), 1)
        else:
            P = B.copy()
            P[list(self.columns)] *= top_mask(np.abs(P[list(self.columns)]), 1)
        return P if self.axis == "row" else P.T

    @property
    def reason(self) -> str:
        return "each row keeps its largest entry"

    def check_shape(self, shape: Shape) -> None:
        count = shape[0] if self.axis == "row" else shape[1]
        if self.columns is not None:
            check_indices("columns", self.columns, count, self.axis)

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        across = axis == (1 if self.axis == "row" else 0)
        return self if across or self.columns is None else None

    def condition(self, symbol: str) -> str:
        index = "" if self.columns is None else rf",\; i,j \in \{{{latex_indices(self.columns)}\}}"
        x = (lambda i: rf"{symbol}_{{{i}}}") if self.axis == "column" else (lambda i: rf"{symbol}_{{{i},:}}")
        return rf"|{x('i')}|^T |{x('j')}| = 0\;\forall i \ne j{index}"
