"""What algorithms share that improve nonnegative factors in turn, several steps on one before the other's turn.

Everything here scales with M: for c·M with c a power of two, Xᵀ is c times as large and Y the same, bit for bit.
"""

from __future__ import annotations

import numpy as np

from semf_core.mathematics.matrix import DataMatrix
from semf_core.solvers.base import Array, Problem

EFFORT = 0.5
"""Steps on one factor may cost this share of the products with M that they need (Gillis and Glineur's α)."""
QUIET = 0.1
"""Steps on one factor end with one that changes it by this share of what the first changed (their ε)."""
NOISE = 1e3
"""A sample counts as fitted where its error is below this many roundings."""


def balanced_start(problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
    """(Xᵀ, Y) to start from: given factors or uniform random ones, made feasible, times the best number, and balanced."""
    M, p, (X0, Y0) = problem.matrix, problem.rank, problem.start
    X = problem.x_set.project(rng.random((M.shape[0], p)) if X0 is None else X0)
    Y = problem.y_set.project(rng.random((p, M.shape[1])) if Y0 is None else Y0)
    Xt, Y = X.T.astype(M.dtype, order="C"), Y.astype(M.dtype)
    along, square = float(np.vdot(M.left(Xt, Xt, Y), Y)), float(np.vdot(Xt @ Xt.T, Y @ Y.T))
    return balanced(problem, Xt * M.dtype.type(along / square) if square > 0 else Xt, Y)


def balanced(problem: Problem, Xt: Array, Y: Array) -> tuple[Array, Array]:
    """The same product with ‖x_k‖ = ‖y_k‖ for every component k, X measured in the unit of M."""
    x, y = np.linalg.norm(Xt, axis=1, keepdims=True), np.linalg.norm(Y, axis=1, keepdims=True)
    ratio = np.sqrt(np.divide(x / unit(problem), y, out=np.ones_like(x), where=(x > 0) & (y > 0)))
    return Xt / ratio, Y * ratio


def unit(problem: Problem) -> np.floating:
    """A power of two near ‖M‖."""
    return problem.matrix.dtype.type(2.0 ** np.frexp(problem.matrix.norm)[1])


def inner_steps(M: DataMatrix, p: int, most: int) -> tuple[int, int]:
    """Steps on X and on Y that pay before the other's turn: an entry of M costs as much as one of the p×p Gram matrix."""
    m, n = M.shape
    on_x = 1 + EFFORT * (M.entries + n * p) / (m * (p + 1))
    on_y = 1 + EFFORT * (M.entries + m * p) / (n * (p + 1))
    return min(most, int(on_x)), min(most, int(on_y))


def misfits(squares: Array, Y: Array, XtM: Array, XtX: Array) -> Array:
    """‖m_j − X y_j‖² of every sample, the squares being ‖m_j‖²."""
    return squares - 2 * np.einsum("ij,ij->j", XtM, Y) + np.einsum("ij,ij->j", XtX @ Y, Y)


def revive(problem: Problem, Xt: Array, Y: Array, XtM: Array, XtX: Array, most: int | None = None) -> bool:
    """Give components that have vanished what is missing in the samples that are fitted worst; whether it changed Xᵀ and Y.

    A component of which both factors are zero stays so for ever. One of which either is zero adds nothing to XY, so
    the error falls if it takes the positive part of a column of M − XY instead. With at most `most` nonzeros in
    a column of Y the smallest of them makes room.
    """
    dead = np.flatnonzero((XtX.diagonal() == 0) | ~Y.any(axis=1))
    if not dead.size:
        return False
    M, changed = problem.matrix, False
    squares = M.squares()[1]
    missing = misfits(squares, Y, XtM, XtX)
    worst = np.argsort(-missing, kind="stable")[: dead.size]
    for k, j in zip(dead, worst, strict=False):
        if missing[j] <= NOISE * np.finfo(M.dtype).eps * squares[j]:
            break
        Y[k] = 0
        if most is not None and np.count_nonzero(Y[:, j]) >= most:
            Y[np.where(Y[:, j] > 0, Y[:, j], np.inf).argmin(), j] = 0
            changed = True
        sample = np.zeros((1, M.shape[1]), M.dtype)
        sample[0, j] = 1
        part = problem.x_set.project((M.right(sample, Xt) - Y[:, j] @ Xt).T)[:, 0]
        size = np.sqrt(np.linalg.norm(part) / unit(problem))
        if size > 0:
            Xt[k], Y[k, j] = part / size, size
            changed = True
    return changed
