"""Sets that bind every entry by itself: signs, bounds, masks and known columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, Shape, StructureSet, VectorSet, as_matrix, check_indices, latex_indices, latex_number
from semf_core.sets.kernels import clip_nonnegative


@SETS.register
class Nonnegative(VectorSet):
    """X_ij ≥ 0 (SeMF §3.2).

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Nonnegative
    >>> Nonnegative().project(np.array([[1.0, -2.0], [-3.0, 4.0]]))
    array([[1., 0.],
           [0., 4.]])
    """

    name: ClassVar[str] = "nonnegative"
    title: ClassVar[str] = "Nonnegative"
    summary: ClassVar[str] = "every entry is zero or positive"
    cost: ClassVar[str] = "O(N)"
    ignores_zeros: ClassVar[bool] = True
    binds_support: ClassVar[bool] = False

    @property
    def convex(self) -> bool:
        return True

    @property
    def polish_sign(self) -> str | None:  # type: ignore[override]
        """Signs that differ between parts of the factor are more than polishing handles."""
        return "nonnegative" if self.binds_all_entries else None

    @property
    def columnwise(self) -> bool:
        return super().columnwise or self.binds_all_entries

    def project_vectors(self, B: Array) -> Array:
        return clip_nonnegative(B)

    def vector_condition(self, x: str) -> str:
        return rf"{x} \ge 0"


@SETS.register
class Box(VectorSet):
    """low ≤ X_ij ≤ high.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Box
    >>> Box(-1, 2).project(np.array([[-3.0, 0.5, 4.0]]))
    array([[-1. ,  0.5,  2. ]])
    """

    name: ClassVar[str] = "box"
    title: ClassVar[str] = "Box"
    summary: ClassVar[str] = "every entry lies between two bounds"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"low": -0.5, "high": 1.0}

    low: float = param("number", symbol="l", help="smallest value allowed")
    high: float = param("number", symbol="h", help="largest value allowed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            raise InvalidInput("low", f"{self.low:g} is above high = {self.high:g}", "exchange them", whole=True)

    @property
    def convex(self) -> bool:
        return True

    @property
    def size(self) -> str:  # type: ignore[override]
        return "ball" if self.holds_zero else "fixed"

    @property
    def holds_zero(self) -> bool:
        return self.low <= 0 <= self.high

    keeps_zero = holds_zero
    ignores_zeros = holds_zero

    @property
    def columnwise(self) -> bool:
        return super().columnwise or self.binds_all_entries

    def project_vectors(self, B: Array) -> Array:
        return np.clip(B, B.dtype.type(self.low), B.dtype.type(self.high))

    def vector_condition(self, x: str) -> str:
        return rf"{latex_number(self.low)} \le {x} \le {latex_number(self.high)}"


@SETS.register
class Support(StructureSet):
    """X_ij = 0 wherever the mask is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Support
    >>> Support([[1, 0], [0, 1]]).project(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 0.],
           [0., 4.]])
    """

    name: ClassVar[str] = "support"
    title: ClassVar[str] = "Fixed support"
    summary: ClassVar[str] = "entries outside a mask are zero"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {
        "mask": [[1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 0, 1], [1, 1, 1, 1]]
    }
    polish_sign: ClassVar[str | None] = "free"

    mask: Array = param("mask", help="1 where an entry may be nonzero, 0 where it must vanish; same shape as the factor")

    @property
    def convex(self) -> bool:
        return True

    def project(self, A: Array) -> Array:
        return as_matrix(A) * self.mask

    def check_shape(self, shape: Shape) -> None:
        if self.mask.shape != shape:
            raise InvalidInput("mask", f"has shape {self.mask.shape}, but the factor is {shape[0]}×{shape[1]}")

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        return Support(self.mask.take(keep, axis=axis))

    def condition(self, symbol: str) -> str:
        return rf"\operatorname{{supp}} {symbol} \subseteq \Omega\;(|\Omega| = {int(self.mask.sum())})"


@SETS.register
class FixedColumns(StructureSet):
    """Chosen columns hold known values.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import FixedColumns
    >>> FixedColumns([0], [[1], [1]]).project(np.array([[5.0, 2.0], [6.0, 3.0]]))
    array([[1., 2.],
           [1., 3.]])
    """

    name: ClassVar[str] = "fixed_columns"
    title: ClassVar[str] = "Known columns"
    summary: ClassVar[str] = "chosen columns are held at given values"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"columns": [1, 3], "values": [[1, 0], [2, 0], [0, 1], [0, 3], [1, 1], [0, 0.5]]}
    size: ClassVar[str] = "fixed"

    columns: Sequence[int] = param("indices", help="which columns (or rows) are known")
    values: Array = param("matrix", help="their values: one column here for each column (or row) named")
    axis: str = param("choice", "column", choices=("column", "row"), help="the known vectors are columns or rows")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values.shape[1] != len(self.columns):
            raise InvalidInput("values", f"has {self.values.shape[1]} columns, but {len(self.columns)} are named")

    @property
    def convex(self) -> bool:
        return True

    def project(self, A: Array) -> Array:
        out = as_matrix(A).copy()
        (out.T if self.axis == "row" else out)[:, self.columns] = self.values
        return out

    def check_shape(self, shape: Shape) -> None:
        length, count = shape[::-1] if self.axis == "row" else shape
        check_indices("columns", self.columns, count, self.axis)
        if len(self.values) != length:
            raise InvalidInput("values", f"has {len(self.values)} rows, but each {self.axis} of the factor has {length} entries")

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        """Rows may be left out where every known column is zero (columns, for known rows)."""
        across = axis == (1 if self.axis == "row" else 0)
        if not across or np.delete(self.values, keep, axis=0).any():
            return None
        return FixedColumns(self.columns, self.values[keep], self.axis)

    def condition(self, symbol: str) -> str:
        index = latex_indices(self.columns)
        return rf"{symbol}_{{{index}}} = F" if self.axis == "column" else rf"{symbol}_{{{index},:}} = F^T"
