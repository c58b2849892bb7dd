"""One picture of a dataset: samples or bands as pictures, curves, or a heat map; its cost is bounded by what is shown."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import numpy as np

from semf_core.datasets import Axes, Dataset
from semf_core.drawing.pictures import LARGE_CURVE, Curve, Picture, Shape, basis, columns_of, heat_map, tile

Array = np.ndarray
SAMPLES = 60
BANDS = 24
SIDE = 400
"""Rows and columns of a heat map."""
FEW, SMALL_SIDE = 4, 48
"""The same of a thumbnail."""
ROW = (28, 384)
"""Height and width of a row of V that is drawn as a curve."""
AT_A_TIME = 2_000_000
"""Entries of full-size samples in memory."""


def shown_samples(count: int, small: bool = False) -> Array:
    """Indices of the samples that are drawn."""
    return _spread(count, FEW if small else SAMPLES)


def shown_part(shape: tuple[int, int], small: bool = False) -> tuple[Array, Array]:
    """Rows and columns of the heat map."""
    side = SMALL_SIDE if small else SIDE
    return _spread(shape[0], side), _spread(shape[1], side)


def shown_bands(count: int, small: bool = False) -> Array:
    """Indices of the rows that are drawn where each of them is a picture."""
    return _spread(count, FEW if small else BANDS)


def way_of(shape: tuple[int, int] | None, axes: Axes) -> str:
    """How data are drawn: samples as pictures of this shape or as curves, bands as pictures, a spectrogram, or a heat map."""
    if shape is not None:
        return "pictures"
    if axes.map_shape is not None:
        return "bands"
    if not axes.rows.ordered:
        return "heat map"
    return "spectrogram" if axes.columns.ordered else "curves"


def _spread(count: int, most: int) -> Array:
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


def column_shape(image_shape: tuple[int, int] | None, axes: Axes) -> Shape:
    """A picture, or a curve over the axis of the rows, or neither."""
    if image_shape is not None or axes.rows.values is None or not axes.rows.ordered:
        return image_shape
    return Curve(axes.rows.values)


def coefficients(V: Array, axes: Axes, theme: str = "light") -> Picture:
    """The rows of V: maps where the samples are pixels, curves over the axis of the samples, or else a heat map."""
    if axes.map_shape is not None:
        return basis(V.T, axes.map_shape, theme=theme)
    if axes.columns.values is None or not axes.columns.ordered:
        return heat_map(V, theme)
    one_below_another = tuple((k,) for k in range(len(V)))
    return basis(V.T, Curve(axes.columns.values, ROW), one_below_another, theme)


def overview(dataset: Dataset, shape: tuple[int, int] | None, small: bool = False) -> Picture:
    """The picture of a dataset whose samples may be pictures of this height and width; `small` for a thumbnail."""
    way, axes = way_of(shape, dataset.axes), dataset.axes
    if way in ("pictures", "curves"):
        drawn = column_shape(shape, axes)
        if isinstance(drawn, Curve) and not small:
            drawn = dataclasses.replace(drawn, sides=LARGE_CURVE)
        return _montage(dataset, drawn, small)
    if way == "bands":
        rows, columns = dataset.shape
        return coefficients(_part(dataset.data, shown_bands(rows, small), np.arange(columns)), axes)
    part = _part(dataset.data, *shown_part(dataset.shape, small))
    upwards = way == "spectrogram" and np.argmin(axes.rows.values) == 0  # type: ignore[arg-type]
    return heat_map(part[::-1] if upwards else part)


def _part(data: Any, rows: Array, columns: Array) -> Array:
    """Some rows and columns, dense."""
    chosen = data[np.ix_(rows, columns)] if isinstance(data, np.ndarray) else data[:, columns][rows].toarray()
    return np.asarray(chosen, dtype=float)


def _montage(dataset: Dataset, shape: Shape, small: bool) -> Picture:
    """Each sample is made as small as it is drawn before the next ones are read."""
    chosen = shown_samples(dataset.shape[1], small)
    step = max(1, AT_A_TIME // dataset.shape[0])
    tiles = []
    for first in range(0, len(chosen), step):
        samples = columns_of(dataset.data, chosen[first : first + step].tolist())
        tiles += [tile(samples[:, j], shape) for j in range(samples.shape[1])]
    height, width = tiles[0].shape
    return basis(np.stack([t.ravel() for t in tiles], axis=1), (height, width), largest=max(height, width))


def packed(picture: Picture) -> dict[str, Any]:
    """A picture as JSON types."""
    values = {field.name: getattr(picture, field.name) for field in dataclasses.fields(picture)}
    return values | {"pixels": base64.b64encode(picture.pixels.tobytes()).decode(), "size": picture.pixels.shape}


def unpacked(values: dict[str, Any]) -> Picture:
    """What `packed` made of it."""
    known = dict(values)
    pixels = np.frombuffer(base64.b64decode(known.pop("pixels")), np.uint8).reshape(known.pop("size"))
    return Picture(pixels, **{**known, "tiles": tuple(tuple(box) for box in known["tiles"])})
