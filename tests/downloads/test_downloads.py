"""Files are made in another process, under limits, kept, made anew when the content changes, and tell nobody's keys."""

from __future__ import annotations

import io
import os
import re
import zipfile
import zlib
from base64 import b64decode
from contextlib import suppress
from dataclasses import replace

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.downloads import Downloads, comparison_file, file_cache, run_file, study_file
from semf_core.downloads.kinds import COMPARISON_KINDS, STUDY_KINDS, made
from semf_core.exports import EXPORTS
from semf_core.snapshots.label import Label
from semf_core.studies import Finished, StudyStore
from tests.runs.common import tiny, wait_for_state
from tests.runs.conftest import make_service, service, shared_service  # noqa: F401 - fixtures
from tests.studies.common import small


@pytest.fixture
def run(service):  # noqa: F811
    handle = service.start(tiny(max_iter=20, title="Mine <b>"))
    wait_for_state(service, handle.id, "finished")
    return handle


@pytest.fixture
def downloads(service):  # noqa: F811
    opened = Downloads(service.home, read_only=False)
    yield opened
    opened.close()


def read(file):
    with file:
        return file.read()


def test_another_process_makes_the_same_bytes_and_they_are_kept(service, run, downloads, monkeypatch):  # noqa: F811
    saved = service.save(run.id, Label("Saved"))
    for run_id, kind in ((run.id, "csv"), (run.id, "bibtex"), (saved.id, "basis-png")):
        wanted = run_file(service, run_id, kind)
        name, media, data = service.export(run_id, kind)
        assert (wanted.name, wanted.media_type) == (name, media) and downloads.kept(wanted) is None
        assert read(downloads.make(wanted)) == data
    monkeypatch.setattr(downloads._pool, "outcome", None)  # nothing is made any more
    assert read(downloads.make(wanted)) == data and read(downloads.kept(wanted)) == data
    service.gallery.relabel(saved.id, saved.key, Label("Other words"))
    changed = run_file(service, saved.id, "basis-png")
    assert changed.mark != wanted.mark and changed.name.startswith("other-words") and downloads.kept(changed) is None


def test_a_damaged_file_is_not_given_but_made_again(service, run, downloads):  # noqa: F811
    wanted = run_file(service, run.id, "csv")
    data = read(downloads.make(wanted))
    for damage in (b"", data[:50], bytes(len(data))):
        (path,) = (service.home / "downloads").glob(f"{wanted.mark}.*")
        path.write_bytes(damage)
        assert downloads.kept(wanted) is None and read(downloads.make(wanted)) == data


def test_what_cannot_be_had_is_a_sentence(service, run, downloads):  # noqa: F811
    with pytest.raises(InvalidInput, match="no 'exe'"):
        run_file(service, run.id, "exe")
    with pytest.raises(InvalidInput, match="no run"):
        run_file(service, "A" * 22, "html")
    with pytest.raises(InvalidInput, match="no study"):
        study_file(service, "A" * 22, "csv")
    with pytest.raises(InvalidInput, match="none of these"):
        comparison_file(service, ["A" * 22, "../.."], "csv", "iterations")
    for kind, axis in (("exe", "iterations"), ("csv", "parsecs")):
        with pytest.raises(InvalidInput, match="known are csv"):
            comparison_file(service, [run.id], kind, axis)
    wanted = run_file(service, run.id, "csv")
    service.delete(run.id, run.key)
    with pytest.raises(InvalidInput, match="no run"):
        downloads.make(wanted)


def test_one_that_takes_too_much_is_a_sentence_and_the_next_is_made(service, run, downloads, monkeypatch):  # noqa: F811
    wanted = run_file(service, run.id, "csv")
    for function, words in (("hog", "1000 MB of memory"), ("dawdle", "1 s that making")):
        with monkeypatch.context() as patch:
            patch.setenv("SEMF_PUBLIC", "1")
            patch.setenv("SEMF_MAX_DOWNLOAD_SECONDS", "1" if function == "dawdle" else "60")
            patch.setattr(file_cache, "write_file", globals()[function])
            with pytest.raises(InvalidInput, match=words):
                downloads.make(wanted)
    assert read(downloads.make(wanted))
    assert not list((service.home / "downloads").glob(".*")), "nothing half made is left"


def hog(home, order, path):
    return len(bytes(4 << 30))


def dawdle(home, order, path):
    while True:
        pass


def test_what_was_asked_for_longest_ago_makes_room(service, run, downloads, monkeypatch):  # noqa: F811
    kinds = ("csv", "bibtex", "npz", "mat")
    kept = {}
    for age, kind in enumerate(kinds[:3]):
        wanted = kept[kind] = run_file(service, run.id, kind)
        downloads.make(wanted).close()
        (file,) = (service.home / "downloads").glob(f"{wanted.mark}.*")
        os.utime(file, (1000 + age, 1000 + age))
    reading = downloads.kept(kept["csv"])  # from now on it is the youngest
    limits = replace(file_cache.server_limits(), downloads_kept_mb=(os.fstat(reading.fileno()).st_size + 50) / file_cache.MB)
    monkeypatch.setattr(file_cache, "server_limits", lambda: limits)
    downloads._make_room()
    assert {kind for kind in kinds[:3] if list((service.home / "downloads").glob(f"{kept[kind].mark}.*"))} == {"csv"}
    downloads.make(run_file(service, run.id, "mat")).close()
    assert downloads.kept(kept["csv"]) is None and read(reading), "whoever reads it reads it to its end"


def test_a_server_that_shows_results_writes_nothing_below_its_home(service, run):  # noqa: F811
    wanted = run_file(service, run.id, "csv")
    reader = Downloads(service.home, read_only=True)
    before = {path: path.stat().st_mtime_ns for path in service.home.rglob("*")}
    try:
        assert read(reader.make(wanted))
    finally:
        reader.close()
    assert {path: path.stat().st_mtime_ns for path in service.home.rglob("*")} == before


# -- what is handed on is no key ----------------------------------------------------------------


def contents(data):
    """Everything that can be read in a file: itself, what is packed in it, what is encoded in it."""
    yield data
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            yield name.encode()
            yield from contents(archive.read(name))
    for text in re.findall(rb"[A-Za-z0-9+/]{200,}={0,2}", data):
        with suppress(ValueError, zlib.error):
            plain = b64decode(text)
            yield plain
            yield zlib.decompress(plain, 47)


def test_no_document_carries_a_capability(service, run, downloads):  # noqa: F811
    """Neither a key nor the id of a run, which opens it: whoever gets a report gets the report."""
    saved = service.save(run.id, Label("Saved"), include_data=True)
    store = StudyStore.create(small(), service.home)
    store.record([Finished(0, {"relative_error": 0.3}, 0.1)])
    store.note("key", "k" * 22)
    wanted = [run_file(service, one, kind) for one in (run.id, saved.id) for kind in EXPORTS]
    wanted += [comparison_file(service, [run.id, saved.id], kind, "iterations") for kind in COMPARISON_KINDS]
    wanted += [study_file(service, store.id, kind) for kind in STUDY_KINDS]
    files = [made(service, one.order) for one in wanted] + [service.gallery.file(saved.id)[1]]
    secret = [s.encode() for s in (run.id, run.key, saved.id, saved.key, store.id, "k" * 22, str(service.home))]
    seen = [part for data in files for part in contents(data)]
    assert len(seen) > len(files) + 50 and not [s for s in secret for part in seen if s in part]
