"""Small files of every further format, made on the spot: honest ones are read with their names, hostile ones rejected."""

from __future__ import annotations

import builtins
import gzip
import io
import zipfile

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.io
import tifffile
from PIL import Image
from pyarrow import parquet as pq
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Limits, Reading, load_bytes, load_files, load_path
from semf_core.datasets.loaders import find_files
from tests.helpers import present

RNG = np.random.default_rng(0)
SMALL = Limits(max_bytes=4 << 20, max_entries=100_000, max_members=50)
S = sparse.random_array((6, 4), density=0.5, rng=RNG, format="csc")
GENES, CELLS = tuple(f"G{i}" for i in range(6)), tuple(f"c{j}" for j in range(4))


def saved(save, *things, **more) -> bytes:
    stream = io.BytesIO()
    save(stream, *things, **more)
    return stream.getvalue()


def rejected(word: str, name: str, content: bytes, reading: Reading | None = None) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_bytes(name, content, reading or Reading(), SMALL)
    assert word in str(caught.value) and "\n" not in str(caught.value), str(caught.value)


# -- HDF5 --------------------------------------------------------------------------------------


def h5(fill) -> bytes:
    stream = io.BytesIO()
    with h5py.File(stream, "w") as file:
        fill(file)
    return stream.getvalue()


def h5ad(X=None, dense=False, **wrong) -> bytes:
    """As anndata writes it: cells are the rows."""

    def fill(file):
        A = sparse.csr_array(S.T) if X is None else X
        if dense:
            file["X"] = A.toarray()
        else:
            group = file.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": np.array(wrong.get("shape", A.shape))})
            for piece in ("data", "indices", "indptr"):
                group[piece] = wrong.get(piece, getattr(A, piece))
        for side, names in (("obs", CELLS), ("var", GENES)):
            group = file.create_group(side)
            group.attrs["_index"] = "_index"
            group.create_dataset("_index", data=list(names), dtype=h5py.string_dtype())
        file["layers/twice"] = 2 * A.toarray()

    return h5(fill)


class TestAnnData:
    @pytest.mark.parametrize("dense", [False, True])
    def test_names_and_sparsity(self, dense):
        loaded = load_bytes("a.h5ad", h5ad(dense=dense))
        assert sparse.issparse(loaded.data) is not dense
        np.testing.assert_array_equal(loaded.data if dense else loaded.data.toarray(), S.toarray())
        assert loaded.axes.rows.names == GENES and loaded.axes.columns.names == CELLS

    def test_members_are_listed_with_their_shapes(self):
        one = find_files([("a.h5ad", h5ad())], Reading(member="layers/twice"))
        assert one.members == {"X": (4, 6), "layers/twice": (4, 6)}
        np.testing.assert_array_equal(one.dataset.data, 2 * S.toarray())
        with pytest.raises(InvalidInput, match="no member other"):
            load_bytes("a.h5ad", h5ad(), Reading(member="other"))

    def test_all_genes_of_raw_have_their_names_and_an_index_that_is_an_axis_its_places(self):
        def fill(file):
            file["X"], file["raw/X"] = np.ones((4, 3)), np.ones((4, 5))
            for side, title, names in (("var", "wavelength", ["400", "410.5", "433"]), ("raw/var", "gene", "abcde")):
                group = file.create_group(side)
                group.attrs["_index"] = title
                group.create_dataset(title, data=list(names), dtype=h5py.string_dtype())

        content = h5(fill)
        assert load_bytes("a.h5ad", content, Reading(member="raw/X")).axes.rows.names == tuple("abcde")
        rows = load_bytes("a.h5ad", content).axes.rows
        assert rows.title == "wavelength" and rows.names is None and present(rows.values).tolist() == [400, 410.5, 433]

    def test_hostile(self):
        rejected("valid sparse", "a.h5ad", h5ad(indptr=np.array([0, 5])))
        rejected("valid sparse", "a.h5ad", h5ad(indices=np.full(S.nnz, 99)))
        rejected("whole numbers", "a.h5ad", h5ad(indices=np.full(S.nnz, 0.5)))
        rejected("no matrix", "a.h5ad", h5(lambda file: None))
        rejected("entries", "a.h5ad", h5(lambda file: file.create_dataset("X", (10**6, 10**6), "f8", chunks=(100, 100))))
        rejected("does not hold AnnData", "a.h5ad", b"1,2\n")
        good = h5ad()
        rejected("HDF5", "a.h5ad", good[: len(good) // 2])

    def test_damaged_in_any_place_is_read_or_refused(self):
        good = h5ad()
        for _ in range(60):
            content = bytearray(good)
            for place in RNG.integers(len(content), size=3):
                content[place] = RNG.integers(256)
            try:
                load_bytes("a.h5ad", bytes(content), Reading(), SMALL)
            except InvalidInput as refusal:
                assert "\n" not in str(refusal)


class TestMat73:
    @staticmethod
    def content(**arrays) -> bytes:
        def fill(file):
            for name, value in arrays.items():
                file.create_dataset(name, data=np.asarray(value).T)

        return h5(fill)

    def test_sides_are_in_reverse_order(self):
        A = np.arange(6.0).reshape(2, 3)
        np.testing.assert_array_equal(load_bytes("a.mat", self.content(A=A)).data, A)

    def test_a_cube_with_its_wavelengths(self):
        cube, axis = RNG.random((4, 5, 7)), np.linspace(400, 900, 7)
        loaded = load_bytes("a.mat", self.content(cube=cube, wavelength=axis[:, None]))
        assert loaded.shape == (7, 20) and loaded.axes.map_shape == (4, 5)
        np.testing.assert_array_equal(loaded.axes.rows.values, axis)
        np.testing.assert_array_equal(loaded.data[:, 6], cube[1, 1])

    def test_sparse_and_letters(self):
        def fill(file):
            group = file.create_group("S")
            group.attrs["MATLAB_sparse"] = 6
            group["data"], group["ir"], group["jc"] = S.data, S.indices, S.indptr
            names = file.create_dataset("row_names", data=np.array([[ord(c) for c in name] for name in GENES], np.uint16).T)
            names.attrs["MATLAB_class"] = np.bytes_("char")

        loaded = load_bytes("a.mat", h5(fill))
        np.testing.assert_array_equal(loaded.data.toarray(), S.toarray())
        assert loaded.axes.rows.names == GENES


# -- stacks ------------------------------------------------------------------------------------


class TestStacks:
    def test_pictures_and_bands_are_told_apart_and_can_be_said(self):
        pictures, bands = RNG.random((9, 4, 5)), RNG.random((4, 5, 9))
        one = find_files([("a.npy", saved(np.save, pictures))])
        assert one.reading.stack == "pictures-first" and one.dataset.image_shape == (4, 5) and one.dataset.shape == (20, 9)
        two = find_files([("a.npz", saved(np.savez, cube=bands))])
        assert two.reading.stack == "bands-last" and two.dataset.axes.map_shape == (4, 5) and two.dataset.shape == (9, 20)
        turned = load_bytes("a.npy", saved(np.save, bands), Reading(stack="pictures-last"))
        assert turned.image_shape == (4, 5) and turned.shape == (20, 9)
        np.testing.assert_array_equal(turned.data, two.dataset.data.T)

    def test_mat_and_names_in_it(self):
        content = saved(scipy.io.savemat, {"M": RNG.random((3, 2)), "row_names": np.array(["a", "ö", "long name"])})
        assert load_bytes("a.mat", content).axes.rows.names == ("a", "ö", "long name")
        cube = saved(scipy.io.savemat, {"cube": RNG.random((5, 5, 5))})
        assert load_bytes("a.mat", cube).axes.map_shape == (5, 5)

    def test_a_picture_that_fits_the_columns_is_the_map(self):
        content = saved(np.savez, data=RNG.random((3, 20)), image_shape=np.array([4, 5]), wavelength=np.array([1.0, 2, 4]))
        loaded = load_bytes("a.npz", content)
        assert loaded.axes.map_shape == (4, 5) and loaded.axes.rows.title == "wavelength" and not loaded.note

    def test_tiff(self):
        pages = RNG.integers(0, 60000, (3, 6, 5), np.uint16)
        loaded = load_bytes("a.tif", saved(tifffile.imwrite, pages, photometric="minisblack"))
        assert loaded.image_shape == (6, 5)
        np.testing.assert_array_equal(loaded.data, pages.reshape(3, 30).T)
        rejected("entries", "a.tif", saved(tifffile.imwrite, np.zeros((30, 80, 80), np.uint8), compression="zlib"))
        bands = saved(tifffile.imwrite, RNG.random((6, 5, 9)).astype(np.float32), photometric="minisblack", planarconfig="contig")
        assert load_bytes("a.tif", bands).axes.map_shape == (6, 5)

    def test_pixels_of_the_usual_hyperspectral_files_make_their_picture(self):
        content = saved(scipy.io.savemat, {"Y": RNG.random((5, 12)), "nRow": 3, "nCol": 4, "nBand": 5})
        one = find_files([("a.mat", content)])
        assert one.dataset.axes.map_shape == (4, 3) and "3 × 4 pixels" in one.remarks[0] and not one.dataset.note
        other = saved(scipy.io.savemat, {"Y": RNG.random((5, 12)), "nRow": 3, "nCol": 5})
        assert load_bytes("a.mat", other).axes.map_shape is None

    def test_the_axes_of_a_tiff_file_say_what_its_pages_are(self):
        pages = RNG.integers(0, 9, (8, 7, 30), np.uint16)  # the first two sides are the most alike
        for more in (
            {"imagej": True, "metadata": {"axes": "TYX"}},
            {"bigtiff": True},
            {"ome": True, "metadata": {"axes": "ZYX"}},
        ):
            loaded = load_bytes("a.tif", saved(tifffile.imwrite, pages, photometric="minisblack", **more))
            assert loaded.image_shape == (7, 30) and loaded.shape == (210, 8)
        channels = saved(tifffile.imwrite, pages, imagej=True, metadata={"axes": "CYX"})
        assert load_bytes("a.tif", channels).axes.map_shape == (7, 30)
        colours = saved(tifffile.imwrite, np.zeros((5, 7, 30, 3), np.uint8), photometric="rgb")
        assert load_bytes("a.tif", colours).image_shape == (21, 30)

    def test_colour_as_channels(self):
        A = RNG.integers(0, 256, (3, 4, 3), np.uint8)
        content = saved(Image.fromarray(A).save, "PNG")
        one = load_bytes("a.png", content, Reading(colour="channels"))
        assert one.axes.rows.names == ("red", "green", "blue") and one.axes.map_shape == (3, 4)
        np.testing.assert_array_equal(one.data, A.reshape(12, 3).T)
        two = load_files([("a.png", content), ("b.png", content)], Reading(colour="channels"))
        assert two.shape == (36, 2) and two.image_shape == (9, 4) and two.axes.columns.names == ("a.png", "b.png")

    def test_colours_are_kept_where_there_are_any_and_room(self):
        plain = RNG.integers(0, 256, (3, 4), np.uint8)
        grey = saved(Image.fromarray(np.stack([plain] * 3, -1)).save, "PNG")  # as many programs store it
        colour = saved(Image.fromarray(RNG.integers(0, 256, (3, 4, 3), np.uint8)).save, "PNG")
        auto = Reading(colour="auto")
        for contents, kept, shape in (
            ([grey], "grey", (3, 4)),
            ([colour], "channels", (3, 12)),
            ([grey, grey], "grey", (12, 2)),
            ([grey, colour], "channels", (36, 2)),
        ):
            files = [(f"{k}.png", content) for k, content in enumerate(contents)]
            found = find_files(files, auto)
            assert (found.reading.colour, found.dataset.shape) == (kept, shape)
            assert any("choose grey" in remark for remark in found.remarks) == (kept == "channels")
            np.testing.assert_array_equal(load_files(files, found.reading).data, found.dataset.data)
            assert find_files(files, auto, Limits(max_entries=24)).reading.colour == "grey"


# -- Matrix Market, Parquet, WAV ---------------------------------------------------------------


MTX = saved(scipy.io.mmwrite, sparse.coo_array(S))
LISTS = {"features.tsv": "\n".join(f"ENS{i}\t{g}\tGene" for i, g in enumerate(GENES)), "barcodes.tsv": "\n".join(CELLS)}


class TestMatrixMarket:
    def test_10x_as_files_zip_and_folder(self, tmp_path):
        files = [("matrix.mtx.gz", gzip.compress(MTX)), *((f"{n}.gz", gzip.compress(t.encode())) for n, t in LISTS.items())]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in files:
                archive.writestr(f"filtered/{name}", content)
                (tmp_path / name).write_bytes(content)
        for loaded in (load_files(files), load_bytes("a.zip", packed.getvalue()), load_path(tmp_path)):
            np.testing.assert_allclose(loaded.data.toarray(), S.toarray())
            assert loaded.axes.rows.names == GENES and loaded.axes.columns.names == CELLS
        assert load_files(files).title == "matrix"
        assert load_files([(f"GSM1_{name}", content) for name, content in files]).title == "GSM1"

    def test_hostile(self):
        head = b"%%MatrixMarket matrix coordinate real general\n"
        rejected("cut off", "a.mtx", head + b"5 5 99999999\n1 1 2\n")
        rejected("no matrix here", "a.mtx", head + b"99999999999 5 1\n1 1 2\n")
        rejected("damaged", "a.mtx", head + b"5 5 2\n1 1 2\n9 9 1\n")
        rejected("readable", "a.mtx", b"%%MatrixMarket nonsense\n")
        rejected("damaged", "a.mtx", head + b"2 2 1\n1 2 3\0 4\n")  # it crashed
        assert load_bytes("a.mtx", head + b"2 2 1\n1 2 3 4").data[0, 1] == 3, "more in a last line without an end: it crashed"
        rejected("gzip", "a.mtx.gz", MTX)
        rejected("unpacks", "a.csv.gz", gzip.compress(b"0\n" * (4 << 20)))
        rejected("cut off", "a.mtx.gz", gzip.compress(MTX)[:-9])
        with pytest.raises(InvalidInput, match="has 2 names"):
            load_files([("a.mtx", MTX), ("genes.tsv", b"a\nb\n")])


class TestParquet:
    TABLE = pa.table({"gene": pa.array(["a", "b", "c"]), "x": pa.array([1.5, None, 3]), "n": pa.array([1, 2, 3], pa.int16())})

    def test_columns_of_one_name_are_both_there(self):
        made = pa.Table.from_arrays([pa.array(["p", "q"]), pa.array([1.0, 2]), pa.array([3.0, 4])], ["name", "peak", "peak"])
        loaded = load_bytes("a.parquet", saved(lambda f: pq.write_table(made, f)))
        assert loaded.axes.columns.names == ("peak", "peak") and loaded.axes.rows.names == ("p", "q")
        np.testing.assert_array_equal(loaded.data, [[1, 3], [2, 4]])

    def test_days_have_no_time(self):
        days = pa.array(np.arange("2023-01-01", "2023-01-10", dtype="datetime64[D]").astype("datetime64[us]"))
        made = pa.table({"when": days, "x": pa.array(np.arange(9.0) % 4), "y": pa.array(np.arange(9.0) % 2)})
        rows = load_bytes("a.parquet", saved(lambda f: pq.write_table(made, f))).axes.rows
        assert rows.calendar and present(rows.names)[0] == "2023-01-01"

    def test_words_name_the_rows_and_nothing_is_missing(self):
        loaded = load_bytes("a.parquet", saved(lambda f: pq.write_table(self.TABLE, f)))
        np.testing.assert_array_equal(loaded.data, [[1.5, 1], [np.nan, 2], [3, 3]])
        assert loaded.axes.rows.names == ("a", "b", "c") and loaded.axes.columns.names == ("x", "n")

    def test_the_index_of_pandas_is_no_data(self):
        M = RNG.random((12, 3))

        def read(index):
            frame = pd.DataFrame(M, index=index, columns=["a", "b", "c"])
            one = find_files([("a.parquet", saved(lambda out: frame.to_parquet(out)))], Reading(orientation="auto"))
            again = find_files([("a.parquet", saved(lambda out: frame.to_parquet(out)))], one.reading)
            assert again.dataset.axes == one.dataset.axes and again.reading == one.reading
            np.testing.assert_array_equal(one.dataset.data if one.reading.orientation == "columns" else one.dataset.data.T, M)
            return one.dataset.axes.rows if one.reading.orientation == "columns" else one.dataset.axes.columns

        places = read(pd.Index(400 + 2.5 * np.arange(12), name="shift (cm-1)"))
        assert places.unit == "cm-1" and present(places.values)[1] == 402.5
        assert read(range(0, 24, 2)).names is None and read(list(range(7, 31, 2))).names[1] == "9"
        assert read([f"G{i}" for i in range(12)]).names[1] == "G1"
        levels = read(pd.MultiIndex.from_product([["x", "y"], range(6)], names=["site", "day"]))
        assert levels.title == "site, day" and levels.names[6] == "(y, 0)"

    def test_hostile(self):
        good = saved(lambda f: pq.write_table(self.TABLE, f))
        rejected("Parquet", "a.parquet", good[:-20] + b"PAR1")
        rejected("no column of numbers", "a.parquet", saved(lambda f: pq.write_table(self.TABLE.select(["gene"]), f)))
        big = pa.table({f"c{k}": pa.array(np.zeros(20_000)) for k in range(6)})
        rejected("entries", "a.parquet", saved(lambda f: pq.write_table(big, f)))
        for _ in range(40):
            content = bytearray(good)
            content[RNG.integers(4, len(content) - 4)] = RNG.integers(256)
            try:
                load_bytes("a.parquet", bytes(content), Reading(), SMALL)
            except InvalidInput as refusal:
                assert "\n" not in str(refusal)


class TestWav:
    @pytest.mark.parametrize("dtype", [np.int16, np.uint8, np.float32])
    def test_a_tone_is_at_its_frequency(self, dtype):
        rate, t = 8000, np.arange(8000) / 8000
        tone = np.sin(2 * np.pi * 1000 * t)
        scaled = {np.int16: tone * 30000, np.uint8: tone * 120 + 128, np.float32: tone}[dtype].astype(dtype)
        loaded = load_bytes("a.wav", saved(scipy.io.wavfile.write, rate, np.stack([scaled, scaled], axis=1)))
        rows, columns = loaded.axes.rows, loaded.axes.columns
        assert rows.heading == "frequency (Hz)" and columns.heading == "time (s)"
        strongest = present(rows.values)[loaded.data.sum(axis=1).argmax()]
        assert abs(strongest - 1000) < 20 and 0 < present(columns.values)[-1] < 1.05 and (loaded.data >= 0).all()

    def test_hostile(self):
        good = saved(scipy.io.wavfile.write, 8000, np.zeros(4000, np.int16))
        rejected("readable WAV", "a.wav", good[:30])
        rejected("shorter", "a.wav", saved(scipy.io.wavfile.write, 8000, np.zeros(4, np.int16)))
        rejected("entries", "a.wav", saved(scipy.io.wavfile.write, 8000, np.zeros(400_000, np.int16)))


@pytest.mark.parametrize(("name", "module"), [("a.h5ad", "h5py"), ("a.parquet", "pyarrow")])
def test_a_missing_library_is_named_with_its_extra(monkeypatch, name, module):
    content = {"a.h5ad": h5ad(), "a.parquet": saved(lambda f: pq.write_table(TestParquet.TABLE, f))}[name]
    ordinary = builtins.__import__

    def without(wanted, *rest):
        if wanted.partition(".")[0] == module:
            raise ModuleNotFoundError(name=module)
        return ordinary(wanted, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidInput, match=r"semf-studio\[formats\]"):
        load_bytes(name, content)
