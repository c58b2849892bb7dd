"""A few of the random moments of `python -m benchmarks.kills`."""

import random

import pytest

from benchmarks import kills
from tests.disks import NoMounting


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(kills, "ITERATIONS", 4000)
    monkeypatch.setattr(kills, "CELLS", 10)
    kills.undisturbed.cache_clear()
    yield
    kills.undisturbed.cache_clear()


MOMENTS = {"killed_workers": 2, "killed_servers": 1, "killed_studies": 1, "filled_disks": 1}


@pytest.mark.parametrize(("disturb", "moments"), MOMENTS.items())
def test_nothing_is_lost_and_everything_goes_on(tmp_path, disturb, moments):
    try:
        tally = getattr(kills, disturb)(tmp_path, moments, random.Random(1))
    except NoMounting as why:
        pytest.skip(str(why))
    assert tally.moments == moments and tally.finished
    assert tally.lost == [] and tally.wrong == []
