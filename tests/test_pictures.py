"""Factors as pictures: what can be seen on them, and what is left of degenerate ones."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from semf_core import pictures


def opened(picture):
    return np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGBA")).astype(int)


def test_groups_are_rows_of_the_montage():
    U = np.eye(16)[:, :7]
    picture = pictures.basis(U, (4, 4), ((0, 1, 2), (3, 4, 5), (6,)))
    assert (picture.height, picture.width) == (3 * 5 + 1, 3 * 5 + 1)
    tops = {column: top for column, _, top, _, _ in picture.tiles}
    assert tops[0] == tops[2] < tops[3] == tops[5] < tops[6]


def test_a_ghost_of_five_per_cent_can_be_seen():
    U = np.zeros((16, 1))
    U[0], U[1] = 1.0, 0.05
    for theme in ("light", "dark"):
        pixels = opened(pictures.basis(U, (4, 4), theme=theme))[1:5, 1:5, :3]
        assert np.abs(pixels[0, 1] - pixels[0, 2]).max() > 40


def test_one_scale_gives_equal_values_equal_colours():
    U = np.zeros((4, 3))
    U[0], U[1] = (1, 0.5, 2), (0.5, 0, -0.5)
    stretched, common = (opened(pictures.basis(U, (2, 2), ((0, 1, 2),), one_scale=flag))[1, [2, 4], :3] for flag in (False, True))
    assert (common[0] == common[1]).all() and (stretched[0] != stretched[1]).any()


@pytest.mark.parametrize("shape", [None, (6, 1), (2, 3)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_degenerate_factors(shape, theme):
    for value in (np.zeros((6, 1)), np.full((6, 3), -2.0), np.random.default_rng(0).normal(size=(6, 40))):
        assert opened(pictures.basis(value, shape, None, theme)).size
        assert opened(pictures.heat_map(value.T, theme)).size
        V = np.ones((value.shape[1], 5))
        assert opened(pictures.samples(value @ V, value, V, [0, 4], shape, theme)).size


def test_wide_coefficients_keep_their_largest_entries():
    V = np.zeros((2, 5000))
    V[1, 4321] = -3
    picture = pictures.heat_map(V)
    assert picture.width <= pictures.WIDEST_MAP and picture.signed
    flat = opened(picture)
    assert (flat[1] != flat[0, 0]).any() and (flat[0] == flat[0, 0]).all()
