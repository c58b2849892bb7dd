"""The store: who sees what, deleting and undoing, crashes, two servers, and an index that follows from the files."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs import folder_cache
from semf_core.runs.uploads import add_upload, remove_unused
from semf_core.snapshots import index as index_module
from semf_core.snapshots.format import read_file, snapshot_bytes
from semf_core.snapshots.label import Label
from semf_core.snapshots.store import SnapshotStore
from tests.helpers import present


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(home):
    made = SnapshotStore(home)
    yield made
    made.close()


def titles(store, own=None, **options):
    cards, total = store.cards(own, **options)
    return [c.title for c in cards], total


def test_what_is_kept_is_found_and_opened(store, content):
    handle = store.add(content)
    card = store.card(handle.id)
    assert card.owner_ok(handle.key) and not card.owner_ok("x" * 22)
    assert card.title == "A title" and card.shape == (8, 30) and card.headline == content.headline()
    folder = store.folder(handle.id)
    np.testing.assert_array_equal(folder.rows(), content.history)
    assert store.thumbnail(handle.id) == content.thumbnail
    assert store.file(handle.id) == snapshot_bytes(content)


@pytest.mark.parametrize("bad", ["", "nonsense", "../../etc/passwd", "A" * 22, None, 5])
def test_unknown_ids_are_sentences(store, bad):
    for look in (store.card, store.file, store.read, store.folder, store.deleted):
        with pytest.raises(InvalidInput):
            look(bad)


def test_a_visitor_sees_the_own_and_the_published_ones(store, content):
    mine, other, public = (store.add(replace(content, label=Label(t))) for t in ("mine", "other", "public"))
    store.publish(public.id, True)
    assert sorted(titles(store, [mine.id])[0]) == ["mine", "public"]
    assert titles(store, [])[0] == ["public"]
    assert titles(store)[1] == 3 and other.id
    store.publish(public.id, False)
    assert titles(store, []) == ([], 0)


def test_searching_sorting_and_paging(store, content):
    for title, tags in (("Beta faces", "orl"), ("alpha", "Swimmer"), ("100% _odd_", "")):
        store.add(replace(content, label=Label(title, tags)))
    assert titles(store, sort="title")[0] == ["100% _odd_", "alpha", "Beta faces"]
    assert titles(store, sort="oldest")[0][0] == "Beta faces"
    assert titles(store, search="FACES orl")[0] == ["Beta faces"]
    assert titles(store, search="%")[0] == titles(store, search="_odd_")[0] == ["100% _odd_"]
    assert titles(store, search="' OR 1=1 --") == ([], 0)
    assert titles(store, sort="title", offset=1, limit=1) == (["alpha"], 3)
    for sort in index_module.SORTS:
        assert titles(store, sort=sort)[1] == 3
    with pytest.raises(InvalidInput):
        store.cards(None, sort="added; DROP TABLE snapshots")


def test_relabelling_changes_the_file_and_nothing_else(store, content, home):
    handle = store.add(content)
    store.relabel(handle.id, Label("New", "a, b", "note"))
    inside = read_file(home / "snapshots" / "files" / f"{handle.id}.semf")
    assert inside.label == Label("New", "a, b", "note") == store.card(handle.id).label
    assert snapshot_bytes(replace(inside, label=content.label)) == snapshot_bytes(content)
    assert titles(store)[0] == ["New"]


def test_delete_and_undo(store, content):
    handle = store.add(content)
    store.folder(handle.id)
    store.delete(handle.id)
    assert titles(store) == ([], 0) and not store.has(handle.id)
    with pytest.raises(InvalidInput, match="deleted"):
        store.folder(handle.id)
    assert store.deleted(handle.id).owner_ok(handle.key)
    store.restore(handle.id)
    assert titles(store)[1] == 1 and len(store.folder(handle.id).rows()) and store.card(handle.id).owner_ok(handle.key)
    with pytest.raises(InvalidInput, match="trash"):
        store.restore(handle.id)


def test_a_duplicate_is_ones_own(store, content):
    handle = store.add(content)
    copy = store.duplicate(handle.id)
    assert copy.id != handle.id and store.file(copy.id) == store.file(handle.id)
    assert not store.card(copy.id).owner_ok(handle.key) and store.card(copy.id).owner_ok(copy.key)


def test_a_full_store_rejects_in_words_and_deletes_nothing(store, content, monkeypatch):
    handle = store.add(content)
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "0.001")
    with pytest.raises(InvalidInput, match="is full"):
        store.add(content)
    assert titles(store)[1] == 1 and store.has(handle.id)


def test_the_index_can_be_made_again_from_the_files(store, content, home):
    keys = {store.add(replace(content, label=Label(f"n{i}"))).id for i in range(3)}
    store.publish(sorted(keys)[0], True)
    before = store.cards(None, sort="title")
    store.close()
    for way in ("missing", "garbage", "damaged"):
        path = home / "snapshots" / "index.sqlite"
        if way == "missing":
            path.unlink()
        elif way == "garbage":
            path.write_bytes(b"no database" * 1000)
        else:
            data = bytearray(path.read_bytes())
            data[4096:8192] = os.urandom(4096)
            path.write_bytes(bytes(data))
        again = SnapshotStore(home)
        assert again.cards(None, sort="title") == before, way
        assert all(again.thumbnail(k) == content.thumbnail for k in keys)
        again.close()


def test_an_index_of_a_newer_version_is_refused(store, home):
    store.close()
    with sqlite3.connect(home / "snapshots" / "index.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidInput, match="newer version"):
        SnapshotStore(home)


def test_a_migration_keeps_the_rows(store, content, home, monkeypatch):
    store.add(content)
    store.close()
    monkeypatch.setattr(index_module, "MIGRATIONS", (*index_module.MIGRATIONS, "CREATE INDEX by_title ON snapshots (title)"))
    again = SnapshotStore(home)
    assert titles(again)[1] == 1
    again.close()


def test_files_that_an_operator_puts_there_or_takes_away(store, content, home):
    gone = store.add(content)
    (home / "snapshots" / "files" / f"{gone.id}.semf").unlink()
    (home / "snapshots" / "files" / ("B" * 22 + ".semf")).write_bytes(snapshot_bytes(content))
    (home / "snapshots" / "files" / ("C" * 22 + ".semf")).write_bytes(b"nonsense")
    store.reindex()
    assert [c.id for c in store.cards(None)[0]] == ["B" * 22]
    assert not store.card("B" * 22).owner_ok("")
    with pytest.raises(InvalidInput):
        store.folder("C" * 22)


def test_two_stores_on_one_folder(store, content, home):
    other = SnapshotStore(home)
    a, b = store.add(content), other.add(content)
    assert titles(store)[1] == titles(other)[1] == 2
    other.delete(a.id)
    store.relabel(b.id, Label("changed"))
    assert titles(store)[0] == titles(other)[0] == ["changed"]
    other.close()


def test_old_leftovers_are_swept_and_young_ones_stay(store, content, home):
    handle = store.add(content)
    store.delete(handle.id)
    store.close()
    files, trash = home / "snapshots" / "files", home / "snapshots" / "trash"
    (files / ".half.semf.1234").write_bytes(b"half")
    (files / ("D" * 22 + ".json")).write_text("{}")
    SnapshotStore(home).close()
    assert len(list(files.iterdir())) == 2 and len(list(trash.iterdir())) == 2
    long_ago = time.time() - 8 * 86400
    for path in (*files.iterdir(), *trash.iterdir()):
        os.utime(path, (long_ago, long_ago))
    SnapshotStore(home).close()
    assert not list(files.iterdir()) and not list(trash.iterdir())


def test_reading_only_writes_nothing(store, content, home):
    handle = store.add(content)
    store.close()
    before = {p: p.stat().st_mtime_ns for p in home.rglob("*")}
    reader = SnapshotStore(home, read_only=True)
    assert titles(reader)[1] == 1
    assert len(reader.folder(handle.id).rows()) == len(content.history) and reader.thumbnail(handle.id)
    assert {p: p.stat().st_mtime_ns for p in home.rglob("*")} == before
    writer = SnapshotStore(home)
    writer.add(content)
    writer.close()
    assert titles(reader)[1] == 2, "a reader sees what another server adds"
    reader.close()


def test_opened_folders_are_bounded(store, content, monkeypatch):
    first, second = store.add(content), store.add(content)
    folder = store.folder(first.id)
    monkeypatch.setenv("SEMF_MAX_OPENED_MB", "0")
    with pytest.raises(InvalidInput, match="try again in a minute"):
        store.folder(second.id)
    assert folder.path.exists(), "it was looked at just now"
    monkeypatch.setattr(folder_cache, "QUIET_SECONDS", -1)
    store.folder(second.id)
    assert not folder.path.exists() and len(store.folder(first.id).rows())


def test_what_cannot_be_opened_is_not_tried_at_every_look(home, content, monkeypatch):
    asked = []

    def call(function, subject, **arguments):
        asked.append(function.__name__)
        if function.__name__ == "open_into":
            raise InvalidInput(subject, "needs more memory than there is")
        return function(**arguments)

    store = SnapshotStore(home, call=call)
    handle = store.add(content)
    for _ in range(5):
        with pytest.raises(InvalidInput, match="memory"):
            store.folder(handle.id)
    assert asked.count("open_into") == 1
    store.close()


def test_an_upload_that_a_snapshot_needs_is_not_unused(store, content, dataset, home):
    needed, idle = add_upload(dataset, home), add_upload(dataset, home)
    store.add(content, upload=needed.id)
    assert remove_unused(home, [needed.id, idle.id]) == 1
    assert needed.load_from(home).fingerprint() == dataset.fingerprint()


SAVER = """
import sys
from pathlib import Path
from semf_core.snapshots.format import read_file
from semf_core.snapshots.store import SnapshotStore
home, file = Path(sys.argv[1]), Path(sys.argv[2])
store, content = SnapshotStore(home), read_file(file)
print("ready", flush=True)
while True:
    print(store.add(content).id, flush=True)
"""


def test_killed_savers_lose_nothing(store, content, home, tmp_path):
    """What was reported as saved is there, whole, and the index opens; both savers share the folder with this one."""
    file = tmp_path / "run.semf"
    file.write_bytes(snapshot_bytes(content))
    saved = set()
    savers = [subprocess.Popen([sys.executable, "-c", SAVER, home, file], stdout=subprocess.PIPE, text=True) for _ in "ab"]
    for saver in savers:
        assert present(saver.stdout).readline() == "ready\n"
    time.sleep(0.1)
    for saver in savers:
        saver.send_signal(signal.SIGKILL)
        saved |= {line for line in saver.communicate()[0].splitlines() if len(line) == 22}
    again = SnapshotStore(home)
    listed = {c.id for c in again.cards(None, limit=10_000)[0]}
    assert saved and saved <= listed
    for one in listed:
        assert again.file(one) == file.read_bytes()
    again.close()
