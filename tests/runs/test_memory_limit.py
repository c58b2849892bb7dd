"""A run gets the memory that the server allows, and no more: rejected before, or ended in words."""

import numpy as np
import pytest

from semf_core import service as service_module
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset

from .common import tiny, wait_for_state

LARGE = Dataset(np.random.default_rng(0).random((4000, 100)))


@pytest.fixture
def tight(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_RUN_MB", "80")
    return make_service()


def test_a_model_that_needs_more_is_rejected_before_it_starts(tight):
    with pytest.raises(InvalidInput, match=r"needs about .* MB of memory"):
        tight.start(tiny(50, rank=600), dataset=LARGE)
    assert not list((tight.home / "runs").iterdir())


def test_data_that_no_run_may_make_are_rejected_before_they_are_made(tight, monkeypatch):
    monkeypatch.setattr(tight.datasets, "dataset", lambda source: pytest.fail("it was made"))
    data = {"name": "sparse_codes", "rows": 1000, "atoms": 1500, "samples": 1000, "nonzeros": 3}
    with pytest.raises(InvalidInput, match="while it is made, and a run may take 80 MB"):
        tight.start(tiny(50, dataset=data))


def test_a_run_that_needs_more_than_was_thought_ends_in_words(tight, monkeypatch):
    monkeypatch.setattr(service_module, "check_run_memory", lambda spec, dataset: None)
    run = tight.start(tiny(50, rank=600), dataset=LARGE)
    status = wait_for_state(tight, run.id, "failed")
    assert "needed more than the 80 MB of memory that a run may take" in status.message
    small = tight.start(tiny(5))
    assert wait_for_state(tight, small.id, "finished").iterations == 5, "the next run has a worker of its own"
