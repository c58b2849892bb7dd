"""What the building pages ask of the library: spelling, drafts, numbers of a dataset, projections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy import sparse

from semf_core.common.notation import equal_blocks, spell
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.datasets import Dataset, Swimmer, summary
from semf_core.datasets.summary import facts, image_shapes, spectrum
from semf_core.drawing.preview import preview_projection
from semf_core.mathematics import blocks as blocks_module
from semf_core.model.drafts import draft_set, misfit, vector_length
from semf_core.sets import SETS, Box, GroupSparse, Nonnegative, Sparse, combine
from tests.helpers import of

INDICES = some.lists(some.integers(0, 60), min_size=1, unique=True)


@given(INDICES)
def test_indices_are_read_as_they_are_spelled(indices):
    p = Param("indices", None, name="i")
    assert p.parse(spell(p, tuple(indices))) == tuple(indices)


@given(INDICES, some.integers(1, 7))
def test_groups_are_read_as_they_are_spelled(indices, size):
    p = Param("groups", None, name="g")
    groups = tuple(tuple(indices[i : i + size]) for i in range(0, len(indices), size))
    assert p.parse(spell(p, groups)) == groups


@given(some.one_of(some.floats(-1e9, 1e9), some.lists(some.floats(-1e9, 1e9), min_size=1).map(tuple)))
def test_numbers_are_read_as_they_are_spelled(value):
    p = Param("numbers", None, name="n")
    assert p.parse(spell(p, value)) == value


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_examples_can_be_spelled(cls):
    made = cls.from_params(cls.example)
    for p in params_of(cls):
        if p.kind not in {"matrix", "mask"}:
            value = getattr(made, p.name)
            assert p.parse(spell(p, value)) == value


@given(some.integers(1, 200), some.integers(1, 300))
def test_blocks_partition(length, size):
    assert [i for block in equal_blocks(length, size) for i in block] == list(range(length))


@pytest.mark.parametrize("shape", [(1024, 17), (17, 256), (6, 4)])
@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_drafts_fit(cls, shape):
    made = draft_set(cls, shape)
    assert misfit((made,), shape) is None
    assert vector_length(made, shape) >= 1


def test_known_groups_are_preferred():
    groups = Swimmer().load().groups
    assert of(GroupSparse, draft_set(SETS.get("group_sparse"), (17, 256), groups)).groups == groups


def test_a_first_sparsity_is_a_quarter():
    assert of(Sparse, draft_set(SETS.get("sparse"), (64, 16))).k == 16
    assert of(Sparse, draft_set(SETS.get("sparse"), (3, 256))).k == 1


def test_contradictions_are_misfits():
    assert misfit((Box(low=-2, high=-1), Nonnegative()), (6, 4)) is not None


def test_numbers_of_swimmer():
    data = Swimmer().load()
    assert spectrum(data.data).rank == 13
    found = facts(data)
    assert (found.low, found.high, found.missing) == (0, 1, 0)
    assert found.zeros == pytest.approx((data.data == 0).mean())
    assert "rank is 13" in spectrum(data.data).describe()


def test_large_data_has_its_leading_singular_values(monkeypatch):
    monkeypatch.setattr(summary, "FULL_COST", 1e4)
    rng = np.random.default_rng(0)
    M = rng.standard_normal((80, 60)) * 1e150
    shown = spectrum(M)
    assert not shown.complete
    exact = np.linalg.svd(M / 1e150, compute_uv=False)[: len(shown.values)] * 1e150
    np.testing.assert_allclose(shown.values, exact, rtol=5e-2)
    assert "leading" in shown.note


def test_leading_values_of_structured_data_are_accurate():
    rng = np.random.default_rng(1)
    M = rng.standard_normal((300, 20)) @ rng.standard_normal((20, 200))
    for data in (M, sparse.csr_array(M)):
        blocks = summary.TallBlocks(data)
        found = summary.leading_values(blocks, 20) * blocks.scale
        np.testing.assert_allclose(found, np.linalg.svd(M, compute_uv=False)[:20], rtol=1e-10)


@pytest.mark.parametrize("shape", [(500, 7), (7, 500), (60, 50), (300, 1)])
def test_singular_values_are_the_same_in_blocks(monkeypatch, shape):
    """Tall and wide, dense and sparse, down to the rank: σ₃ is twelve orders of magnitude below σ₁."""
    rng = np.random.default_rng(2)
    small = min(shape)
    M = rng.standard_normal((shape[0], small)) * np.logspace(0, -12, small) @ rng.standard_normal((small, shape[1]))
    whole = np.linalg.svd(M, compute_uv=False)
    for entries in (1 << 19, 64):
        monkeypatch.setattr(blocks_module, "BLOCK_ENTRIES", entries)
        for data in (M, sparse.csc_array(M), np.asfortranarray(M)):
            shown = spectrum(data)
            np.testing.assert_allclose(shown.values, whole, rtol=1e-10, atol=1e-13 * whole[0])
            assert shown.complete and shown.rank == small


def test_a_matrix_too_large_for_singular_values_says_so(monkeypatch):
    monkeypatch.setattr(summary, "FULL_COST", 1e3)
    monkeypatch.setattr(summary, "SKETCH_ENTRIES", 1000)
    for data in (np.ones((50, 40)), sparse.csc_array(np.ones((50, 40)))):
        shown = spectrum(data)
        assert not len(shown.values) and "1,000" in shown.note and "not computed" in shown.describe()


def test_counts_of_twenty_thousand_cells_have_their_leading_singular_values(monkeypatch):
    data = sparse.csc_array(np.ones((500, 40)))
    data.resize((500, 4000))
    monkeypatch.setattr(summary, "FULL_COST", 1e3)
    monkeypatch.setattr(summary, "SKETCH_ENTRIES", 27 * data.nnz)  # 80 million, for three million counts
    assert spectrum(data).values[0] == pytest.approx(np.sqrt(500 * 40))


@pytest.mark.parametrize("data", [np.zeros((3, 4)), np.ones((1, 1)), np.full((5, 1), 2.0), sparse.csc_array(np.eye(4)[:3])])
def test_small_and_sparse_data_have_numbers_too(data):
    found, shown = facts(Dataset(data)), spectrum(Dataset(data).data)
    assert found.low <= found.high
    assert shown.rank == np.linalg.matrix_rank(data.toarray() if sparse.issparse(data) else data)
    assert shown.describe()


def test_missing_entries_are_mentioned():
    data = np.ones((4, 5))
    data[1, 2] = np.nan
    found, shown = facts(Dataset(data)), spectrum(data)
    assert (found.low, found.high, found.missing) == (1, 1, 1 / 20)
    assert "missing" in shown.note and not shown.complete


def test_image_shapes_multiply_to_the_pixels():
    assert image_shapes(1024)[0] == (32, 32)
    assert all(h * w == 10304 for h, w in image_shapes(10304))
    assert (112, 92) in image_shapes(10304)
    assert image_shapes(13) == []


@pytest.mark.parametrize("factor", ["X", "Y"])
@pytest.mark.parametrize("kind", ["data", "random"])
def test_previews_are_members(factor, kind):
    structure = combine((Nonnegative(), Sparse(k=5)))
    shown = preview_projection(Swimmer().load(), 17, factor, structure, kind)
    assert structure.violation(shown.after) == 0
    assert shown.zeros[1] >= 0.5
    assert shown.distance > 0


def test_a_preview_that_cannot_be_is_refused():
    with pytest.raises(InvalidInput, match="at most 17"):
        preview_projection(Swimmer().load(), 17, "Y", Sparse(k=18))
    with pytest.raises(InvalidInput, match="too large"):
        preview_projection(Swimmer().load(), 4096, "X", Sparse(k=1))
