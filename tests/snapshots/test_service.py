"""Snapshots through the service: they read like runs, nothing controls them, and a run goes on from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, FileSource
from semf_core.model import preset_names
from semf_core.runs.edits import Edit
from semf_core.service import Service
from semf_core.snapshots.format import snapshot_bytes
from semf_core.snapshots.label import Label
from semf_core.solvers import COLUMNS, Limits
from tests.runs.common import assert_same_numbers, in_process, tiny, wait_for, wait_for_state


def paused_run(service, steps=30, **changes):
    handle = service.start(tiny(**changes), paused=True)
    wait_for_state(service, handle.id, "paused")
    service.step(handle.id, handle.key, steps)
    wait_for(lambda: service.status(handle.id).iterations == steps)
    wait_for_state(service, handle.id, "paused")
    return handle


def test_a_snapshot_reads_like_the_run(service):
    handle = service.start(tiny(max_iter=50))
    wait_for_state(service, handle.id, "finished")
    saved = service.save(handle.id, Label("Mine", "a, b", "note"))
    run, copy = service.status(handle.id), service.status(saved.id)
    assert copy.is_snapshot and not run.is_snapshot and not copy.owner_ok(saved.key)
    assert (copy.state, copy.message, copy.iterations, copy.spec) == (run.state, run.message, run.iterations, run.spec)
    np.testing.assert_array_equal(service.scalars(saved.id), service.scalars(handle.id))
    assert service.events(saved.id) == service.events(handle.id)
    assert service.keyframes(saved.id) == service.keyframes(handle.id)
    ours, theirs = service.result(saved.id), service.result(handle.id)
    assert ours.relative_error == theirs.relative_error
    np.testing.assert_array_equal(ours.U, theirs.U)
    frame = service.factors(saved.id)
    np.testing.assert_array_equal(frame.U, service.factors(handle.id).U)
    assert service.truth(saved.id, frame) == service.truth(handle.id, frame)
    assert service.matching(saved.id, frame) is not None
    assert service.factors(saved.id, 7).iteration == service.factors(handle.id, 7).iteration
    assert service.gallery.card(saved.id).label == Label("Mine", "a, b", "note")
    assert service.save(handle.id).id != saved.id
    assert service.gallery.file(saved.id)[0] == "mine.semf"
    service.gallery.relabel(saved.id, saved.key, Label("Renamed <b>"))
    name, media, data = service.export(saved.id, "html")
    assert (name, media) == ("renamed-b.html", "text/html") and b"Renamed &lt;b&gt;" in data and b"Renamed <b>" not in data
    assert service.export(handle.id, "npz")[2] and {e.name for e in service.exports(saved.id)} >= {"html", "gif", "npz"}
    with pytest.raises(InvalidInput, match="no 'exe'"):
        service.export(saved.id, "exe")


@pytest.mark.parametrize("scale", [1e300, 1e308])
def test_a_run_whose_numbers_no_file_can_hold_says_so(service, scale):
    upload = service.add_upload(Dataset(np.random.default_rng(0).random((8, 30)) * scale))
    handle = service.start(tiny(dataset=upload.to_dict()))
    wait_for(lambda: not service.status(handle.id).moving)
    with pytest.raises(InvalidInput, match="beyond floating point, which no file can hold; rescale the data"):
        service.save(handle.id)


def test_a_run_on_nothing_but_zeros_is_kept(service):
    handle = service.start(tiny(5, dataset=service.add_upload(Dataset(np.zeros((8, 30)))).to_dict()))
    wait_for(lambda: not service.status(handle.id).moving)
    assert service.status(service.save(handle.id, include_data=True).id).iterations == 5


def test_nothing_controls_a_snapshot(service):
    handle = paused_run(service)
    saved = service.save(handle.id)
    assert service.status(saved.id).state == "snapshot"
    for action in (service.pause, service.resume, service.step, service.stop, service.reset, service.delete):
        with pytest.raises(InvalidInput, match="stays as it is"):
            action(saved.id, saved.key)
    with pytest.raises(InvalidInput, match="already"):
        service.save(saved.id)


def test_what_moves_or_has_not_begun_is_not_saved(service):
    fresh = service.start(tiny(), paused=True)
    wait_for_state(service, fresh.id, "paused")
    with pytest.raises(InvalidInput, match="not iterated"):
        service.save(fresh.id)
    moving = service.start(tiny())
    wait_for_state(service, moving.id, "running")
    with pytest.raises(InvalidInput, match="pause it first"):
        service.save(moving.id)


def test_a_run_goes_on_from_a_snapshot_bit_for_bit(service):
    handle = paused_run(service, 30)
    saved = service.save(handle.id)
    more = service.continue_from(saved.id)
    assert service.status(more.id).state == "paused" and service.status(more.id).iterations == 30
    service.step(more.id, more.key, 40)
    wait_for(lambda: service.status(more.id).iterations == 70)
    assert_same_numbers(service.scalars(more.id), in_process(tiny(), 70))
    assert service.status(saved.id).iterations == 30


def test_edits_are_kept_and_go_on(service):
    handle = paused_run(service, 20)
    service.edit(handle.id, handle.key, Edit(alpha=2.5))
    service.edit(handle.id, handle.key, Edit(limits=Limits(max_iter=60, tol=0, target=0)))
    saved = service.save(handle.id)
    status = service.status(saved.id)
    assert status.edits == 2 and status.spec.limits.max_iter == 60
    more = service.continue_from(saved.id)
    service.step(more.id, more.key, 5)
    wait_for(lambda: service.status(more.id).iterations == 25)
    assert service.scalars(more.id)[20, COLUMNS.index("alpha")] == 2.5
    assert service.status(more.id).spec.limits.max_iter == 60


def test_a_finished_one_goes_on_with_its_history(service):
    handle = service.start(tiny(max_iter=20))
    wait_for_state(service, handle.id, "finished")
    before = service.scalars(handle.id)
    more = service.continue_from(service.save(handle.id).id)
    assert service.status(more.id).iterations == 20 and (service.scalars(more.id) == before).all(), "the earlier curves stay"
    assert service.events(more.id)[-1].kind == "edit" and "goes on from here" in service.events(more.id)[-1].text
    service.resume(more.id, more.key)
    wait_for_state(service, more.id, "finished")
    assert service.status(more.id).iterations == 40, "its limits count from there"


def test_uploaded_data_travels_only_if_wanted(service, make_service, dataset):
    handle = service.start(tiny(max_iter=10), dataset=dataset)
    wait_for_state(service, handle.id, "finished")
    without, with_data = service.save(handle.id), service.save(handle.id, include_data=True)
    assert service.dataset(without.id).fingerprint() == dataset.fingerprint(), "the data is on this server"
    elsewhere = make_service()
    here = elsewhere.gallery.add_file(*service.gallery.file(without.id))
    with pytest.raises(InvalidInput, match="holds its data"):
        elsewhere.dataset(here.id)
    with pytest.raises(InvalidInput, match="holds its data"):
        elsewhere.continue_from(here.id)
    assert elsewhere.result(here.id).iterations == 10 and elsewhere.image_shape(here.id) is None
    here = elsewhere.gallery.add_file(*service.gallery.file(with_data.id))
    assert elsewhere.dataset(here.id).fingerprint() == dataset.fingerprint()
    more = elsewhere.continue_from(here.id)
    assert elsewhere.status(more.id).spec.dataset.name == "upload"


def test_a_file_cannot_name_data_of_this_server(service, content, dataset):
    """A path or an upload's id in a stranger's file is not followed."""
    upload = service.add_upload(dataset)
    for source in (upload, FileSource(path="/etc/hostname")):
        revisions = (replace(content.revisions[0], spec=replace(content.spec, dataset=source)),)
        data = snapshot_bytes(replace(content, revisions=revisions, dataset=None))
        handle = service.gallery.add_file("x.semf", data)
        with pytest.raises(InvalidInput, match="holds its data"):
            service.dataset(handle.id)


def test_only_the_key_changes_a_snapshot(service, content):
    store = service.gallery
    handle = store.add_file("x.semf", snapshot_bytes(content))
    for change in (
        lambda key: store.relabel(handle.id, key, Label("New")),
        lambda key: store.publish(handle.id, key, True),
        lambda key: store.delete(handle.id, key),
        lambda key: store.restore(handle.id, key),
    ):
        with pytest.raises(InvalidInput, match="owner"):
            change("x" * 22)
        change(handle.key)
    assert store.card(handle.id).title == "New"


def test_reading_only(make_service, spec):
    writer = make_service()
    demo = writer.demo_run(preset_names()[0])
    wait_for_state(writer, demo, "finished")
    handle = writer.start(spec)
    wait_for_state(writer, handle.id, "finished")
    saved = writer.save(handle.id)
    writer.close()
    before = {p: p.stat().st_mtime_ns for p in writer.home.rglob("*")}
    reader = Service(writer.home, read_only=True)
    try:
        assert reader.demo_run(preset_names()[0]) == demo and reader.demo_run(preset_names()[1]) is None
        for one in (handle.id, saved.id):
            assert reader.status(one).iterations and reader.factors(one).U.size and reader.result(one).iterations
        assert reader.gallery.card(saved.id).id == saved.id
        rejected = [
            lambda: reader.start(spec),
            lambda: reader.start(spec, dataset=spec.dataset.load()),
            lambda: reader.fork(handle.id),
            lambda: reader.continue_from(saved.id),
            lambda: reader.save(handle.id),
            lambda: reader.resume(handle.id, handle.key),
            lambda: reader.delete(handle.id, handle.key),
            lambda: reader.add_upload(spec.dataset.load()),
            lambda: reader.gallery.add_file("x", b""),
            lambda: reader.gallery.duplicate(saved.id),
            lambda: reader.gallery.delete(saved.id, saved.key),
            lambda: reader.gallery.publish(saved.id, saved.key, True),
        ]
        for action in rejected:
            with pytest.raises(InvalidInput, match="shows results only"):
                action()
        assert not reader._manager._worker_pool.workers, "no worker waits for work that never comes"
    finally:
        reader.close()
    assert {p: p.stat().st_mtime_ns for p in writer.home.rglob("*")} == before


def test_reading_only_where_there_is_nothing(tmp_path):
    reader = Service(tmp_path / "nothing", read_only=True)
    assert reader.demo_run(preset_names()[0]) is None and reader.gallery.page([]).total == 0
    reader.close()
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(("text", "expected"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_the_switch_for_reading_only(monkeypatch, tmp_path, text, expected, no_reserve):
    monkeypatch.setenv("SEMF_READ_ONLY", text)
    made = Service(tmp_path / "home", max_running=1)
    made.close()
    assert made.read_only is expected


def test_limits_that_are_no_numbers_are_refused(monkeypatch, tmp_path):
    for name, value in (("SEMF_READ_ONLY", "perhaps"), ("SEMF_MAX_RUNS", "many"), ("SEMF_MAX_RUNS", "0")):
        with monkeypatch.context() as patch, pytest.raises(InvalidInput) as refusal:
            patch.setenv(name, value)
            Service(tmp_path / "home")
        assert refusal.value.field == name


def test_recording_here_gives_what_a_worker_gives(service, recorded, spec):
    handle = service.start(spec)
    wait_for_state(service, handle.id, "finished")
    timed = COLUMNS.index("seconds")
    ours, theirs = recorded.rows().copy(), service.scalars(handle.id).copy()
    ours[:, timed] = theirs[:, timed] = 0
    np.testing.assert_array_equal(ours, theirs)


def test_a_report_says_what_is_written_on_the_snapshot_now(service):
    handle = service.start(tiny(max_iter=5))
    wait_for_state(service, handle.id, "finished")
    saved = service.save(handle.id, Label("First title", "one, two", "A note for the reader"))
    page = service.export(saved.id, "html")[2].decode()
    assert all(words in page for words in ("First title", "one, two", "A note for the reader"))
    service.gallery.relabel(saved.id, saved.key, Label("Second title", "", "Another note"))
    page = service.export(saved.id, "html")[2].decode()
    assert "Second title" in page and "Another note" in page and "A note for the reader" not in page
