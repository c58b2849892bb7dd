"""How good a factorization is: fit, sparseness, overlap, and agreement with a known truth.

Nothing here divides by zero: an empty column has cosine 0 with everything and overlaps nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from semf_core.blocks import row_blocks

Array = np.ndarray
Groups = Sequence[Sequence[int]]

CANCELLING = 1e-6
"""Below this fraction of ‖M‖ the expanded square has lost too many digits to be shown."""


# ---------------------------------------------------------------------------------------------
# fit


def frobenius_norm(M: Any) -> float:
    """‖M‖_F over the known (not NaN) entries of a dense, mapped or sparse matrix."""
    if sparse.issparse(M):
        return float(np.linalg.norm(M.data))
    return math.sqrt(sum(_known_square(np.asarray(M[rows], dtype=float)) for rows in row_blocks(*M.shape)))


def residual(M: Any, U: Array, V: Array) -> float:
    """‖M − UV‖_F over the known entries, in blocks of rows: no m×n temporary.

    For a sparse M, ‖M‖² − 2⟨MᵀU, Vᵀ⟩ + ⟨UᵀU, VVᵀ⟩ needs only its nonzeros; where that cancels the
    difference is evaluated directly as well.
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
    """‖M − UV‖ / ‖M‖; 0 for an exact fit of M = 0, infinite for any other."""
    if norm > 0:
        return residual_norm / norm
    return 0.0 if residual_norm == 0 else math.inf


def snr_db(norm: float, residual_norm: float) -> float:
    """20 log10(‖M‖ / ‖M − UV‖), SeMF §4.3; infinite for an exact fit, minus infinity where a run diverged at once."""
    if residual_norm == 0:
        return math.inf
    return -math.inf if norm <= 0 or residual_norm == math.inf else 20 * math.log10(norm / residual_norm)


def rmse(residual_norm: float, entries: int) -> float:
    """‖M − UV‖ / √(mn), SeMF §4.1: a factorization is called exact below 1e-10."""
    return residual_norm / math.sqrt(entries) if entries else 0.0


# ---------------------------------------------------------------------------------------------
# sparseness and overlap


def nonzeros(A: Array) -> Array:
    """‖A_j‖₀ of every column."""
    counts: Array = np.count_nonzero(A, axis=0)
    return counts


def nonzero_fraction(A: Array) -> Array:
    """‖A_j‖₀ / m of every column."""
    return nonzeros(A) / max(1, A.shape[0])


def hoyer_sparseness(A: Array) -> Array:
    """(√m − ‖A_j‖₁ / ‖A_j‖₂) / (√m − 1) of every column: 0 if all entries are equal, 1 if at most one is not zero.

    By that reading an empty column and a column of one entry, where the quotient is 0/0, count as 1.
    """
    m = A.shape[0]
    if m < 2:
        return np.ones(A.shape[1])
    scaled = unit_peak(np.abs(A))
    euclidean = np.linalg.norm(scaled, axis=0)
    ratio = np.divide(scaled.sum(axis=0), euclidean, out=np.ones(A.shape[1]), where=euclidean > 0)
    return np.clip((math.sqrt(m) - ratio) / (math.sqrt(m) - 1), 0, 1)


def overlap(A: Array) -> float:
    """Average overlapping degree of the columns, CSMF (15): the mean cosine of |w_r| and |w_s| over pairs.

    As printed, (15) divides by the sums Σ|w|, but then two equal columns of n equal entries would have 1/n, not
    the maximum 1 that the text states, and columns of normal random numbers not the 2/π of its tables' first
    figures. The paper finds NaN where a column is empty; here such a column overlaps nothing.
    """
    columns = A.shape[1]
    if columns < 2:
        return 0.0
    similarity = cosines(np.abs(A), np.abs(A))
    return float(np.triu(similarity, 1).sum() / (0.5 * columns * (columns - 1)))


def unit_peak(A: Array) -> Array:
    """Every column divided by its largest absolute entry, so that squares neither overflow nor vanish."""
    peaks = np.abs(A).max(axis=0, initial=0)
    return np.divide(A, peaks, out=np.zeros(A.shape), where=peaks > 0)


# ---------------------------------------------------------------------------------------------
# agreement with the truth


def cosines(A: Array, B: Array) -> Array:
    """a_iᵀb_j / (‖a_i‖ ‖b_j‖) for all pairs of columns; 0 where a column is empty or not finite."""
    return _unit(A).T @ _unit(B)


def _unit(A: Array) -> Array:
    scaled = unit_peak(np.where(np.isfinite(A).all(axis=0), A, 0.0))
    norms = np.linalg.norm(scaled, axis=0)
    return np.divide(scaled, norms, out=scaled, where=norms > 0)


def atom_distances(D: Array, learned: Array) -> Array:
    """dist(d_j, D̃) = min_i (1 − |d_jᵀ d̃_i|) for every atom of the generating dictionary D, SeMF (27)."""
    if learned.shape[1] == 0:
        return np.ones(D.shape[1])
    return np.maximum(0.0, 1 - np.abs(cosines(D, learned)).max(axis=1))


def dictionary_distance(D: Array, learned: Array) -> float:
    """The mean of the atoms' distances, SeMF (28)."""
    return float(atom_distances(D, learned).mean())


def recovered_atoms(D: Array, learned: Array, tolerance: float = 0.01) -> int:
    """How many atoms of D have a distance of at most 0.01 (SeMF §4.2, as in K-SVD)."""
    return int((atom_distances(D, learned) <= tolerance).sum())


FOUND = 0.99
"""|cosine| above which a column counts as a true part."""


@dataclass(frozen=True)
class Matching:
    """For every true part the column that was matched to it (−1 if none was left) and their cosine, with its sign."""

    columns: Array
    cosines: Array


def match_parts(U: Array, parts: Array) -> Matching:
    """The one-to-one matching of columns to parts that maximises Σ |cosine| (Hungarian method).

    Absolute values, because a factorization determines a part only up to its sign.
    """
    similarity = cosines(parts, U)
    rows, chosen = linear_sum_assignment(np.abs(similarity), maximize=True)
    columns = np.full(parts.shape[1], -1)
    columns[rows] = chosen
    matched = np.zeros(parts.shape[1])
    matched[rows] = similarity[rows, chosen]
    return Matching(columns, matched)


def agreement(A: Array, B: Array) -> float:
    """Mean |cosine| of the columns under the best one-to-one matching: 1 for the same components in any order."""
    return float(np.abs(match_parts(B, A).cosines).mean())


def parts_found(U: Array, parts: Array, threshold: float = FOUND) -> int:
    """How many true parts have a column of their own with |cosine| above the threshold."""
    return int((np.abs(match_parts(U, parts).cosines) > threshold).sum())


def ghosts(U: Array, parts: Array, threshold: float = 0.1) -> int:
    """How many parts come with a shadow of another: their column has, on the other part's pixels, a mean |u| above a tenth
    of that on their own. For parts without a pixel of their own (dense atoms) there is no such thing.
    """
    supports = parts != 0
    found = 0
    for part, column in enumerate(match_parts(U, parts).columns):
        if column < 0:
            continue
        u, own = np.abs(U[:, column]), supports[:, part]
        elsewhere = supports & ~own[:, None]
        means = (u @ elsewhere) / np.maximum(1, elsewhere.sum(axis=0))
        found += bool(means.max() > threshold * u[own].mean())
    return found


def groups_correct(U: Array, parts: Array, truth_groups: Groups, model_groups: Groups, threshold: float = FOUND) -> int:
    """How many of the model's groups of columns hold exactly the parts of one true group (SeMF §4.4, "exact order").

    Every column of such a group has |cosine| above the threshold with its part, no part of the true
    group is elsewhere and no part of another is inside. All of `len(truth_groups)` is success.
    """
    matching = match_parts(U, parts)
    found = np.abs(matching.cosines) > threshold
    part_of = {int(column): part for part, column in enumerate(matching.columns) if found[part]}
    wanted = {frozenset(group) for group in truth_groups}
    return sum(frozenset(part_of.get(column, -1) for column in group) in wanted for group in model_groups)
