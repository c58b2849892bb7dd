"""The memory of a run is known before it starts: the count of buffers is what running really takes."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import field

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, DatasetSource, HiddenFactors, Swimmer
from semf_core.factorization.result import make_result
from semf_core.mathematics import blocks
from semf_core.model import ModelSpec, memory
from semf_core.model.drafts import draft_set
from semf_core.model.memory import check_run_memory, run_bytes
from semf_core.sets import SETS, Nonnegative
from semf_core.solvers import ADMM, SOLVERS, Limits
from semf_core.solvers.reverse_convex.common import Alternating

MB = 2**20
TALL, WIDE, SQUARE = (2500, 12, 10), (12, 800, 10), (300, 250, 3)
TRACED = [cls for cls in SOLVERS if not issubclass(cls, Alternating)]  # what compiled code takes is not traced


class Given(DatasetSource):
    """Data at hand."""

    given: Dataset = field(default_factory=lambda: Dataset(np.ones((2, 2))))

    def load(self) -> Dataset:
        return self.given


def factorized(spec: ModelSpec, dataset: Dataset) -> None:
    """A run and its result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = spec.run(dataset)
        while run.stop_reason is None:
            run.advance()
        make_result(run)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of rows would be larger than these small matrices."""
    monkeypatch.setattr(blocks, "BLOCK_ENTRIES", 4096)


def compared(spec: ModelSpec, dataset: Dataset) -> tuple[float, float]:
    """What a run takes beside its data and what was expected, in MB."""
    factorized(spec, dataset)  # imports, and tables that are made once
    tracemalloc.start()
    try:
        factorized(spec, dataset)
        peak = tracemalloc.get_traced_memory()[1] / MB
    finally:
        tracemalloc.stop()
    expected = (run_bytes(spec, dataset) - memory.ALWAYS - dataset.data.nbytes) / MB
    assert peak < expected + 0.4, f"{peak:.1f} MB, and {expected:.1f} MB were expected"
    return peak, expected


def data(shape: tuple[int, int, int]) -> Dataset:
    m, n, _ = shape
    return Dataset(np.random.default_rng(0).random((m, n)), labels=np.arange(n) % 3)


@pytest.mark.parametrize("shape", [TALL, WIDE, SQUARE], ids=["tall", "wide", "square"])
@pytest.mark.parametrize("cls", TRACED, ids=lambda cls: cls.name)
def test_algorithms_take_what_they_say(cls, shape):
    both = (Nonnegative(),) if cls.takes_sets else ()
    dataset = data(shape)
    spec = ModelSpec(Given(dataset), shape[2], both, both, cls(), Limits(max_iter=1))
    peak, expected = compared(spec, dataset)
    if shape != SQUARE:  # there the matrix is counted once more, for zero rows and columns that may be left out
        assert peak > 0.25 * expected, f"{peak:.1f} MB, but {expected:.1f} MB were expected"


@pytest.mark.parametrize("cls", list(SETS), ids=lambda cls: cls.name)
def test_sets_take_what_they_say(cls):
    if cls.name == "custom":
        return
    dataset = data(TALL)
    spec = ModelSpec(Given(dataset), 10, (draft_set(cls, (TALL[0], 10)),), (), ADMM(), Limits(max_iter=1))
    compared(spec, dataset)


def test_a_model_above_the_limit_is_rejected_in_words(monkeypatch):
    dataset = Swimmer().load()
    spec = ModelSpec(Swimmer(), 17)
    check_run_memory(spec, dataset)
    monkeypatch.setenv("SEMF_MAX_RUN_MB", "50")
    large = ModelSpec(Swimmer(), 2000)
    with pytest.raises(InvalidInput, match=r"2000 on 1,024 × 256 data needs about .* MB .* may take 50 MB here; lower the rank"):
        check_run_memory(large, dataset)
    monkeypatch.setenv("SEMF_MAX_RUN_MB", "inf")
    check_run_memory(large, dataset)


def test_precision_and_storage_count():
    dense = data(SQUARE)
    spec = ModelSpec(Swimmer(), 200)
    single = ModelSpec(Swimmer(), 200, dtype="float32")
    assert run_bytes(single, dense) - memory.ALWAYS < 0.6 * (run_bytes(spec, dense) - memory.ALWAYS)
    thin = Dataset(sparse.random_array(SQUARE[:2], density=0.001, rng=0))
    assert run_bytes(spec, thin) < run_bytes(spec, dense)


def test_making_the_data_counts():
    source = HiddenFactors(samples=1_000_000)
    assert run_bytes(ModelSpec(source, 1), Dataset(np.ones((10, 10)))) > 3 * 8 * 10_000_000
