"""How a dataset is drawn before it is used: as its field draws such data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from semf_core.datasets import Axes, Axis, Dataset
from semf_core.drawing.overview import overview, shown_bands, way_of
from semf_core.drawing.pictures import LARGE_CURVE, basis, heat_map

RNG = np.random.default_rng(0)
SHIFT, TIME = (Axis("shift", "cm-1", values=np.linspace(100, 900, 30)), Axis("time", "s", values=np.arange(12.0)))
M = RNG.random((30, 12))


@pytest.mark.parametrize("make", [np.asarray, sparse.csc_array], ids=["dense", "sparse"])
def test_bands_of_a_picture_are_pictures(make):
    drawn = overview(Dataset(make(M), axes=Axes(SHIFT, map_shape=(3, 4))), None)
    np.testing.assert_array_equal(drawn.pixels, basis(M[shown_bands(30)].T, (3, 4)).pixels)


def test_spectra_are_curves_and_their_gaps_are_hatched():
    holes = M.copy()
    holes[4, 1] = np.nan
    drawn = overview(Dataset(holes, axes=Axes(SHIFT)), None)
    assert drawn.height >= 3 * LARGE_CURVE[0] > 3 * overview(Dataset(M, axes=Axes(SHIFT)), None, small=True).height // 2
    assert len(drawn.tiles) == 12 and not np.array_equal(drawn.pixels, overview(Dataset(M, axes=Axes(SHIFT)), None).pixels)


def test_low_frequencies_are_at_the_bottom():
    axes = Axes(SHIFT, TIME)
    assert way_of(None, axes) == "spectrogram"
    np.testing.assert_array_equal(overview(Dataset(M, axes=axes), None).pixels, heat_map(M[::-1]).pixels)
    falling = Axes(Axis(values=np.flip(np.asarray(SHIFT.values))), TIME)
    np.testing.assert_array_equal(overview(Dataset(M[::-1], axes=falling), None).pixels, heat_map(M[::-1]).pixels)


def test_samples_that_are_pictures_stay_so_and_plain_numbers_are_a_heat_map():
    assert way_of((5, 6), Axes(SHIFT)) == "pictures"
    np.testing.assert_array_equal(overview(Dataset(M), None).pixels, heat_map(M).pixels)
