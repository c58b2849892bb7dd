"""Matrices in blocks of rows on a Dask cluster: `factorize_blocks`, and the connection to a cluster."""

from semf_core.distributed.factorization import BlockResult, factorize_blocks
from semf_core.distributed.team import WorkerLost

__all__ = ["BlockResult", "WorkerLost", "factorize_blocks"]
