"""The Eckart–Young bound: right, cheap, and never in anybody's way."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from semf_core.runs import bounds
from semf_core.runs.bounds import LowerBounds, rank_bound
from tests.helpers import present


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (20, 20)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_is_the_norm_of_the_smaller_singular_values(shape, dtype):
    M = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    values = np.linalg.svd(M.astype(float), compute_uv=False)
    for p in (1, 5, 11):
        expected = np.sqrt(np.square(values[p:]).sum())
        assert rank_bound(M, p) == pytest.approx(expected, rel=1e-9)
        assert rank_bound(sp.csc_array(M), p) == pytest.approx(expected, rel=1e-5 if dtype == np.float32 else 1e-9)


def test_a_large_sparse_matrix_takes_the_leading_values_only(monkeypatch):
    M = sp.random_array((60, 50), density=0.2, rng=0, format="csc")
    exact = rank_bound(M, 6)
    monkeypatch.setattr(bounds, "GRAM_SIDE", 10)
    assert rank_bound(M, 6) == pytest.approx(exact, rel=1e-9)
    monkeypatch.setattr(bounds, "LANCZOS_COST", 10)
    assert rank_bound(M, 6) is None
    assert rank_bound(M.toarray(), 6) is None


def test_is_zero_where_the_rank_suffices_and_unknown_with_missing_entries():
    rng = np.random.default_rng(1)
    M = rng.random((20, 3)) @ rng.random((3, 15))
    assert rank_bound(M, 3) == 0 and rank_bound(M, 15) == 0 and rank_bound(np.zeros((4, 5)), 2) == 0
    assert present(rank_bound(M, 2)) > 0
    M[4, 5] = np.nan
    assert rank_bound(M, 2) is None
    assert rank_bound(np.full((4, 5), 1e300), 2) is None


def test_asking_does_not_wait():
    M, gate, loads = np.diag([3.0, 2.0, 1.0]), threading.Event(), []

    def load():
        loads.append(gate.wait(10))
        return M

    floors = LowerBounds()
    assert floors.get("a", load, 2) is None
    gate.set()
    assert floors.get("a", load, 2, wait=10) == pytest.approx(1)
    assert floors.get("a", load, 2) == pytest.approx(1) and len(loads) == 1
    floors.close()
