"""Uploaded data: kept as it is, reachable by its id alone, gone with its last run."""

import json
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import DATASETS, Dataset, Swimmer
from semf_core.runs import uploads
from semf_core.runs.uploads import Upload, add_upload, remove_unused
from semf_core.service import Service
from tests.helpers import of, present

from .common import tiny, wait_for_state

PLAIN = np.random.default_rng(0).random((8, 20))
SPARSE_DATA = sparse.random(60, 20, 0.4, random_state=0, format="csc")
LABELLED = Dataset(PLAIN.astype(np.float32), title="with labels", labels=np.array(["a", "b"] * 10), note="noted")


@pytest.mark.parametrize("dataset", [Dataset(PLAIN), Swimmer(missing=0.9).load(), Dataset(SPARSE_DATA), LABELLED], ids=range(4))
def test_everything_comes_back(tmp_path, dataset):
    source = add_upload(dataset, tmp_path)
    again = of(Upload, DATASETS.build(json.loads(json.dumps(source.to_dict())))).load_from(tmp_path)
    assert again.fingerprint() == dataset.fingerprint()
    for name in uploads.INFO:
        assert getattr(again, name) == getattr(dataset, name)
    for name in ("parts", "activations", "labels"):
        np.testing.assert_array_equal(getattr(again, name), getattr(dataset, name))


def test_what_matters_is_on_the_disk_when_it_has_its_name(tmp_path, monkeypatch, no_reserve):
    """A power cut leaves whatever was not brought there empty."""
    synced, sync = set(), os.fsync

    def seen(file):
        synced.add(os.fstat(file).st_ino)
        sync(file)

    monkeypatch.setattr(os, "fsync", seen)
    source = add_upload(LABELLED, tmp_path)
    service = Service(tmp_path, max_running=1)
    run = service.start(tiny(), paused=True)
    service.name_components(run.id, run.key, ["first"])
    service.close()
    folder = service._folder(run.id)
    kept = [*source.folder(tmp_path).iterdir(), folder.spec_file(0), folder.meta, folder.components]
    assert {path.name for path in kept if path.stat().st_ino not in synced} == set() and len(kept) > 5


def test_large_data_stays_on_disk(tmp_path):
    dense, thin = (add_upload(Dataset(data), tmp_path) for data in (PLAIN, SPARSE_DATA))
    assert isinstance(dense.load_from(tmp_path, mapped_above=100).data, np.memmap)
    assert not isinstance(dense.load_from(tmp_path).data, np.memmap)
    owner = thin.load_from(tmp_path, mapped_above=100).data.data
    while isinstance(owner, np.ndarray):
        owner = owner.base
    assert isinstance(owner, mmap.mmap), "the arrays of a sparse matrix are mapped too"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which pages are in memory")
def test_the_pages_of_mapped_data_are_not_kept_after_it_was_checked(tmp_path):
    source = add_upload(Dataset(np.ones((1000, 4000))), tmp_path)

    def from_files():
        return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if "RssFile" in line)

    before = from_files()
    data = source.load_from(tmp_path, mapped_above=100).data
    assert from_files() - before < 8_000, "kB of 31,250"
    assert data[-1, -1] == 1


def test_what_earlier_versions_have_stored_is_read(tmp_path):
    source = add_upload(Dataset(SPARSE_DATA, labels=np.array(["a", "b"] * 10)), tmp_path)
    for file in source.folder(tmp_path).glob("*.npy"):
        file.unlink()
    sparse.save_npz(source.folder(tmp_path) / "data.npz", SPARSE_DATA)
    np.savez(source.folder(tmp_path) / "truth.npz", labels=np.array(["a", "b"] * 10))
    again = source.load_from(tmp_path)
    assert again.fingerprint() == Dataset(SPARSE_DATA).fingerprint() and list(present(again.labels)[:2]) == ["a", "b"]


def test_limits(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "0.0001")
    with pytest.raises(InvalidInput, match="an upload may take"):
        add_upload(Dataset(PLAIN), tmp_path)
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "10")
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "0.0001")
    with pytest.raises(InvalidInput, match="store: is full"):
        add_upload(Dataset(PLAIN), tmp_path)
    assert not list(tmp_path.glob("data/*"))


@pytest.mark.parametrize("upload_id", ["../../etc", "", "A" * 23, "A" * 21 + "/"])
def test_hostile_ids_are_refused(upload_id):
    with pytest.raises(InvalidInput, match="id"):
        Upload(upload_id)
    with pytest.raises(InvalidInput, match="no longer"):
        Upload("A" * 22).load()


def test_a_worker_reads_the_upload_and_the_last_run_takes_it_along(service):
    first = service.start(tiny(20), dataset=LABELLED)
    spec = service.status(first.id).spec
    assert wait_for_state(service, first.id, "finished").iterations == 20
    assert service.dataset(first.id).title == "with labels"
    second = service.start(spec)
    wait_for_state(service, second.id, "finished")
    folder = service.home / "data" / spec.dataset.id
    service.delete(first.id, first.key)
    assert folder.exists()
    service.delete(second.id, second.key)
    assert not folder.exists()


def test_only_uploads_that_nothing_uses_are_removed(service):
    handle, unused = service.start(tiny(5), dataset=LABELLED), service.add_upload(LABELLED)
    used = service.status(handle.id).spec.dataset
    assert remove_unused(service.home, [used.id, unused.id]) == 1
    assert used.folder(service.home).exists() and not unused.folder(service.home).exists()
    assert wait_for_state(service, handle.id, "finished").iterations == 5
