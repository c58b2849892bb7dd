"""The operator's journal: who started what, by ids, in files that never take much room."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from semf_core.common import visitors
from semf_core.datasets import Dataset
from semf_core.runs import journal
from semf_core.service import Service
from semf_core.snapshots.label import Label
from semf_core.studies import service as studies_service
from tests.helpers import present
from tests.runs.common import tiny, wait_for_state
from tests.studies.common import small

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (\S+) ([a-z ]+) ([\w.-]{22,45}|-)")


@pytest.fixture
def asks(monkeypatch):
    """The visitor who asks."""
    who = ["visitor-1"]
    monkeypatch.setattr(visitors, "_WHO", [lambda: who[0]])
    return who


def lines(home):
    return [present(LINE.fullmatch(line)).groups() for line in (home / "log" / "journal.log").read_text().splitlines()]


def test_everything_that_is_started_has_a_line_with_ids_and_nothing_else(tmp_path, asks, monkeypatch, no_reserve):
    monkeypatch.setattr(studies_service, "start_in_background", lambda *arguments, **more: None)
    service = Service(tmp_path, max_running=1)
    try:
        upload = service.add_upload(Dataset(np.ones((4, 5)), title="Private title"))
        run = service.start(tiny(max_iter=5, title="Private title"))
        wait_for_state(service, run.id, "finished")
        asks[0] = "visitor-2"
        fork = service.fork(run.id)
        saved = service.save(run.id, Label("Private title"))
        brought = service.gallery.add_file("private.semf", service.gallery.file(saved.id)[1])
        gone_on = service.continue_from(saved.id)
        study = service.studies.start(small(title="Private title"))
        service.gallery.publish(saved.id, saved.key, True)
    finally:
        service.close()
    assert lines(tmp_path)[:2] == [("visitor-1", "uploaded data", upload.id), ("visitor-1", "started a run", run.id)]
    expected = {("forked a run", fork.id), ("saved a snapshot", saved.id), ("brought a snapshot", brought.id)}
    expected |= {("forked a run", gone_on.id), ("started a study", study.id), ("published", saved.id)}
    assert {(what, thing) for who, what, thing in lines(tmp_path)[2:] if who == "visitor-2"} == expected
    text = (tmp_path / "log" / "journal.log").read_text()
    assert "rivate" not in text and not any(key in text for key in (run.key, fork.key, saved.key, brought.key))
    assert (tmp_path / "log" / "journal.log").stat().st_mode & 0o777 == 0o600


def test_the_files_are_rotated_and_the_oldest_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "MOST_BYTES", 300)
    for number in range(100):
        journal.note(tmp_path, "started a run", f"{number:022d}")
    files = sorted((tmp_path / "log").glob("journal.log*"))
    assert [f.name for f in files] == ["journal.log", *(f"journal.log.{n}" for n in range(1, journal.FILES))]
    assert all(f.stat().st_size < 400 for f in files)
    kept = [int(match[1]) for f in files for match in re.finditer(r"0(\d{21})$", f.read_text(), re.MULTILINE)]
    assert sorted(kept) == list(range(100 - len(kept), 100)), "the newest are there, each once"


def test_several_servers_write_the_same_journal(tmp_path):
    code = "import sys; from pathlib import Path; from semf_core.runs import journal; journal.MOST_BYTES = 20_000\n"
    code += "for n in range(150): journal.note(Path(sys.argv[1]), 'started a run', f'{sys.argv[2]}-{n:03d}-{0:016d}')"
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    text = "".join(f.read_text() for f in (tmp_path / "log").glob("journal.log*"))
    assert all(f"{name}-{n:03d}-" in text for name in "ab" for n in range(150))


def test_a_journal_that_cannot_be_written_rejects_nothing(tmp_path, caplog):
    (tmp_path / "log").touch()
    journal.note(tmp_path, "started a run", "A" * 22)
    assert "cannot be written" in caplog.text
