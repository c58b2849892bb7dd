"""Uploaded data: kept as it is, reachable by its id alone, gone with its last run."""

import json

import numpy as np
import pytest
from scipy import sparse

from semf_core.datasets import DATASETS, Dataset, Swimmer
from semf_core.parameters import InvalidInput
from semf_core.runs import uploads
from semf_core.runs.uploads import Upload, add_upload

from .common import tiny, wait_for_state

PLAIN = np.random.default_rng(0).random((8, 20))
SPARSE_DATA = sparse.random(30, 20, 0.2, random_state=0, format="csc")
LABELLED = Dataset(PLAIN.astype(np.float32), title="with labels", labels=["a", "b"] * 10, note="noted")


@pytest.mark.parametrize("dataset", [Dataset(PLAIN), Swimmer(missing=0.9).load(), Dataset(SPARSE_DATA), LABELLED], ids=range(4))
def test_everything_comes_back(tmp_path, dataset):
    source = add_upload(dataset, tmp_path)
    again = DATASETS.build(json.loads(json.dumps(source.to_dict()))).load_from(tmp_path)
    assert again.fingerprint() == dataset.fingerprint()
    for name in uploads.INFO:
        assert getattr(again, name) == getattr(dataset, name)
    for name in ("parts", "activations", "labels"):
        np.testing.assert_array_equal(getattr(again, name), getattr(dataset, name))


def test_large_data_stays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "MAPPED_BYTES", 100)
    source = add_upload(Dataset(PLAIN), tmp_path)
    assert isinstance(source.load_from(tmp_path).data, np.memmap)


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


def test_unused_uploads_are_removed_on_request_only(service):
    used, unused = service.start(tiny(5), dataset=LABELLED), service.add_upload(LABELLED)
    assert service.remove_unused_uploads() == 0
    assert service.remove_unused_uploads(older_than=-1) == 1
    assert not (service.home / "data" / unused.id).exists()
    assert wait_for_state(service, used.id, "finished").iterations == 5
