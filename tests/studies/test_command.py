"""Studies as a user types them."""

import csv
import json

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.model import ModelSpec
from semf_core.studies import Finished, Study, StudyStore, all_studies, builtin_names

from .common import small, small_form


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "home"))
    path = tmp_path / "study.json"
    sizes = {"quick": {"axes": {"seed": {"range": [0, 1]}}}, "full": {}}
    path.write_text(json.dumps(small_form(sizes=sizes)), encoding="utf-8")
    return path


def test_quick_study_prints_json_and_writes_csv(file, tmp_path, capsys):
    out = tmp_path / "cells.csv"
    assert main(["study", str(file), "--quick", "--workers", "1", "--json", "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["state"], said["done"], said["failed"], said["size"]) == ("finished", 4, 0, "quick")
    assert [row["runs"] for row in said["views"][0]["rows"]] == [1, 1, 1, 1]
    lines = list(csv.DictReader(out.open(encoding="utf-8")))
    assert len(lines) == 4 and all(float(line["relative_error"]) > 0 for line in lines)
    assert main(["study", str(file), "--quick"]) == 0  # finished: shown again, nothing runs
    assert "4 of 4 runs" in capsys.readouterr().out


def test_what_was_finished_before_is_kept_unless_told(file, capsys):
    store = StudyStore.create(small())
    store.record([Finished(0, {"relative_error": 123.0}, 0.1)])
    assert main(["study", str(file)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main(["study", str(file), "--resume", "--workers", "1"]) == 0
    assert store.table().columns["relative_error"][0] == 123.0
    assert main(["study", str(file), "--fresh", "--workers", "1"]) == 0
    assert store.table().columns["relative_error"][0] < 1


def test_failures_are_named(file, tmp_path, capsys):
    form = small_form(axes=[{"path": "data.samples", "values": [20, 2000]}], views=[])
    file.write_text(json.dumps(form), encoding="utf-8")
    assert main(["study", str(file), "--workers", "1"]) == 1
    said = capsys.readouterr().out
    assert "cell 1: samples: the data has 30 samples" in said and "(1 of 2 runs, 1 failed)" in said
    assert main(["studies"]) == 0
    assert "finished, 1 of 2 runs, 1 failed" in capsys.readouterr().out


def test_what_failed_is_run_again_only_when_asked(file, capsys):
    file.write_text(json.dumps(small_form(axes=[{"path": "seed", "range": [0, 2]}], views=[])), encoding="utf-8")
    store = StudyStore.create(Study.from_json(file.read_text(encoding="utf-8")))
    store.record([Finished(0, {"relative_error": 123.0}, 0.1), Finished(1, error="offline")])
    assert main(["study", str(file)]) == 1
    assert "cell 1: offline" in capsys.readouterr().out
    assert main(["study", str(file), "--resume", "--workers", "1"]) == 0
    table = store.table()
    assert table.done.all() and table.columns["relative_error"][0] == 123.0


@pytest.mark.parametrize(
    ("arguments", "cluster", "said"),
    [
        (["--data", "nowhere.npy"], "", "nowhere.npy"),
        (["--workers", "0"], "", "must be in [1, 1024]"),
        ([], "nonsense://here", "SEMF_DASK"),
    ],
)
def test_what_would_stop_every_run_is_said_before_anything_is_created(file, capsys, monkeypatch, arguments, cluster, said):
    monkeypatch.setenv("SEMF_DASK", cluster)
    assert main(["study", str(file), "--quick", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert all_studies() == []


def test_other_data(file, tmp_path, capsys):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((6, 9)))
    assert main(["study", str(file), "--quick", "--data", str(tmp_path / "m.npy"), "--workers", "1", "--json"]) == 0
    capsys.readouterr()
    assert main(["study", "swimmer-rates", "--quick", "--data", str(tmp_path / "m.npy")]) == 2
    assert "varies its data" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-study"], "built in are"),
        (["FILE", "--out", "/no/such/folder/x.csv"], "does not exist"),
    ],
)
def test_mistakes_get_one_sentence(file, capsys, arguments, said):
    words = [str(file) if word == "FILE" else word for word in arguments]
    assert main(["study", *words]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_text(file, capsys):
    file.write_bytes(b"\xff\xfe{}")
    assert main(["study", str(file)]) == 2
    assert "UTF-8" in capsys.readouterr().err


def test_listings(file, capsys):
    assert main(["studies", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(builtin_names())
    assert main(["studies", "--best"]) == 0
    assert "no study has results to compare yet" in capsys.readouterr().out
    StudyStore.create(small()).record([Finished(0, {"relative_error": 0.25}, 0.1)])
    assert main(["studies"]) == 0
    assert "1 of 12 runs" in capsys.readouterr().out
    assert main(["studies", "--best", "--json"]) == 0
    (best,) = json.loads(capsys.readouterr().out)
    assert best["value"] == 0.25 and ModelSpec.from_dict(best["spec"]).rank == 3
