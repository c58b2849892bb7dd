"""What a run will need in memory, known from its model and the shape of its data before anything of it is made."""

from __future__ import annotations

from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.datasets import Dataset
from semf_core.model import ModelSpec

MB = 1 << 20
ALWAYS = 30 * MB
"""Small things, and blocks of rows."""
RECORDED = 1.0
"""Arrays of the size of the factors for a frame that is written."""
GENERATED = 3
"""Times the arrays that generated data declare: with noise, supports and the like, while they are made."""


def run_bytes(spec: ModelSpec, dataset: Dataset) -> int:
    """The peak of a run: its data, rank × (m + n) × buffers of the algorithm and its sets, and what grows with the data.

    The counts of buffers were measured, and a test measures them again.
    """
    (m, n), p = dataset.shape, spec.rank
    item = 4 if (spec.dtype or str(dataset.data.dtype)) == "float32" else 8
    x_set, y_set = spec.enforced_sets(dataset.shape)
    projecting = item * p * max(x_set.workspace * m, y_set.workspace * n)
    is_sparse = sparse.issparse(dataset.data)
    # A sparse one is there by rows, by columns, and as it was read.
    data = 4 * (dataset.data.nnz * (item + 4) + 4 * (m + n)) if is_sparse else item * m * n
    working = spec.solver.workspace(dataset.shape, p, item, is_sparse)
    return int(ALWAYS + max(made_bytes(spec), data + working + projecting + item * RECORDED * p * (m + n)))


def made_bytes(spec: ModelSpec) -> int:
    """What generated data take while they are made; nothing where they are read."""
    return GENERATED * 8 * sum(rows * columns for rows, columns in spec.dataset.arrays().values())


def check_made_memory(spec: ModelSpec) -> None:
    """Reject data that no run may make here, before anybody tries."""
    need, limit = (ALWAYS + made_bytes(spec)) / MB, server_limits().run_mb
    if need > limit:
        told = f"needs about {need:,.0f} MB of memory while it is made, and a run may take {limit:,.0f} MB here"
        raise InvalidInput("dataset", told, "ask for a smaller matrix")


def check_run_memory(spec: ModelSpec, dataset: Dataset) -> None:
    """Reject a model that needs more than one run may take."""
    need, limit = run_bytes(spec, dataset) / MB, server_limits().run_mb
    if need > limit:
        (m, n), p = dataset.shape, spec.rank
        sizes = f"{p} on {m:,} × {n:,} data needs about {need:,.0f} MB of memory with {spec.solver.title or spec.solver.name}"
        advice = "lower the rank, take fewer rows or columns, or another algorithm"
        raise InvalidInput("rank", f"{sizes}, and a run may take {limit:,.0f} MB here", advice, whole=True)
