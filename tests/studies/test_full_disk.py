"""A study on a disk that fills up says why it stands still, loses nothing and goes on."""

import pytest

from semf_core.studies import StudyStore
from semf_core.studies import background as background_module
from semf_core.studies.background import start_in_background
from tests.disks import NoMounting, empty, fill, small_disk

from .common import rows, slow, wait_for


def test_a_study_on_a_full_disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk", 8) as disk:
            interrupted_and_resumed(disk)
    except NoMounting as why:
        pytest.skip(str(why))


def interrupted_and_resumed(disk):
    home = disk / "home"
    store = StudyStore.create(slow(12), home)
    start_in_background(store, home)
    wait_for(lambda: store.progress().done >= 1)
    fill(disk)
    wait_for(lambda: not store.living() and not store.waits())
    progress = store.progress()
    assert progress.state in {"interrupted", "paused"} and "the disk is full" in progress.message, progress
    kept = [row for row in rows(store, "number, ended, result") if row[2]]
    empty(disk)
    start_in_background(store, home)
    wait_for(lambda: store.progress().state == "finished")
    assert store.progress().done == 12 and store.progress().message == ""
    assert kept and set(kept) <= set(rows(store, "number, ended, result"))
    background_module._STARTED[-1].wait()
