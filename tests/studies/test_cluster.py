"""The same study on a real Dask cluster of worker processes, one of which is killed in the middle."""

import os
import signal

import distributed
import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import FileSource
from semf_core.studies import StudyStore, run_study
from semf_core.studies.cluster import DaskExecutor
from semf_core.studies.execution import make_executor

from .common import rows, slow, small


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0", "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as made:
        yield made


def test_a_killed_worker_loses_nothing_and_results_are_those_of_this_computer(cluster, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_DASK", cluster.scheduler_address)
    store = StudyStore.create(slow(10), tmp_path)
    executor = make_executor()
    assert isinstance(executor, DaskExecutor) and executor.slots == 2
    recorded: list = []
    victims: list = []

    def kill_one(count):
        recorded.append(count)
        if not victims:
            victims.extend(executor._client.run(os.getpid).values())
            os.kill(victims[0], signal.SIGKILL)

    progress = run_study(store, executor, kill_one)
    assert victims and (progress.state, progress.done, progress.failed) == ("finished", 10, 0)
    assert sum(recorded) == 10 and {c for (c,) in rows(store, "claims")} == {1}
    monkeypatch.delenv("SEMF_DASK")
    local = StudyStore.create(slow(10), tmp_path / "local")
    run_study(local, make_executor(1, tmp_path))
    np.testing.assert_array_equal(store.table().columns["relative_error"], local.table().columns["relative_error"])


def test_a_file_of_this_computer_travels_and_a_bad_cell_says_why(cluster, tmp_path, monkeypatch):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((8, 30)))
    study = small(axes=[{"path": "rank", "values": [2, 9]}, {"path": "y.0.k", "values": [2, 5]}], views=[])
    store = StudyStore.create(study.on(FileSource(path=str(tmp_path / "m.npy"))), tmp_path)
    progress = run_study(store, DaskExecutor(cluster.scheduler_address, tmp_path))
    assert (progress.done, progress.failed) == (3, 1)
    assert "at most 2 nonzeros" in store.failures()[0][1]


def test_nobody_answers():
    with pytest.raises(InvalidInput, match="no scheduler answers"):
        DaskExecutor("tcp://127.0.0.1:1", timeout=1)
