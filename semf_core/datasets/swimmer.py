"""Swimmer (Donoho & Stodden 2003), drawn from its geometry: a torso and four limbs in four positions each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.datasets.base import DATASETS, Array, Dataset, DatasetSource

SIDE = 32
TORSO_BOTTOM, TORSO_COLUMN = 21, 15
SWIMMER_GROUPS = (*(tuple(range(4 * t, 4 * t + 4)) for t in range(4)), (16,))
"""G_1, …, G_5 of SeMF (35), counted from 0: four limbs of four positions, then the torso."""


@dataclass(frozen=True)
class Figure:
    """What a swimmer looks like: the top of the torso, bars across its two ends, and the pixels of a limb."""

    top: int = 9
    bars: bool = True
    limb: int = 5


def swimmer_parts(figure: Figure = Figure()) -> Array:
    """The 1024×17 parts: four positions of left and right arm, left and right leg, then the torso, as in (34) and (35)."""
    parts = np.zeros((SIDE, SIDE, 17))
    for limb in range(4):
        for position in range(4):
            rows, columns = _limb_pixels(figure, limb, position)
            parts[rows, columns, 4 * limb + position] = 1
    parts[figure.top : TORSO_BOTTOM + 1, TORSO_COLUMN, 16] = 1
    for row in (figure.top, TORSO_BOTTOM) if figure.bars else ():
        parts[row, [TORSO_COLUMN - 1, TORSO_COLUMN + 1], 16] = 1
    return parts.reshape(SIDE * SIDE, 17)


def swimmer_activations() -> Array:
    """The 17×256 activations; sample 64a + 16b + 4c + d has the limbs in positions a, b, c, d."""
    positions = np.array(np.unravel_index(np.arange(256), (4, 4, 4, 4)))
    activations = np.zeros((17, 256))
    activations[4 * np.arange(4)[:, None] + positions, np.arange(256)] = 1
    activations[16] = 1
    return activations


def _limb_pixels(figure: Figure, limb: int, position: int) -> tuple[Array, Array]:
    """Rows and columns of a limb's pixels, counted outwards from beside the end of the torso."""
    outwards = -1 if limb % 2 == 0 else 1
    step = np.arange(1, figure.limb + 1)
    is_leg = limb >= 2
    row = TORSO_BOTTOM if is_leg else figure.top
    column = TORSO_COLUMN + outwards
    if position == 0:
        return np.full(figure.limb, row), column + outwards * step
    if position == 1:
        return row + (step if is_leg else -step), np.full(figure.limb, column)
    return row + (step if position == 2 else -step), column + outwards * step


@DATASETS.register
class Swimmer(DatasetSource):
    """M = parts · activations in {0, 1}, 1024×256, rank 13; every sample is 5 of 17 disjoint parts.

    Damage is applied in this order: samples left out, pixels flipped, a square zeroed in each
    sample, noise added. Each has a random stream of its own, so changing one leaves the others alone.
    At the end everything is multiplied by the value of a lit pixel: algorithms whose penalties or start do not
    follow the scale of M depend on it.
    """

    name = "swimmer"
    title = "Swimmer"
    reference = "swimmer"
    summary = "256 stick figures of 32 × 32 pixels: one torso and four limbs in four positions each, with known parts and groups."
    example: ClassVar[dict[str, Any]] = {"missing": 0.5}
    note: ClassVar[str] = "Drawn from the geometry of the Swimmer data of Donoho & Stodden (2003)."
    figure: ClassVar[Figure] = Figure()

    value: float = param("number", 1.0, low=0, high=1e6, open_low=True, help="value of a lit pixel, such as 1 or 255")
    noise: float = param(
        "number", 0.0, low=0, high=10, symbol=r"\sigma", help="standard deviation of Gaussian noise, in lit pixels"
    )
    flips: float = param("number", 0.0, low=0, high=0.5, help="probability that a pixel is flipped between 0 and 1")
    occlusion: int = param("integer", 0, low=0, high=SIDE, help="side of a square that is zeroed at a random place in each")
    missing: float = param("number", 0.0, low=0, high=1, open_high=True, help="fraction of the 256 samples that is left out")
    seed: int = param("integer", 0, low=0, high=2**32 - 1, help="seed of noise, flips, occlusion and omission")

    def load(self) -> Dataset:
        for_missing, for_flips, for_occlusion, for_noise = np.random.default_rng(self.seed).spawn(4)
        kept = max(1, round(256 * (1 - self.missing)))
        samples = np.sort(for_missing.permutation(256)[:kept])
        parts, activations = swimmer_parts(self.figure), swimmer_activations()[:, samples]
        data = parts @ activations
        if self.flips:
            data = np.where(for_flips.random(data.shape) < self.flips, 1 - data, data)
        if self.occlusion:
            data = _occlude(data, self.occlusion, for_occlusion)
        if self.noise:
            data = data + self.noise * for_noise.standard_normal(data.shape)
        return Dataset(
            self.value * data,
            title=self.title,
            image_shape=(SIDE, SIDE),
            parts=parts,
            activations=self.value * activations,
            groups=SWIMMER_GROUPS,
            note=self.note,
        )


@DATASETS.register
class SlimSwimmer(Swimmer):
    """The figures of the CSMF paper (§4.2.1): a torso of 12 pixels, limbs of 6, otherwise as above.

    The paper counts the pixels and draws a few figures; here the torso has no bars across its ends.
    """

    name = "swimmer_slim"
    title = "Slim Swimmer"
    reference = "csmf"
    summary = "The Swimmer of the CSMF paper: a torso of 12 pixels and four limbs of 6 pixels in four positions each."
    note: ClassVar[str] = "Drawn from the description in the CSMF paper: a torso of 12 pixels, limbs of 6 pixels."
    figure: ClassVar[Figure] = Figure(top=10, bars=False, limb=6)


def _occlude(data: Array, side: int, rng: np.random.Generator) -> Array:
    """Zero a side×side square at a random place of every sample."""
    top, left = rng.integers(0, SIDE - side + 1, size=(2, data.shape[1]))
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    inside_rows = (row[:, None] >= top) & (row[:, None] < top + side)
    inside_columns = (column[:, None] >= left) & (column[:, None] < left + side)
    return np.where(inside_rows & inside_columns, 0.0, data)
