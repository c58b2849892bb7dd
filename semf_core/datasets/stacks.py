"""3-D arrays as matrices: pictures, a column each, or one picture in many bands, whose pixels are the samples."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semf_core.datasets.axes import Axes, Axis
from semf_core.datasets.base import Array
from semf_core.datasets.companions import LABELS, axes_of, classes_of_pixels, map_sides
from semf_core.datasets.reading import Raw, colour_side
from semf_core.datasets.table_names import samples_of

WORDS = {
    "pictures-first": "{0} pictures of {1} × {2} pixels, a sample each",
    "pictures-last": "{2} pictures of {0} × {1} pixels, a sample each",
    "bands-first": "one picture of {1} × {2} pixels in {0} bands; a pixel is a sample",
    "bands-last": "one picture of {0} × {1} pixels in {2} bands; a pixel is a sample",
}


def likely_stack(shape: Sequence[int], bands_last: bool = False) -> str:
    """What an array of three sides probably is: the two most alike are height and width; `bands_last` decides a tie."""
    first, second, third = shape
    apart_last, apart_first = abs(math.log(second / third)), abs(math.log(first / second))
    if apart_first == apart_last:
        return "bands-last" if bands_last else "pictures-first"
    return "pictures-first" if apart_last < apart_first else "bands-last"


def stacked(array: Array, stack: str, found: Mapping[str, Array], bands_last: bool = False, told: str = "") -> Raw:
    """The matrix of a 3-D array; `found` may hold names for its samples, or the wavelengths of its bands.

    `told` is what the file itself says that the array is.
    """
    chosen = told or likely_stack(array.shape, bands_last) if stack == "auto" else stack
    first, second, third = array.shape
    image_shape = map_shape = None
    if chosen == "pictures-first":
        data, image_shape = array.reshape(first, second * third).T, (second, third)
    elif chosen == "pictures-last":
        data, image_shape = array.reshape(first * second, third), (first, second)
    elif chosen == "bands-first":
        data, map_shape = array.reshape(first, second * third), (second, third)
    else:
        data, map_shape = array.reshape(first * second, third).T, (first, second)
    rows, columns = data.shape
    known = axes_of(found, (rows, columns))
    axes = Axes(Axis() if image_shape else known.rows, Axis() if map_shape else known.columns, map_shape)
    words = WORDS[chosen].format(first, second, third)
    remark = f"A 3-D array, read as {words}." + (" Say so if it is another." if stack == "auto" else "")
    return Raw(data, image_shape=image_shape, samples_fixed=True, axes=axes, stack=chosen, remarks=(remark,))


def colours(array: Array, side: int) -> Raw:
    """Colour pictures, a column each, with red, green and blue one above the other; transparency is left out."""
    last = np.moveaxis(array, side, -1)
    # Of h × w × 3 × n the number of pictures comes last, otherwise first.
    planes = np.moveaxis(last, (2, 3, 0, 1), (0, 1, 2, 3)) if side == 2 else np.moveaxis(last, 3, 1)
    count, _, height, width = planes.shape
    data = planes[:, :3].reshape(count, 3 * height * width).T
    words = f"{count} colour pictures of {height} × {width} pixels, a sample each; red, green and blue stand one above the other"
    return Raw(data, image_shape=(3 * height, width), samples_fixed=True, remarks=(f"A 4-D array, read as {words}.",))


def matrix_or_stack(data: Any, found: dict[str, Array], stack: str, bands_last: bool = False, told: str = "") -> Raw:
    """What a reader found, with its companions, as rows and columns stand in the file."""
    if (side := colour_side(data.shape)) is not None:
        return replace(colours(data, side), extras=found)
    if data.ndim == 3:
        raw = stacked(data, stack, found, bands_last, told)
        classes = classes_of_pixels(found, raw.axes.map_shape) if raw.axes.map_shape is not None else {}
        return replace(raw, extras=found | classes)
    axes = axes_of(found, data.shape)
    if "map_shape" not in found and (sides := map_sides(found, data.shape[1])) is not None:
        # The pixels stay in their order, which is MATLAB's: down the columns of the picture.
        pixels = f"{sides[0]} × {sides[1]} pixels"
        remark = f"Samples are the {pixels} of a picture, counted down its columns: it is drawn lying on its side."
        return Raw(data, extras=found | {"map_shape": np.array(sides[::-1])}, axes=axes, remarks=(remark,))
    labels = next((found[name].size for name in LABELS if name in found), 0)
    labelled = labels == data.shape[0] != data.shape[1]
    if not labelled and axes.rows.values is None and axes.columns.values is None:
        return Raw(data, extras=found, axes=axes)
    guess, why = ("rows", ", with a label for each row") if labelled else samples_of(data.shape, axes.rows, axes.columns, None)
    why = why.replace("in the first row", "for the columns").replace("in the first column", "for the rows")
    return Raw(data, extras=found, axes=axes, guess=guess, question=f"{data.shape[0]:,} rows × {data.shape[1]:,} columns{why}")
