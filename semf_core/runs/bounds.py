"""The best that any factorization of rank p can reach: the Eckart–Young bound on ‖M − UV‖."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.linalg
from scipy import sparse
from scipy.sparse.linalg import svds
from threadpoolctl import threadpool_limits

from semf_core.mathematics.blocks import row_blocks
from semf_core.runs.caches import Cache

Array = np.ndarray
GRAM_COST = 3e10
"""m·n·min(m, n) up to which the Gram matrix of the smaller side is formed (a few seconds on one core)."""
GRAM_SIDE = 2000
"""Its largest size: all its eigenvalues are computed."""
LANCZOS_COST = 2e9
"""Nonzeros times rank up to which the leading singular values of a sparse matrix are sought."""
ROUNDING = 1e4
"""A remainder below this many roundings of ‖M‖² cannot be told from zero."""


def rank_bound(data: Any, rank: int) -> float | None:
    """√(Σ_{i>p} σ_i²), the smallest ‖M − UV‖ over all U with p columns, for a dense, mapped or sparse M.

    It is ‖M‖² − Σ_{i≤p} σ_i² under the root; where that is lost in rounding the bound given is 0, which
    is still one. None with missing entries, where squares of the data overflow, and where it would take too long.
    """
    m, n = data.shape
    small = min(m, n)
    if not sparse.issparse(data) and any(np.isnan(data[rows]).any() for rows in row_blocks(m, n)):
        return None
    if rank >= small:
        return 0.0
    entries = data.nnz if sparse.issparse(data) else m * n
    with threadpool_limits(1, user_api="blas"):
        if small <= GRAM_SIDE and entries * small <= GRAM_COST:
            product = gram(data)
            if not np.isfinite(product).all():
                return None
            values = np.maximum(scipy.linalg.eigvalsh(product), 0)  # rising
            total, rest = float(values.sum()), float(values[: small - rank].sum())
        elif sparse.issparse(data) and entries * rank <= LANCZOS_COST:
            leading = svds(data.astype(float), rank, return_singular_vectors=False, rng=0)
            total = float(np.square(data.data, dtype=float).sum())
            rest = total - float(np.square(leading).sum())
        else:
            return None
    return math.sqrt(rest) if rest > ROUNDING * np.finfo(float).eps * total else 0.0


def gram(data: Any) -> Array:
    """MᵀM or MMᵀ, whichever is smaller, in double precision."""
    m, n = data.shape
    if sparse.issparse(data):
        product = data.T @ data if n <= m else data @ data.T
        return product.toarray().astype(float)
    if m < n:
        return gram_of_rows(data.T)
    return gram_of_rows(data)


def gram_of_rows(data: Any) -> Array:
    """AᵀA for a tall A, in blocks of rows; infinite where squares of its entries overflow."""
    out = np.zeros((data.shape[1], data.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):  # whoever asks looks whether it is finite
        for rows in row_blocks(*data.shape):
            block = np.asarray(data[rows], dtype=float)
            out += block.T @ block
    return out


class LowerBounds:
    """Bounds that are worked out in the background: asking never waits longer than the asker wants."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lower_bound")
        self._found: Cache[Any, Future[float | None]] = Cache()

    def get(self, key: Any, load: Callable[[], Any], rank: int, wait: float = 0.0) -> float | None:
        """The bound under this key; None if it is not known (yet)."""
        future = self._found.get(key, lambda: self._pool.submit(lambda: rank_bound(load(), rank)))
        try:
            return future.result(timeout=wait)
        except TimeoutError:
            return None

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
