"""Every source in the registry, and what each promises."""

# mypy: disable-error-code="union-attr, arg-type, operator, index"
# A dataset's truth is optional; a test knows where it is there.

from __future__ import annotations

import json
import socket
import subprocess
import sys
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from semf_core.common.parameters import InvalidInput, params_of
from semf_core.datasets import (
    DATASETS,
    DatasetSource,
    Digits,
    Faces,
    Genes,
    HiddenFactors,
    NoisyDictionary,
    Paatero,
    Patches,
    SparseCodes,
    Titles,
)
from semf_core.datasets.pictures import IMAGES, grey_picture
from semf_core.mathematics.metrics import frobenius_norm, hoyer_sparseness, snr_db
from tests.described import undescribed

BUILT_IN = [cls for cls in DATASETS if cls.built_in]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def reject(*args, **kwargs):
        raise AssertionError("a built-in dataset reached for the network")

    monkeypatch.setattr(socket, "socket", reject)


@pytest.mark.parametrize("cls", BUILT_IN, ids=lambda c: c.name)
class TestEverySource:
    def test_is_reproducible_from_json_alone(self, cls):
        source = cls.from_params(cls.example)
        again = DATASETS.build(json.loads(json.dumps(source.to_dict())))
        assert again == source
        assert again.load().fingerprint() == source.load().fingerprint()

    def test_has_a_command_line_spelling(self, cls):
        spelled = ",".join(f"{k}={v}" for k, v in cls.example.items())
        assert DATASETS.parse(f"{cls.name}:{spelled}") == cls.from_params(cls.example)

    def test_describes_itself(self, cls):
        missing = undescribed(cls, DatasetSource, "title", "summary")
        assert not missing, missing
        assert cls.summary.endswith((".", "?")), f"{cls.__name__}: its summary is a sentence"

    def test_seed_matters(self, cls):
        if "seed" not in {p.name for p in params_of(cls)}:
            pytest.skip("nothing random")
        first, second = (cls.from_params({**cls.example, "seed": seed}).load().fingerprint() for seed in (1, 2))
        assert first != second

    def test_truth_is_consistent(self, cls):
        dataset = cls.from_params(cls.example).load()
        assert dataset.title
        if dataset.parts is not None:
            clean = dataset.parts @ dataset.activations
            assert frobenius_norm(dataset.data - clean) < 0.7 * frobenius_norm(clean)


def test_sparse_codes_are_an_exact_product_of_the_stated_structure():
    d = SparseCodes().load()
    assert d.shape == (40, 1500) and d.part_count == 60
    np.testing.assert_allclose(np.linalg.norm(d.parts, axis=0), 1)
    assert (np.count_nonzero(d.activations, axis=0) == 3).all()
    np.testing.assert_allclose(d.data, d.parts @ d.activations, atol=1e-14)
    use = np.count_nonzero(d.activations, axis=1)  # 75 expected of each atom
    assert use.min() > 40 and use.max() < 115


@pytest.mark.parametrize("snr", [-3.0, 20.0, 60.0])
def test_dictionary_noise_has_exactly_the_stated_level(snr):
    d = NoisyDictionary(snr_db=snr).load()
    clean = d.parts @ d.activations
    assert snr_db(np.linalg.norm(clean), np.linalg.norm(d.data - clean)) == pytest.approx(snr)


def test_dictionary_without_noise_and_without_sign():
    d = NoisyDictionary(snr_db=None, signed=False).load()
    np.testing.assert_allclose(d.data, d.parts @ d.activations)
    assert d.parts.min() >= 0 and d.activations.min() >= 0
    assert NoisyDictionary(signed=True).load().parts.min() < 0


def test_dictionary_noise_level_leaves_the_truth_alone():
    quiet, loud = NoisyDictionary(snr_db=None).load(), NoisyDictionary(snr_db=10).load()
    np.testing.assert_array_equal(quiet.parts, loud.parts)
    np.testing.assert_array_equal(quiet.activations, loud.activations)


def test_dna_has_one_mutation_of_every_gene():
    d = Genes(genes=3, mutations=4, samples=200).load()
    assert d.groups == ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))
    for group in d.groups:
        assert (np.count_nonzero(d.activations[list(group)], axis=0) == 1).all()
    assert d.parts.min() == 0 and d.data.min() >= 0 and (d.activations.sum(axis=1) > 0).all()
    assert np.linalg.matrix_rank(d.parts) == 12
    assert Genes(noise=0.1).load().data.min() < 0


def test_paatero_truth_meets_the_sparseness_of_its_figure():
    d = Paatero(noise=0).load()
    assert d.data.min() >= 0 and d.part_count == 4
    assert hoyer_sparseness(d.parts).min() > 0.6
    assert np.linalg.matrix_rank(d.data, tol=1) == 4  # well above the noise's √m + √n ≈ 2 at σ = 0.1
    assert Paatero().load().data.min() == 0


def test_hidden_factors_are_three_blocks_and_two_dimensions():
    d = HiddenFactors(samples=2000).load()
    assert d.shape == (10, 2000) and list(d.parts.sum(axis=0)) == [4, 4, 2]
    values = np.linalg.svd(d.data / np.sqrt(2000), compute_uv=False)
    assert values[1] > 20 and values[2] < 2  # the third factor follows from the others up to noise
    np.testing.assert_allclose(HiddenFactors(noise=0).load().data[4], HiddenFactors(noise=0).load().data[7])


def test_digits_and_faces():
    digits, faces = Digits().load(), Faces().load()
    assert digits.shape == (64, 1797) and digits.image_shape == (8, 8) and digits.data.max() == 1
    assert sorted(set(digits.labels)) == list(range(10))
    assert faces.shape == (625, 100) and faces.image_shape == (25, 25) and 0 <= faces.data.min() < faces.data.max() <= 1
    both = Faces(others=True).load()
    assert both.shape == (625, 200) and list(both.labels[[0, 99, 100, 199]]) == ["face", "face", "other", "other"]
    np.testing.assert_array_equal(both.data[:, :100], faces.data)


def test_the_digits_are_those_of_scikit_learn_without_its_import():
    from sklearn.datasets import load_digits

    theirs, ours = load_digits(), Digits().load()
    np.testing.assert_array_equal(ours.data, theirs.data.T / 16)
    np.testing.assert_array_equal(ours.labels, theirs.target)
    # A fresh worker would spend half a second on it before its first iteration.
    code = "import sys; from semf_core.datasets import Digits; Digits().load(); sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("image", IMAGES)
def test_every_picture_is_shipped(image):
    picture = grey_picture(image)
    assert picture.ndim == 2 and min(picture.shape) > 150
    assert 0 <= picture.min() < 0.3 < 0.6 < picture.max() <= 1 + 1e-12


def test_patches_are_windows_of_the_picture():
    picture = grey_picture("coins")
    d = Patches(image="coins", size=5, count=20, remove_mean=False).load()
    windows = np.lib.stride_tricks.sliding_window_view(picture, (5, 5)).reshape(-1, 25)
    assert all((windows == column).all(axis=1).any() for column in d.data.T)
    centred = Patches(image="coins", size=5, count=20).load()
    np.testing.assert_allclose(centred.data, d.data - d.data.mean(axis=0))


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"name": "sparse_codes", "nonzeros": 61}, "nonzeros"),
        ({"name": "dictionary", "samples": 10_000_000}, "samples"),
        ({"name": "sparse_codes", "atoms": 100_000, "rows": 100_000, "samples": 1}, "atoms"),
        ({"name": "dna", "genes": 1000, "mutations": 1000, "length": 60}, "samples"),
        ({"name": "file", "path": "x.csv", "image_shape": 6}, "image_shape"),
        ({"name": "file", "path": "x.csv", "scaling": "half"}, "scaling"),
        ({"name": "file"}, "path"),
    ],
)
def test_impossible_choices_are_rejected_when_made(values, field):
    with pytest.raises(InvalidInput) as refusal:
        DATASETS.build(values)
    assert refusal.value.field == field


def test_more_patches_than_places_are_refused():
    with pytest.raises(InvalidInput, match="count"):
        Patches(image="coins", size=64, count=1_000_000 // 10).load()


def test_file_source_passes_every_choice_on(tmp_path):
    M = np.arange(1.0, 13).reshape(3, 4)
    np.savez(tmp_path / "two.npz", first=M, second=2 * M)
    source = DATASETS.build(
        {"name": "file", "path": str(tmp_path / "two.npz"), "member": "second", "orientation": "rows", "scaling": "max"}
        | {"image_shape": [2, 2]}
    )
    assert DATASETS.build(source.to_dict()) == source
    d = source.load()
    np.testing.assert_allclose(d.data, M.T / 12)
    assert d.image_shape == (2, 2)


def test_titles_are_counts_of_terms_with_a_subject_each():
    dataset = Titles().load()
    counts = dataset.data.toarray()
    assert dataset.shape == (53, 48) and set(np.unique(counts)) <= {0, 1, 2}
    assert (np.count_nonzero(counts, axis=1) >= 2).all() and counts.any(axis=0).all()
    assert sorted(set(dataset.labels)) == ["garden", "kitchen", "music", "sky"]
    assert Titles(least=1).load().shape[0] > 53 > Titles(least=3).load().shape[0]


def test_olivetti_faces_are_fetched_or_rejected_in_words(monkeypatch):
    bunch = SimpleNamespace(data=np.full((400, 4096), 0.5, np.float32), target=np.repeat(np.arange(40), 10))
    monkeypatch.setattr("sklearn.datasets.fetch_olivetti_faces", lambda: bunch)
    dataset = DATASETS.parse("olivetti").load()
    assert dataset.shape == (4096, 400) and dataset.image_shape == (64, 64) and len(dataset.labels) == 400

    def no_network():
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_olivetti_faces", no_network)
    with pytest.raises(InvalidInput, match="could not be fetched"):
        DATASETS.parse("olivetti").load()
