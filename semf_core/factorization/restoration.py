"""A dictionary at work on a whole picture: noise removed, or few numbers kept, patch by patch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.solvers.omp import batch_omp

Array = np.ndarray
GAIN = 1.15
"""A patch is explained when its error is that of noise, times this (Elad and Aharon)."""
PICTURE_SIDE = 256
"""Side of the part of a picture that is restored while somebody waits."""
MOST = 16
"""Atoms in a patch at most while noise is removed."""


@dataclass(frozen=True)
class Restored:
    """A picture before and after, with what it should be; grey values in [0, 1]."""

    original: Array
    before: Array
    after: Array
    numbers: float
    """Numbers kept for each pixel: coefficients and means."""

    @property
    def psnr_before(self) -> float:
        return psnr(self.original, self.before)

    @property
    def psnr_after(self) -> float:
        return psnr(self.original, self.after)


def psnr(original: Array, other: Array) -> float:
    """Peak signal-to-noise ratio of two pictures with grey values in [0, 1].

    Parameters
    ----------
    original, other : array
        Of the same shape.

    Returns
    -------
    float
        Decibels; infinite where both are the same.

    Examples
    --------
    >>> psnr(np.zeros((2, 2)), np.full((2, 2), 0.1))
    20.0
    """
    error = float(np.square(original - other).mean())
    return float("inf") if error == 0 else -10 * float(np.log10(error))


def denoise(picture: Array, atoms: Array, sides: tuple[int, int], sigma: float, seed: int = 0) -> Restored:
    """Add Gaussian noise to a picture, and remove it again by sparse codes of all overlapping patches.

    Each patch, less its mean, is coded by OMP until its error is that of the noise; a pixel becomes the mean over
    the patches that hold it (Elad and Aharon 2006, without their weight for the noisy pixel itself).

    Parameters
    ----------
    picture : array
        Grey values in [0, 1].
    atoms : array
        A dictionary of patches, one in each column.
    sides : (int, int)
        Height and width of a patch.
    sigma : float
        Standard deviation of the noise.
    seed : int
        Of the noise.

    Returns
    -------
    Restored
        The picture before and after, with its PSNR.

    Examples
    --------
    >>> from semf_core.factorization.restoration import denoise
    >>> restored = denoise(np.full((16, 16), 0.5), np.eye(16), (4, 4), sigma=0.1)
    >>> restored.psnr_after > restored.psnr_before + 5
    True
    """
    if not 0 < sigma <= 1:
        raise InvalidInput("sigma", f"must be above 0 and at most 1, the range of grey values, not {sigma:g}")
    noisy = picture + sigma * np.random.default_rng(seed).standard_normal(picture.shape)
    patches, places = _patches(noisy, sides, 1)
    coded, used = _coded(patches, atoms, min(MOST, atoms.shape[1]), enough=len(atoms) * (GAIN * sigma) ** 2)
    return Restored(
        picture, noisy, np.clip(_joined(coded, places, sides, picture.shape), 0, 1), (used + len(patches)) / picture.size
    )


def compress(picture: Array, atoms: Array, sides: tuple[int, int], k: int) -> Restored:
    """Keep only the mean and k coefficients of each patch, patches side by side; what does not fill a patch is cut off.

    Parameters
    ----------
    picture : array
        Grey values in [0, 1].
    atoms : array
        A dictionary of patches, one in each column.
    sides : (int, int)
        Height and width of a patch.
    k : int
        Coefficients kept for each patch.

    Returns
    -------
    Restored
        The picture before and after, with its PSNR and the numbers kept for each pixel.

    Examples
    --------
    >>> from semf_core.factorization.restoration import compress
    >>> restored = compress(np.full((16, 16), 0.5), np.eye(16), (4, 4), k=1)
    >>> restored.numbers, restored.psnr_after > 100
    (0.0625, True)
    """
    if not 1 <= k <= atoms.shape[1]:
        raise InvalidInput("k", f"must be between 1 and {atoms.shape[1]}, the number of atoms, not {k}")
    height, width = (side // part * part for side, part in zip(picture.shape, sides, strict=True))
    whole = picture[:height, :width]
    patches, places = _patches(whole, sides, None)
    coded, used = _coded(patches, atoms, k)
    return Restored(whole, whole, np.clip(_joined(coded, places, sides, whole.shape), 0, 1), (used + len(patches)) / whole.size)


def middle(picture: Array, side: int) -> Array:
    """The square in the middle of a picture, or what the picture has of it.

    Parameters
    ----------
    picture : array
        Grey values.
    side : int
        Side of the square.

    Returns
    -------
    array
        A view.

    Examples
    --------
    >>> middle(np.arange(16).reshape(4, 4), 2)
    array([[ 5,  6],
           [ 9, 10]])
    """
    first = [max((length - side) // 2, 0) for length in picture.shape]
    return picture[first[0] : first[0] + side, first[1] : first[1] + side]


def _patches(picture: Array, sides: tuple[int, int], stride: int | None) -> tuple[Array, tuple[Array, Array]]:
    """Patches as rows and their upper left corners; stride None puts them side by side."""
    if sides[0] > picture.shape[0] or sides[1] > picture.shape[1]:
        raise InvalidInput("image_shape", f"atoms of {sides[0]}×{sides[1]} are larger than the picture", whole=True)
    steps = sides if stride is None else (stride, stride)
    windows = np.lib.stride_tricks.sliding_window_view(picture, sides)[:: steps[0], :: steps[1]]
    down, across = np.divmod(np.arange(windows.shape[0] * windows.shape[1]), windows.shape[1])
    return windows.reshape(-1, sides[0] * sides[1]), (down * steps[0], across * steps[1])


def _coded(patches: Array, atoms: Array, k: int, enough: float = 0.0) -> tuple[Array, int]:
    """Every patch as its mean and at most k atoms; how many coefficients that took."""
    lengths = np.linalg.norm(atoms, axis=0)
    Dt = np.ascontiguousarray((atoms / np.where(lengths > 0, lengths, 1)).T, dtype=float)
    means = patches.mean(axis=1, keepdims=True)
    codes = batch_omp(Dt, patches - means, k, enough)
    return codes.sparse(len(Dt)) @ Dt + means, int(np.count_nonzero(codes.weights))


def _joined(patches: Array, places: tuple[Array, Array], sides: tuple[int, int], shape: tuple[int, int]) -> Array:
    """The mean over all patches at each pixel."""
    total, count = np.zeros(shape), np.zeros(shape)
    for i in range(sides[0]):
        for j in range(sides[1]):
            at = places[0] + i, places[1] + j
            np.add.at(total, at, patches[:, i * sides[1] + j])
            np.add.at(count, at, 1)
    return np.divide(total, count, out=np.zeros(shape), where=count > 0)
