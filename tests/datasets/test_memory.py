"""Small files that stand for large matrices: rejected by headers and counts, or read in little more than they hold."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest
import scipy
from PIL import Image
from pyarrow import parquet as pq
from scipy import sparse
from scipy.io import wavfile

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, Limits, Reading, images, load_bytes
from semf_core.datasets.summary import facts, spectrum
from semf_core.drawing.overview import overview
from semf_core.runs import sandboxed
from semf_core.runs.uploads import most_decoded_bytes
from tests.helpers import noted

MB = 2**20
UPLOAD = Limits(max_bytes=sandboxed.most_upload_bytes(), max_entries=most_decoded_bytes() // 8)


def png(height: int, width: int) -> bytes:
    stream = io.BytesIO()
    Image.new("L", (width, height)).save(stream, "PNG")
    return stream.getvalue()


def npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def peak_of(action) -> float:
    """MB that numpy and Python allocate at most."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()


def rejected(name: str, content: bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_bytes(name, content, Reading(), UPLOAD)
    return str(caught.value)


def test_pictures_are_counted_before_any_is_decoded(monkeypatch):
    picture = png(2000, 2000)
    archive = zipped(*[(f"{k}.png", picture) for k in range(49)])
    assert len(archive) < 1 * MB
    monkeypatch.setattr(images, "_decoded", None)
    assert "4,000,000 × 49 entries" in rejected("a.zip", archive)


def test_pictures_of_another_size_are_not_decoded(monkeypatch):
    seen: list = []
    monkeypatch.setattr(images, "_decoded", noted(seen, images._decoded))
    assert "one size" in rejected("a.zip", zipped(("a.png", png(4, 4)), ("b.png", png(2000, 3000))))
    assert len(seen) == 1


@pytest.mark.parametrize("dtype", ["|u1", "|b1", "<i2", "<f2"])
def test_narrow_numbers_count_as_what_they_become(dtype):
    """A byte a number in the file, eight in memory."""
    packed = npz(data=np.zeros((70_000, 1000), dtype))
    assert len(packed) < 1 * MB
    assert "70,000 × 1,000 entries" in rejected("a.npz", packed)


@pytest.mark.parametrize(
    ("piece", "times"),
    [(b",", 95_000_000), (b"," * 999 + b"\n", 95_000), (b"NA ", 1_500_000), (b"1 ", 66_000_000), (b"1\n", 66_000_000)],
    ids=["one line of commas", "lines of commas", "one line of words", "one line of numbers", "one column"],
)
def test_cells_are_counted_before_they_are_made(piece, times):
    text = piece * times
    assert peak_of(lambda: rejected("a.csv", text)) < 120 + len(text) / MB


@pytest.mark.parametrize(
    "line",
    [b"," * 999 + b"\n", b"NA," * 999 + b"NA\n", b'"",' * 999 + b'""\n', b"0.25;" * 999 + b"0,5\n", b"1 " * 1000 + b"\n"],
    ids=["commas", "words", "quotes", "decimal commas", "blanks"],
)
def test_a_table_takes_little_more_than_its_numbers(line):
    text = line * 700 + b",".join([b"1"] * 1000 if b"," in line and b";" not in line else [line.rstrip(b"\n")])
    decoded = 8 * 701_000 / MB
    peak = peak_of(lambda: load_bytes("a.csv", text, Reading(), UPLOAD))
    assert peak < decoded + 3 * len(text) / MB + 60, peak


def test_a_long_run_of_blanks_in_a_cell_is_looked_at_once():
    """A pattern that tries every way to cut them would not end within a day."""
    text = b"1,2\n3," + b" " * 1_000_000 + b"\n5,\n"
    assert load_bytes("a.csv", text).missing == 2


@pytest.mark.parametrize(("scaling", "orientation"), [("unit", "rows"), ("max", "columns")])
def test_scaling_needs_no_second_matrix(scaling, orientation):
    stream = io.BytesIO()
    np.savez(stream, data=np.arange(4_000_000.0).reshape(4000, 1000))
    reading = Reading(scaling=scaling, orientation=orientation)
    content = stream.getvalue()
    peak = peak_of(lambda: load_bytes("a.npz", content, reading, UPLOAD))
    assert peak < 32e6 / MB + 20, "the matrix and a few blocks"


def test_describing_and_drawing_need_little_memory():
    """80 MB of data; the temporary arrays are blocks of four megabytes, or one sample."""
    for data in (np.zeros((2_000_000, 5)), np.zeros((5, 2_000_000)), np.ones((3000, 3000), np.float32)):
        dataset = Dataset(data)
        shape = (1000, dataset.shape[0] // 1000) if dataset.shape[0] >= 1000 else None
        for action in (lambda d=dataset: facts(d), lambda d=dataset: spectrum(d.data)):
            assert peak_of(action) < 60
        assert peak_of(lambda d=dataset, s=shape: overview(d, s)) < 80


def test_a_sparse_matrix_is_described_without_being_filled():
    data = sparse.random_array((60_000, 50_000), density=1e-5, rng=0, format="csc")
    assert peak_of(lambda: spectrum(Dataset(data).data)) < 250
    assert overview(Dataset(data), None).pixels.shape == (400, 400)


def test_a_recording_is_measured_before_it_becomes_numbers():
    assert scipy.signal, "its import is not part of what is measured"
    stream = io.BytesIO()
    wavfile.write(stream, 8000, np.zeros(2 * MB, np.int16))

    def read() -> None:
        with pytest.raises(InvalidInput, match="entries"):
            load_bytes("a.wav", stream.getvalue(), Reading(), Limits(max_entries=1000))

    assert peak_of(read) < 14, "as floating-point numbers alone it takes 16 MB"


def test_columns_of_a_parquet_table_are_counted():
    """Each has a reader of its own; beyond some ten thousands pyarrow ends the process for lack of memory."""
    stream = io.BytesIO()
    pq.write_table(pa.table({f"c{i}": [1.0] for i in range(12)}), stream)
    with pytest.raises(InvalidInput, match="more than 10 columns"):
        load_bytes("a.parquet", stream.getvalue(), Reading(), Limits(max_members=10))
