"""What a cell may keep beside its numbers: factors in single precision and a thinned history, as text."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.mathematics.precision import single
from semf_core.solvers import Run

Array = np.ndarray
KEEPS = ("factors", "history")
FACTORS, HISTORY = ("U", "V"), ("iteration", "residual_xy", "residual_uv")
POINTS = 200
"""Iterations that are kept of a history, log-spaced."""
MOST_BYTES = 16 << 20
"""Factors of one run, at most: pages read those of several runs."""


def check_kept(names: Sequence[str], shape: tuple[int, int], rank: int) -> None:
    """Reject to keep factors that are too large to be compared, before they are computed."""
    size = 4 * rank * sum(shape)
    if "factors" in names and size > MOST_BYTES:
        sizes = f"names factors of {size / 2**20:.0f} MB in each run, and {MOST_BYTES >> 20} MB is the most"
        raise InvalidInput("keep", sizes, "leave the factors out, or take a lower rank")


def packed(names: Sequence[str], run: Run) -> str:
    """The wanted arrays as the base64 text of an NPZ file; empty if nothing is wanted."""
    arrays: dict[str, Array] = {}
    if "factors" in names:
        U, V, _, _ = run.factors()
        arrays |= {"U": single(U), "V": single(V)}
    if "history" in names:
        arrays |= thinned(run)
    if not arrays:
        return ""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return base64.b64encode(stream.getvalue()).decode()


def thinned(run: Run) -> dict[str, Array]:
    """‖M−XY‖ and ‖M−UV‖ at log-spaced iterations, the first and the last among them."""
    numbers, history = run.history.iteration, run.history
    kept = np.unique(np.searchsorted(numbers, np.unique(np.geomspace(1, run.iterations, POINTS).astype(int))))
    return {"iteration": numbers[kept], "residual_xy": history["residual_xy"][kept], "residual_uv": history["residual_uv"][kept]}


def unpacked(kept: str, names: Iterable[str] = (*FACTORS, *HISTORY)) -> dict[str, Array]:
    """Those of the named arrays that `packed` has put into a text."""
    with np.load(io.BytesIO(base64.b64decode(kept)), allow_pickle=False) as stored:
        return {name: stored[name] for name in names if name in stored.files}
