"""One damaged file harms only itself, is named, and can be set aside; what is old or unwanted goes, and nothing else."""

import json
import os
import re
import shutil
import time

import numpy as np
import pytest

from pages.ui import feed
from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.comparison import Reader
from semf_core.datasets import Dataset
from semf_core.maintenance.checks import problems, repair
from semf_core.runs.expiry import strip_files
from semf_core.runs.files import try_lock
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import Quota
from semf_core.runs.uploads import add_upload
from semf_core.runs.variant_strips import Strips, Variant
from semf_core.service import Service
from semf_core.service.presentations import Presentations, presentation_files
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.snapshots.store import SnapshotStore
from semf_core.studies import Finished, Study, StudyStore
from semf_core.studies.queue import StudyQueue
from tests.helpers import present
from tests.runs.common import tiny, wait_for_state
from tests.studies.common import slow

RUN, OTHER = "R" * 22, "O" * 22
DAMAGE = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "garbage": lambda data: np.random.default_rng(0).bytes(max(200, len(data))),
    "another value": lambda data: b"[1, 2, 3]",
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A home with one of everything, and a second run that must never suffer."""
    home = tmp_path_factory.mktemp("sound")
    upload = add_upload(Dataset(np.random.default_rng(0).random((8, 30)), title="mine"), home)
    for run_id, spec in ((RUN, tiny(4, dataset=upload.to_dict())), (OTHER, tiny(3))):
        folder = RunFolder(home / "runs" / run_id)
        folder.path.mkdir(parents=True)
        os.environ["SEMF_HOME"] = str(home)
        record(spec, folder)
        meta = {"key": "k", "title": run_id, "created": 1.0, "state": "finished"}
        folder.meta.write_text(json.dumps(meta))
        folder.event_log.write_text('{"iteration": 0, "kind": "kick", "text": ""}\n' * 20)
        folder.end.write_bytes(np.array([spec.limits.max_iter, 0.0, *folder.rows()[-1]]).tobytes())
        folder.write_component_names(["one", "two"])
        folder.set_pace(7)
    store = SnapshotStore(home)
    store.add(from_run(RunFolder(home / "runs" / OTHER), tiny().dataset.load(), Label(), Story(1.0)))
    store.close()
    study = StudyStore.create(slow(40), home)
    study.record([Finished(n, {"relative_error": 0.5}, 0.1, kept="") for n in range(30)])
    StudyQueue(home / "studies").put("Q" * 22, "somebody")
    Strips(home, lambda: None).create(Variant(OTHER, "the other"))
    Presentations(home, lambda: None).create("somebody")
    Quota(home).shares.add("somebody", "runs", OTHER)
    (home / "demos").mkdir()
    (home / "demos" / "swimmer-groups.json").write_text(json.dumps({"run": RUN}))
    os.environ.pop("SEMF_HOME")
    return home


@pytest.fixture
def home(sound, tmp_path, monkeypatch):
    shutil.copytree(sound, tmp_path / "home")
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def files_of(home):
    """One file of each sort."""
    files = (p for p in home.rglob("*") if p.is_file() and p.stat().st_size and not p.name.endswith((".lock", ".db-shm")))
    return sorted({re.sub(r"[\w-]{22}|\d+", "", str(p.relative_to(home))): p for p in files}.values())


def look_at_everything(home, harmed=""):
    """As visitors do: whatever is damaged may be rejected, nothing else may happen."""
    service = Service(home, read_only=True)
    rejected = []

    def tried(look, *arguments):
        try:
            return look(*arguments)
        except InvalidInput as refusal:
            rejected.append(str(refusal))

    try:
        assert {status.id for status in service.list_runs([RUN, OTHER])} | {harmed} >= {RUN, OTHER}
        for run_id in (RUN, OTHER):
            for look in (service.status, service.result, service.events, service.factors, service.dataset, service.keyframes):
                tried(look, run_id)
            tried(feed.answer, service, run_id, feed.Ask())
            tried(service.component_names, run_id), tried(service._folder(run_id).pace)
        tried(service.demo_run, "swimmer-groups")
        service._store.quota.check_share(0, "somebody")
        for path in home.glob("strips/*.json"):
            tried(Strips(home, lambda: None).get, path.stem)
        for card in service.gallery.page([p.name.removesuffix(".semf") for p in home.glob("snapshots/files/*.semf")]).cards:
            tried(service.status, card.id)
        studies = [p.parent.name for p in home.glob("studies/*/study.json")]
        service.studies.best(studies)
        service.studies._check_turn("somebody")
        for path in presentation_files(home):
            tried(Presentations(home, lambda: None).get, path.stem)
        Presentations(home, lambda: None).create("another")
        for study in studies:
            tried(service.studies.progress, study), tried(service.studies.table, study)
    finally:
        service.close()
    writer = SnapshotStore(home)
    writer.close()
    return rejected


def test_a_sound_home_has_no_problems(home):
    assert list(problems(home)) == [] and look_at_everything(home) == []


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_harms_only_itself(home, damage):
    backup = home.with_name("backup")
    shutil.copytree(home, backup)
    for path in files_of(home):
        path.write_bytes(DAMAGE[damage](path.read_bytes()))
        look_at_everything(home, harmed=path.parent.name)
        assert len(list(problems(home))) <= 1, path
        repair(home)
        assert list(problems(home)) == [], path
        shutil.rmtree(home)
        shutil.copytree(backup, home)


@pytest.mark.parametrize("name", ["meta.json", "checkpoint.npz", "result.json", "study.json", "cells.db", "info.json"])
def test_what_matters_is_named(home, name):
    for path in home.rglob(name):
        kept = path.read_bytes()
        path.write_bytes(b"")
        (problem,) = problems(home)
        assert path.parent.name == problem.id and problem.remedy in problem.sentence()
        path.write_bytes(kept)


@pytest.mark.parametrize("damage", ["empty", "garbage"])
def test_a_damaged_cache_is_named_and_repairing_has_it_made_again(home, damage):
    (snapshot,) = (path.name.removesuffix(".semf") for path in home.glob("snapshots/files/*.semf"))
    service = Service(home, max_running=1)
    try:
        for name in ("spec.json", "about.json", "scalars.bin", "result.json", "checkpoint.npz"):
            shown = service.result(snapshot)
            path = home / "opened" / snapshot / name
            path.write_bytes(DAMAGE[damage](path.read_bytes()))
            (problem,) = problems(home)
            assert (problem.kind, problem.id, problem.file) == ("opened", snapshot, name)
            repair(home)
            np.testing.assert_array_equal(service.result(snapshot).U, shown.U)
    finally:
        service.close()
    (home / "downloads").mkdir(exist_ok=True)
    (home / "downloads" / f"{'0' * 64}.{'1' * 64}").write_bytes(b"")
    assert [problem.kind for problem in problems(home)] == ["download"]
    repair(home)
    assert list(problems(home)) == []


def test_damaged_data_of_one_run_harm_no_comparison_and_tell_nobody_their_id(home):
    (data,) = home.glob("data/*/data.npy")
    data.write_bytes(b"")
    service = Service(home, read_only=True)
    with pytest.raises(InvalidInput, match="damaged file") as refusal:
        service.dataset(RUN)
    assert data.parent.name not in str(refusal.value)
    assert Reader(service).existing([RUN, OTHER]) == [OTHER]
    service.close()


def test_names_and_numbers_that_cannot_be_read_are_named_and_the_run_goes_without(home):
    folder = RunFolder(home / "runs" / RUN)
    folder.write_numbers({"alpha": 1.0}, 1)
    for path in (folder.components, folder.numbers_file(1)):
        path.write_bytes(b"")
        (problem,) = problems(home)
        assert problem.file == path.name and look_at_everything(home) == [] and folder.component_names() == ()
        repair(home)
        assert list(problems(home)) == [] and not path.exists()


def test_words_deleted_snapshots_and_the_key_of_visitors_are_checked_too(home):
    (study,) = home.glob("studies/*/study.json")
    form = json.loads(study.read_text()) | {"title": "Other words"}
    StudyStore.create(Study.from_dict(form), home)
    (words,) = study.parent.glob("words-*.json")
    store = SnapshotStore(home)
    (snapshot,) = (path.name.removesuffix(".semf") for path in home.glob("snapshots/files/*.semf"))
    store.delete(store.duplicate(snapshot).id)
    store.close()
    (deleted,) = home.glob("snapshots/trash/*.semf")
    (home / "visitors.key").write_bytes(bytes(32))
    assert list(problems(home)) == []
    for path in (words, deleted, home / "visitors.key"):
        path.write_bytes(b"")
        (problem,) = problems(home)
        assert problem.file == path.name
        repair(home)
        assert list(problems(home)) == [] and not path.exists()
    message = study.with_name("message.txt")
    message.write_bytes(b"\xff\xfe\x00" * 100)
    assert StudyStore(study.parent).message() == ""


def test_lost_numbers_of_a_finished_run_come_back(home):
    folder = RunFolder(home / "runs" / OTHER)
    folder.end.unlink()
    known = folder.scalars.read_bytes()
    folder.scalars.write_bytes(b"")
    (problem,) = problems(home)
    assert problem.file == "scalars.bin"
    repair(home)
    assert folder.scalars.read_bytes() == known and list(problems(home)) == []


def test_repaired_runs_can_be_used(home):
    folder = RunFolder(home / "runs" / RUN)
    folder.result_factors.write_bytes(b"")
    folder.meta.write_bytes(b"")
    folder.keyframe(2).write_bytes(b"x")
    assert main(["store", "check"]) == 1 and main(["store", "repair"]) == 0 and main(["store", "check"]) == 0
    service = Service(home, read_only=True)
    status = service.status(RUN)
    assert status.state == "interrupted" and status.iterations == 4 and 2 not in service.keyframes(RUN)
    service.close()
    assert len(list((home / "damaged").iterdir())) == 4


def test_numbers_that_no_run_has_written_are_not_drawn_and_come_back_from_the_checkpoint(home):
    folder = RunFolder(home / "runs" / RUN)
    known = folder.scalars.read_bytes()
    folder.scalars.write_bytes(DAMAGE["garbage"](known))
    service = Service(home, read_only=True)
    for look in (service.status, service.scalars, lambda run_id: feed.points(service, run_id, feed.Ask())):
        with pytest.raises(InvalidInput, match=r"scalars\.bin"):
            look(RUN)
    (problem,) = problems(home)
    assert problem.file == "scalars.bin"
    repair(home)
    assert folder.scalars.read_bytes() == known and service.result(RUN).iterations == 4
    service.close()


def test_what_can_be_read_of_a_study_is_kept(home):
    (path,) = home.glob("studies/*/cells.db")
    store = StudyStore(path.parent)
    store.note("wish", "pause")
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    last = len(data) // size - 1
    data[last * size : (last + 1) * size] = b"\xff" * size
    path.write_bytes(data)
    for end in ("-wal", "-shm"):
        path.with_name(f"cells.db{end}").unlink(missing_ok=True)
    (problem,) = problems(home)
    assert problem.file == "cells.db"
    repair(home)
    progress = store.progress()
    assert progress.total == 40 and progress.done in range(31)


def test_a_damaged_demo_record_is_replaced(tmp_path, monkeypatch, no_reserve):
    monkeypatch.setattr("semf_core.service.preset", lambda name: tiny(20, title=name))
    service = Service(tmp_path, max_running=1)
    first = service.demo_run("demo")
    wait_for_state(service, first, "finished")
    for record_text in ("", "[]", '{"run": 7}', '{"run": "' + "A" * 22 + '"}'):
        (tmp_path / "demos" / "demo.json").write_text(record_text)
        assert service.demo_run("demo") != first
    service.close()


def test_a_damaged_checkpoint_says_so_and_a_reset_starts_afresh(tmp_path, no_reserve):
    service = Service(tmp_path, max_running=1)
    handle = service.start(tiny(), paused=True)
    service.step(handle.id, handle.key, 30)
    wait_for_state(service, handle.id, "paused")
    service.close()
    folder = RunFolder(tmp_path / "runs" / handle.id)
    folder.checkpoint.write_bytes(folder.checkpoint.read_bytes()[:300])
    again = Service(tmp_path, max_running=1)
    status = again.status(handle.id)
    assert status.state == "interrupted" and "checkpoint is damaged" in status.message and len(again.scalars(handle.id)) == 30
    again.resume(handle.id, handle.key)
    assert "damaged" in wait_for_state(again, handle.id, "failed").message and len(again.scalars(handle.id)) == 30
    again.reset(handle.id, handle.key)
    again.step(handle.id, handle.key, 5)
    wait_for_state(again, handle.id, "paused")
    again.close()


# -- listing, deleting, purging ------------------------------------------------------------------


def listed(capsys, action, *arguments):
    capsys.readouterr()
    assert main(["store", action, "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_everything_is_listed_and_can_be_deleted(home, capsys):
    rows = {row["id"]: row for row in listed(capsys, "list")}
    kinds = ["presentation", "run", "run", "snapshot", "strip", "study", "upload"]
    assert sorted(row["kind"] for row in rows.values()) == kinds
    assert rows[RUN]["state"] == "finished, the demo of Home" and rows[OTHER]["title"] == OTHER
    assert main(["store", "list"]) == 0 and "MB are used" in capsys.readouterr().out
    (upload,) = (row["id"] for row in rows.values() if row["kind"] == "upload")
    assert main(["store", "delete", "--", upload]) == 2 and "uses it" in capsys.readouterr().err
    assert main(["store", "delete", "A" * 22]) == 2
    for row in rows.values():
        if row["id"] != upload:
            assert [gone["id"] for gone in listed(capsys, "delete", "--", row["id"])] == [row["id"]]
    listed(capsys, "delete", "--", upload)
    assert listed(capsys, "list") == []


def test_what_somebody_works_on_is_not_deleted(home, capsys):
    claim = present(try_lock(RunFolder(home / "runs" / OTHER).claim))
    assert main(["store", "delete", OTHER]) == 2 and "a server works on it" in capsys.readouterr().err
    claim.close()


def test_purging_goes_by_age_and_spares_the_demo(home, capsys):
    assert listed(capsys, "purge", "--older-than", "1") == []
    (strip_id,), (talk,) = ([path.stem for path in files] for files in (strip_files(home), presentation_files(home)))
    long_ago = time.time() - 3 * 86400
    for path in home.rglob("*"):
        os.utime(path, (long_ago, long_ago))
    gone = {row["id"] for row in listed(capsys, "purge", "--older-than", "1")}
    assert gone == {OTHER, strip_id, talk}, "the demo is used, and its upload with it; snapshots and studies stay"
    (home / "demos" / "swimmer-groups.json").unlink()
    assert {row["kind"] for row in listed(capsys, "purge", "--older-than", "1")} == {"run", "upload"}


def test_a_public_server_lets_abandoned_runs_go(tmp_path, monkeypatch, no_reserve):
    service = Service(tmp_path, max_running=1)
    handle = service.start(tiny(3))
    wait_for_state(service, handle.id, "finished")
    long_ago = time.time() - 30 * 86400
    for path in (tmp_path / "runs" / handle.id).rglob("*"):
        os.utime(path, (long_ago, long_ago))
    os.utime(tmp_path / "runs" / handle.id, (long_ago, long_ago))
    monitor = present(service._manager._watchdog)
    monitor._expiry_due = 0.0
    monitor.look(time.monotonic())
    assert service.status(handle.id).state == "finished", "nobody has asked for that"
    os.utime(tmp_path / "runs" / handle.id, (long_ago, long_ago))
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    monitor._expiry_due = 0.0
    monitor.look(time.monotonic())
    with pytest.raises(InvalidInput, match="no run"):
        service.status(handle.id)
    service.close()
