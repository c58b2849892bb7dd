"""What cannot be done on blocks of rows is said before the first iteration, mostly before anything is sent."""

import gc
import sys
import threading

import dask
import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_array

from semf_core.common.errors import InvalidInput
from semf_core.distributed import factorize_blocks
from semf_core.distributed.connection import connect
from semf_core.distributed.plans import ByColumns, ByRows, plan_for
from semf_core.sets import SETS, Intersection, Nonnegative, Sparse, UnitNorm, combine

SHAPE = (6, 4)
BLOCKS = [np.ones((3, 5)), np.ones((3, 5))]
POSSIBLE = {"nonnegative", "box", "support", "fixed_columns", "disjoint_supports", "sparse", "unit_norm", "norm_ball"}


@pytest.mark.parametrize("name", [c.name for c in SETS])
def test_every_set_is_planned_exactly_or_rejected_in_words(name):
    s = SETS.get(name)(**SETS.get(name).example)
    if name not in POSSIBLE:
        with pytest.raises(InvalidInput, match="cannot be enforced on blocks of rows; possible are"):
            plan_for(s, SHAPE)
        return
    plan = plan_for(s, SHAPE)
    assert isinstance(plan, ByColumns if name in {"sparse", "unit_norm", "norm_ball"} else ByRows)
    if isinstance(plan, ByRows):
        A = np.random.default_rng(0).standard_normal(SHAPE)
        parts = [slice(0, 1), slice(1, 4)]
        pieces = [plan.of(rows).of(part).project(A[rows][part]) for rows in (slice(0, 4), slice(4, 6)) for part in parts]
        np.testing.assert_array_equal(np.concatenate(pieces), s.project(A))


@pytest.mark.parametrize(
    "sets",
    [
        (Sparse(2, axis="all"),),
        (Sparse(2, entries=[0, 1, 2]),),
        (Nonnegative(entries=[0, 1]),),
        (Nonnegative(axis="row", columns=[2]),),
        (Sparse(2), Sparse(1, axis="row")),
    ],
)
def test_scopes_that_tie_rows_together_are_refused(sets):
    with pytest.raises(InvalidInput, match="blocks of rows"):
        plan_for(combine(sets), SHAPE)


def test_rounds_of_projections_are_refused():
    with pytest.raises(InvalidInput, match="only closed forms"):
        plan_for(Intersection((Nonnegative(), UnitNorm()), method="successive"), SHAPE)


@pytest.mark.parametrize(
    ("M", "options", "sentence"),
    [
        (np.ones((6, 5)), {}, "there is factorize"),
        ([], {}, "is empty"),
        ([np.ones((3, 5)), np.ones((3, 4))], {}, "block 1 has 4 columns"),
        ([np.ones(3)], {}, "block 0 must be a matrix"),
        ([np.array([["a", "b"]])], {}, "must hold real numbers"),
        (["nowhere.npy"], {}, "is not a .npy file"),
        ([csr_array(np.eye(5))], {}, "block 0 is sparse"),
        (da.ones((6, 5), chunks=(3, 2)), {}, "rechunk"),
        (da.ones((6, 5, 2)), {}, "two dimensions"),
        (BLOCKS, {"mask": np.ones((6, 5))}, "mask: is not possible"),
        (BLOCKS, {"polish": 3}, "polish: is not possible"),
        (BLOCKS, {"aplha0": 3}, "is not an option"),
        (BLOCKS, {"X": Sparse(2, axis="all")}, "cannot be enforced"),
        (BLOCKS, {}, "client: is missing"),
    ],
)
def test_bad_input_is_rejected_without_a_cluster(M, options, sentence, monkeypatch):
    monkeypatch.delenv("SEMF_DASK", raising=False)
    with pytest.raises(InvalidInput, match=sentence):
        factorize_blocks(M, 2, **options)


def test_a_map_inside_a_dask_array_is_refused(tmp_path):
    np.save(tmp_path / "m.npy", np.ones((6, 5)))
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    with pytest.raises(InvalidInput, match="pass the memory map itself"):
        factorize_blocks(da.from_array(mapped, chunks=(3, 5)), 2)
    with pytest.raises(InvalidInput, match="not a part"):
        factorize_blocks(mapped[1:], 2)


def test_chunks_that_cannot_travel_are_refused():
    block = dask.delayed(lambda lock: np.ones((6, 5)))(threading.Lock())
    with pytest.raises(InvalidInput, match="let the workers open the files themselves"):
        factorize_blocks(da.from_delayed(block, (6, 5), float), 2)


@pytest.mark.parametrize("address", ["nonsense", "nonsense://here:1", "tcp://127.0.0.1:1"])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_an_address_where_nobody_answers_is_rejected_and_nothing_stays_open(address):
    with pytest.raises(InvalidInput, match="check the address"):
        connect(address, timeout=0.2)
    gc.collect()


def test_dask_is_asked_for_in_words(monkeypatch):
    M = da.ones((6, 5), chunks=(3, 5))
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InvalidInput, match=r"semf-studio\[cluster\]"):
        factorize_blocks(M, 2)
