"""Preparation: every step does what it says, keeps sparse data sparse, and a run on it can be repeated from the raw file."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from scipy import sparse

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.datasets import DATASETS, Axes, Axis, Dataset, FileSource, load_bytes
from semf_core.datasets.preparation import STEPS, prepared, spelled
from semf_core.runs import Upload
from semf_core.runs.uploads import add_upload, public_source
from semf_core.service import Service
from tests.helpers import of, present

A = np.random.default_rng(0).poisson(2.0, (6, 4)).astype(float)
ROWS = Axis("wavelength", "nm", values=np.arange(6) * 10.0)
DATA = Dataset(A, axes=Axes(ROWS, Axis(names=("a", "b", "c", "d"))), labels=np.arange(4))
SPARSE = Dataset(sparse.csc_array(A), axes=DATA.axes)


def dense(data: Dataset) -> np.ndarray:
    return data.data.toarray() if sparse.issparse(data.data) else data.data


@pytest.mark.parametrize("name", [n for n in STEPS.names() if n != "crop-picture"])
def test_every_step_gives_the_same_for_sparse_data_and_leaves_its_input(name):
    word = {"bin": "bin:size=2", "crop": "crop:first=10,last=30"}.get(name, name)
    before = A.copy()
    plain, thin = prepared(DATA, word), prepared(SPARSE, word)
    assert sparse.issparse(thin.data)
    np.testing.assert_allclose(dense(thin), plain.data, atol=1e-12)
    np.testing.assert_array_equal(A, before)
    assert plain.axes.checked(plain.shape) == thin.axes


def test_cutting_and_binning_take_the_names_along():
    cut = prepared(DATA, "crop:first=10,last=30 crop:last=2,side=columns")
    np.testing.assert_array_equal(cut.data, A[1:4, :2])
    assert present(cut.axes.rows.values).tolist() == [10, 20, 30]
    assert cut.axes.columns.names == ("a", "b") and list(present(cut.labels)) == [0, 1]
    binned = prepared(DATA, "bin:size=4 bin:size=3,side=columns")
    np.testing.assert_allclose(binned.data[1, 0], A[4:, :3].mean())
    assert present(binned.axes.rows.values).tolist() == [15, 45] and binned.axes.columns.names == ("a…c", "d")
    with pytest.raises(InvalidInput, match="crop: nothing lies from 99 to inf; the places go from 0 to 50"):
        prepared(DATA, "crop:first=99")


def test_pictures_and_maps():
    image = np.arange(24.0).reshape(4, 6)
    one = Dataset(image.reshape(-1, 1), image_shape=(4, 6))
    window = prepared(one, "crop-picture:top=2,left=3,height=2,width=4")
    np.testing.assert_array_equal(window.data.reshape(window.image_shape), image[1:3, 2:6])
    small = prepared(one, "bin:size=2,side=pixels")
    np.testing.assert_allclose(small.data.reshape(2, 3), image.reshape(2, 2, 3, 2).mean(axis=(1, 3)))
    pixels = prepared(Dataset(image.reshape(1, -1), axes=Axes(map_shape=(4, 6))), "bin:size=2,side=pixels")
    assert pixels.axes.map_shape == (2, 3) and pixels.data.tolist() == small.data.T.tolist()
    with pytest.raises(InvalidInput, match="neither"):
        prepared(DATA, "crop-picture")


def test_numbers():
    np.testing.assert_allclose(prepared(DATA, "normalise:norm=sum").data.sum(axis=0), 1)
    np.testing.assert_allclose(prepared(DATA, "log1p").data, np.log1p(A))
    assert (prepared(DATA, "subtract-minimum:of=samples").data.min(axis=0) == 0).all()
    assert (prepared(DATA, "subtract-minimum:of=rows").data.min(axis=1) == 0).all()
    from sklearn.feature_extraction.text import TfidfTransformer

    expected = TfidfTransformer(norm=None).fit_transform(A.T).toarray().T
    np.testing.assert_allclose(prepared(DATA, "tfidf").data, expected)
    gaps = Dataset(np.array([[1.0, np.nan], [3, 5]]))
    np.testing.assert_array_equal(prepared(gaps, "bin").data, [[2, 5]])
    np.testing.assert_array_equal(prepared(gaps, "subtract-minimum").data, [[0, np.nan], [2, 4]])


@pytest.mark.parametrize("word", ["cut", "crop:first=x", "bin:size=1", "log1p:base=2", "crop:side=left"])
def test_wrong_words_are_rejected_when_they_are_said(word):
    with pytest.raises(InvalidInput):
        FileSource(path="a.csv", prepare=word)


@pytest.mark.parametrize("word", ["log1p", "tfidf"])
def test_steps_that_the_data_does_not_allow(word):
    with pytest.raises(InvalidInput, match="prepare"):
        prepared(Dataset(-A - 1), word)
    assert spelled("  bin:size=3   log1p ") == "bin:size=3 log1p"


def test_an_upload_stays_raw_and_the_model_tells_how_it_is_prepared(tmp_path, monkeypatch, no_reserve):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    raw = add_upload(DATA, tmp_path)
    source = DATASETS.build({**raw.to_dict(), "file": "a.csv", "prepare": "log1p"})
    np.testing.assert_allclose(source.load().data, np.log1p(A))
    np.testing.assert_array_equal(raw.load().data, A)
    assert of(Upload, public_source(source)).prepare == "log1p" and raw.id not in str(public_source(source).to_dict())
    service = Service(tmp_path, max_running=1)
    try:  # made in the limited child, and mapped from where it left it
        np.testing.assert_allclose(service.datasets.dataset(source).data, np.log1p(A))
        assert service.datasets.dataset(source).axes == DATA.axes
    finally:
        service.close()


def test_one_line_from_file_to_named_result_and_again_from_the_model(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{400 + i},{np.sin(i) + 2:.4f},{np.cos(i) + 2:.4f},{np.cos(2 * i) + 2:.4f}" for i in range(12)]
    (tmp_path / "a.csv").write_text("wavelength (nm),x,y,z\n" + "\n".join(lines))
    words = ["run", "--data", "a.csv", "--rank", "2", "--x", "nonnegative", "--y", "nonnegative", "--max-iter", "5"]
    assert main([*words, "--prepare", "crop:last=408 log1p", "--out", "tables", "--save", "a.semf"]) == 0
    said = capsys.readouterr().err
    assert "an axis in the first column: the samples are the columns" in said
    U = (tmp_path / "tables" / "U.csv").read_text().splitlines()
    assert U[0] == "wavelength (nm),component 1,component 2" and len(U) == 10 and U[-1].startswith("408.0,")
    assert main(["verify", "a.semf", "--data", "a.csv"]) == 0
    assert "Reproduced bit for bit" in capsys.readouterr().out
    assert main(["run", "--spec", "tables/model.json", "--data", "a.csv", "--out", "b.npz"]) == 0
    with np.load("b.npz") as stored:
        np.testing.assert_allclose(stored["U"][:, 0], [float(line.split(",")[1]) for line in U[1:]])
        assert stored["row_axis"][-1] == 408 and list(stored["column_names"]) == ["x", "y", "z"]
    assert main([*words, "--out", "a.parquet.zip"]) == 0
    with zipfile.ZipFile("a.parquet.zip") as archive:
        assert load_bytes("U.parquet", archive.read("U.parquet")).axes.rows.heading == "wavelength (nm)"
    assert main([*words, "--out", "a.doc"]) == 2 and "must end in" in capsys.readouterr().err
