"""The commands of docs/deployment.md, carried out: what was backed up comes back, and interrupted runs go on bit for bit."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from semf_core.datasets import Dataset
from semf_core.service import Service
from semf_core.snapshots.label import Label
from semf_core.studies import Finished, StudyStore
from tests.helpers import present
from tests.runs.common import assert_same_numbers, in_process, tiny, wait_for, wait_for_state
from tests.studies.common import small

TEXT = (Path(__file__).parents[1] / "docs" / "deployment.md").read_text(encoding="utf-8")
SETTINGS = (Path(__file__).parents[1] / "docs" / "configuration.md").read_text(encoding="utf-8")


def command(name):
    """The block of the page that follows this mark."""
    return present(re.search(rf"<!-- test: {name} -->\n```bash\n(.*?)```", TEXT, re.DOTALL))[1]


def carry_out(name, home, backup):
    subprocess.run(["bash", "-euc", command(name)], env=os.environ | {"SEMF_HOME": str(home), "BACKUP": str(backup)}, check=True)


@pytest.fixture
def stores(tmp_path):
    return tmp_path / "home", tmp_path / "elsewhere" / "home", tmp_path / "backup.tar.gz"


def test_a_restored_store_has_everything_and_goes_on(stores, no_reserve):
    home, restored, backup = stores
    spec = tiny(max_iter=400)
    service = Service(home, max_running=1)
    upload = service.add_upload(Dataset(np.arange(12.0).reshape(3, 4), title="Mine"))
    going = service.start(spec, paused=True)
    wait_for_state(service, going.id, "paused")
    service.step(going.id, going.key, 150)
    wait_for(lambda: service.status(going.id).iterations == 150)
    wait_for_state(service, going.id, "paused")
    done = service.start(tiny(max_iter=30))
    wait_for_state(service, done.id, "finished")
    saved = service.save(done.id, Label("Saved"))
    study = StudyStore.create(small(), home)
    study.record([Finished(0, {"relative_error": 0.25}, 0.1)])
    service.export(saved.id, "csv")
    before = service.result(done.id).U, service.gallery.file(saved.id)
    service.close()

    carry_out("backup", home, backup)
    carry_out("restore", restored, backup)
    assert not any((restored / name).exists() for name in ("opened", "downloads", "servers"))
    assert {p.stat().st_mode & 0o077 for p in (restored / "runs").iterdir()} == {0}, "for the owner only, as before"
    there = Service(restored, max_running=1)
    try:
        np.testing.assert_array_equal(there.result(done.id).U, before[0])
        assert there.gallery.file(saved.id) == before[1] and there.gallery.card(saved.id).owner_ok(saved.key)
        assert there.studies.table(study.id).done.sum() == 1
        assert upload.load_from(restored).data[2, 3] == 11
        there.resume(going.id, going.key)
        wait_for_state(there, going.id, "finished")
        assert_same_numbers(there.scalars(going.id), in_process(spec))
    finally:
        there.close()


def test_every_variable_that_the_page_names_is_among_the_settings():
    named = set(re.findall(r"SEMF_[A-Z_]+", TEXT))
    assert named - set(re.findall(r"`(SEMF_[A-Z_]+)", SETTINGS)) == set() and "SEMF_PUBLIC" in named
