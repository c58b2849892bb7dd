"""Arrays that lie beside a matrix in its file and describe it: names, axes, labels, what is known of its truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.axes import Axes, Axis, moments, titled
from semf_core.datasets.base import Array, Groups, as_groups, as_image_shape, as_labels, as_truth
from semf_core.datasets.reading import EXTRAS, FIELD, bare
from semf_core.datasets.table_layout import in_order, is_axis_word

NAMES = ("row_names", "column_names", "component_names", "row_axis", "column_axis", "row_title", "column_title")
"""What the exports call names and axes."""
LABELS = ("labels", "label", "gnd")
"""What a vector with the class of each sample is called."""
TRUTHS = ("gt", "groundtruth")
"""How the names of maps end that give the class of each pixel of a picture in bands."""
SIDES = ("nrow", "ncol")
"""Height and width of the picture whose pixels are the columns, as the usual hyperspectral files have them."""
MOST = 2_000_000
"""Entries of a companion that is looked at as names or axis."""


def describes(name: str, kind: str, shape: Sequence[int]) -> bool:
    """Whether an array beside the matrix may describe it, by its name, its kind of values and its shape."""
    if name in EXTRAS:
        return kind in "fiubU"
    if _is_truth(name) and len(shape) == 2:
        return kind in "fiub" and 0 < math.prod(shape) <= MOST
    if name.lower() in SIDES:
        return kind in "fiu" and math.prod(shape) == 1
    along = len(shape) == 1 or (len(shape) == 2 and min(shape) == 1)
    if not along or not 0 < math.prod(shape) <= MOST:
        return False
    return kind == "U" or (kind in "fiu" and (name in NAMES or is_axis_word(name)))


def _is_truth(name: str) -> bool:
    return name.lower().replace("_", "").endswith(TRUTHS)


def classes_of_pixels(found: Mapping[str, Array], map_shape: tuple[int, int]) -> dict[str, Array]:
    """The one map of classes that lies beside a picture of this height and width, as labels of its pixels."""
    maps = [array for name, array in found.items() if _is_truth(name) and array.shape == map_shape]
    return {"labels": maps[0]} if len(maps) == 1 and not any(name in LABELS for name in found) else {}


def map_sides(found: Mapping[str, Array], columns: int) -> tuple[int, int] | None:
    """Height and width, if such numbers lie beside a matrix and their product is the number of its columns."""
    sides = {name.lower(): float(array.ravel()[0]) for name, array in found.items() if name.lower() in SIDES}
    if len(sides) < len(SIDES) or sides["nrow"] * sides["ncol"] != columns or min(sides.values()) < 1:
        return None
    return int(sides["nrow"]), int(sides["ncol"])


Thing = TypeVar("Thing")


def beside(chosen: str, members: Mapping[str, Thing]) -> dict[str, Thing]:
    """What may describe the chosen member, under its name alone: the other fields of its struct, then what no struct holds."""
    struct = chosen.rpartition(FIELD)[0]
    own = {bare(key): item for key, item in members.items() if key != chosen and key.rpartition(FIELD)[0] == struct}
    return {key: item for key, item in members.items() if key != chosen and FIELD not in key} | own


def axes_of(found: Mapping[str, Array], shape: tuple[int, int], map_shape: tuple[int, int] | None = None) -> Axes:
    """Names and axes for the rows and columns of a matrix, each from the one companion that fits."""
    vectors = {name: array.ravel() for name, array in found.items() if name not in EXTRAS and not _is_truth(name)}
    sides = []
    for own, count, other in (("row", shape[0], shape[1]), ("column", shape[1], shape[0])):
        names = _names(vectors, own, count, other)
        values, title = _places(vectors, own, count, other)
        heading = vectors.get(f"{own}_title")
        text = str(heading[0]) if heading is not None and heading.dtype.kind == "U" and len(heading) else title
        dates = moments(names) if names is not None else None
        calendar = dates is not None and values is not None and np.array_equal(dates, values)
        sides.append(titled(text, names=names, values=values, calendar=calendar) if names or values is not None else Axis())
    return Axes(sides[0], sides[1], map_shape)


def _names(vectors: Mapping[str, Array], own: str, count: int, other: int) -> tuple[str, ...] | None:
    foreign = "column" if own == "row" else "row"
    texts = {name: v for name, v in vectors.items() if v.dtype.kind == "U" and len(v) == count and not name.endswith("_title")}
    for name in (f"{own}_names", "component_names"):
        if name in texts:
            return tuple(str(text) for text in texts[name])
    free = [name for name in texts if not name.startswith((own, foreign, "component"))]
    return tuple(str(text) for text in texts[free[0]]) if len(free) == 1 and count != other else None


def _places(vectors: Mapping[str, Array], own: str, count: int, other: int) -> tuple[Array | None, str]:
    numbers = {name: v for name, v in vectors.items() if v.dtype.kind in "fiu" and len(v) == count}
    if f"{own}_axis" in numbers:
        values = numbers[f"{own}_axis"].astype(float)
        return (values, "") if np.isfinite(values).all() else (None, "")
    free = [name for name in numbers if is_axis_word(name) and in_order(numbers[name].astype(float))]
    if len(free) != 1 or count == other:
        return None, ""
    return numbers[free[0]].astype(float), free[0].replace("_", " ")


def fitting(extras: Mapping[str, Array], m: int, n: int) -> tuple[dict[str, Any], list[str]]:
    """The companions that fit an m×n matrix, in the form that Dataset takes, and the names of the others.

    A picture that does not fit the rows but the columns is the one whose pixels the samples are (`map_shape`).
    """
    makers: dict[str, Callable[[Array], Any]] = {
        "image_shape": lambda value: as_image_shape(value.ravel(), m),
        "map_shape": lambda value: as_image_shape(value.ravel(), n),
        "parts": lambda value: as_truth("parts", value, rows=m),
        "activations": lambda value: _as_activations(value, n, found.get("parts")),
        "groups": lambda value: _as_groups(value, found.get("parts")),
        "labels": lambda value: as_labels(value.ravel(), n),
        "label": lambda value: as_labels(value.ravel(), n),
        "gnd": lambda value: as_labels(value.ravel(), n),
    }
    found: dict[str, Any] = {}
    left_out = []
    given = dict(extras)
    picture = given.get("image_shape") if "map_shape" not in given else None
    if picture is not None and not _fits(makers["image_shape"], picture) and _fits(makers["map_shape"], picture):
        given["map_shape"] = given.pop("image_shape")
    for name, make in makers.items():
        if name in given:
            try:
                found["labels" if name in LABELS else name] = make(given[name])
            except InvalidInput:
                left_out.append(name)
    return found, left_out


def _fits(make: Callable[[Array], Any], value: Array) -> bool:
    try:
        make(value)
    except InvalidInput:
        return False
    return True


def _as_activations(value: Array, n: int, parts: Array | None) -> Array | None:
    return as_truth("activations", value, rows=None if parts is None else parts.shape[1], columns=n)


def _as_groups(value: Array, parts: Array | None) -> Groups | None:
    """The parts of each group, from the number of the group of each part."""
    if parts is None or value.size != parts.shape[1]:
        raise InvalidInput("groups", "must give the number of its group for each part")
    numbers = value.ravel()
    return as_groups([np.flatnonzero(numbers == g) for g in np.unique(numbers)], parts.shape[1])
