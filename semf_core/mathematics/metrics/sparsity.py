"""How sparse the columns of a factor are, and how far they overlap."""

from __future__ import annotations

import math

import numpy as np

from semf_core.common.errors import InvalidInput

Array = np.ndarray


def nonzeros(A: Array) -> Array:
    """How many entries of every column are not zero, ‖A_j‖₀.

    Parameters
    ----------
    A : array
        A matrix.

    Returns
    -------
    array of int
        One number for each column.

    Examples
    --------
    >>> nonzeros(np.array([[1.0, 0.0], [2.0, 3.0]]))
    array([2, 1])
    """
    counts: Array = np.count_nonzero(A, axis=0)
    return counts


def nonzero_fraction(A: Array) -> Array:
    """Which fraction of every column is not zero, ‖A_j‖₀ / m.

    Parameters
    ----------
    A : array
        A matrix with m rows.

    Returns
    -------
    array
        One number in [0, 1] for each column.

    Examples
    --------
    >>> nonzero_fraction(np.array([[1.0, 0.0], [2.0, 3.0]]))
    array([1. , 0.5])
    """
    return nonzeros(A) / max(1, A.shape[0])


def hoyer_sparseness(A: Array) -> Array:
    """Hoyer's sparseness (√m − ‖A_j‖₁ / ‖A_j‖₂) / (√m − 1) of every column.

    Parameters
    ----------
    A : array
        A matrix with m rows.

    Returns
    -------
    array
        0 where all entries of a column are equal, 1 where at most one is not zero. By that reading an empty column
        and a column of one entry, where the quotient is 0/0, count as 1.

    Examples
    --------
    >>> hoyer_sparseness(np.array([[1.0, 0.0], [1.0, 5.0]])).round(6)
    array([0., 1.])
    """
    m = A.shape[0]
    if m < 2:
        return np.ones(A.shape[1])
    scaled = unit_peak(np.abs(A))
    euclidean = np.linalg.norm(scaled, axis=0)
    ratio = np.divide(scaled.sum(axis=0), euclidean, out=np.ones(A.shape[1]), where=euclidean > 0)
    return np.clip((math.sqrt(m) - ratio) / (math.sqrt(m) - 1), 0, 1)


def overlap(A: Array) -> float:
    """Average overlapping degree of the columns (CSMF eq. 15): the mean cosine of |w_r| and |w_s| over pairs.

    As printed, (15) divides by the sums Σ|w|, but then two equal columns of n equal entries would have 1/n, not
    the maximum 1 that the text states, and columns of normal random numbers not the 2/π of its tables' first
    figures. The paper finds NaN where a column is empty; here only the others count, and `empty_columns` says how
    many there are.

    Parameters
    ----------
    A : array
        A matrix; its columns are components.

    Returns
    -------
    float
        0 if no two columns share a row, 1 if all are multiples of one.

    Examples
    --------
    >>> overlap(np.array([[1.0, 0.0], [0.0, 2.0]])), overlap(np.array([[1.0, 2.0], [1.0, 2.0]])) > 0.999
    (0.0, True)
    """
    A = A[:, A.any(axis=0)]
    columns = A.shape[1]
    if columns < 2:
        return 0.0
    similarity = cosines(np.abs(A), np.abs(A))
    return float(np.triu(similarity, 1).sum() / (0.5 * columns * (columns - 1)))


def empty_columns(A: Array) -> int:
    """How many columns have no nonzero entry: components that a penalty has driven out.

    Parameters
    ----------
    A : array
        A matrix; its columns are components.

    Returns
    -------
    int
        Their number.

    Examples
    --------
    >>> empty_columns(np.array([[1.0, 0.0], [2.0, 0.0]]))
    1
    """
    return int((~A.any(axis=0)).sum())


def unit_peak(A: Array) -> Array:
    """Every column divided by its largest absolute entry, so that squares neither overflow nor vanish.

    Parameters
    ----------
    A : array
        A matrix.

    Returns
    -------
    array
        Of the same shape; empty columns stay empty.

    Examples
    --------
    >>> unit_peak(np.array([[1.0, 0.0], [-2.0, 0.0]]))
    array([[ 0.5,  0. ],
           [-1. ,  0. ]])
    """
    peaks = np.abs(A).max(axis=0, initial=0)
    return np.divide(A, peaks, out=np.zeros(A.shape), where=peaks > 0)


def cosines(A: Array, B: Array) -> Array:
    """Cosines a_iᵀb_j / (‖a_i‖ ‖b_j‖) of all pairs of columns.

    Parameters
    ----------
    A, B : array
        Matrices with the same number of rows.

    Returns
    -------
    array
        One row for each column of A, one column for each of B; 0 where one of the two is empty or not finite.

    Examples
    --------
    >>> cosines(np.eye(2), np.array([[3.0, 0.0], [4.0, -2.0]]))
    array([[ 0.6,  0. ],
           [ 0.8, -1. ]])
    """
    if len(A) != len(B):
        raise InvalidInput("components", f"have {len(A)} and {len(B)} rows", "compare those of data with the same rows")
    return _unit(A).T @ _unit(B)


def _unit(A: Array) -> Array:
    scaled = unit_peak(np.where(np.isfinite(A).all(axis=0), A, 0.0))
    norms = np.linalg.norm(scaled, axis=0)
    return np.divide(scaled, norms, out=scaled, where=norms > 0)
