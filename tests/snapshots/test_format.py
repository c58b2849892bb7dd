"""The file: the same run gives the same bytes, and what is read is what was saved."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, FileSource
from semf_core.exports import EXPORTS
from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import read_outcome
from semf_core.runs.uploads import add_upload
from semf_core.sets import SETS
from semf_core.snapshots import archive
from semf_core.snapshots.format import read_file, read_snapshot, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.keyframes import FACTORS, thinned
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.snapshots.reproduce import reproduce
from semf_core.snapshots.to_run_folder import to_run_folder
from semf_core.solvers import SOLVERS, Limits
from tests.helpers import present
from tests.runs.common import tiny
from tests.snapshots.conftest import CREATED, with_variants
from tests.solvers.test_protocol import LABELS
from tests.solvers.test_protocol import data as solver_data


def reread(content):
    return read_snapshot("run.semf", snapshot_bytes(content))


@pytest.fixture(scope="module")
def laid(content, tmp_path_factory):
    folder = RunFolder(tmp_path_factory.mktemp("laid"))
    to_run_folder(reread(content), folder)
    return folder


def test_the_same_run_gives_the_same_bytes(content, recorded, dataset):
    again = from_run(recorded, dataset, content.label, Story(CREATED), include_data=True)
    assert snapshot_bytes(again) == snapshot_bytes(content) == snapshot_bytes(reread(content))


def test_every_member_is_in_the_manifest_and_nothing_is_pickled(content):
    data = snapshot_bytes(content)
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        assert file.namelist()[0] == "manifest.json" and file.testzip() is None
        assert {i.date_time for i in file.infolist()} == {archive.EPOCH}
        for name in file.namelist():
            if name.endswith(".npy"):
                np.lib.format.read_array(file.open(name), allow_pickle=False)


def test_exports_draw_pictures_even_where_the_data_is_missing(laid, dataset):
    for name in ("basis-png", "gif"):
        assert EXPORTS[name].make(laid, None) == EXPORTS[name].make(laid, dataset)


def test_numbers_factors_and_checkpoint_come_back_exactly(laid, recorded):
    np.testing.assert_array_equal(laid.rows(), recorded.rows())
    assert laid.events() == recorded.events() and laid.spec() == recorded.spec()
    ours, theirs = read_outcome(laid), read_outcome(recorded)
    for name in "UVXY":
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert ours.certificate.to_dict() == theirs.certificate.to_dict()
    with np.load(laid.checkpoint) as a, np.load(recorded.checkpoint) as b:
        assert set(a.files) == set(b.files)
        for name in set(a.files) - {"meta"}:
            np.testing.assert_array_equal(a[name], b[name])


def test_keyframes_come_back_to_eleven_bits(laid, recorded):
    assert laid.keyframes() == recorded.keyframes() and len(laid.keyframes()) > 20
    for k in laid.keyframes():
        ours, theirs = laid.frame(k), recorded.frame(k)
        for name in FACTORS:
            a, b = getattr(ours, name), getattr(theirs, name)
            np.testing.assert_allclose(a, b, rtol=2**-11, atol=float(np.abs(b).max()) * 2**-24)
            np.testing.assert_array_equal(a == 0, b == 0)


def test_zero_rows_are_left_out_and_come_back(tmp_path):
    data = np.random.default_rng(0).random((12, 9))
    data[[2, 5]] = 0
    spec = tiny(max_iter=5, y=[{"name": "nonnegative"}], x=[{"name": "nonnegative"}])
    folder, other = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "other")
    folder.path.mkdir()
    other.path.mkdir()
    spec = replace(spec, rank=2, dataset=_saved(tmp_path, data))
    record(spec, folder)
    content = from_run(folder, spec.dataset.load(), Label(), Story(CREATED))
    assert len(present(content.keyframes).rows) == 10
    to_run_folder(reread(content), other)
    assert other.frame(3).U.shape == (12, 2) and not other.frame(3).U[[2, 5]].any()


def _saved(folder, data) -> FileSource:
    np.save(folder / "secret-place.npy", data)
    return FileSource(path=str(folder / "secret-place.npy"))


def test_neither_an_upload_id_nor_a_path_is_told(tmp_path, dataset):
    upload = add_upload(dataset, tmp_path)
    spec = tiny(max_iter=3)
    for source, told in ((upload, upload.id), (_saved(tmp_path, dataset.data), str(tmp_path))):
        folder = RunFolder(tmp_path / source.name)
        folder.path.mkdir()
        record(spec, folder)
        folder.write_spec(replace(spec, dataset=source))
        members = from_run(folder, dataset, Label(), Story(CREATED)).members()
        assert not any(told.encode() in data for data in members.values())


@pytest.mark.parametrize("cls", list(SOLVERS), ids=lambda c: c.name)
def test_every_solver_can_be_saved_and_run_again(cls, tmp_path):
    np.savez(tmp_path / "m.npz", data=solver_data(), labels=LABELS)
    spec = ModelSpec(FileSource(path=str(tmp_path / "m.npz")), 4, solver=cls(), limits=Limits(max_iter=4, tol=0))
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    dataset = record(spec, folder).dataset
    back = reread(from_run(folder, dataset, Label(), Story(CREATED)))
    assert back.spec.solver == spec.solver and reproduce(back, dataset).exact
    to_run_folder(back, RunFolder(tmp_path))
    assert read_outcome(RunFolder(tmp_path)).certificate.to_dict() == read_outcome(folder).certificate.to_dict()


@pytest.mark.parametrize("cls", list(SETS), ids=lambda c: c.name)
def test_every_set_survives_in_a_file(cls, content):
    """Where the set fits the shape; where it does not, the file is rejected for that reason."""
    one = cls.from_params(dict(cls.example))
    revision = replace(content.revisions[0], spec=replace(content.spec, x=(one,)))
    changed = replace(content, revisions=(revision,))
    try:
        one.check_shape((content.data.shape[0], content.spec.rank))
    except InvalidInput:
        with pytest.raises(InvalidInput, match="cannot be opened"):
            reread(changed)
    else:
        assert reread(changed).spec.x == (one,)


def test_a_sparse_matrix_and_its_truth_are_bundled(content):
    matrix = sparse.random_array((8, 30), density=0.2, rng=np.random.default_rng(0)).tocsc()
    data = Dataset(matrix, title="sparse", labels=np.array(["a"] * 30))
    facts = replace(content.data, title=data.title, fingerprint=data.fingerprint())
    back = reread(replace(content, dataset=data, data=facts)).dataset
    assert back.fingerprint() == data.fingerprint() and list(back.labels) == ["a"] * 30


def test_headline_numbers(content):
    shown = reread(content).headline()
    assert shown["iterations"] == len(content.history) and shown["rank"] == 5
    assert 0 <= shown["relative_error"] < 1 and shown["parts_total"] == 10


def test_a_newer_schema_is_rejected_and_an_older_one_is_brought_up_to_date(content, monkeypatch):
    data, newer = snapshot_bytes(content), snapshot_bytes(with_variants(content))
    monkeypatch.setitem(archive.UPGRADES, 1, lambda old: {name: d for name, d in old.items() if name != "thumbnail.png"})
    assert content.thumbnail and read_snapshot("old.semf", data).thumbnail == b""
    monkeypatch.setattr(archive, "SCHEMA", 1)
    with pytest.raises(InvalidInput, match="newer version"):
        read_snapshot("new.semf", newer)


def test_thinning_keeps_the_ends():
    assert thinned(range(9), 1) == list(range(9))
    kept = thinned(range(101), 16 << 20)
    assert kept[0] == 0 and kept[-1] == 100 and len(kept) <= 16


def test_large_files_are_rejected_by_their_size(content, tmp_path, monkeypatch):
    path = tmp_path / "run.semf"
    path.write_bytes(snapshot_bytes(content))
    assert read_file(path).label == content.label
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "0.001")
    with pytest.raises(InvalidInput, match="MB"):
        read_file(path)
    with pytest.raises(InvalidInput, match="without its data"):
        snapshot_bytes(content)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"title": "x" * 201}, "title"),
        ({"title": "a\x00b"}, "title"),
        ({"title": 5}, "title"),
        ({"tags": ",".join(map(str, range(30)))}, "tags"),
        ({"tags": "y" * 50}, "tags"),
        ({"note": "z" * 5001}, "note"),
        ({"note": "\ud800"}, "note"),
    ],
)
def test_labels_that_cannot_be_shown_are_refused(values, field):
    with pytest.raises(InvalidInput) as refusal:
        Label(**values)
    assert refusal.value.field == field


def test_tags_are_words_without_repetition():
    assert Label("", " b ,a, b,, c d ").words == ("b", "a", "c d")
