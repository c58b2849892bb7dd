"""What every reader shares: how to read, how much to read at most, and how to refuse."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semf_core.datasets.base import MAX_ENTRIES, Array, check_real, check_two_dimensional
from semf_core.parameters import InvalidInput, Parametrized, param

EXTRAS = ("image_shape", "parts", "activations", "groups", "labels", "label")
"""Members of an NPZ or MAT file that describe its matrix instead of being it."""


@dataclass(frozen=True)
class Limits:
    """The most that a file may hold; checked on declared sizes before anything is unpacked."""

    max_bytes: int = 512 * 2**20
    max_pixels: int = 50_000_000
    max_entries: int = MAX_ENTRIES
    max_members: int = 20_000

    def check_bytes(self, name: str, size: int, unpacked: bool = False) -> None:
        if size == 0 and not unpacked:
            raise InvalidInput(name, "is empty; choose a file with data in it")
        if size > self.max_bytes:
            what = "unpacks to" if unpacked else "has"
            raise InvalidInput(name, f"{what} more than {self.max_bytes / 2**20:g} MB; choose a smaller file")

    def check_entries(self, name: str, rows: int, columns: int) -> None:
        if rows * columns > self.max_entries:
            wanted = f"{rows:,} × {columns:,}"
            raise InvalidInput(name, f"holds {wanted} entries, more than {self.max_entries:,}; choose a smaller part of the data")

    def check_pixels(self, name: str, width: int, height: int) -> None:
        if width * height > self.max_pixels:
            raise InvalidInput(name, f"has {width} × {height} pixels, more than {self.max_pixels:,}; scale the picture down")

    def check_members(self, name: str, count: int) -> None:
        if count > self.max_members:
            raise InvalidInput(name, f"holds more than {self.max_members:,} members; split it into smaller ones")


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading(Parametrized):
    """How a file becomes a dataset."""

    name = "reading"

    member: str | None = param("text", None, optional=True, help="array of an NPZ or variable of a MAT file")
    orientation: str = param("choice", "columns", choices=("columns", "rows"), help="whether the columns or the rows are samples")
    image_shape: tuple[int, ...] | None = param(
        "integers", None, low=1, optional=True, help="height and width of a sample that is a picture"
    )
    scaling: str = param(
        "choice",
        "none",
        choices=("none", "unit", "max"),
        help="unit: every sample divided by its ℓ2 norm; max: everything divided by the largest absolute value",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image_shape is not None and (isinstance(self.image_shape, int) or len(self.image_shape) != 2):
            raise InvalidInput("image_shape", "must be a pair (height, width)")


@dataclass(frozen=True)
class Raw:
    """What a reader found: the matrix as it stands in the file, and what came with it."""

    data: Any
    image_shape: tuple[int, int] | None = None
    labels: Array | None = None
    extras: dict[str, Array] = field(default_factory=dict)
    note: str = ""
    samples_fixed: bool = False
    """True where columns are samples by construction (a stack of pictures)."""


def check_array(name: str, dtype: np.dtype[Any], shape: Sequence[int], limits: Limits) -> None:
    """Refuse by its header what is not a matrix of real numbers within the limits."""
    check_real(name, dtype)
    check_two_dimensional(name, shape)
    limits.check_entries(name, shape[0], shape[1])


def choose_member(name: str, shapes: dict[str, Sequence[int]], wanted: str | None) -> str:
    """The member asked for, the one called data or M, or the only matrix; otherwise ask."""
    if wanted is not None:
        if wanted not in shapes:
            raise InvalidInput(name, f"has no member {shown(wanted)}; choose one of {listed(shapes)}")
        return wanted
    matrices = [k for k, s in shapes.items() if len(s) == 2 and min(s) > 1 and k not in EXTRAS]
    for usual in ("data", "M"):
        if usual in matrices:
            return usual
    if len(matrices) == 1:
        return matrices[0]
    if matrices:
        raise InvalidInput(name, f"holds several matrices; name one of {listed(matrices)} as its member")
    # A lone vector or cube is worth its own sentence about its shape, which the caller gives.
    if len(shapes) == 1:
        return next(iter(shapes))
    found = f"only {listed(shapes)}" if shapes else "no array at all"
    raise InvalidInput(name, f"holds no matrix of numbers but {found}; store a 2-D array called data")


def listed(names: Iterable[str]) -> str:
    """A few names for a message, cut short."""
    every = [shown(n) for n in names]
    return ", ".join(every[:10]) + (f" and {len(every) - 10} more" if len(every) > 10 else "")


def shown(text: str) -> str:
    """Foreign text for a message: printable and short."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= 40 else clean[:37] + "..."
