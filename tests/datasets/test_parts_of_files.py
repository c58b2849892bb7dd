"""Samples in files of their own, sparse matrices of scipy, classes of AnnData, recordings that were cut off."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from PIL import Image
from scipy import sparse
from scipy.io import savemat, wavfile

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Reading, load_bytes, load_files, load_path
from semf_core.datasets.loaders import find_files
from tests.helpers import present

SHIFTS = 200 + 2.5 * np.arange(12)
LEVELS = np.random.default_rng(0).random((12, 3)).round(4)
COUNTS = sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(1), format="csr")


def spectrum(levels: np.ndarray, shifts: np.ndarray = SHIFTS) -> bytes:
    return "".join(f"{s}\t{v}\n" for s, v in zip(shifts, levels, strict=True)).encode()


SPECTRA = [(f"probe {j}.txt", spectrum(LEVELS[:, k])) for k, j in enumerate((1, 2, 10))]


def zipped(files: list[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files:
            archive.writestr(name, content)
    return stream.getvalue()


class TestOneFileForEachSample:
    def test_chosen_together_in_a_zip_or_in_a_folder(self, tmp_path: Path):
        for name, content in SPECTRA:
            (tmp_path / name).write_bytes(content)
        ways = [load_files(SPECTRA[::-1]), load_bytes("a.zip", zipped(SPECTRA)), load_path(tmp_path)]
        for data in ways:
            assert data.axes.columns.names == ("probe 1", "probe 2", "probe 10") and data.axes.rows.values is not None
            np.testing.assert_array_equal(data.axes.rows.values, SHIFTS)
            np.testing.assert_array_equal(data.data, LEVELS)

    def test_counts_of_genes_and_several_columns(self):
        files = [(f"{s}.tsv", "".join(f"G{i}\t{i}\n" for i in range(4)).encode()) for s in "ab"]
        assert load_files(files).axes.rows.names == ("G0", "G1", "G2", "G3")
        wide = [(f"{s}.csv", b"gene,x,y\n" + b"".join(b"G%d,1,2\n" % i for i in range(4))) for s in "ab"]
        assert load_files(wide).axes.columns.names == ("a: x", "a: y", "b: x", "b: y")

    def test_other_axes_are_rejected_together_and_a_choice_in_a_zip(self):
        files = [SPECTRA[0], ("other.txt", spectrum(LEVELS[:, 1], SHIFTS + 1))]
        with pytest.raises(InvalidInput, match=r"probe 1.txt and other.txt differ in it|other.txt and probe 1.txt differ"):
            load_files(files)
        with pytest.raises(InvalidInput, match="several tables; name one of"):
            load_bytes("a.zip", zipped(files))
        assert load_bytes("a.zip", zipped(SPECTRA), Reading(member="probe 2.txt")).shape == (12, 1)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices_of_scipy_stay_sparse(form):
    file = io.BytesIO()
    sparse.save_npz(file, COUNTS.asformat(form))
    data = load_bytes("a.npz", file.getvalue())
    assert sparse.issparse(data.data)
    np.testing.assert_array_equal(data.data.toarray(), COUNTS.toarray())


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": np.array(b"dia")},
        {"indices": np.full(COUNTS.nnz, 99)},
        {"indptr": np.arange(3)},
        {"shape": np.array([6, -4])},
        {"shape": np.array([2.5, 3])},
        {"data": np.array(["x"] * COUNTS.nnz)},
    ],
)
def test_damaged_sparse_matrices_are_refused(wrong):
    good = {"indices": COUNTS.indices, "indptr": COUNTS.indptr, "format": np.array(b"csr"), "shape": np.array([6, 4])}
    file = io.BytesIO()
    np.savez(file, **(good | {"data": COUNTS.data} | wrong))
    with pytest.raises(InvalidInput, match=r"sparse|index|not numbers"):
        load_bytes("a.npz", file.getvalue())


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 2, 3, 0), (0, 3, 1, 2)])
def test_stacks_of_colour_pictures(order):
    pictures = np.random.default_rng(0).integers(0, 255, (7, 4, 5, 3), dtype=np.uint8)
    one = find_files([("a.npz", saved(np.savez, images=pictures.transpose(order), label=np.arange(7) % 2))])
    assert one.dataset.image_shape == (12, 5) and one.dataset.shape == (60, 7) and one.dataset.labels is not None
    np.testing.assert_array_equal(one.dataset.data[:20, 2].reshape(4, 5), pictures[2, :, :, 0])
    np.testing.assert_array_equal(one.dataset.data[40:, 6].reshape(4, 5), pictures[6, :, :, 2])
    with pytest.raises(InvalidInput, match="4-dimensional"):
        load_bytes("a.npy", saved(np.save, np.ones((7, 5, 6, 8))))


def saved(save: Callable[..., None], *things: np.ndarray, **more: np.ndarray) -> bytes:
    file = io.BytesIO()
    save(file, *things, **more)
    return file.getvalue()


def test_stacks_of_colour_pictures_in_mat_and_npy_files(tmp_path: Path):
    pictures = np.random.default_rng(0).integers(0, 255, (4, 5, 3, 7), dtype=np.uint8)
    np.save(tmp_path / "a.npy", pictures)
    mapped, mat = load_path(tmp_path / "a.npy"), load_bytes("a.mat", saved(savemat, {"X": pictures}))  # type: ignore[arg-type]
    assert mapped.image_shape == mat.image_shape == (12, 5)
    np.testing.assert_array_equal(mapped.data, mat.data)


def test_names_that_are_objects_are_said_and_not_opened():
    file = io.BytesIO()
    np.savez(file, X=np.eye(3, 2), words=np.array(["a", "b", "c"], dtype=object))
    one = find_files([("a.npz", file.getvalue())])
    assert "words; save names with .astype(str)" in one.remarks[0] and one.dataset.axes.rows.names is None


@pytest.mark.parametrize("cut", [1, 2, 3, 1001])
def test_a_recording_that_was_cut_off_anywhere_is_read_as_far_as_it_goes(cut):
    file = io.BytesIO()
    wavfile.write(file, 8000, (1000 * np.sin(np.arange(8000)[:, None] * [0.1, 0.2])).astype(np.int16))
    one = find_files([("a.wav", file.getvalue()[:-cut])])
    assert "cut off" in one.remarks[0] and one.dataset.axes.rows.title == "frequency"
    piped = bytearray(file.getvalue())
    piped[4:8] = piped[40:44] = b"\xff" * 4  # the length was not known when the head was written
    assert find_files([("a.wav", bytes(piped))]).remarks == ()


class TestClassesOfObservations:
    def h5ad(self, columns: dict[str, list[int]]) -> bytes:
        stream = io.BytesIO()
        with h5py.File(stream, "w") as file:
            file["X"] = np.ones((4, 3))
            for title, codes in columns.items():
                group = file.create_group(f"obs/{title}")
                group.attrs["encoding-type"] = "categorical"
                group["categories"] = np.array(["T cell", "B cell"], dtype=object)
                group["codes"] = np.array(codes, np.int8)
        return stream.getvalue()

    def test_the_telling_column_labels_the_samples(self):
        one = find_files([("a.h5ad", self.h5ad({"batch": [0, 0, 0, 1], "cell_type": [0, 1, -1, 1]}))])
        assert one.dataset.labels is not None and list(one.dataset.labels) == ["T cell", "B cell", "", "B cell"]
        assert "cell_type" in one.remarks[0]

    def test_the_only_column_does_and_of_several_none(self):
        assert load_bytes("a.h5ad", self.h5ad({"batch": [0, 0, 0, 1]})).labels is not None
        assert load_bytes("a.h5ad", self.h5ad({"batch": [0, 0, 0, 1], "donor": [0, 1, 0, 1]})).labels is None

    def test_wrong_codes_are_no_labels(self):
        assert load_bytes("a.h5ad", self.h5ad({"batch": [0, 0, 9, 1]})).labels is None
        assert load_bytes("a.h5ad", self.h5ad({"batch": [0, 1]})).labels is None


def test_a_note_beside_many_pictures_is_no_table():
    picture = io.BytesIO()
    Image.fromarray(np.zeros((2, 3), np.uint8)).save(picture, "PNG")
    files = [(f"faces/s{k}/{j}.png", picture.getvalue()) for k in range(2) for j in range(3)]
    for member in (None, ""):
        data = load_bytes("a.zip", zipped([*files, ("faces/README.txt", b"From the archive.")]), Reading(member=member))
        assert data.shape == (6, 6) and present(data.labels).tolist() == ["s0"] * 3 + ["s1"] * 3
    assert load_bytes(
        "a.zip", zipped([*files[:1], ("a.csv", b"1,2\n3,4\n"), ("logo.txt", b"1")]), Reading(member="a.csv")
    ).shape == (2, 2)
