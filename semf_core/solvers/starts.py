"""Starting points: random, from the singular vectors of M, or given by the user."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds

from semf_core.matrix import DataMatrix
from semf_core.solvers.base import Array, Problem


def starting_factors(problem: Problem, kind: str, rng: np.random.Generator) -> tuple[Array | None, Array]:
    """(X, Y) to start from; X is None unless it was given."""
    X0, Y0 = problem.start
    (m, n), p = problem.matrix.shape, problem.rank
    if Y0 is None:
        Y0 = rng.standard_normal((p, n)) if kind == "normal" else rng.random((p, n))
        if kind == "svd":
            leading = singular_rows(problem.matrix, min(p, m - 1, n - 1), rng)
            Y0[: len(leading)] = leading
    return X0, Y0


def singular_rows(M: DataMatrix, count: int, rng: np.random.Generator) -> Array:
    """√σ_i v_iᵀ for the leading singular triplets, each with the sign that makes its larger half positive."""
    if count < 1:
        return np.empty((0, M.shape[1]))
    empty_x, empty_y = np.zeros((1, M.shape[0]), M.dtype), np.zeros((1, M.shape[1]), M.dtype)
    operator = LinearOperator(
        M.shape,
        matvec=lambda v: M.right(v.reshape(1, -1).astype(M.dtype), empty_x)[0],
        rmatvec=lambda u: M.left(u.reshape(1, -1).astype(M.dtype), empty_x, empty_y)[0],
        dtype=M.dtype,
    )
    _, values, right = svds(operator, k=count, v0=rng.random(min(M.shape)))
    order = np.argsort(-values)
    rows = right[order]
    positive = np.linalg.norm(np.maximum(rows, 0), axis=1) >= np.linalg.norm(np.minimum(rows, 0), axis=1)
    return np.sqrt(np.maximum(values[order], 0))[:, None] * np.where(positive[:, None], rows, -rows)
