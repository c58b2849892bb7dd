"""Codes of samples in a given basis: the Y half of Algorithm 1 with X held fixed."""

from __future__ import annotations

from typing import Any

import numpy as np

from semf_core.matrix import as_data_matrix
from semf_core.sets import StructureSet
from semf_core.solvers.halves import solve_shifted

Array = np.ndarray
MAX_ITER = 1000
TOL = 1e-10


def encode(M: Any, U: Array, y_set: StructureSet, start: Array | None = None) -> Array:
    """min ‖M − UV‖² over V ∈ 𝒴 by ADMM on V alone, from zero; `start` if it is a better member of 𝒴."""
    matrix = as_data_matrix(M)
    p = U.shape[1]
    Ut = np.ascontiguousarray(U.T)
    y_set.check_shape((p, matrix.shape[1]))
    target, gram = matrix.left(Ut, Ut, np.zeros((p, matrix.shape[1]), matrix.dtype)), Ut @ Ut.T
    beta = matrix.dtype.type(gram.trace() / p) or matrix.dtype.type(1)
    V = y_set.project(np.zeros_like(target))
    Pi = np.zeros_like(V)
    best, best_cost = V, _cost(V, target, gram)
    for _ in range(MAX_ITER):
        Y = target + beta * V - Pi
        solve_shifted(gram, beta, Y)
        previous, V = V, y_set.project(Y + Pi / beta)
        Pi += beta * (Y - V)
        cost = _cost(V, target, gram)
        if cost < best_cost:
            best, best_cost = V, cost
        moved = max(float(np.linalg.norm(V - previous)), float(np.linalg.norm(Y - V)))
        if moved <= TOL * max(float(np.linalg.norm(V)), 1e-300):
            break
    if start is not None and _cost(start, target, gram) < best_cost - TOL * matrix.norm**2:
        return start
    return best


def _cost(V: Array, target: Array, gram: Array) -> float:
    """‖M − UV‖² up to ‖M‖²."""
    return float(np.vdot(gram @ V, V) - 2 * np.vdot(target, V))
