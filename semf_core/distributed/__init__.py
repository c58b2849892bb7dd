"""Matrices in blocks of rows on a Dask cluster: `factorize_blocks`, and the connection to a cluster."""

from semf_core.distributed.cluster import WorkerLost
from semf_core.distributed.factorization import BlockResult, factorize_blocks

__all__ = ["BlockResult", "WorkerLost", "factorize_blocks"]
