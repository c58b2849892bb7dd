"""A study with its results as a file: there and back, and nothing else gets in."""

import base64
import io
import json
import zipfile

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.datasets import FileSource
from semf_core.service import Service
from semf_core.snapshots.archive import packed
from semf_core.studies import Finished, StudyStore, all_studies
from semf_core.studies.study_file import export_study, read_study

from .common import small

AXES = [{"path": "rank", "values": [3, 4]}, {"path": "seed", "range": [0, 2]}]


def npz(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return base64.b64encode(file.getvalue()).decode()


KEPT = {
    "U": np.ones((8, 3), np.float32),
    "V": np.ones((3, 30), np.float32),
    "iteration": np.array([1, 5]),
    "residual_xy": np.array([2.0, np.nan]),
    "residual_uv": np.array([2.0, 1.0]),
}


def made(home, **changes):
    study = small(axes=AXES, views=[], keep=["factors", "history"], claim={"text": "It works."}, **changes)
    store = StudyStore.create(study, home)
    values = {"relative_error": 0.25, "success": 1.0, "seconds": None}
    store.record([Finished(0, values, 0.5, kept=npz(**KEPT)), Finished(2, error="offline"), Finished(3, error="died", lost=True)])
    return store


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}


def test_there_and_back(tmp_path):
    store = made(tmp_path / "here")
    data = export_study(store)
    assert data == export_study(store)
    again = read_study(data).stored(tmp_path / "there")
    assert read_study(data).stored(tmp_path / "there").id == again.id != store.id  # beside what is computed there
    assert again.study().to_dict() == store.study().to_dict()
    assert again.finished() == store.finished() and again.table().to_csv() == store.table().to_csv()
    np.testing.assert_array_equal(again.components()[0], KEPT["U"])
    np.testing.assert_array_equal(again.histories()[0]["iteration"], [1, 5])
    progress = again.progress()
    assert (progress.state, progress.done, progress.failed, progress.total) == ("paused", 1, 2, 4)
    assert again.retry() == 1 and [path.name for path in (tmp_path / "there").iterdir()] == ["studies"]


def changed_cells(*lines):
    return lambda members: members | {"cells.jsonl": "\n".join(map(json.dumps, lines)).encode()}


def changed_kept(content, cell=0):
    return lambda members: members | {"kept.jsonl": json.dumps({"cell": cell, "content": content}).encode()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: {k: v for k, v in m.items() if k != "study.json"}, "does not hold a study"),
        (lambda m: m | {"more.txt": b""}, "does not hold a study"),
        (lambda m: m | {"../study.json": b"{}"}, "leads out"),
        (lambda m: m | {"study.json": b"{"}, "not valid JSON"),
        (lambda m: m | {"study.json": b'{"base": {}}'}, "missing"),
        (lambda m: m | {"cells.jsonl": b"5\n"}, "object on every line"),
        (changed_cells({"cell": 4, "values": {}}), "does not belong"),
        (changed_cells({"cell": [0], "values": {}}), "does not belong"),
        (changed_cells({"cell": 0, "values": {}, "seconds": 10**400}), "does not belong"),
        (changed_cells({"cell": 0, "values": {}, "seconds": 2**64}), "does not belong"),
        (changed_cells({"cell": 0, "values": {}, "seconds": -1}), "does not belong"),
        (changed_cells({"cell": 0, "values": {"colour": 1.0}}), "does not measure"),
        (changed_cells({"cell": 0, "values": {"relative_error": float("nan")}}), "does not measure"),
        (changed_cells({"cell": 0, "values": {}}, {"cell": 0, "values": {}}), "twice"),
        (changed_cells({"cell": 0, "error": 5}), "must be text"),
        (changed_kept("§"), "not base64"),
        (changed_kept("AAAA"), "not a readable ZIP"),
        (changed_kept(npz(**KEPT), cell=2), "no result"),
        (changed_kept(npz(U=KEPT["U"])), "other arrays"),
        (changed_kept(npz(**KEPT | {"U": np.ones((8, 2))})), "do not fit"),
        (changed_kept(npz(**KEPT | {"U": np.ones((8, 0)), "V": np.ones((0, 30))})), "do not fit"),
        (changed_kept(npz(**KEPT | {"U": np.ones((0, 3))})), "do not fit"),
        (changed_kept(npz(**KEPT | {"U": np.ones((8, 2)), "V": np.ones((2, 30))})), "do not fit"),
        (changed_kept(npz(**KEPT | {"U": np.ones((8, 3), np.float16)})), "do not fit"),
        (changed_kept(npz(**KEPT | {"iteration": np.array([2, 5])})), "do not fit"),
        (changed_kept(npz(**KEPT | {"U": np.array([{}], dtype=object)})), "neither numbers nor words|damaged|save it again"),
    ],
)
def test_what_was_changed_is_rejected_in_words(tmp_path, change, said):
    members = change(members_of(export_study(made(tmp_path))))
    with pytest.raises(InvalidInput, match=said):
        read_study(packed(members))


def test_whole_numbers_of_any_size_are_stored_as_numbers(tmp_path):
    """The database knows whole numbers up to 2⁶³ only."""
    cell = {"cell": 0, "values": {"relative_error": 2**64}, "seconds": 2**39}
    members = changed_cells(cell)(members_of(export_study(made(tmp_path)))) | {"kept.jsonl": b""}
    (finished,) = read_study(packed(members)).stored(tmp_path / "there").finished()
    assert finished.values == {"relative_error": 2.0**64} and finished.seconds == 2.0**39


def test_damage_and_bombs_are_refused(tmp_path, monkeypatch):
    data = export_study(made(tmp_path))
    with pytest.raises(InvalidInput):
        read_study(data[: len(data) // 2])
    with pytest.raises(InvalidInput, match="is empty"):
        read_study(b"")
    at = data.index(b"cells.jsonl") + 30
    with pytest.raises(InvalidInput):
        read_study(data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :])
    bomb = npz(**KEPT | {"U": np.zeros((400_000, 3), np.float32)})  # five kilobytes that unpack to five megabytes
    file = packed(changed_kept(bomb)(members_of(data)))
    assert read_study(file)
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "1")
    with pytest.raises(InvalidInput, match="unpacks to more than"):
        read_study(file)


def test_on_a_server_it_comes_with_a_key_and_without_files_of_the_server(tmp_path, no_reserve):
    service = Service(tmp_path / "server", max_running=1)
    try:
        data = service.studies.export(made(service.home).id)
        handle = service.studies.import_(data)
        assert service.studies.owner_ok(handle.id, handle.key) and service.studies.progress(handle.id).done == 1
        assert service.studies.import_(data).key == ""  # somebody else has it
        foreign = StudyStore.create(small().on(FileSource(path="/etc/hostname")), tmp_path / "elsewhere")
        with pytest.raises(InvalidInput, match="upload the file"):
            service.studies.import_(export_study(foreign))
    finally:
        service.close()


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "home"))
    store, file = made(tmp_path / "home"), tmp_path / "mine.semf-study"
    assert main(["study-export", store.id, str(file)]) == 0
    capsys.readouterr()
    assert main(["study-import", str(file), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["done"], said["failed"]) == (1, 2) and said["id"] in {s.id for s in all_studies()}
    for words in (["study-import", str(tmp_path / "no.semf-study")], ["study-export", store.id, str(tmp_path / "x.zip")]):
        assert main(words) == 2
        assert "semf-study" in capsys.readouterr().err
