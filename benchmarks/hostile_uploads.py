"""Data files without end that are damaged, that lie, or that stand for more than they hold; the seed decides which."""

from __future__ import annotations

import gzip
import io
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable

import h5py
import numpy as np
import pyarrow
import scipy.io
from PIL import Image
from pyarrow import parquet
from scipy import sparse
from scipy.io import wavfile

from benchmarks.mutations import DTYPES, damaged

WHOLE = 16
"""Times the size of an ordinary file up to which cells, rows and pixels are repeated."""
NUMBERS = (0, 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1)
CELLS = (
    b"1", b"-2.5", b"1e5", b"nan", b"NA", b"", b'""', b'"3"', b"inf", b"1e999", b"x", b"1,5", b"\xff", "é".encode(), b"#",
    b"0x1F", b" " * 5000, b"9" * 3000, b"1_0", b"\0", b"=1+1", b"null", b"1 2", b"-", b"+", b".", b"e", b"True",
)  # fmt: skip


def npy(A: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, A, allow_pickle=False)
    return stream.getvalue()


def _zipped(members: list[tuple[str, bytes]], rng: random.Random) -> bytes:
    stream = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a name that is there twice
                archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return stream.getvalue()


def _array(rng: random.Random) -> np.ndarray:
    shape = [rng.choice((1, 2, 3, 5, 8, 30)) for _ in range(rng.choice((2, 2, 2, 2, 1, 3, 0)))]
    values = np.random.default_rng(rng.randrange(2**32)).standard_normal(shape) * rng.choice((0, 1, 1e-300, 1e300, 100))
    with np.errstate(all="ignore"):
        return values.astype(rng.choice(("f8", "f8", "f4", "f2", "i8", "u1", "?", "c16", "U3")))


# -- kinds -------------------------------------------------------------------------------------


def _table(rng: random.Random) -> bytes:
    """Lines of odd cells, sometimes very many of them."""
    delimiter = rng.choice((b",", b";", b"\t", b" "))
    cells = [rng.choice(CELLS) if rng.random() < 0.2 else b"%d" % rng.randrange(100) for _ in range(rng.choice((1, 2, 5, 40)))]
    lines = [delimiter.join(cells)] * rng.choice((1, 3, 50))
    if rng.random() < 0.3:
        lines[rng.randrange(len(lines))] = delimiter.join(rng.choices(CELLS, k=len(cells) + rng.choice((0, 0, 1, -1))))
    if rng.random() < 0.05:
        lines = [rng.choice((b"," * 200_000, b"NA " * 200_000, b"1;" * 200_000, b"1" * 1_000_000))] * rng.choice((1, WHOLE))
    text = rng.choice((b"\n", b"\n", b"\r\n", b"\r")).join(lines)
    return text.decode("latin-1").encode("utf-16") if rng.random() < 0.05 else text


def _npy_lying(rng: random.Random) -> bytes:
    """A header of its own making above few bytes."""
    shapes = ((3, 4), (10**9, 10**9), (2**62, 4), (-1, 5), (True, 8), (1,) * 65, (0, 2**70), (2**70,), (8, 8), (50_000, 900))
    head = repr({"descr": rng.choice(DTYPES), "fortran_order": rng.random() < 0.5, "shape": rng.choice(shapes)}).encode()
    text = head.ljust(rng.choice((118, 500, 12_000))) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) % 65536) + text + rng.randbytes(rng.choice((0, 64, 512)))


def _npy(rng: random.Random) -> bytes:
    return _npy_lying(rng) if rng.random() < 0.5 else npy(_array(rng))


def _npz(rng: random.Random) -> bytes:
    names = ("data", "M", "a", "parts", "activations", "groups", "labels", "image_shape", "../x", "inner.zip")
    members = [(f"{rng.choice(names)}.npy", _npy(rng)) for _ in range(rng.choice((1, 1, 2, 4)))]
    if rng.random() < 0.05:  # a few kilobytes that unpack to many megabytes
        members.append(("bomb.npy", npy(np.zeros((rng.choice((1000, 20_000)), 1000), rng.choice(("u1", "f8"))))))
    return _zipped(members, rng)


def _mat(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    arrays = {name: _array(rng) for name in rng.sample(("A", "data", "labels", "parts"), rng.choice((1, 2)))}
    if rng.random() < 0.3:
        arrays["S"] = sparse.csc_matrix(np.eye(rng.choice((1, 4, 9))))
    scipy.io.savemat(stream, arrays, do_compression=rng.random() < 0.5)
    content = bytearray(stream.getvalue())
    for _ in range(rng.choice((0, 1, 3))):  # another size, type or length somewhere
        at = 4 * rng.randrange(32, max(33, len(content) // 4))
        content[at : at + 4] = struct.pack("<I", rng.choice((*NUMBERS, 5, 9, 14, 15)))
    return bytes(content)


def _png_claiming(width: int, height: int, body: bytes) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(body)) + chunk(b"IEND", b"")


def _picture(rng: random.Random, size: tuple[int, int] | None = None) -> tuple[str, bytes]:
    """Its ending and its bytes."""
    if rng.random() < 0.15:
        sides = rng.choice(((5, 4), (3000, 2000), (60_000_000, 1), (2**31 - 1, 9), (0, 5)))
        return ".png", _png_claiming(*sides, body=bytes(rng.choice((20, 6_000_000))))
    kind, ending = rng.choice((("PNG", ".png"), ("JPEG", ".jpg"), ("TIFF", ".tif"), ("BMP", ".bmp"), ("PPM", ".pgm")))
    width, height = size or (rng.randrange(1, 40), rng.randrange(1, 40))
    pixels = np.random.default_rng(rng.randrange(2**32)).integers(0, 256, (height, width, 3), np.uint8)
    modes = ("L", "RGB", "1") if kind in {"JPEG", "PPM", "BMP"} else ("L", "RGB", "1", "P", "RGBA", "I;16", "I", "F")
    mode = rng.choice(modes)
    picture = Image.fromarray(pixels[:, :, 0]) if mode in {"I;16", "I", "F"} else Image.fromarray(pixels)
    stream = io.BytesIO()
    try:
        picture.convert(mode).save(stream, kind)
    except (OSError, ValueError):  # not every format has every mode
        stream = io.BytesIO()
        picture.convert("L").save(stream, kind)
    return ending, stream.getvalue()


def _pictures(rng: random.Random) -> bytes:
    size = (rng.choice((3, 20, 300)), rng.choice((3, 20)))
    folders = ("", "a/", "b/", "../", "__MACOSX/", "deep/" * 30)
    members = []
    for k in range(rng.choice((1, 3, 40))):
        ending, content = _picture(rng, size if rng.random() < 0.95 else None)
        members.append((f"{rng.choice(folders[: rng.choice((1, 3, 6))])}{k}{ending}", content))
    if rng.random() < 0.1:
        members.append((rng.choice(("more.zip", "readme.txt", "x.png", ".hidden.png")), rng.randbytes(50)))
    if rng.random() < 0.05:
        members = [(f"{k}.png", _png_claiming(2000, 2000, bytes(2001 * 2000))) for k in range(rng.choice((2, 49)))]
    return _zipped(members, rng)


def _hdf5(rng: random.Random) -> bytes:
    """As anndata or MATLAB write it, with parts that do not fit one another."""
    A, stream = np.arange(24.0).reshape(4, 6), io.BytesIO()
    with h5py.File(stream, "w") as file:
        place = rng.choice(("X", "raw/X", "layers/counts", "M"))
        if rng.random() < 0.5:
            shape = rng.choice((A.shape, (1, 1), (2**40, 2**40), (-1, 6), (4,)))
            file.create_group(place).attrs.update(
                {"encoding-type": rng.choice(("csr_matrix", "csc_matrix", "x")), "shape": shape}
            )
            for name, values in (("data", A.ravel()), ("indices", np.tile(np.arange(6), 4)), ("indptr", 6 * np.arange(5))):
                file[f"{place}/{name}"] = rng.choice((values, values, values, values[:-1], values - 3, [2**62], [0.5]))
        else:
            file.create_dataset(
                place, rng.choice((A.shape, (10**6, 10**6), (1, 3))), rng.choice(("f8", "i1", "?")), chunks=(1, 1)
            )
        for side, number in (("obs", 4), ("var", 6)):
            names = [rng.choice(("gene", "", "é", "x" * 5000)) for _ in range(number - rng.choice((0, 0, 1)))]
            file.create_group(side).attrs["_index"] = rng.choice(("_index", "_index", "other"))
            file[side].create_dataset("_index", data=names, dtype=h5py.string_dtype())
    return stream.getvalue()


def _parquet(rng: random.Random) -> bytes:
    columns: tuple[list[object], ...] = (
        [1, 2, None],
        ["a", "b", "c"],
        [0.5, float("nan"), float("inf")],
        [[1], [2], [3]],
        [True] * 3,
    )
    table = pyarrow.table({f"column {k}": rng.choice(columns) for k in range(rng.choice((1, 3, 30)))})
    stream = io.BytesIO()
    parquet.write_table(
        pyarrow.concat_tables([table] * rng.choice((1, 40))), stream, compression=rng.choice(("none", "snappy", "zstd"))
    )
    return stream.getvalue()


def _triples(rng: random.Random) -> list[bytes]:
    """Lines of a sparse matrix as text."""
    lines = [b"%d %d %d" % (row, column, rng.randrange(9)) for row in range(1, 5) for column in range(1, 5)]
    lines[rng.randrange(16)] = rng.choice(
        (b"1 1", b"0 1 1", b"99 1 1", b"1 1 nan", b"1 1 1e400", b"x y z", b"9" * 30 + b" 1 1", b"")
    )
    return lines


def _matrix_market(rng: random.Random) -> bytes:
    words = rng.choice(
        (b"matrix coordinate real general", b"matrix array integer symmetric", b"matrix coordinate pattern hermitian")
    )
    sizes = rng.choice((b"4 4 16", b"4 4 16", b"4 4", b"999999999 999999999 16", b"4 4 999999999999", b"-4 4 16", b"0 0 0"))
    content = b"\n".join([b"%%MatrixMarket " + words, b"% a remark", sizes, *_triples(rng)])
    return gzip.compress(content) if rng.random() < 0.2 else content


def _words(rng: random.Random) -> bytes:
    sizes = rng.choice(([b"4", b"4", b"16"], [b"4", b"4", b"16"], [b"999999999", b"4", b"16"], [b"1", b"1", b"1"], []))
    return b"\n".join([*sizes, *_triples(rng)])


def _sound(rng: random.Random) -> bytes:
    stream = io.BytesIO()
    samples = np.zeros((rng.choice((1, 100, 5000)), rng.choice((1, 2))), rng.choice(("u1", "<i2", "<i4", "<f4", "<f8")))
    wavfile.write(stream, rng.choice((1, 8000, 44_100)), samples)
    content = bytearray(stream.getvalue())
    if rng.random() < 0.5:  # another size, kind or rate
        at = 4 * rng.randrange(1, 11)
        content[at : at + 4] = struct.pack("<I", rng.choice(NUMBERS))
    return bytes(content)


MAKERS: tuple[tuple[str, Callable[[random.Random], bytes]], ...] = (
    ("table.csv", _table), ("table.tsv", _table), ("array.npy", _npy), ("arrays.npz", _npz), ("file.mat", _mat),
    ("pictures.zip", _pictures), ("cells.h5ad", _hdf5), ("file.mat", _hdf5), ("table.parquet", _parquet),
    ("a.mtx", _matrix_market), ("docword.txt", _words), ("sound.wav", _sound),
)  # fmt: skip


def hostile_upload(seed: int) -> tuple[str, bytes]:
    """A name and what the file of this name holds."""
    rng = random.Random(seed)
    if rng.random() < 0.15:
        ending, content = _picture(rng)
        name = f"picture{ending}"
    else:
        name, make = rng.choice(MAKERS)
        content = make(rng)
    if rng.random() < 0.4:
        content = damaged(content or b" ", rng)
    if rng.random() < 0.03:  # under a name that promises something else
        name = rng.choice(("x.csv", "x.npy", "x.npz", "x.mat", "x.zip", "x.png", "x", "x.exe"))
    return name, content
