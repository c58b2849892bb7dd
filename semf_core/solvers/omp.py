"""Orthogonal matching pursuit for many signals at once, from the Gram matrix of the dictionary."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

Array = np.ndarray
BLOCK_BYTES = 1 << 19
"""Correlations of a block of signals: they are swept k times and should stay in the cache."""
DEPENDENT = 1e2
"""An atom whose part outside the span of the chosen ones is below this many roundings is left out."""


class Codes(NamedTuple):
    """k atoms and their weights for each of n signals (n×k); a weight of zero means that no atom was needed."""

    atoms: Array
    weights: Array
    errors: Array
    """‖m − Dγ‖² of each signal."""

    def sparse(self, p: int) -> Any:
        """The codes as rows of an n×p CSR matrix that shares their memory."""
        return _rows(self.atoms, self.weights, p)

    def dense(self, p: int) -> Array:
        """Y, p×n."""
        Y = np.zeros((p, len(self.atoms)), self.weights.dtype)
        columns = np.arange(len(self.atoms))
        for atoms, weights in zip(self.atoms.T, self.weights.T, strict=True):
            used = weights != 0
            Y[atoms[used], columns[used]] = weights[used]
        return Y


def batch_omp(Dt: Array, signals: Array, k: int, enough: float = 0.0) -> Codes:
    """At most k atoms for each row of `signals` (n×m) by greedy pursuit; Dt holds the atoms as rows (p×m).

    A signal whose squared error is at most `enough` takes no further atom.

    Each step takes the atom with the largest |dᵀr| and fits all chosen ones anew by least squares. With
    the Gram matrix G = DᵀD the residual r is never formed (Rubinstein, Zibulevsky and Elad's batch OMP):
    Dᵀr = Dᵀm − Gγ, and a row is added to a Cholesky factor of G's chosen part. Signals go through in
    blocks; within a block every operation is on all signals at once.
    """
    G = Dt @ Dt.T
    n, p = len(signals), len(Dt)
    atoms, weights, errors = np.zeros((n, k), np.intp), np.zeros((n, k), Dt.dtype), np.empty(n)
    size = max(64, BLOCK_BYTES // (p * Dt.itemsize))
    for first in range(0, n, size):
        part = signals[first : first + size]
        total = np.einsum("ij,ij->i", part, part)
        chosen, fitted, explained = _pursue(G, part @ Dt.T, total, k, enough)
        rows = slice(first, first + len(part))
        atoms[rows], weights[rows] = chosen.T, fitted.T
        errors[rows] = np.maximum(total - explained, 0)
    return Codes(atoms, weights, errors)


def _pursue(G: Array, start: Array, total: Array, k: int, enough: float) -> tuple[Array, Array, Array]:
    """Atoms and weights (k×n), and the explained square of each signal; `start` holds Dᵀm as rows (n×p)."""
    n, p = start.shape
    every = np.arange(n)
    chosen = np.zeros((k, n), np.intp)
    L, t, weights = (np.zeros((*shape, n), G.dtype) for shape in ((k, k), (k,), (k,)))
    diagonal, eps = np.diagonal(G), np.finfo(G.dtype).eps
    correlations, sizes = start, np.empty_like(start)
    for j in range(k):
        np.abs(correlations, out=sizes)
        for taken in chosen[:j]:
            sizes[every, taken] = 0
        new = sizes.argmax(axis=1)
        chosen[j], largest = new, correlations[every, new]
        square = _extended(L, G, chosen, j)
        alive = (square > DEPENDENT * eps * diagonal[new]) & (largest * largest > eps * eps * total)
        if enough > 0:
            alive &= total - np.einsum("ij,ij->j", t[:j], t[:j]) > enough
        L[j, j] = np.sqrt(np.where(alive, square, 1))
        L[j, :j] *= alive  # an atom that adds nothing gets a row of its own, and no weight
        t[j] = np.where(alive, largest, 0) / L[j, j]
        _back_substituted(L, t, weights, j)
        if j + 1 < k:
            correlations = start - _rows(chosen[: j + 1].T, weights[: j + 1].T, p) @ G
    return chosen, weights, np.einsum("ij,ij->j", t, t)


def _extended(L: Array, G: Array, chosen: Array, j: int) -> Array:
    """Row j of the Cholesky factor of G's chosen part, for all signals; gives the square of its diagonal entry."""
    square = np.diagonal(G)[chosen[j]]
    for i in range(j):
        entry = G[chosen[i], chosen[j]]
        for q in range(i):
            entry -= L[i, q] * L[j, q]
        entry /= L[i, i]
        L[j, i] = entry
        square = square - entry * entry
    return square


def _back_substituted(L: Array, t: Array, weights: Array, j: int) -> None:
    """Lᵀ·weights = t for the first j + 1 atoms, into `weights`."""
    for i in range(j, -1, -1):
        value = t[i].copy()
        for q in range(i + 1, j + 1):
            value -= L[q, i] * weights[q]
        weights[i] = value / L[i, i]


def _rows(atoms: Array, weights: Array, p: int) -> Any:
    """n×k atoms and weights as an n×p CSR matrix."""
    n, k = atoms.shape
    return sp.csr_array((weights.ravel(), atoms.ravel(), np.arange(0, n * k + 1, k)), shape=(n, p))
