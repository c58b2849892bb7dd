"""Sparse codes of signals over a given dictionary: pursuits, basis pursuit (lasso) and FOCUSS."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from semf_core.common.extras import optional
from semf_core.solvers.omp import Codes

Array = np.ndarray
BLOCK = 1 << 22
"""Entries of the stacks of small systems that FOCUSS solves together."""
POWER: dict[str, Any] = {"low": 0, "high": 2, "symbol": "q", "help": "FOCUSS: power of |c| that is summed; 1 is the ℓ1 norm"}
NOISE: dict[str, Any] = {"low": 0, "high": 1, "help": "FOCUSS: share of a signal that may stay unexplained"}


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


def focuss(Dt: Array, signals: Array, codes: Array | None, power: float, noise: float) -> Array:
    """One step of Gorodnitsky and Rao's FOCUSS: c = ΠDᵀ(DΠDᵀ + noise²I)⁻¹x with Π = diag(|c|^(2−power)) of the last c.

    Signals and codes are measured in the length of the signal, so that units do not matter. Without codes all
    entries weigh alike, which gives the shortest least squares solution. A fixed point is stationary for
    ½‖x − Dc‖² + (noise²/power) Σ|c|^power.
    """
    n, m = signals.shape
    lengths = np.linalg.norm(signals, axis=1, keepdims=True)
    units = np.where(lengths > 0, lengths, 1).astype(Dt.dtype)
    targets, level = signals / units, Dt.dtype.type(noise**2 + np.finfo(Dt.dtype).eps)
    new = np.empty((n, len(Dt)), Dt.dtype)
    size = max(1, BLOCK // (m * len(Dt)))
    for first in range(0, n, size):
        some = slice(first, first + size)
        Pi = np.ones_like(new[some]) if codes is None else np.abs(codes[some] / units[some]) ** (2 - power)
        systems = (Pi[:, None, :] * Dt.T) @ Dt
        systems[:, np.arange(m), np.arange(m)] += level
        new[some] = Pi * (np.linalg.solve(systems, targets[some][:, :, None])[:, :, 0] @ Dt.T)
    return new * units


def focuss_step(power: float, noise: float) -> str:
    """LaTeX of a step, for a signal m of length one."""
    return (
        r"v_+ = \Pi U^\top(U\Pi U^\top + \delta I)^{-1}m,\quad "
        rf"\Pi = \operatorname{{diag}}|v|^{{{2 - power:g}}},\ \delta = {noise:g}^2,\ \|m\| = 1"
    )


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
