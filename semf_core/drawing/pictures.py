"""Arrays → small palette pictures: basis montages, heat maps, samples beside their fit.

Values go through a square root before they become colours, so that a ghost at 5 % of a part's
height is still a visible fifth of its colour. Gaps are transparent: they take the page's colour.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from PIL import Image
from scipy import sparse

Array = np.ndarray
Groups = Sequence[Sequence[int]]

LARGEST_TILE = 64
WIDEST_MAP = 512
STRIP = 160
"""A column without an image shape is drawn as a strip of at most this many pixels."""
FLOOR = 0.05
"""A tile is stretched to its own maximum, but not if that is below this share of the largest."""
GAP, MISSING = 255, 254
FINE_PIXELS = 40_000
"""Larger pictures have coarser hatching."""
HALF = 127
MISSING_COLOUR = (201, 162, 94)
"""Of an entry that is not there: none of the ramps has it, so it is not taken for a zero."""

# Sequential ramps run from "nothing" (near the page's background) to "most"; diverging ones pass through it.
# Blue against orange is told apart with every common colour blindness.
RAMPS = {
    "light": {
        "plain": ((246, 247, 249), (147, 190, 222), (38, 110, 173), (9, 46, 92)),
        "signed": ((158, 66, 0), (240, 160, 80), (246, 247, 249), (110, 170, 215), (9, 60, 115)),
    },
    "dark": {
        "plain": ((30, 34, 42), (36, 92, 140), (86, 180, 233), (240, 250, 255)),
        "signed": ((255, 190, 120), (190, 95, 20), (30, 34, 42), (40, 110, 170), (150, 215, 250)),
    },
}


CURVE = (48, 96)
"""Height and width of a curve."""
LARGE_CURVE = (96, 192)
"""The same where there is room for it."""
FEW_CURVES = 8
"""So many components have room for large curves."""
HALL_SIDE = 110
"""Pixels of a screen that a component needs in each direction to be seen in a hall."""
FINE, STRIP_GAP = 2, 4
"""Pixels of a screen for one of a strip that is drawn for a hall, and those of the latter between two strips."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Columns are values at these places of an axis: they are drawn as curves instead of pictures."""

    places: Array
    sides: tuple[int, int] = CURVE

    def tile(self, column: Array) -> Array:
        """The area between zero and the curve, coloured by its height; nothing else is drawn."""
        height, width = self.sides
        order = np.argsort(self.places)
        values, places = np.asarray(column, dtype=float)[order], self.places[order]
        if len(values) > width:
            at = np.minimum(((places - places[0]) / ((places[-1] - places[0]) or 1.0) * width).astype(int), width - 1)
            line = np.full(width, np.nan)
            last = np.argsort(np.nan_to_num(np.abs(values)))  # the largest of each stretch comes last, and stays
            line[at[last]] = values[last]
            there = np.isfinite(line)
            filled = np.interp(np.arange(width), np.flatnonzero(there), line[there]) if there.any() else np.zeros(width)
            line = np.where(np.isin(np.arange(width), at), line, filled)  # a stretch without samples has nothing missing
        else:
            line = np.interp(np.linspace(places[0], places[-1], width), places, values)
        low, high = min(0.0, float(np.nanmin(line, initial=0.0))), max(0.0, float(np.nanmax(line, initial=0.0)))
        level = (high - (np.arange(height) + 0.5) / height * (high - low))[:, None]
        inside = ((level >= 0) & (level <= line)) | ((level <= 0) & (level >= line))
        return np.where(np.isnan(line), np.nan, np.where(inside, line, 0.0))


Shape = tuple[int, int] | Curve | None
"""How a column is drawn: as a picture of this height and width, as a curve, or as a strip."""
Room = tuple[int, int, int] | None
"""Width and height of a place in the presenter's view, and the first component on show there; None on a page."""


@dataclass(frozen=True, eq=False)
class Picture:
    """Palette entries, with what is needed to describe them and to find a tile among them."""

    pixels: Array
    theme: str
    low: float
    high: float
    signed: bool
    tiles: tuple[tuple[int, float, float, float, float], ...] = ()
    """(column, left, top, width, height) in per cent of the picture."""

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])

    @cached_property
    def png(self) -> bytes:
        """The picture as a file."""
        file = io.BytesIO()
        self.image().save(file, "PNG", transparency=GAP, compress_level=6)
        return file.getvalue()

    @property
    def url(self) -> str:
        return "data:image/png;base64," + base64.b64encode(self.png).decode()

    def image(self) -> Image.Image:
        """The picture in its palette; gaps are the entry GAP, and what is missing is hatched."""
        image = Image.fromarray(_hatched(self.pixels))
        image.putpalette(palette(self.theme))
        return image

    def fitted(self, width: int, height: int) -> Image.Image:
        """As large as fits, gaps transparent. Large pixels first, then down: cells of fractional width keep sharp edges."""
        drawn = Image.open(io.BytesIO(self.png)).convert("RGBA")
        scale = min(width / drawn.width, height / drawn.height)
        size = (max(1, int(drawn.width * scale)), max(1, int(drawn.height * scale)))
        larger = max(1, math.ceil(4 * scale))
        drawn = drawn.resize((drawn.width * larger, drawn.height * larger), Image.Resampling.NEAREST)
        return drawn.resize(size, Image.Resampling.BOX)

    def corner(self, most: int) -> Picture:
        """The tiles of the first rows and columns alone, so many of each."""
        lefts, tops = (sorted({box[side] for box in self.tiles}) for side in (1, 2))
        x, y = (
            round(starts[most] * whole / 100) if len(starts) > most else whole
            for starts, whole in ((lefts, self.width), (tops, self.height))
        )
        across, down = self.width / x, self.height / y
        kept = [box for box in self.tiles if box[1] * across < 99 and box[2] * down < 99]
        tiles = tuple((k, a * across, b * down, c * across, d * down) for k, a, b, c, d in kept)
        return replace(self, pixels=self.pixels[:y, :x], tiles=tiles)

    def to_dict(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "size": [self.width, self.height],
            "range": [_short(self.low), _short(self.high)],
            "signed": self.signed,
            **({"missing": True} if (self.pixels == MISSING).any() else {}),
            "tiles": [[column, *(round(v, 3) for v in box)] for column, *box in self.tiles],
        }


def basis(
    U: Array,
    shape: Shape,
    groups: Groups | None = None,
    theme: str = "light",
    one_scale: bool = False,
    largest: int = LARGEST_TILE,
) -> Picture:
    """The columns of U as images, one group a row where the model has groups; each scaled to its own maximum.

    With `one_scale` all are scaled to the largest of them, so that equal colours mean equal values. No side of an image
    has more than `largest` pixels.
    """
    tiles = _tiles(U, shape, largest)
    rows = _rows(tuple(tiles[0].shape), U.shape[1], groups if shape is not None else None)
    return _montage(U, tiles, rows, theme, one_scale)


def components(U: Array, shape: Shape, groups: Groups | None, theme: str, room: Room) -> Picture:
    """The same for a page, or for a hall: as many of the columns as a room has place for.

    Where there are more, all pages have about as many. Groups are rows and are not parted, however small they become.
    """
    count = U.shape[1]
    if room is None or (shape is not None and _grouped(groups, count)):
        return basis(U, shape, groups, theme)
    width, height, first = room
    tiles = [] if shape is None else _tiles(U, shape, LARGEST_TILE)
    tall, wide = tiles[0].shape if tiles else (HALL_SIDE // FINE, HALL_SIDE // FINE)
    scale, gap = HALL_SIDE / min(tall, wide), 1 if tiles else STRIP_GAP
    most, down = (max(1, int((side / scale - gap) // (own + gap))) for side, own in ((width, wide), (height, tall)))
    each = math.ceil(count / math.ceil(count / (most * down)))
    if shape is None:
        down = math.ceil(each / most)
        across = math.ceil(each / down)
        tall, wide = (max(1, (side // FINE - gap) // n - gap) for side, n in ((height, down), (width, across)))
        tiles = [np.repeat(strip[np.arange(tall) * len(strip) // tall, None], wide, axis=1) for strip in _pool(U.T, STRIP)]
    else:
        sizes = {n: min(width / (n * (wide + 1) + 1), height / (-(-each // n) * (tall + 1) + 1)) for n in range(1, each + 1)}
        across = max(sizes, key=lambda n: (sizes[n], -n))
    start = min(first, count - 1) // each * each
    shown = range(start, min(count, start + each))
    return _montage(U, tiles, [list(shown[i : i + across]) for i in range(0, len(shown), across)], theme, gap=gap)


def _tiles(U: Array, shape: Shape, largest: int) -> list[Array]:
    if isinstance(shape, Curve) and shape.sides == CURVE and U.shape[1] <= FEW_CURVES:
        shape = Curve(shape.places, LARGE_CURVE)
    return [tile(U[:, k], shape, largest) for k in range(U.shape[1])]


def _montage(U: Array, tiles: list[Array], rows: list[list[int]], theme: str, one_scale: bool = False, gap: int = 1) -> Picture:
    """Tiles in rows, with a gap around each."""
    signed = bool(np.nanmin(U, initial=0.0) < 0)
    top = float(np.nanmax(np.abs(U), initial=0.0))
    height, width = tiles[0].shape
    sides = len(rows) * (height + gap) + gap, max(map(len, rows)) * (width + gap) + gap
    canvas = np.full(sides, GAP, np.uint8)
    boxes = []
    for i, row in enumerate(rows):
        for j, k in enumerate(row):
            y, x = gap + i * (height + gap), gap + j * (width + gap)
            peak = max(float(np.nanmax(np.abs(tiles[k]), initial=0.0)), (1.0 if one_scale else FLOOR) * top)
            canvas[y : y + height, x : x + width] = _indices(tiles[k], peak, signed)
            boxes.append((k, x, y, width, height))
    total_y, total_x = canvas.shape
    percent = tuple((k, 100 * x / total_x, 100 * y / total_y, 100 * w / total_x, 100 * h / total_y) for k, x, y, w, h in boxes)
    return Picture(canvas, theme, float(np.nanmin(U, initial=0.0)), top, signed, percent)


def heat_map(V: Array, theme: str = "light") -> Picture:
    """V with one row of pixels for each component; wide ones keep the largest entry of each stretch of samples."""
    pooled = _pool(V, WIDEST_MAP)
    peak = float(np.nanmax(np.abs(pooled), initial=0.0))
    signed = bool(np.nanmin(pooled, initial=0.0) < 0)
    indices = _indices(pooled, peak, signed)
    return Picture(indices, theme, float(np.nanmin(V, initial=0.0)), peak, signed)


def samples(M: Any, U: Array, V: Array, chosen: Sequence[int], shape: Shape, theme: str = "light") -> Picture:
    """Three rows: the chosen samples of M, their reconstruction UV, and the difference M − UV (signed colours)."""
    low = peak = 0.0
    drawn = []
    for j in chosen:  # one after another: a sample may be as large as a photograph
        data, fit = columns_of(M, [j])[:, 0], U @ V[:, j]
        low, peak = min(low, float(np.nanmin(data, initial=0.0))), max(peak, float(np.nanmax(np.abs(data), initial=0.0)))
        drawn.append([tile(column, shape) for column in (data, fit, data - fit)])
    height, width = drawn[0][0].shape
    canvas = np.full((3 * (height + 1) + 1, len(chosen) * (width + 1) + 1), GAP, np.uint8)
    for j, column in enumerate(drawn):
        x = 1 + j * (width + 1)
        for i, (small, diverging) in enumerate(zip(column, (low < 0, low < 0, True), strict=True)):
            y = 1 + i * (height + 1)
            canvas[y : y + height, x : x + width] = _indices(small, peak, diverging)
    return Picture(canvas, theme, low, peak, low < 0)


def columns_of(M: Any, chosen: Sequence[int]) -> Array:
    """Some samples of a dense, mapped or sparse matrix, as a dense float array."""
    taken = M[:, list(chosen)]
    return np.asarray(taken.toarray() if sparse.issparse(taken) else taken, dtype=float)


def default_samples(count: int) -> tuple[int, ...]:
    """Four samples spread over the data."""
    return tuple(dict.fromkeys(int(s) for s in np.linspace(0, count - 1, 6)[1:-1]))


def tile(column: Array, shape: Shape, most: int = LARGEST_TILE) -> Array:
    """A column as a small picture: of its shape, a curve, or a strip where it has neither."""
    if isinstance(shape, Curve):
        return shape.tile(column)
    if shape is None:
        strip = _pool(column[None, :], STRIP)[0]
        return np.repeat(strip[:, None], max(2, round(len(strip) / 8)), axis=1)
    image = np.asarray(column, dtype=float).reshape(shape)
    largest = max(shape)
    if largest > most:
        height, width = (max(1, round(side * most / largest)) for side in shape)
        return _smaller(image, (width, height))
    return image


def _smaller(image: Array, size: tuple[int, int]) -> Array:
    """The mean of what is known in the part of each pixel; missing where most of that is."""
    known = ~np.isnan(image)
    scale = 2.0 ** (math.frexp(float(np.nanmax(np.abs(image), initial=0.0)))[1] - 1)  # the mean is taken in single precision
    means, share = (
        np.asarray(Image.fromarray(A.astype(np.float32)).resize(size, Image.Resampling.BOX), dtype=float)
        for A in (np.where(known, image / scale, 0.0), known)
    )
    return np.where(share < 0.5, np.nan, means * scale / np.maximum(share, 0.5))


def _rows(tile: tuple[int, ...], count: int, groups: Groups | None) -> list[list[int]]:
    """Which columns stand in which row: the groups, or as many in a row as make the tiles largest on a square.

    Of two ways the higher one is taken: on every page the place of a montage is at least as high as it is wide.
    """
    if groups is not None and _grouped(groups, count):
        return [list(g) for g in groups]
    height, width = tile[0] + 1, tile[1] + 1
    across = max(range(1, count + 1), key=lambda n: (-max(n * width, math.ceil(count / n) * height), -n))
    return [list(range(first, min(first + across, count))) for first in range(0, count, across)]


def _grouped(groups: Groups | None, count: int) -> bool:
    """Whether each column is in one of the groups."""
    return groups is not None and sorted(k for g in groups for k in g) == list(range(count))


def _pool(A: Array, widest: int) -> Array:
    """At most `widest` columns, each the entry of largest modulus in its stretch."""
    n = A.shape[1]
    if n <= widest:
        return np.asarray(A, dtype=float)
    step = math.ceil(n / widest)
    padded = np.full((len(A), step * math.ceil(n / step)), np.nan)
    padded[:, :n] = A
    blocks = padded.reshape(len(A), -1, step)
    pick = np.where(np.isnan(blocks), -1.0, np.abs(blocks)).argmax(axis=2)[:, :, None]
    return np.take_along_axis(blocks, pick, axis=2)[:, :, 0]


def _indices(values: Array, peak: float, signed: bool) -> Array:
    """Palette entries: 0..126 for plain values, 127..253 for signed ones with zero at 190; MISSING where there is none."""
    scaled = np.zeros(values.shape) if peak <= 0 else np.clip(np.nan_to_num(values) / peak, -1, 1)
    rooted = np.sign(scaled) * np.sqrt(np.abs(scaled))
    shown = HALF + np.rint((rooted + 1) * 63) if signed else np.rint(np.maximum(rooted, 0) * (HALF - 1))
    return np.where(np.isnan(values), MISSING, shown).astype(np.uint8)


def _hatched(pixels: Array) -> Array:
    """Diagonals through every missing entry, so that none is taken for a value; for that the picture is drawn larger."""
    if not (pixels == MISSING).any():
        return pixels
    fine = 4 if pixels.size <= FINE_PIXELS else 2
    large = pixels.repeat(fine, axis=0).repeat(fine, axis=1)
    lines = np.add.outer(np.arange(large.shape[0]), np.arange(large.shape[1])) % fine < fine // 2
    return np.where((large == MISSING) & lines, GAP, large).astype(np.uint8)


@cache
def palette(theme: str) -> bytes:
    """256 colours: plain values, signed values, missing ones, and a grey that is never shown (gaps are transparent)."""
    ramps = RAMPS["dark" if theme == "dark" else "light"]
    colours = np.vstack([_ramp(ramps["plain"]), _ramp(ramps["signed"]), MISSING_COLOUR, (128, 128, 128)])
    return np.rint(colours).astype(np.uint8).tobytes()


def _ramp(stops: Sequence[tuple[int, int, int]]) -> Array:
    at = np.linspace(0, len(stops) - 1, HALF)
    channels = np.array(stops, dtype=float).T
    return np.stack([np.interp(at, range(len(stops)), channel) for channel in channels], axis=1)


def _short(value: float) -> float:
    return float(f"{value:.3g}")
