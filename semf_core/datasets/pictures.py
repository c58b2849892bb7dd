"""Real pictures that come with scikit-learn and scikit-image: nothing is downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from semf_core.common.extras import missing, optional
from semf_core.common.parameters import InvalidInput, param
from semf_core.datasets.base import DATASETS, Array, Dataset, DatasetSource

IMAGES = ("camera", "astronaut", "coffee", "cat", "coins", "moon", "rocket", "brick", "grass", "gravel", "page")
DIGITS_FILE = "datasets/data/digits.csv.gz"
"""Within scikit-learn; numpy unpacks it while reading."""
LUMA = np.array([0.299, 0.587, 0.114])
"""Rec. 601 weights of red, green and blue: the usual grey value."""


@DATASETS.register
class Digits(DatasetSource):
    """1797 handwritten digits of 8×8 pixels (UCI; shipped with scikit-learn), scaled to [0, 1]."""

    name = "digits"
    title = "Handwritten digits"
    summary = "1797 handwritten digits of 8 × 8 pixels with their labels."

    def load(self) -> Dataset:
        table = _digits_table()
        note = "Optical Recognition of Handwritten Digits, E. Alpaydin & C. Kaynak (UCI, 1998), as shipped with scikit-learn."
        labels = table[:, -1].astype(int)
        return Dataset(table[:, :-1].T / 16.0, title=self.title, image_shape=(8, 8), labels=labels, note=note)


def _digits_table() -> Array:
    """A row for each digit: its pixels from 0 to 16, then the digit itself.

    The file is read where scikit-learn keeps it: importing scikit-learn takes half a second, which every worker
    that gets its first run of digits would make its viewer wait for.
    """
    found = find_spec("sklearn")
    if found is None or not found.submodule_search_locations:
        raise missing("sklearn")
    return np.loadtxt(Path(found.submodule_search_locations[0], DIGITS_FILE), delimiter=",")


@DATASETS.register
class Faces(DatasetSource):
    """100 faces of 25×25 grey pixels in [0, 1] from Labeled Faces in the Wild, shipped with scikit-image."""

    name = "faces"
    title = "Small faces"
    summary = "100 faces of 25 × 25 pixels, if wanted with 100 pictures that show no face."

    others: bool = param("boolean", False, help="add the 100 pictures without a face; labels then say which is which")

    def load(self) -> Dataset:
        with optional():
            from skimage.data import lfw_subset

        images = lfw_subset()[: 200 if self.others else 100]
        labels = np.array(["face"] * 100 + ["other"] * 100) if self.others else None
        note = "Labeled Faces in the Wild (Huang et al. 2007), the subset shipped with scikit-image."
        return Dataset(images.reshape(len(images), -1).T, title=self.title, image_shape=(25, 25), labels=labels, note=note)


@DATASETS.register
class Olivetti(DatasetSource):
    """The 400 ORL faces of 40 people at 64×64 grey pixels in [0, 1], as scikit-learn fetches and keeps them."""

    name = "olivetti"
    title = "ORL faces, 64 × 64"
    summary = "400 faces of 40 people, fetched by scikit-learn when first used (4 MB)."
    built_in = False

    def load(self) -> Dataset:
        with optional():
            from sklearn.datasets import fetch_olivetti_faces

        try:
            bunch = fetch_olivetti_faces()
        except OSError as error:  # no network, or nowhere to keep them
            raise InvalidInput(
                "olivetti", f"the faces could not be fetched ({error})", "use a file of your own", whole=True
            ) from None
        note = "AT&T Laboratories Cambridge (1992 to 1994), as distributed by scikit-learn."
        return Dataset(bunch.data.T, title=self.title, image_shape=(64, 64), labels=bunch.target, note=note)


@DATASETS.register
class Patches(DatasetSource):
    """Square patches at different random places of one grey picture in [0, 1], one column each."""

    name = "patches"
    title = "Image patches"
    summary = "Patches cut from a photograph: the usual material for a learned dictionary."
    example: ClassVar[dict[str, Any]] = {"size": 4, "count": 50}

    image: str = param("choice", "camera", choices=IMAGES, help="the picture that patches are cut from")
    size: int = param("integer", 8, low=2, high=64, help="side of a patch in pixels")
    count: int = param("integer", 5000, low=1, high=1_000_000, symbol="n", help="number of patches")
    remove_mean: bool = param("boolean", True, help="subtract its mean from every patch (entries then have both signs)")
    seed: int = param("integer", 0, low=0, high=2**32 - 1, help="seed of the places")

    def arrays(self) -> dict[str, tuple[int, int]]:
        return {"count": (self.size**2, self.count)}

    def picture(self) -> Array:
        """The whole picture, grey values in [0, 1]."""
        return grey_picture(self.image)

    def load(self) -> Dataset:
        self.check_entries()
        picture = self.picture()
        windows = np.lib.stride_tricks.sliding_window_view(picture, (self.size, self.size))
        places = windows.shape[0] * windows.shape[1]
        if self.count > places:
            raise InvalidInput(
                "count", f"{self.image} has only {places} patches of {self.size} × {self.size}", "ask for fewer", whole=True
            )
        chosen = np.random.default_rng(self.seed).choice(places, self.count, replace=False)
        patches = windows[np.divmod(chosen, windows.shape[1])].reshape(self.count, -1).T
        if self.remove_mean:
            patches = patches - patches.mean(axis=0)
        return Dataset(
            patches,
            title=f"{self.title} ({self.image})",
            image_shape=(self.size, self.size),
            note="Cut from a picture shipped with scikit-image.",
        )


def grey_picture(name: str) -> Array:
    """One of IMAGES as grey values in [0, 1]."""
    with optional():
        from skimage import data

    picture = np.asarray(getattr(data, name)(), dtype=float) / 255
    return picture @ LUMA if picture.ndim == 3 else picture
