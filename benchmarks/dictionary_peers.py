"""Rival dictionary learners on one problem: unit atoms, at most k nonzeros a code. Runs in their own environment.

`python -m benchmarks.dictionary_peers NAME FILE` reads M, p, k and iterations from FILE (NPZ), writes the
atoms beside it and prints JSON.
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

Array = np.ndarray
Learned = tuple[Array, Array]
"""Atoms (m×p) and codes (p×n)."""


def ksvd(M: Array, p: int, k: int, iterations: int) -> Learned:
    """`ksvd.ApproximateKSVD` from its own random start."""
    from ksvd import ApproximateKSVD

    np.random.seed(0)
    learner = ApproximateKSVD(p, max_iter=iterations, tol=0, transform_n_nonzero_coefs=k).fit(M.T)
    return learner.components_.T, learner.transform(M.T).T


def dictlearn(M: Array, p: int, k: int, iterations: int) -> Learned:
    """`dictlearn.DictionaryLearning` with approximate K-SVD, pursuit compiled by numba; unit signals are its start."""
    from dictlearn import DictionaryLearning

    norms = np.linalg.norm(M, axis=0)
    chosen = np.random.default_rng(0).permutation(np.flatnonzero(norms))[:p]
    start = (M[:, chosen] / norms[chosen]).T
    options = {"n_nonzero_coefs": k, "max_iter": iterations, "dict_init": start, "random_state": 0}
    learner = DictionaryLearning(p, fit_algorithm="aksvd", **options).fit(M.T)
    return learner.components_.T, learner.transform(M.T).T


def spams(M: Array, p: int, k: int, iterations: int) -> Learned:
    """`spams.trainDL` with counted nonzeros (C++), batches of 512, then its pursuit on all signals."""
    import spams as package

    X = np.asfortranarray(M)
    D = package.trainDL(X, K=p, mode=3, lambda1=k, lambda2=0, iter=iterations, batchsize=512, numThreads=1, verbose=False)
    return D, package.omp(X, D=D, L=k, eps=0.0, numThreads=1).toarray()


PEERS: dict[str, Callable[[Array, int, int, int], Learned]] = {"ksvd": ksvd, "dictlearn": dictlearn, "spams-bin": spams}


def measured(name: str, file: str) -> dict[str, Any]:
    """CPU seconds and error of one package with one BLAS thread; compilation and imports are not counted."""
    with np.load(file) as stored:
        M, p, k, iterations = stored["M"], int(stored["p"]), int(stored["k"]), int(stored["iterations"])
    learn = PEERS[name]
    with threadpool_limits(1, user_api="blas"):
        learn(M[:, : 2 * p], p, k, 1)
        began = time.process_time()
        D, Y = learn(M, p, k, iterations)
        seconds = time.process_time() - began
    np.save(f"{file}.{name}.npy", D)
    error = float(np.linalg.norm(M - D @ Y) / np.linalg.norm(M))
    return {"version": version(name), "seconds": seconds, "error": error, "nonzeros": int(np.count_nonzero(Y, axis=0).max())}


if __name__ == "__main__":
    print(json.dumps(measured(*sys.argv[1:])))
