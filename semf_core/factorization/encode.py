"""Codes of samples in a given basis: the Y half of Algorithm 1 with X held fixed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from semf_core.mathematics.cholesky import solve_shifted
from semf_core.mathematics.matrix import as_data_matrix
from semf_core.sets import Box, Nonnegative, StructureSet, VectorSet, members_of

Array = np.ndarray
MAX_ITER = 1000
TOL = 1e-10


def encode(M: Any, U: Array, y_set: StructureSet, start: Array | None = None) -> Array:
    """Coefficients of samples in a given basis: min ‖M − UV‖² over V ∈ 𝒴, by ADMM on V alone.

    Parameters
    ----------
    M : array or scipy.sparse matrix
        The samples, m × n.
    U : array
        The basis, m × p.
    y_set : StructureSet
        What V must satisfy.
    start : array, optional
        A member of 𝒴; it is returned if nothing better is found.

    Returns
    -------
    array
        V, p × n, in its set.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.factorization.encode import encode
    >>> from semf_core.sets import Nonnegative
    >>> encode(np.array([[2.0, -1.0], [0.0, 3.0]]), np.eye(2), Nonnegative()).round(6)
    array([[2., 0.],
           [0., 3.]])
    """
    matrix = as_data_matrix(M)
    p = U.shape[1]
    length, project = _scaled(U, y_set)
    Ut = np.ascontiguousarray(U.T / length)
    start = None if start is None else start * length
    y_set.check_shape((p, matrix.shape[1]))
    target, gram = matrix.left(Ut, Ut, np.zeros((p, matrix.shape[1]), matrix.dtype)), Ut @ Ut.T
    beta = matrix.dtype.type(gram.trace() / p) or matrix.dtype.type(1)
    V = project(np.zeros_like(target))
    Pi = np.zeros_like(V)
    best, best_cost = V, _cost(V, target, gram)
    for _ in range(MAX_ITER):
        Y = target + beta * V - Pi
        solve_shifted(gram, beta, Y)
        previous, V = V, project(Y + Pi / beta)
        Pi += beta * (Y - V)
        cost = _cost(V, target, gram)
        if cost < best_cost:
            best, best_cost = V, cost
        moved = max(float(np.linalg.norm(V - previous)), float(np.linalg.norm(Y - V)))
        if moved <= TOL * max(float(np.linalg.norm(V)), 1e-300):
            break
    if start is not None and _cost(start, target, gram) < best_cost - TOL * matrix.norm**2:
        return start / length
    return y_set.project(best / length)


def _scaled(U: Array, y_set: StructureSet) -> tuple[Array, Callable[[Array], Array]]:
    """What the columns of U are divided by, so that one β suits all of them, and the projection of V times that.

    Their lengths where 𝒴 allows any positive scale of a row of V, or asks something of each row alone.
    """
    length = np.linalg.norm(U, axis=0)[:, None].astype(U.dtype)
    length = np.where(length > 0, length, 1)
    if y_set.polish_sign is not None:
        return length, y_set.project
    if all(isinstance(s, VectorSet) and (s.axis == "row" or isinstance(s, Box | Nonnegative)) for s in members_of(y_set)):
        return length, lambda V: length * y_set.project(V / length)
    return np.ones_like(length), y_set.project


def _cost(V: Array, target: Array, gram: Array) -> float:
    """‖M − UV‖² up to ‖M‖²."""
    return float(np.vdot(gram @ V, V) - 2 * np.vdot(target, V))
