"""Numbers that stand for missing entries: recognised where nothing else is like them, said, and told otherwise."""

from __future__ import annotations

import io

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Reading, load_bytes, load_path
from semf_core.datasets.loaders import find_files

M = np.array([[1.5, -3.0, 20.0], [0.0, 7.0, -999.0], [-999.0, 2.0, 4.0]])


def table(A: np.ndarray) -> bytes:
    return "\n".join(",".join(f"{v:g}" for v in row) for row in A).encode()


def found(A: np.ndarray, **reading):
    return find_files([("a.csv", table(A))], Reading(**reading))


@pytest.mark.parametrize("gap", ["-999", "-9999", "-99999", "-999.25", "-999.9"])
def test_a_usual_number_far_below_the_others_is_missing_and_said(gap):
    A = np.where(M == -999, float(gap), M)
    one = found(A)
    assert one.dataset.missing == 2 and np.isnan(one.dataset.data[1, 2]) and one.reading.missing == gap
    assert f"{gap} stands 2 times for a missing entry" in one.remarks[-1]
    again = found(A, missing=one.reading.missing)
    np.testing.assert_array_equal(again.dataset.data, one.dataset.data)
    assert found(A, missing="none").dataset.missing == 0


def test_what_is_near_the_others_or_all_there_is_was_measured():
    for A in (np.arange(-1000.0, 200.0).reshape(40, 30), np.full((3, 2), -999.0), -M, np.where(M == -999, -99, M), M - 998):
        one = found(A)
        assert one.dataset.missing == 0 and one.reading.missing == "auto" and not one.remarks, A


def test_any_number_can_be_told():
    assert found(np.eye(3), missing="0").dataset.missing == 6
    assert found(M, missing="\N{MINUS SIGN}999.0").reading.missing == "-999"
    for wrong in ("nan", "blank", "1e999"):
        with pytest.raises(InvalidInput, match="must be auto, none, or the number"):
            Reading(missing=wrong)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64])
def test_arrays_in_files_are_left_as_they_are(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.where(M == -999, -9999, M).astype(dtype))
    before = (tmp_path / "a.npy").read_bytes()
    for data in (load_path(tmp_path / "a.npy"), load_bytes("a.npy", before)):
        assert data.missing == 2
    assert (tmp_path / "a.npy").read_bytes() == before
    lowest = np.where(M == -999, np.finfo(np.float32).min, M).astype(np.float32)
    stream = io.BytesIO()
    np.save(stream, lowest)
    assert load_bytes("a.npy", stream.getvalue()).missing == 2


def test_samples_in_rows_and_scaling():
    data = found(M, orientation="rows", scaling="max").dataset
    assert data.missing == 2 and np.nanmax(data.data) == 1.0 and np.isnan(data.data[2, 1])


def test_a_sparse_matrix_has_no_missing_entries():
    stream = io.BytesIO()
    sparse.save_npz(stream, sparse.csr_array(M))
    assert load_bytes("a.npz", stream.getvalue()).missing == 0
