"""What every reader shares: how to read, how much to read at most, and how to reject."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semf_core.common.parameters import InvalidInput, Parametrized, param
from semf_core.datasets.axes import Axes
from semf_core.datasets.base import MAX_ENTRIES, Array, Dataset, check_real, check_two_dimensional
from semf_core.datasets.gaps import AUTO, spelled_gap
from semf_core.datasets.preparation import spelled
from semf_core.datasets.text_encoding import ENCODINGS

EXTRAS = ("image_shape", "map_shape", "parts", "activations", "groups", "labels", "label", "gnd")
"""Members of an NPZ or MAT file that describe its matrix instead of being it."""
STACKS = ("auto", "pictures-first", "pictures-last", "bands-first", "bands-last")
"""What a 3-D array is: pictures (n×h×w or h×w×n), or one picture in many bands (bands×h×w or h×w×bands)."""
WHAT = ("auto", "names", "axis", "data")
FIELD = "."
"""Between a struct of a MAT file and its field, in the name of a member."""
LARGEST = ""
"""The member that is asked for if any will do, as before somebody has seen what there is."""


@dataclass(frozen=True)
class Limits:
    """The most that a file may hold; checked on declared sizes before anything is unpacked."""

    max_bytes: int = 512 * 2**20
    max_pixels: int = 50_000_000
    max_entries: int = MAX_ENTRIES
    max_members: int = 20_000

    def check_bytes(self, name: str, size: int, unpacked: bool = False) -> None:
        if size == 0 and not unpacked:
            raise InvalidInput(name, "is empty", "choose a file with data in it")
        if size > self.max_bytes:
            what = "unpacks to" if unpacked else "has"
            raise InvalidInput(name, f"{what} more than {self.max_bytes / 2**20:g} MB", "choose a smaller file")

    def check_entries(self, name: str, rows: int, columns: int) -> None:
        if rows * columns > self.max_entries:
            wanted = f"{rows:,} × {columns:,}"
            raise InvalidInput(
                name, f"holds {wanted} entries, more than {self.max_entries:,}", "choose a smaller part of the data"
            )

    def check_pixels(self, name: str, width: int, height: int) -> None:
        if width * height > self.max_pixels:
            raise InvalidInput(name, f"has {width} × {height} pixels, more than {self.max_pixels:,}", "scale the picture down")

    def check_members(self, name: str, count: int) -> None:
        if count > self.max_members:
            raise InvalidInput(name, f"holds more than {self.max_members:,} members", "split it into smaller ones")


class Reading(Parametrized, kw_only=True):
    """How a file becomes a dataset."""

    name = "reading"

    member: str | None = param("text", None, optional=True, help="which array or table of a file that holds several")
    orientation: str = param(
        "choice", "columns", choices=("columns", "rows", "auto"), help="what the samples are; auto: as it looks"
    )
    header: str = param("choice", "auto", choices=WHAT, help="what the first line of a table is; auto: as it looks")
    index: str = param(
        "choice",
        "auto",
        choices=(*WHAT, "labels", "long"),
        help="what the first column of numbers in a table is; auto: as it looks",
    )
    stack: str = param("choice", "auto", choices=STACKS, help="what a 3-D array holds; auto: as its sides suggest")
    colour: str = param(
        "choice",
        "grey",
        choices=("grey", "channels", "auto"),
        help="channels: red, green and blue are kept apart; auto: where pictures have colours",
    )
    image_shape: Sequence[int] | None = param(
        "integers", None, low=1, optional=True, help="height and width of a sample that is a picture"
    )
    encoding: str = param(
        "choice", "auto", choices=("auto", *ENCODINGS), help="of the letters in a table that is not Unicode; auto: as they look"
    )
    missing: str = param("text", AUTO, help="the number that stands for a missing entry, such as -999; none: no number does")
    scaling: str = param(
        "choice",
        "none",
        choices=("none", "unit", "max"),
        help="unit: every sample divided by its ℓ2 norm; max: everything divided by the largest absolute value",
    )
    prepare: str = param("text", "", help="steps done after reading, in their order, as in: crop:first=3,last=90 log1p")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.image_shape is not None and (isinstance(self.image_shape, int) or len(self.image_shape) != 2):
            raise InvalidInput("image_shape", "must be a pair (height, width)")
        object.__setattr__(self, "missing", spelled_gap(self.missing))
        object.__setattr__(self, "prepare", spelled(self.prepare))


@dataclass(frozen=True)
class Raw:
    """What a reader found: the matrix as it stands in the file, and what came with it."""

    data: Any
    image_shape: tuple[int, int] | None = None
    labels: Array | None = None
    extras: dict[str, Array] = field(default_factory=dict)
    note: str = ""
    labels_title: str = ""
    """What a column or line of labels is called."""
    samples_fixed: bool = False
    """True where columns are samples by construction (a stack of pictures)."""
    axes: Axes = field(default_factory=Axes)
    """What rows and columns are called, as they stand in the file."""
    row_labels: Array | None = None
    """A label for each row of a table, which is of use if rows are samples."""
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """What else could be read from the file: names and shapes."""
    member: str | None = None
    stack: str = "auto"
    """How a 3-D array was read."""
    colour: str = "grey"
    """How the colours of pictures were read."""
    index: str = "auto"
    """What the first column of numbers, or of dates, was taken for."""
    header: str = "auto"
    """What the first line was taken for, where it could be another."""
    encoding: str = "auto"
    """How the letters of a table were encoded, if not in Unicode."""
    guess: str = "columns"
    """The samples are probably the columns, or the rows."""
    question: str = ""
    """What the guess rests on."""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """A dataset, and how it was found in its file: the reading without any `auto` in its orientation or member."""

    dataset: Dataset
    reading: Reading
    members: dict[str, tuple[int, ...]]
    question: str
    """What the orientation rests on."""
    remarks: tuple[str, ...]
    orientable: bool = True
    """Rows could be the samples as well as columns."""


def colour_side(shape: Sequence[int]) -> int | None:
    """Which side of a 4-D array holds the colours of its pictures (n × h × w × 3, h × w × 3 × n); None if none does."""
    return next((side for count in (3, 4) for side in (3, 2, 1) if len(shape) == 4 and shape[side] == count), None)


def is_readable(shape: Sequence[int]) -> bool:
    """Whether an array of these sides can become a matrix."""
    return len(shape) in (2, 3) or colour_side(shape) is not None


def check_array(name: str, dtype: np.dtype[Any], shape: Sequence[int], limits: Limits) -> None:
    """Reject by its header what is neither a matrix nor a stack of matrices of real numbers within the limits."""
    check_real(name, dtype)
    check_two_dimensional(name, (shape[0], math.prod(shape[1:])) if is_readable(shape) else shape)
    limits.check_entries(name, shape[0], math.prod(shape[1:]))


def choose_member(name: str, shapes: Mapping[str, Sequence[int]], wanted: str | None) -> str:
    """The member asked for, the one called data or M, or the only matrix; otherwise ask."""
    if wanted is not None and wanted != LARGEST:
        if wanted not in shapes:
            raise InvalidInput(name, f"has no member {shown(wanted)}", f"choose one of {listed(shapes)}")
        return wanted
    matrices = [k for k, s in shapes.items() if is_readable(s) and min(s) > 1 and bare(k) not in EXTRAS]
    for usual in ("data", "M", "X"):
        called = [k for k in matrices if k == usual] or [k for k in matrices if bare(k) == usual]
        if len(called) == 1:
            return called[0]
    if len(matrices) == 1:
        return matrices[0]
    cubes = [k for k in matrices if len(shapes[k]) == 3]
    if len(cubes) == 1:  # with maps of the same picture beside it, such as a ground truth
        sides = tuple(shapes[cubes[0]])
        if all(tuple(shapes[k]) in (sides[:2], sides[1:]) for k in matrices if k not in cubes):
            return cubes[0]
    if matrices and wanted == LARGEST:
        return max(matrices, key=lambda k: math.prod(shapes[k]))
    if matrices:
        raise InvalidInput(name, "holds several matrices", f"name one of {listed(matrices)} as its member")
    # A lone vector or cube is worth its own sentence about its shape, which the caller gives.
    if len(shapes) == 1:
        return next(iter(shapes))
    found = f"only {listed(shapes)}" if shapes else "no array at all"
    raise InvalidInput(name, f"holds no matrix of numbers but {found}", "store a 2-D array called data")


def bare(member: str) -> str:
    """The name of a member without that of the struct that holds it."""
    return member.rpartition(FIELD)[2]


def listed(names: Iterable[str]) -> str:
    """A few names for a message, cut short."""
    every = [shown(n) for n in names]
    return ", ".join(every[:10]) + (f" and {len(every) - 10} more" if len(every) > 10 else "")


def shown(text: str) -> str:
    """Foreign text for a message: printable and short."""
    clean = "".join(c if c.isprintable() else "?" for c in text)
    return clean if len(clean) <= 40 else clean[:37] + "..."
