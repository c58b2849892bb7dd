"""Dictionaries that nobody has to learn: cosines, Haar steps, Gabor waves, wavelets. Atoms are images of unit length, as rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.extras import optional

Array = np.ndarray
WAVELET = "db2"
"""Daubechies' wavelet with two vanishing moments; longer ones hardly fit into a patch."""


def fixed_atoms(kind: str, sides: tuple[int, int], count: int) -> Array:
    """The `count` coarsest atoms of this kind for images of these sides (count × height·width)."""
    atoms = BASES[kind](sides, count)
    lengths = np.linalg.norm(atoms, axis=1)
    atoms = atoms[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    if len(atoms) < count:
        raise InvalidInput(
            "rank", f"is {count}, but there are only {len(atoms)} {kind} atoms of {sides[0]}×{sides[1]}", "lower it"
        )
    return atoms[:count]


def _grid(sides: tuple[int, int], count: int) -> tuple[int, int]:
    """Numbers of 1-D atoms down and across, with at least `count` products."""
    if min(sides) == 1:
        return (max(count, 1), 1) if sides[1] == 1 else (1, max(count, 1))
    each = max(int(np.ceil(np.sqrt(count))), *sides)
    return each, each


def _products(down: Array, across: Array, rank_down: Array, rank_across: Array) -> Array:
    """Outer products of 1-D atoms as rows, ordered by the larger of their ranks, then the sum."""
    pairs = np.stack(np.meshgrid(np.arange(len(down)), np.arange(len(across)), indexing="ij")).reshape(2, -1)
    ranks = rank_down[pairs[0]], rank_across[pairs[1]]
    pairs = pairs[:, np.lexsort((ranks[0] + ranks[1], np.maximum(*ranks)))]
    return np.einsum("ki,kj->kij", down[pairs[0]], across[pairs[1]]).reshape(pairs.shape[1], -1)


def _cosines(sides: tuple[int, int], count: int) -> Array:
    """cos(π k (i + ½)/K), K frequencies where a DCT has as many as pixels; all but k = 0 without mean."""

    def waves(n: int, many: int) -> Array:
        atoms = np.cos(np.pi * np.arange(many)[:, None] * (np.arange(n) + 0.5) / max(many, n))
        if many > n:
            atoms[1:] -= atoms[1:].mean(axis=1, keepdims=True)
        return atoms

    down, across = _grid(sides, count)
    return _products(waves(sides[0], down), waves(sides[1], across), np.arange(down), np.arange(across))


def _steps(sides: tuple[int, int], count: int) -> Array:
    """Products of a constant, of Haar steps of all dyadic widths at all places, and of boxes of these widths."""

    def pool(n: int) -> tuple[Array, Array]:
        atoms, ranks = [np.ones(n)], [0]
        width, level = 1 << (n.bit_length() - 1), 1
        while width >= 2:
            for first in range(n - width + 1):
                step = np.zeros(n)
                step[first : first + width // 2], step[first + width // 2 : first + width] = 1, -1
                atoms.append(step)
                ranks.append(level)
            width, level = width // 2, level + 1
        width = 1 << (n.bit_length() - 1)
        while width >= 1 and n > 1:
            boxes = [np.where((np.arange(n) >= f) & (np.arange(n) < f + width), 1.0, 0.0) for f in range(n - width + 1)]
            atoms += [box for box in boxes if not box.all()]
            ranks += [level] * sum(not box.all() for box in boxes)
            width, level = width // 2, level + 1
        return np.array(atoms), np.array(ranks)

    (down, ranks_down), (across, ranks_across) = pool(sides[0]), pool(sides[1])
    return _products(down, across, ranks_down, ranks_across)


def _gabor(sides: tuple[int, int], count: int) -> Array:
    """Waves under a Gaussian: five places a side, eight angles, two phases, at one, two, three … periods across the image."""
    (height, width), atoms = sides, [np.ones(sides)]
    down, across = np.mgrid[:height, :width].astype(float)
    size = max(height, width)
    angles = np.pi * np.arange(8) / 8 if min(sides) > 1 else [0.0]
    periods = 1
    while len(atoms) < count + 64 and periods <= 64:
        spread = size / (1 + periods)
        for angle in angles:
            ahead = (across * np.cos(angle) + down * np.sin(angle)) if width > 1 else down
            for y in np.linspace(0, height - 1, 5 if height > 1 else 1):
                for x in np.linspace(0, width - 1, 5 if width > 1 else 1):
                    window = np.exp(-((down - y) ** 2 + (across - x) ** 2) / (2 * spread**2))
                    atoms += [window * wave(2 * np.pi * periods / size * ahead) for wave in (np.cos, np.sin)]
        periods += 1
    return np.array(atoms).reshape(len(atoms), -1)


def _wavelets(sides: tuple[int, int], count: int) -> Array:
    """The inverse wavelet transform of every unit vector (PyWavelets, periodic), then the same shifted by a pixel and more."""
    with optional():
        import pywt

    level = pywt.dwtn_max_level(sides, "haar")
    with warnings.catch_warnings():  # pywt warns of effects at the border; a periodic transform has none
        warnings.simplefilter("ignore", UserWarning)
        empty = pywt.wavedec2(np.zeros(sides), WAVELET, mode="periodization", level=level)
    flat, places, shapes = pywt.ravel_coeffs(empty)
    atoms = []
    for i in range(len(flat)):
        unit = np.zeros_like(flat)
        unit[i] = 1
        image = pywt.waverec2(pywt.unravel_coeffs(unit, places, shapes, output_format="wavedec2"), WAVELET, mode="periodization")
        atoms.append(image[: sides[0], : sides[1]])
    basis, shifted = np.array(atoms), []
    for shift in range(1, -(-count // len(atoms)) + 1):
        shifted.append(np.roll(basis, (shift // 2, (shift + 1) // 2), axis=(1, 2)) if shift > 1 else basis)
    return np.concatenate(shifted).reshape(len(shifted) * len(atoms), -1)


BASES: dict[str, Callable[[tuple[int, int], int], Array]] = {
    "cosines": _cosines,
    "haar": _steps,
    "gabor": _gabor,
    "wavelets": _wavelets,
}
