"""Sets that tie columns to one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semf_core.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, Shape, StructureSet, as_matrix, check_indices, latex_indices
from semf_core.sets.kernels import orthogonal_pair, polar, remove_component, top_mask


@SETS.register
@dataclass(frozen=True, eq=False)
class OrthogonalTo(StructureSet):
    """X_j ⊥ X_c for all j ≠ c (SeMF eq. 16)."""

    name: ClassVar[str] = "orthogonal_to"
    title: ClassVar[str] = "Orthogonal to a column"
    summary: ClassVar[str] = "every other column is orthogonal to a chosen one"
    example: ClassVar[dict[str, Any]] = {"column": 2}

    column: int = param("integer", low=0, index=True, symbol="c", help="the column that the others are orthogonal to")
    hold: bool = param("boolean", True, help="keep that column as it is (eq. 16); off: move it too, to the joint nearest point")

    @property
    def exact(self) -> bool:
        return not self.hold

    @property
    def reason(self) -> str:
        if self.hold:
            return "nearest among the points that keep the chosen column (eq. 16); moving it too may come nearer"
        return "closed form: one eigenvector of a p×p matrix"

    def project(self, A: Array) -> Array:
        A = as_matrix(A)
        return remove_component(A, self.column) if self.hold else orthogonal_pair(A, self.column)

    def check_shape(self, shape: Shape) -> None:
        if self.column >= shape[1]:
            room = f"but there are only {shape[1]} columns (counted from {{origin}})"
            raise InvalidInput("column", f"is {{column}}, {room}", column=self.column)

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        return self if axis == 0 else None

    def condition(self, symbol: str) -> str:
        return rf"{symbol}_{{j}} \perp {symbol}_{{{self.column + 1}}}\;\forall j \ne {self.column + 1}"


@SETS.register
@dataclass(frozen=True, eq=False)
class Orthonormal(StructureSet):
    """XᵀX = I, by orthogonal Procrustes."""

    name: ClassVar[str] = "orthonormal"
    title: ClassVar[str] = "Orthonormal"
    summary: ClassVar[str] = "columns (or rows) are unit vectors, mutually orthogonal"
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
            raise InvalidInput("axis", f"{count} {self.axis}s of length {length} cannot be orthonormal; use at most {length}")

    def condition(self, symbol: str) -> str:
        return f"{symbol}^T {symbol} = I" if self.axis == "column" else f"{symbol} {symbol}^T = I"


@SETS.register
@dataclass(frozen=True, eq=False)
class DisjointSupports(StructureSet):
    """No two columns are nonzero in the same row: Σ_{i≠j} |x_i|ᵀ|x_j| = 0."""

    name: ClassVar[str] = "disjoint_supports"
    title: ClassVar[str] = "Disjoint supports"
    summary: ClassVar[str] = "no two columns (or rows) are nonzero at the same place"
    polish_sign: ClassVar[str | None] = "free"

    axis: str = param("choice", "column", choices=("column", "row"), help="which vectors must not overlap")
    columns: tuple[int, ...] | None = param("indices", None, optional=True, help="which of them; empty binds all")

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
