"""Sparse codes of signals over a given dictionary: pursuits, basis pursuit (lasso) and FOCUSS."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp

from semf_core.common.extras import optional
from semf_core.solvers.omp import Codes

Array = np.ndarray
BLOCK = 1 << 22
"""Entries of the stacks of small systems that FOCUSS solves together."""


def matching_pursuit(Dt: Array, signals: Array, k: int) -> Array:
    """Codes (n×p) after k steps of Mallat and Zhang's pursuit: each adds the best multiple of one atom, the others stay.

    An atom may be taken again, so a code has at most k nonzeros.
    """
    gram, every = Dt @ Dt.T, np.arange(len(signals))
    correlations = signals @ Dt.T
    codes = np.zeros_like(correlations)
    for _ in range(k):
        best = np.abs(correlations).argmax(axis=1)
        weights = correlations[every, best]
        codes[every, best] += weights
        correlations = correlations - weights[:, None] * gram[best]
    return codes


def lasso(Dt: Array, signals: Array, weight: float) -> Array:
    """argmin ½‖x − Dc‖² + weight·‖c‖₁ for every signal x, by scikit-learn's coordinate descent: basis pursuit with noise."""
    # scikit-learn takes a second or two to import; only those who want it should wait.
    with optional():
        from sklearn.decomposition import sparse_encode
        from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():  # a code that is not quite settled is as sparse and nearly as good
        warnings.simplefilter("ignore", ConvergenceWarning)
        codes = sparse_encode(signals.astype(float), Dt.astype(float), algorithm="lasso_cd", alpha=weight)
    return np.asarray(codes, dtype=Dt.dtype)


def mean_length(signals: Array) -> float:
    """The mean length of a signal: the unit in which weights of ‖c‖₁ are given."""
    return float(np.linalg.norm(signals, axis=1).mean()) or 1.0


def focuss(Dt: Array, signals: Array, codes: Array, power: float, noise: float) -> Array:
    """One step of Gorodnitsky and Rao's FOCUSS: c = ΠDᵀ(DΠDᵀ + noise²‖x‖²I)⁻¹x with Π = diag(|c|^(2−power)) of the last c."""
    m, new = Dt.shape[1], np.empty_like(codes)
    size = max(1, BLOCK // (m * len(Dt)))
    for first in range(0, len(signals), size):
        some = slice(first, first + size)
        Pi = np.abs(codes[some]) ** (2 - power)
        systems = (Pi[:, None, :] * Dt.T) @ Dt
        levels = noise**2 * np.square(signals[some]).sum(axis=1) + np.finfo(Dt.dtype).eps
        systems[:, np.arange(m), np.arange(m)] += levels[:, None].astype(Dt.dtype)
        new[some] = Pi * (np.linalg.solve(systems, signals[some][:, :, None])[:, :, 0] @ Dt.T)
    return new


def as_codes(dense: Array, Dt: Array, signals: Array) -> Codes:
    """Dense codes (n×p) in the form of a pursuit's: as many places as the fullest code needs, weights of zero in the rest."""
    rows = sp.csr_array(dense)
    counts = np.diff(rows.indptr)
    k = max(int(counts.max(initial=0)), 1)
    places = np.arange(len(rows.data)) - np.repeat(rows.indptr[:-1], counts)
    owners = np.repeat(np.arange(len(dense)), counts)
    atoms, weights = np.zeros((len(dense), k), np.intp), np.zeros((len(dense), k), dense.dtype)
    atoms[owners, places], weights[owners, places] = rows.indices, rows.data
    rest = signals - rows @ Dt
    return Codes(atoms, weights, np.einsum("ij,ij->i", rest, rest))
