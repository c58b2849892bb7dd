"""Dataset: what it rejects, what it keeps, and its fingerprint."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.mathematics import blocks


def test_integers_become_float64_and_float32_stays():
    assert Dataset(np.arange(6).reshape(2, 3)).data.dtype == np.float64
    assert Dataset(np.ones((2, 3), np.float32)).data.dtype == np.float32
    assert Dataset(np.ones((2, 3), ">f8")).data.dtype.isnative


def test_data_is_not_copied_and_read_only():
    M = np.ones((2, 3))
    dataset = Dataset(M)
    assert np.shares_memory(dataset.data, M)
    with pytest.raises(ValueError, match="read-only"):
        dataset.data[0, 0] = 5
    M[0, 0] = 5  # the caller's own array stays writable


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (np.ones(3), "1-dimensional"),
        (np.ones((2, 2, 2)), "3-dimensional"),
        (np.ones((0, 3)), "empty"),
        (np.ones((2, 2), complex), "complex"),
        (np.array([[object()]]), "objects"),
        (np.array([["a"]]), "not numbers"),
        (np.full((2, 2), np.nan), "missing"),
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), "row 2, column 2"),
        (sparse.csr_array(np.array([[np.nan, 0.0]])), "dense"),
        (sparse.csr_array(np.array([[1j, 0.0]])), "complex"),
    ],
)
def test_rejected_data(data, word):
    with pytest.raises(InvalidInput, match=word) as refusal:
        Dataset(data)
    assert refusal.value.field == "data"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("image_shape", (2, 2)),
        ("image_shape", (-2, -3)),
        ("image_shape", 6),
        ("parts", np.ones((5, 2))),
        ("parts", np.full((6, 2), np.inf)),
        ("activations", np.ones((2, 5))),
        ("groups", ((0,),)),
        ("labels", [1, 2, 3]),
        ("labels", [object()] * 4),
    ],
)
def test_rejected_companions(field, value):
    with pytest.raises(InvalidInput) as refusal:
        Dataset(np.ones((6, 4)), **{field: value})
    assert refusal.value.field == field


@pytest.mark.parametrize("groups", [(), ((),), ((0, 1), (1,)), ((0, 2),), ((-1,),)])
def test_rejected_groups(groups):
    with pytest.raises(InvalidInput, match="groups"):
        Dataset(np.ones((6, 4)), parts=np.ones((6, 2)), groups=groups)


def test_parts_and_activations_must_agree():
    with pytest.raises(InvalidInput, match="activations"):
        Dataset(np.ones((6, 4)), parts=np.ones((6, 2)), activations=np.ones((3, 4)))


def test_missing_entries_are_counted():
    M = np.ones((4, 5))
    M[1, 2] = M[3, 3] = np.nan
    assert Dataset(M).missing == 2


def test_infinite_entry_is_found_in_a_later_block(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 6)
    M = np.ones((50, 3))
    M[40, 1] = np.inf
    with pytest.raises(InvalidInput, match="row 41, column 2"):
        Dataset(M)


def test_sparse_with_wrong_pointers_is_rejected_not_crashed():
    M = sparse.csc_array((5, 3))
    M.indptr[:] = 0, 7, 0, 0
    with pytest.raises(InvalidInput, match="decrease"):
        Dataset(M)


def test_sparse_with_wrong_indices_is_rejected_not_crashed():
    M = sparse.csc_array(np.eye(3))
    M.indices[1] = 1000
    with pytest.raises(InvalidInput, match="sparse"):
        Dataset(M)


class TestFingerprint:
    M = np.random.default_rng(0).random((40, 7))

    def test_is_independent_of_memory_order_and_blocks(self, monkeypatch, tmp_path):
        reference = Dataset(self.M).fingerprint()
        np.save(tmp_path / "m.npy", self.M)
        assert Dataset(np.asfortranarray(self.M)).fingerprint() == reference
        assert Dataset(np.load(tmp_path / "m.npy", mmap_mode="r")).fingerprint() == reference
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 10)
        assert Dataset(self.M).fingerprint() == reference

    def test_tells_values_shape_and_type_apart(self):
        changed = self.M.copy()
        changed[39, 6] = np.nextafter(changed[39, 6], 2)
        variants = [self.M, changed, self.M.reshape(7, 40), self.M.reshape(20, 14), self.M.astype(np.float32)]
        assert len({Dataset(v).fingerprint() for v in variants}) == len(variants)

    def test_of_sparse_data_ignores_how_it_was_built(self):
        rows, columns, values = [0, 2, 2, 1], [1, 0, 0, 1], [1.0, 2.0, 3.0, 0.0]
        M = sparse.coo_array((values, (rows, columns)), shape=(3, 2))
        other = sparse.csr_array(np.array([[0, 1], [0, 0], [5, 0.0]]))
        assert Dataset(M).fingerprint() == Dataset(other).fingerprint()
        assert Dataset(M).fingerprint() != Dataset(2 * other).fingerprint()
