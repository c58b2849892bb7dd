"""Studies as pages use them."""

import base64
import dataclasses
import io
import re
import threading

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, FileSource
from semf_core.runs.uploads import remove_unused
from semf_core.service import Service
from semf_core.solvers import Run
from semf_core.studies import Finished, Study, StudyStore, builtin_names, builtin_study, kept_arrays, run_study
from semf_core.studies import background as background_module
from semf_core.studies import service as service_module
from semf_core.studies.atlas import atlas_of
from semf_core.studies.cell_run import carry_out
from semf_core.studies.execution import LocalExecutor
from semf_core.studies.queue import StudyQueue
from tests.helpers import noted

from .common import BASE, slow, small, small_form, wait_for


@pytest.fixture
def service(tmp_path, no_reserve):
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
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home, visitor: started.append(store.id))
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


def test_words_belong_to_their_owner_and_results_are_shared(service, monkeypatch):
    """Whoever starts the same runs under other words changes nothing that the first one sees, nor his files."""
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home, visitor: None)
    studies = service.studies
    first = studies.start(small())
    store = StudyStore.find(first.id, service.home)
    store.record([Finished(0, {"relative_error": 0.3}, 0.1)])
    file, before = studies.export(first.id), (store.folder / "study.json").read_bytes()
    labelled = [axis | {"labels": ["few", "more"]} if axis.get("path") == "rank" else axis for axis in small_form()["axes"]]
    same_runs = small(title="Other words", claim={"text": "Yes."}, axes=labelled)
    other = studies.start(same_runs)
    assert other.id != first.id and studies.progress(other.id) == studies.progress(first.id)
    assert (studies.study(first.id).title, studies.study(other.id).title) == ("Small study", "Other words")
    assert studies.table(first.id).labels(0)["rank"] == "3" and studies.table(other.id).labels(0)["rank"] == "few"
    assert studies.export(first.id) == file and (store.folder / "study.json").read_bytes() == before
    assert studies.start(small()).id == first.id and studies.start(same_runs) == other
    assert "Other words" in studies.as_json(other.id) and "Other words" not in studies.as_json(first.id)
    for bad in (f"{first.id}.{'x' * 22}", f"{first.id}.", f"{first.id}.../../x", "."):
        assert not studies.exists(bad)


def test_nobody_puts_words_on_a_shared_study(service, monkeypatch):
    """Not even whoever comes before it was ever started."""
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home, visitor: None)
    studies = service.studies
    shared = studies.prepare(builtin_study("swimmer-rates").sized("quick"))
    mine = studies.start(dataclasses.replace(shared, title="Mine"))
    StudyStore.find(mine.id, service.home).record([Finished(0, {m.key: 1.0 for m in shared.measures}, 0.1)])
    assert not studies.exists(studies.place(shared)) and studies.best([]) == []
    handle = studies.start(shared)
    assert handle.id == studies.place(shared) and studies.study(handle.id).title == shared.title
    assert {s.study for s in studies.best([])} == {shared.title} and studies.progress(handle.id).done == 1


def test_the_background_process_outlives_the_server(tmp_path, no_reserve):
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


def test_what_runs_kept_is_drawn_and_compared_in_the_limited_child(service, monkeypatch):
    views = [{"name": "histories", "measure": "residual_uv", "x": "rank"}]
    axes = [{"path": "rank", "values": [3, 4]}, {"path": "seed", "range": [0, 2]}]
    store = StudyStore.create(small(axes=axes, views=views, keep=["factors", "history"]), service.home)
    run_study(store, LocalExecutor(1, service.home))
    table, view = service.studies.table(store.id), store.study().views[0]
    there, here = service.studies.drawing(store.id, view, table), view.draw(table)
    assert (there.view, there.title, there.log, there.rows()) == (here.view, here.title, here.log, here.rows())
    compared, alone = service.studies.atlas(store.id, [2, 3]), atlas_of(store, [2, 3])
    assert compared is not None and alone is not None
    assert [s.members for s in compared.solutions] == [s.members for s in alone.solutions] and compared.runs == alone.runs
    np.testing.assert_array_equal(compared.columns, alone.columns)


def test_what_a_stranger_says_that_runs_kept_cannot_take_the_memory(service, monkeypatch):
    store = StudyStore.create(small(axes=[{"path": "seed", "range": [0, 2]}], views=[], keep=["factors"]), service.home)
    bomb = io.BytesIO()
    np.savez_compressed(bomb, U=np.zeros((1 << 20, 32), np.float32))
    kept = base64.b64encode(bomb.getvalue()).decode()
    store.record([Finished(n, {"relative_error": 0.5}, 0.1, kept=kept) for n in range(2)])
    monkeypatch.setenv("SEMF_MAX_READ_MB", "64")
    with pytest.raises(InvalidInput, match="needs more than the 64 MB of memory"):
        service.studies.atlas(store.id, [0, 1])


def test_what_runs_kept_is_shown_only_where_it_fits_their_data(service):
    store = StudyStore.create(small(axes=[{"path": "seed", "range": [0, 3]}], views=[], keep=["factors"]), service.home)
    for number, rows in enumerate((8, 8, 9)):
        kept = io.BytesIO()
        np.savez_compressed(kept, U=np.ones((rows, 4), np.float32))
        text = base64.b64encode(kept.getvalue()).decode()
        store.record([Finished(number, {"relative_error": 0.5}, 0.1, kept=text)])
    assert service.studies.components(store.id, 1).shape == (8, 4)
    with pytest.raises(InvalidInput, match="run 2 has kept does not fit its data"):
        service.studies.components(store.id, 2)
    with pytest.raises(InvalidInput, match="compare those of data with the same rows"):
        service.studies.atlas(store.id, [0, 1, 2])


def test_factors_that_are_too_large_to_be_compared_are_not_kept(service, monkeypatch):
    monkeypatch.setattr(kept_arrays, "MOST_BYTES", 4 * 4 * (8 + 30) - 1)
    monkeypatch.setattr(Run, "advance", None)  # it does not come so far
    (cell,) = slow(1).cells()
    found = carry_out({"cell": 0, "trial": cell.trial.to_dict(), "measures": [], "keep": ["factors"]})
    assert "0 MB is the most; leave the factors out" in found.error


def test_a_study_stops_when_the_share_of_its_visitor_is_full(service, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_STORE_PER_VISITOR_MB", "0.5")
    handle = service.studies.start(slow(400), "somebody")
    wait_for(lambda: service.studies.progress(handle.id).done >= 1)
    (service.home / "studies" / handle.id / "more").write_bytes(bytes(1 << 20))
    wait_for(lambda: service.studies.progress(handle.id).state in {"interrupted", "paused"})
    assert "your share of the server's store is full" in service.studies.progress(handle.id).message
    background_module._STARTED[-1].wait()


def test_strangers_studies_are_not_in_the_best_settings(service):
    mine = service.add_upload(Dataset(np.ones((8, 30))))
    store = StudyStore.create(small().on(mine), service.home)
    store.record([Finished(0, {"relative_error": 0.3}, 0.1)])
    assert service.studies.best([]) == []
    assert [s.study_id for s in service.studies.best([store.id, "unknown"])] == [store.id]


def test_an_upload_that_a_study_uses_is_kept(service):
    used, unused = (service.add_upload(Dataset(np.ones((8, 30)))) for _ in range(2))
    StudyStore.create(small().on(used), service.home)
    StudyStore.create(builtin_study("restart-atlas").sized("quick"), service.home)
    assert remove_unused(service.home, [used.id, unused.id]) == 1
    assert used.load_from(service.home).shape == (8, 30)


def test_what_must_not_run_on_a_server_is_refused(service):
    with pytest.raises(InvalidInput, match="upload the file"):
        service.studies.start(small().on(FileSource(path="/etc/hostname")))
    with pytest.raises(InvalidInput, match="is the most"):
        service.studies.start(small(axes=[{"path": "seed", "range": [0, 30000]}], views=[]))
    with pytest.raises(InvalidInput, match="no study"):
        service.studies.progress("x" * 22)


MASKS = [{"name": "support", "mask": [[1] * 4] * 8}] * 200


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"base": BASE | {"x": MASKS}, "axes": [{"path": "seed", "range": [0, 20_000]}]}, "MB is the most"),
        ({"sizes": {f"s{n}": {} for n in range(300)}}, "a study may have 20"),
        ({"sizes": {f"s{n}": {"axes": {"seed": {"range": [0, 50_000]}}} for n in range(20)}}, "which is the most"),
        ({"axes": [{"name": f"a{n}", "path": "seed", "values": [1]} for n in range(5000)]}, "a study may have 20"),
        ({"base": BASE | {"limits": {"max_iter": 10_000_000, "restarts": 100}}}, "lower one of them"),
    ],
    ids=["cells times masks", "sizes", "values in sizes", "axes", "iterations"],
)
def test_a_study_that_takes_long_to_check_is_rejected_before_it_is(service, monkeypatch, changes, words):
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    monkeypatch.setenv("SEMF_MAX_STUDY_RUNS", "20000")
    checked: list = []
    monkeypatch.setattr(Study, "_cell", noted(checked, Study._cell))
    with pytest.raises(InvalidInput, match=words):
        service.studies.start(Study.from_dict(small_form(views=[]) | changes))
    assert len(checked) <= 1 and not list((service.home / "studies").glob("*/study.json"))


def test_checking_a_study_holds_up_nobody(service, monkeypatch):
    monkeypatch.setattr(service_module, "start_in_background", lambda store, home, visitor: None)
    inside, go_on = threading.Event(), threading.Event()

    def slow_check(cell):
        inside.set()
        assert go_on.wait(30)

    thread = threading.Thread(target=StudyStore.create, args=(slow(2), service.home, slow_check))
    thread.start()
    assert inside.wait(30)
    handle = service.studies.start(small())  # while the other one is checked
    go_on.set()
    thread.join(30)
    assert service.studies.exists(handle.id) and len(list((service.home / "studies").glob("*/study.json"))) == 2


def test_a_visitor_has_so_many_studies_in_the_queue(service, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_STUDIES_PER_VISITOR", "2")
    monkeypatch.setattr(service_module, "start_in_background", _queued)
    for cells in (1, 2):
        service.studies.start(slow(cells), "greedy")
    with pytest.raises(InvalidInput, match="2 of yours are under way"):
        service.studies.start(slow(3), "greedy")
    waiting = service.studies.start(slow(3), "modest")
    with pytest.raises(InvalidInput, match="2 of yours are under way"):
        service.studies.resume(StudyStore.create(slow(4), service.home).id, "greedy")
    service.studies.resume(waiting.id, "greedy")  # it waits already


def _queued(store, home, visitor):
    store.ask("run")
    StudyQueue(home / "studies").put(store.id, visitor)


@pytest.mark.parametrize("name", builtin_names())
def test_built_in_studies_are_complete(name, service):
    study = builtin_study(name)
    assert study.name == name and study.title and study.summary and study.views
    assert study.claim.source and study.claim.text and set(study.sizes) == {"quick", "full"}
    numbered = [label for axis in study.axes for label in axis.labels if re.match(r"\(\d+\)", label)]
    assert not numbered or "equations" in study.summary, "what a number in brackets is, is said in place"
    for size in study.sizes:
        ready = service.studies.prepare(study.sized(size))
        assert 1 <= ready.count <= 20_000
        for number in {0, ready.count // 2, ready.count - 1}:
            cell = ready.cell(number)
            problem = cell.trial.model.problem(cell.trial.data.apply(cell.trial.model.dataset.load()).dataset)
            cell.trial.model.solver.check(problem)
    quick = service.studies.prepare(study.sized("quick"))
    assert all(quick.cell(number).trial.model.title is not None for number in range(quick.count)), "every run can be described"
    assert study.sized("quick").count <= study.sized("full").count
    keys = {m.key for m in study.measures}
    axes = {a.name: set(a.labels) for a in study.axes}
    for value in study.claim.values:
        assert value["measure"] in keys and isinstance(value["value"], float)
        assert all(value[k] in axes[k] for k in value if k not in ("measure", "value"))
