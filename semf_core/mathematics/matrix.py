"""The data matrix as the solvers see it: two products, a norm and a residual.

Factors are passed transposed (p×m), so that a factor's columns are contiguous. No operation here
makes an m×n temporary; what has to be evaluated entry by entry goes through blocks of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from semf_core.common.errors import InvalidInput
from semf_core.mathematics.blocks import row_blocks
from semf_core.mathematics.compiled import loops

Array = np.ndarray
LOST = {kind: 1e5 * float(np.finfo(kind).eps) for kind in "fd"}
"""Where ‖M−XY‖² falls below this fraction of ‖M‖², in each precision, its expansion has lost its digits."""

TRANSPOSED_ROWS = 1024
"""Rows of a product that are transposed at a time, while they are in cache."""
SMALL, KEPT = 1 << 18, 1 << 22
"""Of an M with at most so many entries the transpose is kept: products with it are nearly twice as fast while M is small,
and by a tenth to a third, where M is higher than wide or in single precision, while it is not too large."""


class DataMatrix:
    """M with the products of Algorithm 1; subclasses say how they are carried out."""

    shape: tuple[int, int]
    dtype: np.dtype
    identity = True
    """‖M−XY‖² may be expanded into products that are there anyway (not with missing entries)."""

    @cached_property
    def norm(self) -> float:
        """‖M‖_F over the observed entries."""
        return float(np.sqrt(self._norm_squared()))

    @cached_property
    def negative_share(self) -> float:
        """‖min(M, 0)‖²/‖M‖² over the observed entries."""
        return self._negative_squared() / self.norm**2 if self.norm else 0.0

    def right(self, Y: Array, Xt: Array) -> Array:
        """(M Yᵀ)ᵀ as p×m; missing entries of M stand for those of XY."""
        raise NotImplementedError

    def left(self, Wt: Array, Xt: Array, Y: Array) -> Array:
        """Wᵀ M for W given as rows; missing entries of M stand for those of XY."""
        raise NotImplementedError

    def residual(self, Xt: Array, Y: Array) -> float:
        """‖M − XY‖_F evaluated directly, to full accuracy however small it is."""
        raise NotImplementedError

    def residual_from(self, Xt: Array, Y: Array, XtM: Array, XtX: Array, YYt: Array) -> float:
        """‖M−XY‖ from ‖M‖² − 2⟨XᵀM, Y⟩ + ⟨XᵀX, YYᵀ⟩, evaluated directly where that cancels."""
        return self.residual_along(Xt, Y, float(np.vdot(XtM, Y)), XtX, YYt)

    def residual_along(self, Xt: Array, Y: Array, along: float, XtX: Array, YYt: Array) -> float:
        """The same for a known ⟨M, XY⟩."""
        if self.identity:
            total = self.norm**2
            square = total - 2 * along + float(np.vdot(XtX, YYt))
            if square > LOST[self.dtype.char] * total:
                return math.sqrt(square)
        return self.residual(Xt, Y)

    def minimum(self) -> float:
        """The smallest observed entry."""
        raise NotImplementedError

    def squares(self) -> tuple[Array, Array]:
        """The sum of squares of every row and of every column."""
        raise NotImplementedError

    def _norm_squared(self) -> float:
        raise NotImplementedError

    def _negative_squared(self) -> float:
        raise NotImplementedError

    @property
    def entries(self) -> int:
        """How many entries a product runs over."""
        return self.shape[0] * self.shape[1]

    def live(self) -> tuple[Array, Array]:
        """Indices of the rows and of the columns that are not entirely zero."""
        return np.arange(self.shape[0]), np.arange(self.shape[1])

    def subset(self, rows: Array, columns: Array) -> DataMatrix:
        raise NotImplementedError


@dataclass(eq=False)
class DenseMatrix(DataMatrix):
    """An array in memory, or a memory map that is read in blocks of rows."""

    array: Array
    dtype: np.dtype

    def __post_init__(self) -> None:
        self.shape = self.array.shape
        self.mapped = isinstance(self.array, np.memmap) or self.array.dtype != self.dtype

    @cached_property
    def transposed(self) -> Array:
        """Mᵀ in C order, for those who need the columns of M again and again."""
        return np.ascontiguousarray(self.array.T)

    @cached_property
    def _grams(self) -> dict[bool, Array]:
        return {}

    def gram(self, of_columns: bool) -> Array:
        """MᵀM, or MMᵀ."""
        if of_columns not in self._grams:
            self._grams[of_columns] = self.array.T @ self.array if of_columns else self.array @ self.array.T
        return self._grams[of_columns]

    @property
    def _keeps_transposed(self) -> bool:
        gains = self.shape[0] > self.shape[1] or self.dtype == np.float32
        return not self.mapped and self.array.size <= (KEPT if gains else SMALL)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows in the working precision."""
        for rows in row_blocks(*self.shape):
            yield rows, np.asarray(self.array[rows], dtype=self.dtype)

    def right(self, Y: Array, Xt: Array) -> Array:
        if self._keeps_transposed:
            return Y @ self.transposed
        if not self.mapped and self.dtype == np.float64:
            return Y @ self.array.T
        out = np.empty((len(Y), self.shape[0]), self.dtype)
        if not self.mapped:  # in single precision M Yᵀ is the faster one of the two by a fifth
            for start in range(0, self.shape[0], TRANSPOSED_ROWS):
                rows = slice(start, start + TRANSPOSED_ROWS)
                out[:, rows] = (self.array[rows] @ Y.T).T
            return out
        for rows, block in self.blocks():
            out[:, rows] = Y @ block.T
        return out

    def left(self, Wt: Array, Xt: Array, Y: Array) -> Array:
        if not self.mapped:
            return Wt @ self.array
        out = np.zeros((len(Wt), self.shape[1]), self.dtype)
        for rows, block in self.blocks():
            out += Wt[:, rows] @ block
        return out

    def residual(self, Xt: Array, Y: Array) -> float:
        total = 0.0
        for rows, block in self.blocks():
            difference = block - Xt[:, rows].T @ Y
            total += float(np.vdot(difference, difference))
        return float(np.sqrt(total))

    def minimum(self) -> float:
        return min(float(block.min()) for _, block in self.blocks())

    def squares(self) -> tuple[Array, Array]:
        rows, columns = np.empty(self.shape[0], self.dtype), np.zeros(self.shape[1], self.dtype)
        for part, block in self.blocks():
            rows[part] = np.einsum("ij,ij->i", block, block)
            columns += np.einsum("ij,ij->j", block, block)
        return rows, columns

    def _norm_squared(self) -> float:
        return sum(float(np.vdot(block, block)) for _, block in self.blocks())

    def _negative_squared(self) -> float:
        return sum(negative_squares(block) for _, block in self.blocks())

    def live(self) -> tuple[Array, Array]:
        if self.mapped:
            return super().live()
        return np.flatnonzero(self.array.any(axis=1)), np.flatnonzero(self.array.any(axis=0))

    def subset(self, rows: Array, columns: Array) -> DenseMatrix:
        return DenseMatrix(np.ascontiguousarray(self.array[np.ix_(rows, columns)]), self.dtype)


class SparseFit:
    """‖M − UV‖ from the nonzeros of V, at most k in a column, to full accuracy; V comes in parts of whole columns."""

    def __init__(self, M: DenseMatrix, Ut: Array, k: int) -> None:
        self._Mt, self._Ut, self._k = M.transposed, Ut, k
        self._sums = np.zeros(len(M.array))

    def add(self, V: Array, part: slice) -> None:
        """Some columns of V."""
        first, width = part.start, part.stop - part.start
        compiled, sums = loops(len(V) * width), np.empty_like(self._sums)
        if compiled:
            compiled.sparse_residual(V, self._k, self._Mt, self._Ut, first, width, sums)
        else:
            columns, rows = np.nonzero(V[:, part].T)
            rank = np.arange(len(columns)) - np.searchsorted(columns, columns)
            values = V[rows, first + columns][:, None]
            product = np.zeros((width, len(sums)), V.dtype)
            for r in range(self._k):
                chosen = rank == r
                product[columns[chosen]] += values[chosen] * self._Ut[rows[chosen]]
            difference = self._Mt[part] - product
            np.add.reduce(np.square(difference, dtype=np.float64), axis=0, out=sums)
        self._sums += sums

    def residual(self) -> float:
        return float(np.sqrt(self._sums.sum()))


@dataclass(eq=False)
class SparseMatrix(DataMatrix):
    """scipy.sparse data, never made dense."""

    array: sp.csr_array
    dtype: np.dtype

    def __post_init__(self) -> None:
        self.shape = self.array.shape
        self.transposed = self.array.T.tocsr()

    def right(self, Y: Array, Xt: Array) -> Array:
        return np.ascontiguousarray((self.array @ np.ascontiguousarray(Y.T)).T)

    def left(self, Wt: Array, Xt: Array, Y: Array) -> Array:
        return np.ascontiguousarray((self.transposed @ np.ascontiguousarray(Wt.T)).T)

    def residual(self, Xt: Array, Y: Array) -> float:
        total = 0.0
        for rows in row_blocks(*self.shape):
            difference = self.array[rows].toarray() - Xt[:, rows].T @ Y
            total += float(np.vdot(difference, difference))
        return float(np.sqrt(total))

    def minimum(self) -> float:
        return float(self.array.min())

    def squares(self) -> tuple[Array, Array]:
        square = self.array.multiply(self.array)
        return np.asarray(square.sum(axis=1)), np.asarray(square.sum(axis=0))

    def _norm_squared(self) -> float:
        return float(np.vdot(self.array.data, self.array.data))

    def _negative_squared(self) -> float:
        return negative_squares(self.array.data)

    @property
    def entries(self) -> int:
        return int(self.array.nnz)

    def live(self) -> tuple[Array, Array]:
        rows = np.flatnonzero(abs(self.array).sum(axis=1))
        return rows, np.flatnonzero(abs(self.transposed).sum(axis=1))

    def subset(self, rows: Array, columns: Array) -> SparseMatrix:
        return SparseMatrix(self.array[rows][:, columns], self.dtype)


@dataclass(eq=False)
class MaskedMatrix(DataMatrix):
    """Dense data with missing entries.

    Each product first sets the missing entries to those of XY, the minimiser of ½‖Z − XY‖² over the
    completions Z of M, so every update is still an exact partial minimisation.
    """

    full: DenseMatrix
    mask: Array | None
    """False where an entry is missing; NaN entries are missing in any case."""
    identity = False

    def __post_init__(self) -> None:
        self.shape, self.dtype = self.full.shape, self.full.dtype

    def _observed_blocks(self) -> Iterator[tuple[slice, Array, Array]]:
        """Blocks of rows, and where they are observed."""
        for rows, block in self.full.blocks():
            observed = np.isfinite(block)
            if self.mask is not None:
                observed &= self.mask[rows]
            yield rows, block, observed

    def _residual_blocks(self, Xt: Array, Y: Array) -> Iterator[tuple[slice, Array]]:
        """M − XY where M is observed, zero elsewhere, in blocks of rows."""
        for rows, block, observed in self._observed_blocks():
            yield rows, np.where(observed, block - Xt[:, rows].T @ Y, 0).astype(self.dtype, copy=False)

    def right(self, Y: Array, Xt: Array) -> Array:
        out = (Y @ Y.T) @ Xt
        for rows, difference in self._residual_blocks(Xt, Y):
            out[:, rows] += Y @ difference.T
        return out

    def left(self, Wt: Array, Xt: Array, Y: Array) -> Array:
        out = (Wt @ Xt.T) @ Y
        for rows, difference in self._residual_blocks(Xt, Y):
            out += Wt[:, rows] @ difference
        return out

    def residual(self, Xt: Array, Y: Array) -> float:
        return float(np.sqrt(sum(float(np.vdot(d, d)) for _, d in self._residual_blocks(Xt, Y))))

    def minimum(self) -> float:
        return min(float(block[observed].min(initial=np.inf)) for _, block, observed in self._observed_blocks())

    def _norm_squared(self) -> float:
        return sum(float(np.square(block[observed]).sum()) for _, block, observed in self._observed_blocks())

    def _negative_squared(self) -> float:
        return sum(negative_squares(block[observed]) for _, block, observed in self._observed_blocks())

    def missing(self) -> int:
        """Number of missing entries."""
        return sum(int(observed.size - np.count_nonzero(observed)) for *_, observed in self._observed_blocks())


def negative_squares(values: Array) -> float:
    """Σ min(v, 0)²."""
    below = np.minimum(values, 0)
    return float(np.vdot(below, below))


def as_data_matrix(M: Any, mask: Any = None, dtype: str | None = None) -> DataMatrix:
    """M checked and wrapped; NaN entries, or those where `mask` is false, count as missing."""
    if sp.issparse(M):
        return _sparse(M, mask, dtype)
    array = M if isinstance(M, np.ndarray) else np.asarray(M)
    if array.dtype == object or array.dtype.kind in "USVMm":
        raise InvalidInput("M", f"must hold numbers, not {array.dtype}")
    if array.dtype.kind == "c":
        raise InvalidInput("M", "holds complex numbers", "pass the real part, the modulus, or both stacked")
    if array.ndim != 2:
        raise InvalidInput(
            "M", f"must be a matrix (two dimensions), not of shape {array.shape}", "reshape(-1, 1) makes one column"
        )
    if array.size == 0:
        raise InvalidInput("M", f"is empty (shape {array.shape})")
    working = np.dtype(dtype or (array.dtype if array.dtype in (np.float32, np.float64) else np.float64))
    contiguous = array.flags.c_contiguous or array.flags.f_contiguous
    if not isinstance(array, np.memmap) and (array.dtype != working or not contiguous):
        array = np.ascontiguousarray(array, dtype=working)
    dense = DenseMatrix(array, working)
    has_nan = _scan(dense)
    if mask is None and not has_nan:
        return dense
    masked = MaskedMatrix(dense, None if mask is None else _checked_mask(mask, array))
    missing = masked.missing()
    if missing == array.size:
        raise InvalidInput("M", "has no observed entry")
    return masked if missing else dense


def _scan(dense: DenseMatrix) -> bool:
    """Reject infinite entries; say whether there are NaN ones."""
    missing = False
    for _, block in dense.blocks():
        if not np.isfinite(block).all():
            if np.isinf(block).any():
                raise InvalidInput("M", "holds an infinite entry", "replace it, or mark it missing as NaN")
            missing = True
    return missing


def _checked_mask(mask: Any, array: Array) -> Array:
    observed = np.asarray(mask)
    if observed.shape != array.shape:
        raise InvalidInput("mask", f"has shape {observed.shape}, but M is {array.shape[0]}×{array.shape[1]}")
    if not np.isin(observed, (0, 1)).all():
        raise InvalidInput("mask", "must hold only true (observed) and false (missing)")
    return observed.astype(bool, copy=False)


def _sparse(M: Any, mask: Any, dtype: str | None) -> SparseMatrix:
    if mask is not None:
        raise InvalidInput("mask", "is for dense M; in a sparse M entries that are not stored are zeros")
    if M.dtype.kind not in "fiub":
        raise InvalidInput("M", f"must hold real numbers, not {M.dtype}")
    if 0 in M.shape or len(M.shape) != 2:
        raise InvalidInput("M", f"is empty or not a matrix (shape {M.shape})")
    working = np.dtype(dtype or (M.dtype if M.dtype in (np.float32, np.float64) else np.float64))
    array = sp.csr_array(M).astype(working, copy=False)
    if not np.isfinite(array.data).all():
        raise InvalidInput("M", "a sparse M must not hold NaN or infinite entries", whole=True)
    return SparseMatrix(array, working)
