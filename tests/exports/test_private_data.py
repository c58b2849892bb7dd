"""A document that is handed on does not say where uploaded data lie: whoever has their id has the data."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest
from scipy.io import loadmat

from semf_core.datasets import Dataset, FileSource
from semf_core.exports import EXPORTS
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import UNNAMED, Upload, add_upload, public_form
from semf_core.snapshots.recording import record
from semf_core.studies.store import StudyStore
from semf_core.studies.study import Study
from semf_core.studies.study_file import export_study, read_study
from tests.runs.common import tiny

DATA = Dataset(np.random.default_rng(0).random((8, 30)), title="mine")


def everything_in(data: bytes) -> bytes:
    """A file, and whatever is packed in it."""
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return data + b"".join(everything_in(archive.read(name)) for name in archive.namelist())
    if data.startswith(b"MATLAB"):
        return data + str(loadmat(io.BytesIO(data))["model"]).encode()
    return data.replace(b"\0", b"")  # words in an NPY file take four bytes a letter


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A finished run on uploaded data, and the source of these."""
    home = tmp_path_factory.mktemp("home")
    source = add_upload(DATA, home)
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEMF_HOME", str(home))
        record(tiny(30, dataset=source.to_dict()), folder)
    return folder, source


@pytest.mark.parametrize("kind", EXPORTS)
def test_no_export_tells_the_id_of_an_upload(recorded, kind):
    folder, source = recorded
    assert source.id in folder.spec_file(0).read_text(), "the run itself knows it"
    made = everything_in(EXPORTS[kind].make(folder, DATA))
    assert source.id.encode() not in made
    if kind in {"html", "csv", "npz", "mat"}:
        assert b"upload" in made and UNNAMED.id.encode() in made, "the model is in it, without the id"


def test_a_study_is_handed_on_without_the_id(tmp_path):
    source = add_upload(DATA, tmp_path)
    base = tiny(5, dataset=source.to_dict()).to_dict()
    axes = [{"name": "seed", "path": "seed", "values": [0, 1]}]
    study = Study.from_dict({"title": "Mine", "base": base, "axes": axes, "measures": ["relative_error"]})
    store = StudyStore.create(study, tmp_path)
    data = export_study(store)
    assert source.id.encode() not in everything_in(data)
    there = read_study(data).stored(tmp_path / "elsewhere")
    assert there.study().base_trial().model.dataset == UNNAMED
    assert [cell.positions for cell in map(there.study().cell, range(2))] == [(0,), (1,)]


def test_forms_without_addresses_in_every_depth(tmp_path):
    form: dict[str, Any] = {"a": [{"dataset": Upload("x" * 22).to_dict()}], "id": "kept"}
    form["b"] = FileSource(path="/home/me/faces.npy").to_dict()
    public = public_form(form)
    text = json.dumps(public)
    assert "x" * 22 not in text and "/home/me" not in text and "faces.npy" in text and public["id"] == "kept"
    assert form["a"][0]["dataset"]["id"] == "x" * 22, "the form itself stays"
