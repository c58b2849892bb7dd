"""Rival packages on one problem: X ≥ 0 with at most k nonzeros, or of a given sparseness, a column; Y ≥ 0.

Runs in their own environment. `python -m benchmarks.peers NAME FILE` reads M, X, Y, k or sparseness, and
iterations from FILE (NPZ) and prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semf_core.mathematics.metrics import hoyer_sparseness
from semf_core.sets.kernels import clip_nonnegative, keep_largest_nonnegative

Array = np.ndarray
Factors = tuple[Array, Array]
"""The packages take any function as a projection; both get the one that we use ourselves."""


def pyproximal_palm(M: Array, start: Factors, k: int, iterations: int) -> Factors:
    """PALM with the package's own bilinear term; steps from the spectral norms of the Gram matrices.

    The package bounds these by Frobenius norms, which makes shorter steps; the spectral norm is kinder to it.
    """
    from pyproximal import ProxOperator
    from pyproximal.optimization.palm import PALM
    from pyproximal.utils.bilinear import LowRankFactorizedMatrix

    (m, p), n = start[0].shape, M.shape[1]

    class Product(LowRankFactorizedMatrix):
        def lx(self, x: Array) -> float:
            X = x.reshape(m, p)
            return float(np.linalg.norm(X.T @ X, 2))

        def ly(self, y: Array) -> float:
            Y = y.reshape(p, n)
            return float(np.linalg.norm(Y @ Y.T, 2))

    class Indicator(ProxOperator):
        def __init__(self, project: Callable[[Array], Array], shape: tuple[int, int]) -> None:
            super().__init__(None, False)
            self.project, self.shape = project, shape

        def __call__(self, x: Array) -> float:
            return 0.0

        def prox(self, x: Array, tau: float) -> Array:
            return self.project(x.reshape(self.shape)).ravel()

    sparse = Indicator(lambda A: keep_largest_nonnegative(A, k), (m, p))
    positive = Indicator(clip_nonnegative, (p, n))
    x, y = PALM(Product(*start, M.ravel()), sparse, positive, start[0].ravel(), start[1].ravel(), niter=iterations)
    return x.reshape(m, p), y.reshape(p, n)


def proxmin_nmf(M: Array, start: Factors, k: int, iterations: int) -> Factors:
    """`proxmin.nmf.nmf` by proximal gradients, with its own steps and its own stopping."""
    from proxmin.nmf import nmf

    X, Y = (factor.copy() for factor in start)

    def sparse(A: Array, step: float) -> Array:
        return keep_largest_nonnegative(A, k)

    def positive(A: Array, step: float) -> Array:
        return clip_nonnegative(A)

    nmf(M, X, Y, prox_A=sparse, prox_S=positive, max_iter=iterations)
    return X, Y


def torchnmf_hoyer(M: Array, start: Factors, sparseness: float, iterations: int) -> Factors:
    """`NMF.sparse_fit`, Hoyer's projected gradient, in double precision; it factorizes Mᵀ ≈ H Wᵀ."""
    import torch
    from torchnmf.nmf import NMF

    torch.set_num_threads(1)
    X, Y = (torch.tensor(factor) for factor in start)
    model = NMF(W=X, H=Y.T.contiguous())
    model.sparse_fit(torch.tensor(M.T), beta=2, max_iter=iterations, sW=sparseness)
    return model.W.detach().numpy(), model.H.detach().numpy().T


PEERS: dict[str, Callable[[Array, Factors, int, int], Factors]] = {"pyproximal": pyproximal_palm, "proxmin": proxmin_nmf}
BY_SPARSENESS: dict[str, Callable[[Array, Factors, float, int], Factors]] = {"torchnmf": torchnmf_hoyer}


def measured(name: str, file: str) -> dict[str, Any]:
    """CPU seconds and result of one package on the problem in `file`, with one BLAS thread."""
    with np.load(file) as stored:
        problem = {key: stored[key] for key in stored.files}
    M, start, iterations = problem["M"], (problem["X"], problem["Y"]), int(problem["iterations"])
    with threadpool_limits(1, user_api="blas"):
        began = time.process_time()
        if name in BY_SPARSENESS:
            X, Y = BY_SPARSENESS[name](M, start, float(problem["sparseness"]), iterations)
        else:
            X, Y = PEERS[name](M, start, int(problem["k"]), iterations)
        seconds = time.process_time() - began
    if name in BY_SPARSENESS:
        kept = bool(np.abs(hoyer_sparseness(X) - float(problem["sparseness"])).max() <= 1e-3)
    else:
        kept = bool(np.count_nonzero(X, axis=0).max() <= int(problem["k"]))
    return {
        "version": version(name),
        "seconds": seconds,
        "error": float(np.linalg.norm(M - X @ Y) / np.linalg.norm(M)),
        "feasible": bool(kept and (X >= 0).all() and (Y >= 0).all()),
    }


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
