"""The half steps of Algorithm 1, which X and Y share, and what Y and the diagnostics need of X and U.

Wherever the rows of M are, in this process or in blocks on the workers of a cluster, X and U are advanced
by the functions here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from semf_core.matrix import DataMatrix

Array = np.ndarray


@dataclass(frozen=True)
class Sent:
    """What an update of X and U needs beside the rows: Y, YYᵀ, the penalty α and the step length γ."""

    Y: Array
    YYt: Array
    alpha: np.floating
    gamma: float


@dataclass(frozen=True)
class Rows:
    """Some rows of M with their part of the iterates: X above U, transposed, before and after; Λ; working memory."""

    matrix: DataMatrix
    old: Array
    new: Array
    Lam: Array
    spare: Array


@dataclass(frozen=True)
class RowSums:
    """All that leaves the rows: sums over them, of the size of Y or smaller."""

    left: Array
    """XᵀM above UᵀM."""
    XtX: Array
    UtU: Array
    gap: float
    """‖X−U‖²."""
    moved: float
    size: float
    """‖X₊−X‖² and ‖X‖²."""

    @staticmethod
    def total(parts: Iterable[RowSums]) -> RowSums:
        """The sums over all rows from those over parts of them."""
        columns = zip(*((s.left, s.XtX, s.UtU, s.gap, s.moved, s.size) for s in parts), strict=True)
        return RowSums(*(sum(terms[1:], start=terms[0]) for terms in columns))


def free_rows(rows: Rows, sent: Sent) -> None:
    """X by (8a) into the new rows, and X + Λ/α, which (7c) projects, into the working memory."""
    p = len(sent.Y)
    right = rows.matrix.right(sent.Y, rows.old[:p])
    free(rows.new[:p], right, rows.old[p:], rows.Lam, sent.alpha)
    solve_shifted(sent.YYt, sent.alpha, rows.new[:p])
    to_project(rows.new[:p], rows.Lam, sent.alpha, rows.spare)


def settle_rows(rows: Rows, sent: Sent, projected: Array) -> RowSums:
    """U by (7c) from what was projected, Λ by (7e), and the sums; the working memory is free afterwards."""
    p = len(sent.Y)
    Xt, Ut = rows.new[:p], rows.new[p:]
    Ut[:] = projected
    left = rows.matrix.left(rows.new, Xt, sent.Y)
    gap = ascend(rows.Lam, Xt, Ut, sent.gamma * sent.alpha, rows.spare)
    return RowSums(left, Xt @ Xt.T, Ut @ Ut.T, gap, *moved(Xt, rows.old[:p], rows.spare))


def free(out: Array, product: Array, projected: Array, multiplier: Array, penalty: np.floating) -> None:
    """out ← product + penalty·projected − multiplier, the right-hand side of (8)."""
    np.multiply(projected, penalty, out=out)
    out += product
    out -= multiplier


def to_project(found: Array, multiplier: Array, penalty: np.floating, out: Array) -> None:
    """out ← found + multiplier/penalty, which (7c) and (7d) project."""
    np.divide(multiplier, penalty, out=out)
    out += found


def solve_shifted(gram: Array, shift: float | np.floating, rows: Array) -> None:
    """rows ← (gram + shift·I)⁻¹ rows in place, by Cholesky; `rows` is p×N in C order."""
    shifted = gram.copy()
    shifted.flat[:: len(gram) + 1] += shift
    (potrf,) = get_lapack_funcs(("potrf",), (shifted,))
    (trsm,) = get_blas_funcs(("trsm",), (shifted,))
    factor, info = potrf(shifted, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the normal equations are not positive definite; raise the starting penalties")
    # rows.T is N×p in Fortran order: solve Z L Lᵀ = rows.T from the right without a copy.
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=0, overwrite_b=1)


def ascend(multiplier: Array, found: Array, projected: Array, step: float | np.floating, spare: Array) -> float:
    """multiplier += step·(found − projected), (7e) and (7f); returns ‖found − projected‖²."""
    gap = np.subtract(found, projected, out=spare)
    square = float(np.vdot(gap, gap))
    gap *= step
    multiplier += gap
    return square


def moved(new: Array, old: Array, spare: Array) -> tuple[float, float]:
    """‖new − old‖² and ‖old‖²."""
    difference = np.subtract(new, old, out=spare)
    return float(np.vdot(difference, difference)), float(np.vdot(old, old))


def relative_change(moved: float, size: float) -> float:
    """‖new − old‖/‖old‖ from the squares."""
    return float(np.sqrt(moved / size)) if size > 0 else np.inf
