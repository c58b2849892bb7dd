"""How well a factorization fits the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from semf_core.mathematics.blocks import row_blocks

Array = np.ndarray
CANCELLING = 1e-6
"""Below this fraction of ‖M‖ the expanded square has lost too many digits to be shown."""


def frobenius_norm(M: Any) -> float:
    """‖M‖_F over the known (not NaN) entries.

    Parameters
    ----------
    M : array, memory map or scipy.sparse matrix
        Read in blocks of rows.

    Returns
    -------
    float
        The norm.

    Examples
    --------
    >>> frobenius_norm(np.array([[3.0, np.nan], [0.0, 4.0]]))
    5.0
    """
    if sparse.issparse(M):
        return float(np.linalg.norm(M.data))
    return math.sqrt(sum(_known_square(np.asarray(M[rows], dtype=float)) for rows in row_blocks(*M.shape)))


def residual(M: Any, U: Array, V: Array) -> float:
    """‖M − UV‖_F over the known entries, in blocks of rows: no m×n temporary.

    For a sparse M, ‖M‖² − 2⟨MᵀU, Vᵀ⟩ + ⟨UᵀU, VVᵀ⟩ needs only its nonzeros; where that cancels the
    difference is evaluated directly as well.

    Parameters
    ----------
    M : array, memory map or scipy.sparse matrix
        The data, m × n.
    U, V : array
        The factors, m × p and p × n.

    Returns
    -------
    float
        The norm of what the factors leave.

    Examples
    --------
    >>> residual(np.array([[3.0, 1.0], [0.0, 4.0]]), np.array([[1.0], [0.0]]), np.array([[0.0, 1.0]]))
    5.0
    """
    if sparse.issparse(M):
        norm = frobenius_norm(M)
        square = norm**2 - 2 * float(np.vdot(M.T @ U, V.T)) + float(np.vdot(U.T @ U, V @ V.T))
        if square > (CANCELLING * norm) ** 2:
            return math.sqrt(square)
        M = M.tocsr()
    total = 0.0
    for rows in row_blocks(*M.shape):
        block = M[rows].toarray() if sparse.issparse(M) else np.asarray(M[rows])
        total += _known_square(block - U[rows] @ V, block)
    return math.sqrt(total)


def _known_square(difference: Array, block: Array | None = None) -> float:
    """Sum of squares where `block` (by default the difference itself) is not NaN."""
    square = float(np.vdot(difference, difference))
    if math.isnan(square):
        known = difference[~np.isnan(difference if block is None else block)]
        square = float(np.vdot(known, known))
    return square


def relative_error(norm: float, residual_norm: float) -> float:
    """‖M − UV‖ / ‖M‖.

    Parameters
    ----------
    norm, residual_norm : float
        ‖M‖ and ‖M − UV‖.

    Returns
    -------
    float
        Their ratio; for M = 0 it is 0 for an exact fit and infinite for any other.

    Examples
    --------
    >>> relative_error(4.0, 1.0)
    0.25
    """
    if norm > 0:
        return residual_norm / norm
    return 0.0 if residual_norm == 0 else math.inf


def snr_db(norm: float, residual_norm: float) -> float:
    """Signal-to-noise ratio, 20 log10(‖M‖ / ‖M − UV‖) (SeMF §4.3).

    Parameters
    ----------
    norm, residual_norm : float
        ‖M‖ and ‖M − UV‖.

    Returns
    -------
    float
        Decibels; infinite for an exact fit, minus infinity where a run diverged at once.

    Examples
    --------
    >>> snr_db(10.0, 1.0)
    20.0
    """
    if residual_norm == 0:
        return math.inf
    return -math.inf if norm <= 0 or residual_norm == math.inf else 20 * math.log10(norm / residual_norm)


def rmse(residual_norm: float, entries: int) -> float:
    """Root mean square error, ‖M − UV‖ / √(mn) (SeMF §4.1: a factorization is called exact below 1e-10).

    Parameters
    ----------
    residual_norm : float
        ‖M − UV‖.
    entries : int
        mn, the number of known entries.

    Returns
    -------
    float
        The error of an entry.

    Examples
    --------
    >>> rmse(6.0, 9)
    2.0
    """
    return residual_norm / math.sqrt(entries) if entries else 0.0
