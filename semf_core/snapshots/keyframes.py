"""The recorded factors of a run, packed for looking at.

Entries keep 11 significant bits (float16, each frame scaled by a power of two): what a picture shows and more,
in a third of the space. Results and checkpoints are stored exactly; these are not. Rows of X and U, and columns
of Y and V, that are zero in every frame are left out. The entries of one place stand next to each other, first
their high bytes and then their low ones, because then they compress best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.mathematics.precision import single
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import MAX_FRAMES, FactorFrame, frame_bytes, read_frame, write_compact

Array = np.ndarray
FACTORS = ("X", "U", "Y", "V")
MOST_FRAMES = 2 * MAX_FRAMES
LARGEST_EXPONENT = 1074
"""Of a power of two in double precision."""
MOST_BYTES = 256 << 20
"""Frames in memory while they are packed; a run with more of them loses every second one until it fits."""


@dataclass(frozen=True)
class Keyframes:
    """Frames of m×n data at rank p. Planes of X and U are (2, kept rows, p, frames), of Y and V (2, p, kept columns, frames)."""

    iterations: Array
    rows: Array
    columns: Array
    exponents: Array
    planes: Mapping[str, Array]

    def arrays(self) -> dict[str, Array]:
        """Everything, by name."""
        named = {"iterations": self.iterations, "rows": self.rows, "columns": self.columns, "exponents": self.exponents}
        return named | dict(self.planes)

    @classmethod
    def from_arrays(cls, found: Mapping[str, Array], shape: tuple[int, int], rank: int) -> Keyframes:
        """What a file holds, if it agrees with the data's shape and the rank."""
        missing = [name for name in ("iterations", "rows", "columns", "exponents", *FACTORS) if name not in found]
        if missing or len(found) != len(FACTORS) + 4:
            raise InvalidInput("keyframes", "are not complete, or hold something else", "save the run again")
        iterations, rows, columns = (_ascending(name, found[name]) for name in ("iterations", "rows", "columns"))
        if len(iterations) > MOST_FRAMES:
            raise InvalidInput("keyframes", f"are {len(iterations):,}, and no run keeps more than {MOST_FRAMES:,}")
        if (len(rows) and rows[-1] >= shape[0]) or (len(columns) and columns[-1] >= shape[1]):
            raise InvalidInput("keyframes", "name rows or columns that the data does not have")
        exponents, frames = found["exponents"], len(iterations)
        if (
            exponents.dtype != np.int16
            or exponents.shape != (len(FACTORS), frames)
            or np.abs(exponents).max(initial=0) > LARGEST_EXPONENT
        ):
            raise InvalidInput("keyframes", "have scales that fit no frames", "save the run again")
        wanted = {"X": (2, len(rows), rank, frames), "Y": (2, rank, len(columns), frames)}
        wanted |= {"U": wanted["X"], "V": wanted["Y"]}
        for name in FACTORS:
            if found[name].dtype != np.uint8 or found[name].shape != wanted[name]:
                raise InvalidInput("keyframes", f"the shape of {name} does not agree with the model and the data", whole=True)
        kept = cls(iterations, rows, columns, exponents, {name: found[name] for name in FACTORS})
        if not all((np.abs(kept._halves(name)) <= 1).all() for name in FACTORS):
            raise InvalidInput("keyframes", "hold values beyond their scale")
        return kept

    def _halves(self, factor: str) -> Array:
        """The float16 entries, frames last."""
        return np.ascontiguousarray(np.moveaxis(self.planes[factor], 0, -1)).view("<f2")[..., 0]

    def decoded(self, factor: str, k: int) -> Array:
        """The factor of one frame, in single precision where that has room."""
        planes = np.ascontiguousarray(np.moveaxis(self.planes[factor][..., k], 0, -1))
        return single(np.ldexp(planes.view("<f2")[..., 0].astype(float), int(self.exponents[FACTORS.index(factor), k])))

    def write(self, folder: RunFolder, shape: tuple[int, int]) -> None:
        """As the files that a worker would have left."""
        kept = (None if len(self.rows) == shape[0] else self.rows, None if len(self.columns) == shape[1] else self.columns)
        for k, iteration in enumerate(self.iterations):
            X, U, Y, V = (self.decoded(name, k) for name in FACTORS)
            factors = np.concatenate((X.T, U.T)), np.concatenate((Y, V))
            with open(folder.keyframe(int(iteration)), "wb") as file:
                write_compact(file, int(iteration), shape, factors, kept)


def _ascending(name: str, values: Array) -> Array:
    if values.dtype != np.int64 or values.ndim != 1 or (len(values) and values[0] < 0) or (np.diff(values) <= 0).any():
        raise InvalidInput("keyframes", f"their {name} must be whole numbers in ascending order", whole=True)
    return values


def thinned(iterations: Sequence[int], size: int) -> list[int]:
    """All of them, or every second one, or every fourth …; the first and the last stay."""
    kept = list(iterations)
    while len(kept) > 2 and len(kept) * size > MOST_BYTES:
        kept = kept[:-1:2] + kept[-1:]
    return kept


def packed_keyframes(folder: RunFolder, shape: tuple[int, int], rank: int) -> Keyframes | None:
    """The frames of a run; None if it has kept none."""
    kept = thinned(folder.keyframes(), frame_bytes(shape, rank))
    frames = [read_frame(folder.keyframe(k)) for k in kept]
    if not frames:
        return None
    rows = np.flatnonzero(_any_frame([(f.X, f.U) for f in frames], axis=1))
    columns = np.flatnonzero(_any_frame([(f.Y, f.V) for f in frames], axis=0))
    exponents, planes = np.zeros((len(FACTORS), len(frames)), np.int16), {}
    for i, name in enumerate(FACTORS):
        taken = [_kept(getattr(f, name), rows if name in "XU" else columns, name) for f in frames]
        exponents[i] = [_exponent(a) for a in taken]
        halves = np.stack([np.ldexp(a, -e).astype("<f2") for a, e in zip(taken, exponents[i], strict=True)], axis=-1)
        planes[name] = np.ascontiguousarray(np.moveaxis(halves[..., None].view(np.uint8), -1, 0))
    return Keyframes(np.array(kept, np.int64), rows.astype(np.int64), columns.astype(np.int64), exponents, planes)


def _any_frame(pairs: list[tuple[Array, Array]], axis: int) -> Array:
    """Where a row (axis 1) or column (axis 0) holds something other than zero in some frame."""
    return np.any([(a != 0).any(axis=axis) | (b != 0).any(axis=axis) for a, b in pairs], axis=0)


def _kept(A: Array, index: Array, name: str) -> Array:
    return np.nan_to_num(A[index] if name in "XU" else A[:, index])


def _exponent(A: Array) -> int:
    """The e with max |A| < 2^e."""
    return math.frexp(float(np.abs(A).max(initial=0.0)))[1]


__all__ = ["FactorFrame", "Keyframes", "packed_keyframes", "thinned"]
