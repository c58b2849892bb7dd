"""A dictionary at work on a picture: noise removed, few numbers kept."""

import json

import numpy as np
import pytest
from PIL import Image

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.datasets.pictures import grey_picture
from semf_core.factorization.restoration import compress, denoise, middle, psnr
from semf_core.solvers.bases import fixed_atoms

PICTURE = grey_picture("camera")[100:196, 200:290]
COSINES = fixed_atoms("cosines", (8, 8), 100).T


def test_noise_is_removed_by_several_decibels():
    restored = denoise(PICTURE, COSINES, (8, 8), 0.1)
    assert restored.psnr_before == pytest.approx(20, abs=0.3)
    assert restored.psnr_after > restored.psnr_before + 4 and restored.after.shape == PICTURE.shape
    np.testing.assert_allclose(restored.before - PICTURE, 0.1 * np.random.default_rng(0).standard_normal(PICTURE.shape))


def test_more_coefficients_keep_more_of_the_picture():
    few, many, all_of_them = (compress(PICTURE, fixed_atoms("cosines", (8, 8), 64).T, (8, 8), k) for k in (2, 8, 64))
    assert few.psnr_after < many.psnr_after < all_of_them.psnr_after and all_of_them.psnr_after > 200
    assert many.original.shape == (96, 88) and many.numbers <= 9 / 64


def test_the_scale_of_atoms_does_not_matter_and_psnr_is_the_usual_one():
    a, b = (denoise(PICTURE[:40, :40], atoms, (8, 8), 0.05) for atoms in (COSINES, 3 * COSINES))
    np.testing.assert_allclose(a.after, b.after, atol=1e-9)
    assert psnr(np.zeros((2, 2)), np.full((2, 2), 0.1)) == pytest.approx(20) and psnr(PICTURE, PICTURE) == np.inf


def test_the_command_line_does_what_the_panel_does(tmp_path, capsys):
    """A dictionary that a run has stored, its own picture: the same numbers as by hand, and both pictures stored."""
    stored, out = str(tmp_path / "d.npz"), str(tmp_path / "after.png")
    data = ["--data", "patches:size=6,count=400", "--rank", "30", "--solver", "sparse-coding:k=2"]
    assert main(["run", *data, "--max-iter", "1", "--out", stored]) == 0
    capsys.readouterr()
    options = ["--factors", stored, "--side", "60", "--json"]
    assert main(["restore", "denoise", *options, "--sigma", "0.1", "--out", out]) == 0
    told = json.loads(capsys.readouterr().out)
    with np.load(stored) as kept:
        expected = denoise(middle(grey_picture("camera"), 60), kept["U"], (6, 6), 0.1)
    assert (told["psnr_before"], told["psnr_after"]) == (expected.psnr_before, expected.psnr_after)
    after, before = (np.asarray(Image.open(tmp_path / name)) for name in ("after.png", "after-before.png"))
    assert after.shape == before.shape == (60, 60) and np.abs(after / 255 - expected.after).max() <= 0.51 / 255
    assert main(["restore", "compress", *options, "--picture", out, "--k", "3"]) == 0
    assert json.loads(capsys.readouterr().out)["psnr_after"] > 20
    rejected = {"semf run --out": ["--factors", out], "patches": ["--preset", "swimmer-nmf"], "png": ["--out", "x.jpg"]}
    for word, wrong in rejected.items():
        assert main(["restore", "denoise", *wrong]) == 2 and word in capsys.readouterr().err


def test_what_makes_no_sense_is_refused():
    for call in (lambda: denoise(PICTURE, COSINES, (8, 8), 0), lambda: compress(PICTURE, COSINES, (8, 8), 101)):
        with pytest.raises(InvalidInput, match="must be"):
            call()
    with pytest.raises(InvalidInput, match="larger"):
        denoise(PICTURE[:5], COSINES, (8, 8), 0.1)
