"""Symmetric positive definite systems with many right-hand sides, by Cholesky."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

Array = np.ndarray


@cache
def _routines(dtype: np.dtype) -> tuple[Any, Any]:
    """potrf and trsm of a precision; looking them up costs as much as a small solve."""
    (potrf,), (trsm,) = get_lapack_funcs(("potrf",), dtype=dtype), get_blas_funcs(("trsm",), dtype=dtype)
    return potrf, trsm


def shifted_factor(gram: Array, shift: float | np.floating) -> Array:
    """The Cholesky factor of gram + shift·I."""
    shifted = gram.copy(order="F")  # as LAPACK has it, which then works in place
    shifted.T.reshape(-1)[:: len(gram) + 1] += shift
    factor, info = _routines(gram.dtype)[0](shifted, lower=1, overwrite_a=1)
    if info != 0:
        raise np.linalg.LinAlgError("the normal equations are not positive definite; raise the starting penalties")
    return factor


def solve_factored(factor: Array, rows: Array) -> None:
    """rows ← (L Lᵀ)⁻¹ rows in place; `rows` is p×N in C order."""
    trsm = _routines(rows.dtype)[1]
    # rows.T is N×p in Fortran order: solve Z L Lᵀ = rows.T from the right without a copy.
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=0, overwrite_b=1)


@lru_cache(maxsize=16)
def _identity(size: int, dtype: np.dtype) -> Array:
    return np.eye(size, dtype=dtype)


def inverse(factor: Array) -> Array:
    """(L Lᵀ)⁻¹."""
    found = _identity(len(factor), factor.dtype).copy()
    solve_factored(factor, found)
    return found


def solve_shifted(gram: Array, shift: float | np.floating, rows: Array) -> None:
    """rows ← (gram + shift·I)⁻¹ rows in place, by Cholesky; `rows` is p×N in C order."""
    solve_factored(shifted_factor(gram, shift), rows)
