"""Files made to hurt: each is rejected with one sentence, quickly, before memory is taken."""

# mypy: disable-error-code="arg-type"
# numpy's stubs do not know keyword arguments that are passed on.

from __future__ import annotations

import io
import os
import struct
import time
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
import scipy.io
from PIL import Image
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Limits, Reading, load_bytes, load_files, load_path

MB = 2**20
SMALL = Limits(max_bytes=4 * MB, max_entries=100_000, max_pixels=10_000, max_members=50)


def rejected(
    word: str, name: str, content: bytes, limits: Limits = SMALL, peak_mb: float = 8, reading: Reading | None = None
) -> InvalidInput:
    """The refusal of `content`, which must mention `word`, within 5 s and a few MB."""
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(InvalidInput) as caught:
            load_bytes(name, content, reading or Reading(), limits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert word in message, message
    assert ";" in message and "\n" not in message and len(message) < 300, message
    assert time.perf_counter() - start < 5
    assert peak < peak_mb * MB + 2 * len(content)
    return caught.value


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def npy(A: np.ndarray, **options: object) -> bytes:
    stream = io.BytesIO()
    np.save(stream, A, **options)
    return stream.getvalue()


def npy_claiming(shape: tuple[int, ...], descr: str = "<f8", body: bytes = b"") -> bytes:
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def png(A: np.ndarray) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(A).save(stream, "PNG")
    return stream.getvalue()


def element(kind: int, body: bytes) -> bytes:
    return struct.pack("<II", kind, len(body)) + body + b"\0" * (-len(body) % 8)


def mat5(*elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(elements)


def mat_variable(name: str, dims: tuple[int, int], data: bytes, array_class: int = 6, flags: int = 0) -> bytes:
    array_flags = element(6, struct.pack("<II", array_class | flags, 0))
    return element(14, array_flags + element(5, struct.pack("<ii", *dims)) + element(1, name.encode()) + data)


def packed(variable: bytes) -> bytes:
    body = zlib.compress(variable)
    return struct.pack("<II", 15, len(body)) + body


def saved_mat(compress: bool = True, **variables: object) -> bytes:
    stream = io.BytesIO()
    scipy.io.savemat(stream, variables, do_compression=compress)
    return stream.getvalue()


PICTURE = png(np.random.default_rng(0).integers(0, 256, (4, 5), np.uint8))


HONEST = {
    "a.csv": b"x,y\n1,2\n3,4\n",
    "a.npy": npy(np.ones((3, 2))),
    "a.npz": zipped(("data.npy", npy(np.ones((3, 2)))), ("labels.npy", npy(np.ones(2)))),
    "packed.mat": saved_mat(True, A=np.ones((3, 2)), labels=np.ones(2)),
    "plain.mat": saved_mat(False, A=np.ones((3, 2)), s={"a": 1}),
    "sparse.mat": saved_mat(False, S=sparse.csc_matrix(np.eye(4))),
    "a.zip": zipped(("a.png", PICTURE), ("b/b.png", PICTURE)),
    "a.png": PICTURE,
    "a.pgm": b"P5 3 2 255\nabcdef",
}


@pytest.mark.parametrize("name", HONEST)
def test_damaged_in_any_place_is_read_or_refused(name):
    """Random bytes overwritten, cut and inserted; scipy's own MAT parser crashes the process here."""
    rng = np.random.default_rng(sum(name.encode()))
    for _ in range(300):
        content = bytearray(HONEST[name])
        for _ in range(rng.integers(1, 4)):
            place, length = rng.integers(len(content)), rng.integers(1, 5)
            noise = rng.choice([b"\0\0\0\0", b"\xff\xff\xff\x7f", rng.bytes(4)])
            content[place : place + rng.choice([0, length])] = noise[: rng.choice([0, length])]
        try:
            load_bytes(name, bytes(content), Reading(scaling="unit"), SMALL)
        except InvalidInput as refusal:
            assert "\n" not in str(refusal)


class TestAnyFile:
    @pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.npz", "a.mat", "a.zip", "a.png"])
    def test_empty(self, name):
        rejected("empty", name, b"")

    def test_too_large(self):
        rejected("4 MB", "a.csv", b"1" * (4 * MB + 1))

    @pytest.mark.parametrize("name", ["a.exe", "a", ".csv", "a.xyz"])
    def test_unknown_ending(self, name):
        rejected("ending", name, b"1,2")

    @pytest.mark.parametrize("name", ["a.csv", "a.npy", "a.npz", "a.mat", "a.zip"])
    def test_picture_under_another_name(self, name):
        rejected("picture content", name, PICTURE)

    @pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.zip", "a.mat", "a.png"])
    def test_text_under_another_name(self, name):
        rejected("save it", name, b"1,2\n" * 99)

    def test_name_is_cut_short_and_printable(self):
        refusal = rejected("ending", "x\n\x1b[31m" + "y" * 5000 + ".exe", b"1")
        assert len(refusal.field) <= 40 and refusal.field.isprintable()

    def test_nothing_and_mixtures(self):
        for files in ([], [("a.png", PICTURE), ("b.csv", b"1,2")]):
            with pytest.raises(InvalidInput):
                load_files(files)


class TestPaths:
    def test_absent_special_and_wrong(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.csv")
        (tmp_path / "empty.npy").touch()
        (tmp_path / "text.npy").write_text("1,2")
        (tmp_path / "cut.npy").write_bytes(npy(np.ones((9, 9)))[:-8])
        (tmp_path / "no pictures").mkdir()
        for name in ("absent.csv", "pipe.csv", "empty.npy", "text.npy", "cut.npy", "no pictures", "a\0b.csv"):
            with pytest.raises(InvalidInput) as caught:
                load_path(tmp_path / name)
            assert str(tmp_path) not in str(caught.value)

    def test_folder_with_too_many_files(self, tmp_path):
        for k in range(6):
            (tmp_path / f"{k}.png").write_bytes(PICTURE)
        with pytest.raises(InvalidInput, match="members"):
            load_path(tmp_path, limits=Limits(max_members=5))
        with pytest.raises(InvalidInput, match="MB"):
            load_path(tmp_path, limits=Limits(max_bytes=3 * len(PICTURE)))


class TestTables:
    def test_text_cells_are_named_by_line_and_column(self):
        rejected("line 5, column 2 holds the text 'abc'", "a.csv", b"x,y\n# remark\n1,2\n\n3,abc\n")
        rejected("line 3, column 3 holds the text 'x'", "a.csv", b"name,a,b\nalice,1,2\nbob,2,x\n")
        rejected("line 2, column 1 holds the text 'c'", "a.csv", b"a,b\nc,d\ne,f\n")
        rejected("line 3, column 2", "a.csv", b"1,\n2,3\n4,two\n")
        rejected("holds text but no numbers", "a.csv", b"a,b,c\n")

    def test_ragged_lines(self):
        rejected("line 4 has 2 cells", "a.csv", b"a,b,c\n1,2,3\n4,5,6\n7,8\n")

    @pytest.mark.parametrize("text", [b"1,2\n3,inf\n", b"1,2\n3,-Infinity\n", b"1,2\n3,1e999\n"])
    def test_infinity(self, text):
        rejected("row 2, column 2", "a.csv", text)

    @pytest.mark.parametrize("text", [b"\n\n", b"# only a remark\n", b"   \n \t\n"])
    def test_no_numbers(self, text):
        rejected("no numbers", "a.csv", text)

    def test_binary_and_complex_and_all_missing(self):
        rejected("binary", "a.csv", b"1,2\n3,\x004\n")
        rejected("1+2j", "a.csv", b"1,2\n3,1+2j\n")
        rejected("missing", "a.csv", b"nan,nan\n")

    def test_too_many_entries_are_counted_before_parsing(self):
        rejected("entries", "a.csv", b"0," * 150_000 + b"0\n")
        rejected("entries", "a.csv", b"0\n" * 150_000)

    def test_huge_cell_is_not_repeated_in_the_message(self):
        rejected("text", "a.csv", b"1,2\n3," + b"z" * MB, peak_mb=16)


class TestArrays:
    def test_pickles_are_not_opened(self):
        class Trap:
            def __reduce__(self):
                return (pytest.fail, ("a pickle was opened",))

        pickled = npy(np.array([[Trap(), 1]], dtype=object), allow_pickle=True)
        rejected("objects", "a.npy", pickled)
        rejected("objects", "a.npz", zipped(("data.npy", pickled)))

    @pytest.mark.parametrize(
        ("A", "word"),
        [
            (np.ones(5), "1-dimensional"),
            (np.ones((2, 5, 6, 7)), "4-dimensional"),
            (np.array(1.0), "0-dimensional"),
            (np.ones((0, 4)), "empty"),
            (np.ones((2, 2), complex), "complex"),
            (np.array([["a", "b"]]), "not numbers"),
            (np.zeros((2, 2), "datetime64[s]"), "not numbers"),
            (np.zeros((2, 2), [("a", float)]), "not numbers"),
            (np.array([[1, np.inf]]), "infinite"),
        ],
    )
    def test_what_is_not_a_real_matrix(self, A, word):
        rejected(word, "a.npy", npy(A))
        rejected(word, "a.npz", zipped(("data.npy", npy(A))), reading=Reading(member="data"))

    @pytest.mark.parametrize("shape", [(10**9, 10**9), (2**62, 4), (300, 300), (-1, -5)])
    def test_headers_that_lie(self, shape):
        for name, content in (("a.npy", npy_claiming(shape)), ("a.npz", zipped(("data.npy", npy_claiming(shape))))):
            rejected(";", name, content)

    @pytest.mark.parametrize("header", [b"{'descr'", b"__import__('os')", b"(" * 5000, b"{'descr': '<f8', 'shape': (2, 2)}"])
    def test_headers_that_are_no_headers(self, header):
        rejected("not a readable NPY", "a.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)

    def test_long_header_and_future_version(self):
        rejected("not a readable NPY", "a.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", 3 * MB) + b" " * (3 * MB))
        rejected("not a readable NPY", "a.npy", b"\x93NUMPY\x09\x00" + b"\0" * 100)

    def test_npz_without_arrays(self):
        rejected("no matrix", "a.npz", zipped(("readme.txt", b"hello")))
        rejected("no matrix", "a.npz", zipped(("a.npy", npy(np.ones(3))), ("b.npy", npy(np.ones(3)))))


class TestArchives:
    BOMB = zipped(("a.png", b"\0" * (64 * MB)))

    def test_bomb_by_declared_size(self):
        assert len(self.BOMB) < MB / 8
        rejected("unpacks to more than 4 MB", "a.zip", self.BOMB)
        rejected("unpacks to more than 4 MB", "a.npz", zipped(("data.npy", npy_claiming((8 * MB, 1), body=b"\0" * (64 * MB)))))

    def test_bomb_that_understates_its_size(self):
        true = struct.pack("<I", 64 * MB)
        assert self.BOMB.count(true) == 2
        rejected("damaged", "a.zip", self.BOMB.replace(true, struct.pack("<I", 1000)))

    def test_many_small_members_that_add_up(self):
        rejected("unpacks", "a.zip", zipped(*[(f"{k}.png", b"\0" * MB) for k in range(5)]))

    def test_too_many_members(self):
        rejected("more than 50 members", "a.zip", zipped(*[(f"{k}.png", PICTURE) for k in range(51)]))

    def test_directory_of_a_million_entries_is_not_parsed(self):
        entry = b"PK\x01\x02" + b"\0" * 42
        directory = entry * 1_000_000
        end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
        rejected("20,000 members", "a.zip", b"PK\x03\x04" + directory + end, Limits())

    @pytest.mark.parametrize("inner", ["inner.zip", "b/inner.NPZ", "x.tar.gz"])
    def test_archive_in_an_archive(self, inner):
        rejected("another archive", "a.zip", zipped(("a.png", PICTURE), (inner, self.BOMB)))
        rejected("another archive", "a.npz", zipped(("a.npy", npy(np.ones((2, 2)))), (inner, self.BOMB)))

    def test_archive_in_the_clothes_of_a_picture(self):
        rejected("not a readable", "a.zip", zipped(("a.png", self.BOMB)))

    def test_other_refusals(self):
        rejected("no PNG", "a.zip", zipped(("a.doc", b"x")))
        rejected("no PNG", "a.zip", zipped())
        rejected("not a readable ZIP", "a.zip", zipped(("a.png", PICTURE))[:-30])
        rejected("unusual method", "a.zip", zipped(("a.png", PICTURE), method=zipfile.ZIP_LZMA))
        nameless = bytearray(zipped(("x", b"")))
        central = nameless.index(b"PK\x01\x02")
        nameless[central + 28], nameless[central + 30] = 0, 1  # the name's one byte becomes an extra field
        rejected("no PNG", "a.zip", bytes(nameless))
        locked = bytearray(zipped(("a.png", PICTURE)))
        locked[locked.index(b"PK\x01\x02") + 8] |= 1
        rejected("password", "a.zip", bytes(locked))
        broken = bytearray(zipped(("a.png", PICTURE), method=zipfile.ZIP_STORED))
        broken[60] ^= 0xFF
        rejected("damaged", "a.zip", bytes(broken))

    def test_pictures_of_different_size(self):
        other = png(np.zeros((4, 4), np.uint8))
        rejected("b.png has 4 × 4 pixels and a.png has 5 × 4", "a.zip", zipped(("a.png", PICTURE), ("b.png", other)))


class TestPictures:
    @staticmethod
    def claiming(width: int, height: int) -> bytes:
        def chunk(kind: bytes, body: bytes) -> bytes:
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

        head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")

    @pytest.mark.parametrize("size", [(60_000_000, 1), (1, 60_000_000), (100_000_000, 1), (30_000, 30_000), (2**31 - 1,) * 2])
    @pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
    def test_giants(self, size):
        rejected("pixels", "a.png", self.claiming(*size), Limits())
        rejected("pixels", "a.zip", zipped(("a.png", self.claiming(*size))), Limits())
        rejected("pixels", "a.pgm", b"P5 %d %d 255\n" % size, Limits())

    def test_together_too_many_entries(self):
        many = zipped(*[(f"{k}.png", png(np.zeros((90, 90), np.uint8))) for k in range(20)])
        rejected("entries", "a.zip", many)

    @pytest.mark.parametrize("cut", [20, 50, -30])
    def test_damaged(self, cut):
        rejected("picture", "a.png", PICTURE[:cut])
        rejected("damaged", "a.png", self.claiming(90, 90))
        rejected("picture", "a.pgm", b"P5 9 9 255\n" + b"x" * 80)

    def test_format_that_is_not_offered(self):
        stream = io.BytesIO()
        Image.new("L", (4, 4)).save(stream, "GIF")
        rejected("GIF", "a.png", stream.getvalue())


class TestMatlab:
    def test_version_7_3_and_others(self):
        rejected("HDF5", "a.mat", b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\0" * 384 + b"\x89HDF\r\n\x1a\n")
        rejected("HDF5", "a.mat", b"\x89HDF\r\n\x1a\n" + b"\0" * 600)
        stream = io.BytesIO()
        scipy.io.savemat(stream, {"A": np.ones((3, 3))}, format="4")
        rejected("-v7", "a.mat", stream.getvalue())

    def test_cells_structs_text_and_objects(self):
        rejected("cell, struct, text or object", "a.mat", saved_mat(c=np.array([[1, "x"]], dtype=object)))
        rejected("choose one of A, s.a", "a.mat", saved_mat(A=np.ones((3, 3)), s={"a": 1}), reading=Reading(member="s"))
        rejected("its variable s is", "a.mat", saved_mat(s=np.array([(1.0,), (2.0,)], [("a", object)])))
        rejected("cell, struct, text or object", "a.mat", mat5(mat_variable("obj", (1, 1), b"", array_class=3)))
        opaque = element(14, element(6, struct.pack("<II", 17, 0)) + element(1, b"table") + element(1, b"MCOS"))
        rejected("its variable table is", "a.mat", mat5(opaque))
        matrix = mat_variable("A", (2, 2), element(9, struct.pack("<4d", 1, 2, 3, 4)))
        np.testing.assert_array_equal(load_bytes("a.mat", mat5(opaque, matrix)).data, [[1, 3], [2, 4]])

    def test_cell_that_claims_to_be_logical(self):
        inside = mat_variable("", (1, 1), element(9, b"\0" * 8))
        rejected("cell, struct, text or object", "a.mat", mat5(mat_variable("A", (1, 1), inside, array_class=1, flags=0x200)))

    def test_complex_cube_and_infinity(self):
        rejected("complex", "a.mat", saved_mat(A=np.ones((3, 3)) * 1j))
        rejected("4-dimensional", "a.mat", saved_mat(A=np.ones((2, 5, 6, 7))))
        rejected("infinite", "a.mat", saved_mat(A=np.array([[1.0, np.inf], [1, 1]])))

    def test_bomb(self):
        bomb = saved_mat(A=np.zeros((3000, 3000)))
        assert len(bomb) < MB / 8
        rejected("entries", "a.mat", bomb)
        rejected("unpacks", "a.mat", bomb, Limits(max_bytes=4 * MB))

    def test_bomb_behind_honest_dimensions(self):
        rejected("unpacks", "a.mat", mat5(packed(mat_variable("A", (2, 2), element(9, b"\0" * (40 * MB))))), peak_mb=8)

    def test_dimensions_that_lie(self):
        rejected(";", "a.mat", mat5(mat_variable("A", (2**30, 2**30), element(9, b"\0" * 32))))
        rejected("not a readable MAT", "a.mat", mat5(mat_variable("A", (9, 9), element(9, b"\0" * 32))))
        rejected(";", "a.mat", mat5(mat_variable("A", (-3, 3), element(9, b"\0" * 32))))

    def test_too_many_variables(self):
        rejected("members", "a.mat", mat5(mat_variable("A", (2, 2), element(9, b"\0" * 32)) * 51))

    @pytest.mark.parametrize("cut", [100, 127, 128, 130, 140, 200])
    @pytest.mark.parametrize("compress", [True, False])
    def test_truncated(self, cut, compress):
        rejected(";", "a.mat", saved_mat(compress, A=np.random.default_rng(0).random((20, 20)))[:cut])

    def test_sparse_with_wrong_indices(self):
        rows, starts, values = struct.pack("<ii", 0, 77_777), struct.pack("<iii", 0, 1, 2), struct.pack("<dd", 1, 2)
        sparse_body = element(5, rows) + element(5, starts) + element(9, values)
        rejected("sparse", "a.mat", mat5(mat_variable("S", (3, 2), sparse_body, array_class=5)))
        rejected("entries", "a.mat", mat5(mat_variable("S", (2**31 - 1, 2), sparse_body, array_class=5)))
