"""Metrics against their definitions, at their limits, and in their speed."""

# mypy: disable-error-code="arg-type"

from __future__ import annotations

import math
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from semf_core.datasets import Swimmer
from semf_core.datasets.swimmer import SWIMMER_GROUPS, swimmer_parts
from semf_core.mathematics import blocks, metrics

RNG = np.random.default_rng(0)
PARTS = swimmer_parts()
matrices = arrays(
    float, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.sampled_from([0.0, 1.0, -2.0, 0.3, 1e-200, 1e200])
)


class TestFit:
    M, U, V = RNG.random((50, 30)), RNG.random((50, 3)), RNG.random((3, 30))

    def expected(self, M):
        return np.sqrt(np.nansum((M - self.U @ self.V) ** 2))

    @pytest.mark.parametrize("entries", [1, 70, 10**6])
    def test_residual_does_not_depend_on_blocks_or_storage(self, monkeypatch, tmp_path, entries):
        monkeypatch.setattr(blocks, "BLOCK_ENTRIES", entries)
        np.save(tmp_path / "m.npy", self.M)
        for M in (self.M, np.asfortranarray(self.M), np.load(tmp_path / "m.npy", mmap_mode="r"), sparse.csc_array(self.M)):
            assert metrics.residual(M, self.U, self.V) == pytest.approx(self.expected(self.M), rel=1e-12)
            assert metrics.frobenius_norm(M) == pytest.approx(np.linalg.norm(self.M), rel=1e-12)

    def test_missing_entries_do_not_count(self):
        M = np.where(RNG.random(self.M.shape) < 0.2, np.nan, self.M)
        assert metrics.residual(M, self.U, self.V) == pytest.approx(self.expected(M), rel=1e-12)
        assert metrics.frobenius_norm(M) == pytest.approx(np.sqrt(np.nansum(M**2)), rel=1e-12)

    def test_broken_factors_are_not_hidden(self):
        U = self.U.copy()
        U[3, 1] = np.nan
        assert math.isnan(metrics.residual(self.M, U, self.V))

    @pytest.mark.parametrize("relative", [1e-4, 1e-9, 1e-13])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
    def test_small_residuals_keep_their_digits(self, make, relative):
        exact = np.round(8 * self.U) @ np.round(8 * self.V)
        E = RNG.standard_normal(exact.shape) * relative * np.linalg.norm(exact) / np.sqrt(exact.size)
        M = exact + E
        found = metrics.residual(make(M), np.round(8 * self.U), np.round(8 * self.V))
        assert found == pytest.approx(np.linalg.norm(M - exact), rel=1e-6)

    def test_no_temporary_of_full_size(self):
        M, U, V = np.ones((4000, 1000)), np.ones((4000, 2)), np.ones((2, 1000))
        tracemalloc.start()
        metrics.residual(M, U, V)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < M.nbytes / 2

    def test_numbers(self):
        assert metrics.snr_db(10, 1) == pytest.approx(20)
        assert metrics.snr_db(10, 0) == math.inf and metrics.snr_db(0, 1) == -math.inf
        assert metrics.snr_db(10, math.inf) == -math.inf and math.isnan(metrics.snr_db(10, math.nan))
        assert metrics.relative_error(10, 1) == 0.1
        assert metrics.relative_error(0, 0) == 0 and metrics.relative_error(0, 1) == math.inf
        assert metrics.rmse(6, 9) == 2


class TestSparseness:
    def test_counts(self):
        A = np.array([[1, 0, 0], [0, 0, -2], [3, 0, 1e-300]])
        assert list(metrics.nonzeros(A)) == [2, 0, 2]
        np.testing.assert_allclose(metrics.nonzero_fraction(A), [2 / 3, 0, 2 / 3])

    def test_hoyer(self):
        A = np.array([[1, 0, 3, 0], [1, -7, -4, 0], [1, 0, 0, 0], [1, 0, 0, 0.0]])
        np.testing.assert_allclose(metrics.hoyer_sparseness(A), [0, 1, 2 - 7 / 5, 1])
        assert list(metrics.hoyer_sparseness(np.array([[3.0, 0]]))) == [1, 1]

    def test_overlap_is_the_mean_over_pairs(self):
        A = RNG.standard_normal((20, 5))
        w = np.abs(A) / np.linalg.norm(A, axis=0)
        pairs = [w[:, i] @ w[:, j] for i in range(5) for j in range(i + 1, 5)]
        assert metrics.overlap(A) == pytest.approx(np.mean(pairs))

    def test_overlap_at_its_ends(self):
        assert metrics.overlap(PARTS) == 0
        assert metrics.overlap(np.array([[2.0, -5], [0, 0]])) == 1
        assert metrics.overlap(np.ones((7, 3))) == pytest.approx(1)
        assert metrics.overlap(RNG.standard_normal((20_000, 2))) == pytest.approx(2 / np.pi, abs=0.02)
        assert metrics.overlap(np.zeros((4, 3))) == 0
        assert metrics.overlap(np.ones((4, 1))) == 0

    def test_empty_columns_are_counted_and_do_not_lower_the_overlap(self):
        A = np.abs(RNG.standard_normal((20, 5)))
        with_dead = np.insert(A, [1, 3], 0, axis=1)
        assert metrics.overlap(with_dead) == metrics.overlap(A)
        assert metrics.empty_columns(with_dead) == 2 and metrics.empty_columns(A) == 0

    @settings(max_examples=80, deadline=None)
    @given(matrices)
    def test_always_a_number_in_range(self, A):
        with np.errstate(all="raise", under="ignore"):
            sparseness, aod, similarity = metrics.hoyer_sparseness(A), metrics.overlap(A), np.abs(metrics.cosines(A, A))
        assert ((sparseness >= 0) & (sparseness <= 1)).all()
        assert 0 <= aod <= 1 + 1e-12
        assert (similarity <= 1 + 1e-12).all()
        np.testing.assert_allclose(np.diag(similarity), A.any(axis=0), atol=1e-12)


class TestDictionaries:
    def test_sign_and_scale_do_not_matter(self):
        D = RNG.standard_normal((20, 50))
        learned = -3 * D[:, RNG.permutation(50)]
        assert metrics.recovered_atoms(D, learned) == 50
        assert metrics.dictionary_distance(D, learned) == pytest.approx(0, abs=1e-12)

    def test_distance_is_27_and_28(self):
        D, L = (A / np.linalg.norm(A, axis=0) for A in (RNG.standard_normal((6, 4)), RNG.standard_normal((6, 5))))
        by_hand = [min(1 - abs(d @ other) for other in L.T) for d in D.T]
        np.testing.assert_allclose(metrics.atom_distances(D, L), by_hand)
        assert metrics.dictionary_distance(D, L) == pytest.approx(np.mean(by_hand))

    def test_threshold_and_empty_atoms(self):
        D = np.eye(3)
        near = np.array([[1, 0, 0], [0.1, 1, 0], [0, 0.2, 0.0]])
        assert metrics.recovered_atoms(D, near) == 1  # cosines 0.995, 0.981 and an empty atom
        assert metrics.recovered_atoms(D, np.empty((3, 0))) == 0


class TestMatching:
    def test_one_to_one(self):
        parts = np.eye(4)[:, :2]
        doubled = np.array([[1, 1, 0.0], [0, 0.01, 0], [0, 0, 1], [0, 0, 0]])
        assert metrics.parts_found(doubled, parts) == 1  # two copies of one part are one part
        matching = metrics.match_parts(doubled, parts)
        assert matching.columns[0] in (0, 1)

    def test_permuted_and_negated_parts(self):
        order = RNG.permutation(17)
        matching = metrics.match_parts(-2 * PARTS[:, order], PARTS)
        np.testing.assert_array_equal(order[matching.columns], np.arange(17))
        np.testing.assert_allclose(matching.cosines, -1)
        assert metrics.parts_found(-2 * PARTS[:, order], PARTS) == 17

    def test_fewer_more_empty_and_broken_columns(self):
        few = metrics.match_parts(PARTS[:, :3], PARTS)
        assert sorted(few.columns)[:14] == [-1] * 14 and metrics.parts_found(PARTS[:, :3], PARTS) == 3
        assert metrics.parts_found(np.hstack([PARTS, PARTS]), PARTS) == 17
        assert metrics.parts_found(np.zeros((1024, 17)), PARTS) == 0
        assert metrics.parts_found(np.full((1024, 17), np.nan), PARTS) == 0

    def test_threshold(self):
        ghost = PARTS.copy()
        ghost[:, 3] += 0.1 * PARTS[:, 16]  # 0.17 of a limb's energy 5: cosine 0.983
        assert metrics.parts_found(ghost, PARTS) == 16
        assert metrics.parts_found(ghost, PARTS, threshold=0.98) == 17

    def test_ghosts(self):
        ghost = PARTS.copy()
        ghost[:, 3] += 0.05 * PARTS[:, 16]
        assert metrics.ghosts(ghost, PARTS) == 0 and metrics.ghosts(PARTS[:, :3], PARTS) == 0
        ghost[:, 3] += 0.1 * PARTS[:, 16]
        assert metrics.ghosts(-3 * ghost, PARTS) == 1
        assert metrics.ghosts(PARTS + PARTS[:, [16]], PARTS) == 16
        assert metrics.ghosts(np.ones((4, 2)), np.ones((4, 2))) == 0


class TestGroups:
    def score(self, U, model=SWIMMER_GROUPS):
        return metrics.groups_correct(U, PARTS, SWIMMER_GROUPS, model)

    def test_order_within_and_of_the_blocks_does_not_matter(self):
        order = [12, 15, 13, 14, 3, 2, 1, 0, 4, 5, 6, 7, 9, 8, 10, 11, 16]
        assert self.score(PARTS[:, order]) == 5

    def test_one_exchange_spoils_two_blocks(self):
        order = np.arange(17)
        order[[0, 4]] = 4, 0
        assert self.score(PARTS[:, order]) == 3
        order = np.arange(17)
        order[[0, 16]] = 16, 0
        assert self.score(PARTS[:, order]) == 3

    def test_a_ghost_spoils_its_block(self):
        U = PARTS.copy()
        U[:, 5] += 0.5 * PARTS[:, 16]
        assert self.score(U) == 4
        U[:, 5] = 0
        assert self.score(U) == 4
        assert self.score(np.zeros_like(PARTS)) == 0

    def test_blocks_of_other_sizes(self):
        torso_inside = (*SWIMMER_GROUPS[:3], (12, 13, 14, 15, 16))
        assert self.score(PARTS, torso_inside) == 3
        spare = np.hstack([PARTS, RNG.random((1024, 1))])
        assert self.score(spare, (*SWIMMER_GROUPS[:4], (16, 17))) == 4


def test_fast_enough_for_a_live_page():
    swimmer = Swimmer().load()
    U = PARTS + 0.1 * RNG.random(PARTS.shape)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        metrics.groups_correct(U, swimmer.parts, SWIMMER_GROUPS, SWIMMER_GROUPS)
        times.append(time.perf_counter() - start)
    assert min(times) < 2e-3  # the others tell how busy the machine is
