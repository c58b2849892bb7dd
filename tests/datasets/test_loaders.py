"""Honest files of every kind."""

# mypy: disable-error-code="union-attr, arg-type, operator, index"
# A dataset's truth is optional; a test knows where it is there.

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from PIL import Image
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Limits, Reading, load_bytes, load_files, load_path
from semf_core.datasets.loaders import KINDS

M = np.random.default_rng(0).standard_normal((6, 4))
ORIGINALS = Path(__file__).parents[3] / "shared" / "data"


def csv(A: np.ndarray, delimiter: str = ",") -> bytes:
    return "\n".join(delimiter.join(map(repr, row)) for row in A.tolist()).encode()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def mat(compress: bool = True, **variables: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=compress)
    return stream.getvalue()


def picture(A: np.ndarray, kind: str = "PNG", mode: str | None = None) -> bytes:
    stream = io.BytesIO()
    image = Image.fromarray(A)
    (image.convert(mode) if mode else image).save(stream, kind)
    return stream.getvalue()


def archive(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        for name, content in members.items():
            z.writestr(name, content)
    return stream.getvalue()


class TestTables:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", " ", ", ", "  "])
    @pytest.mark.parametrize("header", [b"", b"# made by hand\n\n", b"\xef\xbb\xbf"])
    def test_delimiters_comments_and_byte_order_mark(self, delimiter, header):
        np.testing.assert_array_equal(load_bytes("a.csv", header + csv(M, delimiter)).data, M)

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends_and_trailing_blank_lines(self, end):
        np.testing.assert_array_equal(load_bytes("a.tsv", (csv(M, "\t").decode().replace("\n", end) + end * 3).encode()).data, M)

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "latin-1"])
    def test_header_in_any_encoding(self, encoding):
        text = "größe,b,c,d\n" + csv(M).decode()
        np.testing.assert_array_equal(load_bytes("a.csv", text.encode(encoding)).data, M)

    def test_header_with_numbers_and_quotes(self):
        text = b'"x, first",2020,2021,2022\n' + csv(M)
        np.testing.assert_array_equal(load_bytes("a.csv", text).data, M)
        np.testing.assert_array_equal(load_bytes("a.csv", b'"1","2"\n"3","4"').data, [[1, 2], [3, 4]])

    def test_decimal_comma_between_semicolons(self):
        np.testing.assert_array_equal(load_bytes("a.csv", b"a;b\n1,5;-2,25\n3;4e2\n").data, [[1.5, -2.25], [3, 400]])

    def test_missing_cells(self):
        text = b"1,,3\n\nNA,5, n/a \n,null,9\n,,\n"
        expected = [[1, np.nan, 3], [np.nan, 5, np.nan], [np.nan, np.nan, 9], [np.nan] * 3]
        loaded = load_bytes("a.csv", text)
        np.testing.assert_array_equal(loaded.data, expected)
        assert loaded.missing == 8
        np.testing.assert_array_equal(load_bytes("a.txt", b"1 NA\nnan 4\n").data, [[1, np.nan], [np.nan, 4]])
        np.testing.assert_array_equal(load_bytes("a.tsv", b"1\t\t3\n\t5\t\n").data, [[1, np.nan, 3], [np.nan, 5, np.nan]])

    def test_single_row_and_single_column(self):
        assert load_bytes("a.csv", b"1,2,3").shape == (1, 3)
        assert load_bytes("a.csv", b"name\n1\n2\n3\n").shape == (3, 1)

    @settings(max_examples=60, deadline=None)
    @given(
        A=arrays(float, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(allow_infinity=False)),
        delimiter=st.sampled_from([",", ";", "\t", " "]),
        header=st.booleans(),
        last=st.sampled_from(["", "\n", "\r\n\n"]),
    )
    def test_round_trip(self, A, delimiter, header, last):
        if np.isnan(A).all():
            A = np.where(np.isnan(A), 0.5, A)
        head = delimiter.join(f"c{j}" for j in range(A.shape[1])) + "\n" if header else ""
        content = head.encode() + csv(A, delimiter) + last.encode()
        np.testing.assert_array_equal(load_bytes("a.csv", content, Reading(missing="none")).data, A)

    @settings(max_examples=150, deadline=None)
    @given(content=st.binary(max_size=60), ending=st.sampled_from([*KINDS, ".exe"]))
    def test_anything_else_is_read_or_rejected_in_words(self, content, ending):
        try:
            load_bytes(f"a{ending}", content)
        except InvalidInput as refusal:
            assert "\n" not in str(refusal)


class TestArrays:
    @pytest.mark.parametrize("dtype", ["f4", "f8", ">f8", "i2", "u1", "?"])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_npy_by_path_and_by_bytes(self, tmp_path, dtype, order):
        A = np.asarray(np.round(M * 3) % 2, dtype=dtype, order=order)
        np.save(tmp_path / "a.npy", A)
        by_path, by_bytes = load_path(tmp_path / "a.npy"), load_bytes("a.npy", (tmp_path / "a.npy").read_bytes())
        np.testing.assert_array_equal(by_path.data, A)
        assert by_path.fingerprint() == by_bytes.fingerprint()
        assert by_path.data.dtype == (np.float32 if dtype == "f4" else np.float64)

    def test_npy_is_mapped_not_read_and_has_no_limit_of_size(self, tmp_path):
        np.save(tmp_path / "a.npy", M)
        tiny = Limits(max_bytes=10, max_entries=5)
        loaded = load_path(tmp_path / "a.npy", limits=tiny)
        assert isinstance(loaded.data, np.memmap)
        assert isinstance(load_path(tmp_path / "a.npy", Reading(orientation="rows"), tiny).data, np.memmap)
        with pytest.raises(InvalidInput, match="entries"):  # a scaled copy would be in memory
            load_path(tmp_path / "a.npy", Reading(scaling="max"), tiny)

    def test_npz_picks_the_matrix(self):
        np.testing.assert_array_equal(load_bytes("a.npz", npz(only=M, name=np.array("x"))).data, M)
        np.testing.assert_array_equal(load_bytes("a.npz", npz(other=M + 1, data=M)).data, M)
        np.testing.assert_array_equal(load_bytes("a.npz", npz(M=M, A=M + 1)).data, M)
        np.testing.assert_array_equal(load_bytes("a.npz", npz(a=M, b=M + 1), Reading(member="b")).data, M + 1)
        with pytest.raises(InvalidInput, match="left, right"):
            load_bytes("a.npz", npz(left=M, right=M))
        with pytest.raises(InvalidInput, match="no member third"):
            load_bytes("a.npz", npz(left=M, right=M), Reading(member="third"))

    def test_npz_companions_are_kept_where_they_fit(self):
        parts, activations = np.ones((6, 2)), np.ones((2, 4))
        companions = {"image_shape": [3, 2], "parts": parts, "activations": activations, "groups": [7, 3], "labels": list("abcd")}
        full = load_bytes("a.npz", npz(data=M, **{k: np.array(v) for k, v in companions.items()}))
        assert full.image_shape == (3, 2) and full.groups == ((1,), (0,)) and list(full.labels) == list("abcd")
        np.testing.assert_array_equal(full.parts @ full.activations, parts @ activations)
        wrong = load_bytes("a.npz", npz(data=M, parts=parts[:5], labels=np.arange(3), image_shape=np.array([5, 5])))
        assert wrong.parts is None and wrong.labels is None and wrong.image_shape is None
        assert "image_shape, parts, labels" in wrong.note
        insane = {"image_shape": np.array([-3, -2]), "parts": np.full((6, 2), np.nan), "labels": 1j * M[0], "groups": M}
        assert load_bytes("a.npz", npz(data=M, **insane)).shape == (6, 4)

    @pytest.mark.skipif(not ORIGINALS.exists(), reason="the original files are not here")
    def test_the_original_files_open(self):
        swimmer = load_path(ORIGINALS / "swimmer.npz", Reading(member="binary"))
        assert swimmer.shape == (1024, 256) and swimmer.image_shape == (32, 32) and swimmer.part_count == 17
        assert len(load_path(ORIGINALS / "usps.npz").labels) == 9298


class TestMatlab:
    @pytest.mark.parametrize("compress", [True, False])
    def test_chooses_the_matrix_among_vectors(self, compress):
        content = mat(compress, fea=M, gnd=np.arange(4)[:, None], k=3, title="text", labels=np.arange(4))
        loaded = load_bytes("a.mat", content)
        np.testing.assert_array_equal(loaded.data, M)
        assert list(loaded.labels) == [0, 1, 2, 3]

    def test_structs_and_cells_beside_it_do_no_harm(self):
        content = mat(info={"a": 1}, cells=np.array([[1, "x"]], dtype=object), A=M)
        np.testing.assert_array_equal(load_bytes("a.mat", content).data, M)

    def test_integers_and_sparse(self):
        A = np.arange(6, dtype=np.uint8).reshape(2, 3)
        np.testing.assert_array_equal(load_bytes("a.mat", mat(A=A)).data, A)
        S = sparse.random_array((30, 20), density=0.1, rng=np.random.default_rng(0))
        loaded = load_bytes("a.mat", mat(S=sparse.csc_matrix(S)))
        assert sparse.issparse(loaded.data)
        np.testing.assert_array_equal(loaded.data.toarray(), S.toarray())


class TestPictures:
    A = np.arange(60, dtype=np.uint8).reshape(6, 10)

    @pytest.mark.parametrize(
        ("ending", "kind"), [("png", "PNG"), ("pgm", "PPM"), ("tif", "TIFF"), ("bmp", "BMP"), ("jpg", "JPEG"), ("PNG", "JPEG")]
    )
    def test_one_picture_is_a_matrix(self, ending, kind):
        loaded = load_bytes(f"a.{ending}", picture(self.A, kind))
        assert loaded.shape == (6, 10) and loaded.image_shape is None
        np.testing.assert_allclose(loaded.data, self.A, atol=4 if kind == "JPEG" else 0)

    def test_deep_grey_values_survive(self):
        deep = self.A.astype(np.uint16) * 1000
        np.testing.assert_array_equal(load_bytes("a.png", picture(deep)).data, deep)
        real = self.A.astype(np.float32) / 7
        np.testing.assert_array_equal(load_bytes("a.tif", picture(real, "TIFF")).data, real)

    @pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA", "P", "1"])
    def test_colour_becomes_grey(self, mode):
        black_and_white = np.where(self.A % 2, 255, 0).astype(np.uint8)
        np.testing.assert_array_equal(load_bytes("a.png", picture(black_and_white, mode=mode)).data, black_and_white)

    def test_several_pictures_are_columns_in_natural_order(self):
        files = [(f"face{k}.png", picture(self.A + k)) for k in (10, 2, 1)]
        expected = np.stack([(self.A + k).ravel() for k in (1, 2, 10)], axis=1)
        for loaded in (load_files(files), load_bytes("z.zip", archive(**dict(files)))):
            np.testing.assert_array_equal(loaded.data, expected)
            assert loaded.image_shape == (6, 10) and loaded.labels is None
        rows = load_files(files, Reading(orientation="rows"))  # pictures are samples whatever the table's orientation
        np.testing.assert_array_equal(rows.data, expected)

    @pytest.mark.parametrize(
        ("names", "title"),
        [
            (["face_01", "face_02", "face_10"], "face"),
            (["scan 1", "scan 12"], "scan"),
            (["liver healthy", "liver hepatitis"], "liver"),
            (["apple", "apricot"], "2 pictures"),
            (["run", "runner"], "2 pictures"),
            (["2024-01-01", "2024-01-02"], "2024-01"),
        ],
    )
    def test_several_files_are_titled_by_what_their_names_share(self, names, title):
        assert load_files([(f"{name}.png", picture(self.A)) for name in names]).title == title

    def test_folders_of_a_zip_or_a_directory_are_labels(self, tmp_path):
        members = {"s1/1.pgm": self.A, "s1/2.pgm": self.A + 1, "s2/1.pgm": self.A + 2}
        contents = {name: picture(A, "PPM") for name, A in members.items()}
        for name, content in contents.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        (tmp_path / "README.txt").write_text("not a picture")
        rubbish = {"README.txt": b"hello", "__MACOSX/s1/._1.pgm": b"x", "s1/.DS_Store": b"y"}
        for loaded in (load_path(tmp_path), load_bytes("orl.zip", archive(**contents, **rubbish))):
            assert list(loaded.labels) == ["s1", "s1", "s2"]
            np.testing.assert_array_equal(loaded.data[0], [0, 1, 2])

    def test_the_pages_of_a_tiff_are_pictures(self):
        stream = io.BytesIO()
        Image.fromarray(self.A).save(stream, "TIFF", save_all=True, append_images=[Image.fromarray(self.A + 1)])
        loaded = load_bytes("a.tif", stream.getvalue())
        assert loaded.shape == (60, 2) and loaded.image_shape == (6, 10)
        np.testing.assert_array_equal(loaded.data[:, 1], (self.A + 1).ravel())


class TestOrientationAndScaling:
    def test_rows_as_samples(self):
        np.testing.assert_array_equal(load_bytes("a.csv", csv(M), Reading(orientation="rows")).data, M.T)

    def test_a_quote_in_a_cell_of_any_length(self):
        for content, said in ((b"1" * 200_000 + b'"', "no numbers"), (b'x"\r,1\r"', "equally long")):
            with pytest.raises(InvalidInput, match=said):
                load_bytes("a.csv", content)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csc_matrix], ids=["dense", "sparse"])
    @pytest.mark.parametrize("orientation", ["columns", "rows"])
    def test_scalings(self, make, orientation):
        A = np.array([[3.0, 0, -6], [4, 0, 8]])
        content = mat(data=make(A if orientation == "columns" else A.T))
        how = [Reading(scaling=scaling, orientation=orientation) for scaling in ("unit", "max")]
        unit, largest = (load_bytes("a.mat", content, reading).data for reading in how)
        dense = [S.toarray() if sparse.issparse(S) else S for S in (unit, largest)]
        np.testing.assert_allclose(dense[0], [[0.6, 0, -0.6], [0.8, 0, 0.8]])
        np.testing.assert_allclose(dense[1], A / 8)

    def test_scaling_of_integers_does_not_overflow(self):
        stream = io.BytesIO()
        np.save(stream, np.array([[-128, 3], [0, 4]], np.int8))
        np.testing.assert_allclose(load_bytes("a.npy", stream.getvalue(), Reading(scaling="unit")).data, [[-1, 0.6], [0, 0.8]])

    def test_scaling_survives_extremes_and_missing_entries(self):
        text = b"3e300,nan,3e-300\n4e300,-5,4e-300\n"
        loaded = load_bytes("a.csv", text, Reading(scaling="unit"))
        np.testing.assert_allclose(loaded.data, [[0.6, np.nan, 0.6], [0.8, -1, 0.8]])

    def test_truth_is_scaled_along(self):
        parts, activations = np.abs(M[:, :2]), np.abs(M[:2])
        loaded = load_bytes("a.npz", npz(data=parts @ activations, parts=parts, activations=activations), Reading(scaling="unit"))
        np.testing.assert_allclose(loaded.parts @ loaded.activations, loaded.data)

    def test_image_shape_must_fit(self):
        assert load_bytes("a.csv", csv(M), Reading(image_shape=(2, 3))).image_shape == (2, 3)
        with pytest.raises(InvalidInput, match=r"a\.csv: its image_shape 2 × 2"):
            load_bytes("a.csv", csv(M), Reading(image_shape=(2, 2)))
