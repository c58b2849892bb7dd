"""Swimmer, pixel for pixel."""

# mypy: disable-error-code="union-attr, arg-type, operator, index"
# A dataset's truth is optional; a test knows where it is there.

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from semf_core.datasets import SlimSwimmer, Swimmer

ORIGINAL = Path(__file__).parents[3] / "shared" / "data" / "swimmer.npz"
TORSO_LAST = [*range(1, 17), 0]
"""The original file lists the torso first; SeMF (35) has it as the 17th."""
# SHA-256 of the packed bits of the original file's `binary`, `parts` and `activations` (torso moved to the end).
HASHES = {
    "data": "a48fd1718cc6565f288acf04fe8a5b13d511e79c466a6ab9c89464dc02d4e68a",
    "parts": "47b21bdd59a349d604e01b0afd260cdc83f72dc12bbc11aaa29d9997e98b3d78",
    "activations": "8e9ab86a91c046d1e03ba3f0c65befab439232d6166566e69bc2fd18d5185c87",
}


@pytest.fixture(scope="module")
def swimmer():
    return Swimmer().load()


@pytest.mark.parametrize("field", HASHES)
def test_equals_the_original_by_hash(swimmer, field):
    bits = np.packbits(getattr(swimmer, field).astype(bool))
    assert hashlib.sha256(bits.tobytes()).hexdigest() == HASHES[field]


@pytest.mark.skipif(not ORIGINAL.exists(), reason="the original file is not here; the hashes stand in for it")
def test_equals_the_original_file(swimmer):
    z = np.load(ORIGINAL)
    np.testing.assert_array_equal(swimmer.data, z["binary"])
    np.testing.assert_array_equal(swimmer.parts, z["parts"][:, TORSO_LAST])
    np.testing.assert_array_equal(swimmer.activations, z["activations"][TORSO_LAST])
    limbs, positions = ("left_arm", "right_arm", "left_leg", "right_leg"), ("horizontal", "vertical", "diag_down", "diag_up")
    ours = [*(f"{limb}:{position}" for limb in limbs for position in positions), "torso"]
    assert ours == [str(z["part_names"][i]) for i in TORSO_LAST]


def test_facts(swimmer):
    assert swimmer.shape == (1024, 256) and swimmer.data.dtype == np.float64
    assert np.linalg.matrix_rank(swimmer.data) == 13
    assert list(swimmer.parts.sum(axis=0)) == [5] * 16 + [17]
    assert swimmer.parts.sum(axis=1).max() == 1  # no overlap
    assert np.count_nonzero(swimmer.data.any(axis=1)) == 97
    assert swimmer.groups[4] == (16,) and swimmer.groups[2] == (8, 9, 10, 11)


def test_sample_number_tells_the_positions(swimmer):
    sample = 64 * 3 + 16 * 0 + 4 * 1 + 2
    assert list(np.flatnonzero(swimmer.activations[:, sample])) == [3, 4, 9, 14, 16]


def test_flips():
    flipped = Swimmer(flips=0.1).load().data != Swimmer().load().data
    assert abs(flipped.mean() - 0.1) < 0.005
    assert set(np.unique(Swimmer(flips=0.1).load().data)) == {0, 1}


def test_occlusion_zeroes_a_square_of_each_sample(swimmer):
    side = 20
    lost = ((swimmer.data == 1) & (Swimmer(occlusion=side).load().data == 0)).reshape(32, 32, 256)
    assert lost.any(axis=(0, 1)).mean() > 0.95
    for j in range(256):
        rows, columns = np.nonzero(lost[:, :, j])
        if rows.size:
            assert np.ptp(rows) < side and np.ptp(columns) < side
    assert Swimmer(occlusion=32).load().data.max() == 0
    assert ((Swimmer(occlusion=side).load().data > 0) <= (swimmer.data > 0)).all()


def test_noise_and_omission(swimmer):
    noisy = Swimmer(noise=0.2).load()
    assert (noisy.data - swimmer.data).std() == pytest.approx(0.2, rel=0.01)
    fewer = Swimmer(missing=0.75, noise=0.2, seed=5).load()
    assert fewer.shape == (1024, 64) and fewer.activations.shape == (17, 64)
    assert len({tuple(c) for c in fewer.activations.T}) == 64
    assert abs(fewer.data - fewer.parts @ fewer.activations).max() < 1.2
    assert Swimmer(missing=0.9999).load().shape == (1024, 1)


def test_a_lit_pixel_has_the_value_asked_for(swimmer):
    bright = Swimmer(value=255).load()
    assert (bright.data == 255 * swimmer.data).all() and (bright.parts @ bright.activations == bright.data).all()
    noisy = [Swimmer(noise=0.1, value=value).load().data for value in (1, 4)]
    np.testing.assert_allclose(noisy[1], 4 * noisy[0])


def test_the_slim_swimmer_has_the_pixels_that_its_paper_counts():
    slim = SlimSwimmer().load()
    assert slim.data.shape == (1024, 256) and set(np.unique(slim.data)) == {0, 1}
    assert slim.parts.sum(axis=0).tolist() == [6.0] * 16 + [12.0] and slim.parts.sum(axis=1).max() == 1
    assert np.linalg.matrix_rank(slim.data) == 13
