"""Studies as pages use them."""

import dataclasses

import numpy as np
import pytest

from semf_core.datasets import Dataset, FileSource
from semf_core.parameters import InvalidInput
from semf_core.service import Service
from semf_core.studies import Finished, StudyStore, builtin_names, builtin_study
from semf_core.studies import background as background_module
from semf_core.studies import service as service_module

from .common import BASE, slow, small, small_form, wait_for


@pytest.fixture
def service(tmp_path):
    made = Service(tmp_path, max_running=1)
    yield made
    made.close()


def test_start_pause_resume_and_whose_key_counts(service):
    studies = service.studies
    handle = studies.start(slow(30))
    wait_for(lambda: studies.progress(handle.id).done >= 1)
    stranger = studies.start(slow(30))
    assert stranger.id == handle.id and stranger.key == ""
    with pytest.raises(InvalidInput, match="only whoever started"):
        studies.pause(handle.id, "somebody's")
    studies.pause(handle.id, handle.key)
    wait_for(lambda: studies.progress(handle.id).state == "paused")
    kept = studies.table(handle.id).done.copy()
    assert 0 < kept.sum() < 30
    studies.resume(handle.id)
    wait_for(lambda: studies.progress(handle.id).done > kept.sum())
    studies.cancel(handle.id, handle.key)
    wait_for(lambda: studies.progress(handle.id).state == "cancelled")
    assert studies.table(handle.id).done[kept].all()
    background_module._STARTED[-1].wait()


def test_failed_runs_get_another_chance(service, monkeypatch):
    started = []
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home: started.append(store.id))
    store = StudyStore.create(slow(3, max_iter=20), service.home)
    lost = Finished(1, error="died", lost=True)
    store.record([Finished(0, {"relative_error": 123.0}, 0.1), lost, Finished(2, error="offline")])
    assert store.progress().state == "finished"
    service.studies.start(slow(3, max_iter=20))
    assert started == [store.id] and store.failures() == [(2, "offline")]
    store.record([Finished(1, {"relative_error": 0.5}, 0.1)])
    service.studies.start(slow(3, max_iter=20))
    assert len(started) == 1  # what failed by itself waits until somebody asks
    service.studies.resume(store.id)
    progress = store.progress()
    assert len(started) == 2 and (progress.done, progress.failed) == (2, 0)


def test_words_and_views_are_those_given_last_except_of_shared_studies(service, monkeypatch):
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home: None)
    studies = service.studies
    handle = studies.start(small())
    StudyStore.find(handle.id, service.home).record([Finished(0, {"relative_error": 0.3}, 0.1)])
    assert studies.study(handle.id).title == "Small study" and len(studies.study(handle.id).views) == 1
    labelled = [axis | {"labels": ["few", "more"]} if axis.get("path") == "rank" else axis for axis in small_form()["axes"]]
    assert studies.table(handle.id).labels(0)["rank"] == "3"
    assert studies.start(small(title="Better words", claim={"text": "Yes."}, axes=labelled)).id == handle.id
    assert (studies.study(handle.id).title, studies.study(handle.id).claim.text) == ("Better words", "Yes.")
    assert studies.table(handle.id).labels(0)["rank"] == "few" and studies.progress(handle.id).done == 1
    shared = builtin_study("restart-atlas").sized("quick")
    for study in (shared, dataclasses.replace(shared, title="Mine")):
        handle = studies.start(study)
    assert studies.study(handle.id).title == shared.title


def test_the_background_process_outlives_the_server(tmp_path):
    service = Service(tmp_path, max_running=1)
    handle = service.studies.start(slow(4))
    service.close()
    store = StudyStore.find(handle.id, tmp_path)
    assert store.progress().moving or store.progress().state == "finished"
    wait_for(lambda: store.progress().state == "finished")
    background_module._STARTED[-1].wait()


def test_a_cell_becomes_a_model_with_the_changed_data(service):
    study = small(base=BASE | {"data": {"held_out": 0.2, "samples": 20}})
    store = StudyStore.create(study, service.home)
    store.record([Finished(0, {"relative_error": 0.3}, 0.1)])
    spec = service.studies.cell_model(store.id, 0, service.add_upload)
    assert spec.dataset.name == "upload" and "Small study" in spec.title
    expected = store.study().cell(0).trial
    shown = expected.data.apply(expected.model.dataset.load()).dataset.data
    np.testing.assert_array_equal(spec.dataset.load_from(service.home).data, shown)
    plain = StudyStore.create(small(), service.home)
    assert service.studies.cell_model(plain.id, 5, service.add_upload).dataset == plain.study().cell(5).trial.model.dataset


def test_strangers_studies_are_not_in_the_best_settings(service):
    mine = service.add_upload(Dataset(np.ones((8, 30))))
    store = StudyStore.create(small().on(mine), service.home)
    store.record([Finished(0, {"relative_error": 0.3}, 0.1)])
    assert service.studies.best([]) == []
    assert [s.study_id for s in service.studies.best([store.id, "unknown"])] == [store.id]


def test_an_upload_that_a_study_uses_is_kept(service):
    used, _unused = (service.add_upload(Dataset(np.ones((8, 30)))) for _ in range(2))
    StudyStore.create(small().on(used), service.home)
    StudyStore.create(builtin_study("restart-atlas").sized("quick"), service.home)
    assert service.remove_unused_uploads(older_than=-1) == 1
    assert used.load_from(service.home).shape == (8, 30)


def test_what_must_not_run_on_a_server_is_refused(service):
    with pytest.raises(InvalidInput, match="upload the file"):
        service.studies.start(small().on(FileSource(path="/etc/hostname")))
    with pytest.raises(InvalidInput, match="is the most"):
        service.studies.start(small(axes=[{"path": "seed", "range": [0, 30000]}], views=[]))
    with pytest.raises(InvalidInput, match="no study"):
        service.studies.progress("x" * 22)


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_studies_are_complete(name, service):
    study = builtin_study(name)
    assert study.name == name and study.title and study.summary and study.views
    assert study.claim.source and study.claim.text and set(study.sizes) == {"quick", "full"}
    for size in study.sizes:
        ready = service.studies.prepare(study.sized(size))
        assert 1 <= ready.count <= 20_000
        for number in {0, ready.count // 2, ready.count - 1}:
            cell = ready.cell(number)
            problem = cell.trial.model.problem(cell.trial.data.apply(cell.trial.model.dataset.load()).dataset)
            cell.trial.model.solver.check(problem)
    assert study.sized("quick").count <= study.sized("full").count
    keys = {m.key for m in study.measures}
    axes = {a.name: set(a.labels) for a in study.axes}
    for value in study.claim.values:
        assert value["measure"] in keys and isinstance(value["value"], float)
        assert all(value[k] in axes[k] for k in value if k not in ("measure", "value"))
