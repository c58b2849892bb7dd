"""Factors as they are recorded now and then, and when that is due."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.mathematics.precision import single
from semf_core.solvers import Run

Array = np.ndarray

GROWTH = 1.12
"""Ratio of successive keyframes: about 60 in the first 2000 iterations."""
EVENT_GROWTH = 1.5
"""The same after a kick, a new start or an edit, where the picture changes quickly again."""
MAX_FRAMES = 400
FRAME_BYTES = 64 << 20
"""A larger frame is not kept."""
VIEW_BYTES = 256 << 20
"""Larger factors are not looked at: they can only be downloaded."""
TOTAL_BYTES = 512 << 20
"""Keyframes of one run at most."""
FEWEST = 8
CLOSE_LOOKS = 2
"""After more thinnings than this, events no longer ask for keyframes of their own."""


@dataclass(frozen=True)
class FactorFrame:
    """The factors at one iteration: U and V in their sets, X and Y the free copies; float32 where that has room."""

    iteration: int
    U: Array
    V: Array
    X: Array
    Y: Array

    def mark(self) -> str:
        """Tells these factors from others."""
        digest = hashlib.blake2b(digest_size=6)
        for factor in (self.U.T, self.V):
            digest.update(np.ascontiguousarray(factor).data)
        return digest.hexdigest()


def frame_bytes(shape: tuple[int, int], rank: int) -> int:
    """Memory of a frame for whoever looks at it: X, U, Y and V of an m×n matrix, zeros that are not stored included."""
    return 8 * rank * sum(shape)


def check_viewable(shape: tuple[int, int], rank: int) -> None:
    """Reject factors that are too large to be looked at."""
    size = frame_bytes(shape, rank)
    if size > VIEW_BYTES:
        sizes = f"the factors take {size >> 20:,} MB, more than the {VIEW_BYTES >> 20} MB that are drawn"
        raise InvalidInput("iteration", sizes, "download the result instead", whole=True)


def write_frame(file: BinaryIO, run: Run) -> None:
    """The current factors in single precision as NPZ without pickle, without rows and columns that are zero throughout."""
    problem = run.problem
    W, Z = single(run.state.W), single(run.state.Z)
    write_compact(file, run.iterations, problem.shape, (W, Z), (problem.rows, problem.columns))


def write_compact(
    file: BinaryIO, iteration: int, shape: tuple[int, int], factors: tuple[Array, Array], kept: tuple[Array | None, Array | None]
) -> None:
    """A frame from W (X above U, transposed) and Z (Y above V); `kept` are the rows and columns that they have, None for all."""
    arrays = {name: value for name, value in zip(("rows", "columns"), kept, strict=True) if value is not None}
    np.savez(file, head=np.array([iteration, *shape]), W=factors[0], Z=factors[1], **arrays)  # type: ignore[arg-type]


def read_frame(file: Path | BinaryIO) -> FactorFrame:
    with np.load(file, allow_pickle=False) as stored:
        iteration, m, n = (int(v) for v in stored["head"])
        W, Z = stored["W"], stored["Z"]
        p = len(W) // 2
        check_viewable((m, n), p)
        W, Z = _spread(W, stored.get("rows"), m), _spread(Z, stored.get("columns"), n)
    return FactorFrame(iteration, U=W[p:].T, V=Z[p:], X=W[:p].T, Y=Z[:p])


def stored_shape(path: Path, name: str) -> tuple[int, ...]:
    """The shape of an array in an NPZ file, without reading its entries."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        np.lib.format.read_magic(file)
        return tuple(np.lib.format.read_array_header_1_0(file)[0])


def _spread(compact: Array, kept: Array | None, length: int) -> Array:
    if kept is None:
        return compact
    out = np.zeros((len(compact), length), compact.dtype)
    out[:, kept] = compact
    return out


class Schedule:
    """Iterations at which a keyframe is due: log-spaced, and bounded in number and size by thinning out."""

    def __init__(self, size: int) -> None:
        self.limit = 0 if size > FRAME_BYTES else max(FEWEST, min(MAX_FRAMES, TOTAL_BYTES // max(1, size)))
        self._thinnings = 0
        self._from_start = _Steps(0, GROWTH)
        self._from_event = _Steps(0, GROWTH)

    @property
    def note(self) -> str:
        """A sentence for the user where the history of factors is cut down."""
        return "" if self.limit else f"the factors are too large (over {FRAME_BYTES >> 20} MB) to keep their history"

    def next(self, iteration: int) -> float:
        """The first iteration after this one at which a keyframe is due."""
        if not self.limit:
            return np.inf
        return min(self._from_start.after(iteration), self._from_event.after(iteration))

    def mark_event(self, iteration: int) -> None:
        """Something happened: look closely again, unless there has been too much of that already."""
        if self._thinnings <= CLOSE_LOOKS:
            self._from_event = _Steps(iteration, EVENT_GROWTH)

    def thinned(self, kept: list[int]) -> list[int]:
        """Keyframes to delete now that there are this many; later ones come half as often."""
        if len(kept) < self.limit:
            return []
        self._thinnings += 1
        self._from_start = _Steps(0, min(2.0, self._from_start.growth**2))
        if self._thinnings > CLOSE_LOOKS:
            self._from_event = self._from_start
        return kept[1:-1:2]


class _Steps:
    """origin + 1, 2, 3, …, each step at least `growth` times as far from the origin as the one before."""

    def __init__(self, origin: int, growth: float) -> None:
        self.origin, self.growth, self._step = origin, growth, 0

    def after(self, iteration: int) -> int:
        while self.origin + self._step <= iteration:
            self._step = max(self._step + 1, int(self._step * self.growth))
        return self.origin + self._step
