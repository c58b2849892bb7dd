"""Factors as pictures: what can be seen on them, and what is left of degenerate ones."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from semf_core.drawing import pictures


def opened(picture):
    return np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGBA")).astype(int)


@pytest.mark.parametrize(("count", "across"), [(1, 1), (3, 2), (4, 2), (16, 4), (17, 4), (21, 5), (25, 5)])
def test_rows_of_a_montage_are_filled_where_they_can_be(count, across):
    tiles = pictures.basis(np.ones((64, count)), (8, 8)).tiles
    assert len({left for _, left, *_ in tiles}) == across


def test_groups_are_rows_of_the_montage():
    U = np.eye(16)[:, :7]
    picture = pictures.basis(U, (4, 4), ((0, 1, 2), (3, 4, 5), (6,)))
    assert (picture.height, picture.width) == (3 * 5 + 1, 3 * 5 + 1)
    tops = {column: top for column, _, top, _, _ in picture.tiles}
    assert tops[0] == tops[2] < tops[3] == tops[5] < tops[6]


@pytest.mark.parametrize(
    ("count", "shape", "across", "down"),
    [
        (6, (4, 4), 2, 3),
        (8, (4, 4), 3, 3),
        (12, (4, 4), 3, 4),
        (13, (4, 4), 4, 4),
        (17, (4, 4), 4, 5),
        (32, (4, 4), 6, 6),
        (6, (9, 1), 6, 1),
    ],
)
def test_tiles_are_as_large_as_a_square_lets_them_be(count, shape, across, down):
    """A hall sees 6, 8 or 12 components on 60 % of the height only if they are not laid out in a wide band."""
    picture = pictures.basis(np.eye(shape[0] * shape[1], count), shape)
    assert (picture.width, picture.height) == (across * (shape[1] + 1) + 1, down * (shape[0] + 1) + 1)


@pytest.mark.parametrize(
    ("count", "shape", "room", "shown"),
    [
        (60, None, (770, 810), 30),
        (50, None, (770, 810), 25),
        (4, None, (770, 810), 4),
        (30, (8, 8), (770, 820), 30),
        (100, (8, 8), (770, 820), 34),
        (25, (25, 25), (640, 660), 25),
        (7, (9, 3), (770, 820), 7),
        (3, None, (110, 110), 1),
    ],
)
def test_a_hall_sees_large_components_and_all_of_them_page_by_page(count, shape, room, shown):
    U = np.eye(shape[0] * shape[1] if shape else 40, count)
    seen: list[int] = []
    while len(seen) < count:
        picture = pictures.components(U, shape, None, "light", (*room, len(seen)))
        scale = min(room[0] / picture.width, room[1] / picture.height)
        for _, _, _, width, height in picture.tiles:
            sides = width * picture.width * scale / 100, height * picture.height * scale / 100
            assert min(sides) >= (pictures.HALL_SIDE - 1e-9 if room != (110, 110) else 1)
        page = [column for column, *_ in picture.tiles]
        assert page == list(range(len(seen), min(count, len(seen) + shown)))
        seen += page
    first, last = (pictures.components(U, shape, None, "light", (*room, k)).tiles for k in (0, 10_000))
    assert len(first) == shown and last[-1][0] == count - 1, "who asks for more than there are gets the last of them"


def test_a_hall_sees_the_same_strips_and_groups_stay_rows():
    U = np.random.default_rng(3).random((20, 5))
    strip = pictures.components(U, None, None, "light", (770, 810, 0))
    column, left, top, width, height = strip.tiles[2]
    x, y = round((left + width / 2) * strip.width / 100), top * strip.height / 100
    along = strip.pixels[round(y) : round(y + height * strip.height / 100), x]
    entries = along[((np.arange(20) + 0.5) * len(along) / 20).astype(int)]
    assert (np.argsort(entries) == np.argsort(U[:, column])).all() and np.unique(along).size == 20
    groups = ((0, 1, 2), (3, 4))
    for room in (None, (770, 810, 0), (770, 810, 3)):
        assert (pictures.components(U, (4, 5), groups, "dark", room).pixels == pictures.basis(U, (4, 5), groups).pixels).all()


@pytest.mark.parametrize(("count", "shown"), [(60, 25), (9, 9), (13, 13)])
def test_the_corner_of_a_montage_has_its_tiles_alone(count, shown):
    whole = pictures.basis(np.random.default_rng(0).random((30, count)), (6, 5))
    corner = whole.corner(5)
    assert len(corner.tiles) == shown
    for column, *box in corner.tiles:
        now, before = (
            picture.pixels[tuple(slice(round(a * n / 100), round((a + b) * n / 100)) for a, b, n in sides)]
            for picture, sides in (
                (corner, ((box[1], box[3], corner.height), (box[0], box[2], corner.width))),
                (whole, _sides(whole, column)),
            )
        )
        assert now.shape == (6, 5) and (now == before).all()


def _sides(picture, column):
    left, top, width, height = next(box for k, *box in picture.tiles if k == column)
    return (top, height, picture.height), (left, width, picture.width)


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


def test_a_missing_entry_is_not_drawn_as_a_zero():
    M = np.array([[0.0, 1.0], [np.nan, 0.5]])
    shown = pictures.heat_map(M)
    assert np.argwhere(shown.pixels == pictures.MISSING).tolist() == [[1, 0]] and (shown.low, shown.high) == (0, 1)
    drawn = pictures.samples(M, np.ones((2, 1)), np.ones((1, 2)), (0,), None)
    assert (drawn.pixels == pictures.MISSING).any(), "neither the sample nor its difference is known there"
    cell = opened(shown)[4:, :4, 3]
    assert shown.width == 2 and set(cell.ravel()) == {0, 255} and (opened(shown)[:4, :4, 3] == 255).all(), "it is hatched"
    wide = pictures.heat_map(np.where(np.arange(2000)[None, :] % 3, np.nan, 2.0))
    assert (wide.pixels == pictures.MISSING).sum() == 0, "a stretch shows what is known of it"


def test_what_is_missing_stays_so_in_a_picture_that_is_made_smaller_and_in_a_long_curve():
    image = np.ones((128, 128))
    image[:64], image[64, 0] = np.nan, np.nan
    drawn = pictures.basis(image.reshape(-1, 1), (128, 128))
    gone = np.isnan(pictures.tile(image.ravel(), (128, 128)))
    assert gone[:32].all() and not gone[32:].any() and drawn.to_dict()["missing"]
    places = np.delete(np.arange(960.0), np.arange(100, 200))
    values = np.where((places >= 480) & (places < 600), np.nan, 1.0)
    curve = pictures.tile(values, pictures.Curve(places))
    assert np.flatnonzero(np.isnan(curve).all(axis=0)).tolist() == list(range(48, 60)), "nothing was measured from 100 to 200"
    few, many = (pictures.basis(np.repeat(values[:, None], n, axis=1), pictures.Curve(places)) for n in (2, 9))
    assert few.tiles[0][3] * few.width == 2 * many.tiles[0][3] * many.width, "few curves are drawn in finer pixels"
    assert "missing" not in pictures.heat_map(np.ones((2, 2))).to_dict()
