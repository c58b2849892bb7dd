"""Snapshots on the command line, without the dashboard."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.snapshots.format import read_file, snapshot_bytes
from semf_core.snapshots.label import Label

SMALL = ["--data", "sparse_codes:rows=8,atoms=10,samples=30,nonzeros=2", "--rank", "5", "--max-iter", "12", "--polish", "1"]


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_HOME", str(tmp_path / "home"))
    return tmp_path


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def test_save_verify_open_list_export(home, capsys):
    file = home / "run.semf"
    code, out, _ = run(capsys, "run", *SMALL, "--save", file, "--title", "Codes", "--tags", "small, test", "--json")
    assert code == 0 and json.loads(out)["iterations"] <= 12
    assert read_file(file).label == Label("Codes", "small, test")
    code, out, _ = run(capsys, "verify", file)
    assert code == 0 and "bit for bit" in out
    code, out, _ = run(capsys, "verify", file, "--json")
    assert code == 0 and json.loads(out)["exact"]
    code, out, _ = run(capsys, "open", file, "--publish", "--json")
    opened = json.loads(out)
    assert code == 0 and len(opened["id"]) == 22 and opened["published"]
    assert run(capsys, "open", file)[0] == 0
    code, out, _ = run(capsys, "list")
    assert code == 0 and out.count("Codes [small, test]") == 2
    code, out, _ = run(capsys, "list", "--search", "nothing", "--json")
    assert json.loads(out) == []
    wanted = ["--npz", home / "out.npz", "--bibtex", home / "out.bib", "--html", home / "out.html"]
    code, out, _ = run(capsys, "export", file, *wanted)
    assert code == 0 and b"<html" in (home / "out.html").read_bytes()[:500]
    with np.load(home / "out.npz") as stored:
        assert stored["U"].shape == (8, 5)


def test_data_of_ones_own_is_named_by_hand(home, capsys):
    np.save(home / "m.npy", np.random.default_rng(0).random((6, 9)))
    file = home / "run.semf"
    arguments = ["--data", home / "m.npy", "--rank", "2", "--max-iter", "5", "--save", file]
    assert run(capsys, "run", *arguments)[0] == 0
    code, _, error = run(capsys, "verify", file)
    assert code == 2 and "--data" in error
    assert run(capsys, "verify", file, "--data", home / "m.npy")[0] == 0
    assert run(capsys, "verify", file, "--no-rerun")[0] == 0
    np.save(home / "other.npy", np.ones((6, 9)))
    code, _, error = run(capsys, "verify", file, "--data", home / "other.npy")
    assert code == 2 and "fingerprint" in error
    assert run(capsys, "run", *arguments, "--include-data")[0] == 0
    assert run(capsys, "verify", file)[0] == 0


def test_what_is_not_reproduced_exits_with_1(home, content, capsys):
    table = content.history.copy()
    table[4:, 1] *= 0.5
    (home / "lie.semf").write_bytes(snapshot_bytes(replace(content, history=table)))
    code, out, _ = run(capsys, "verify", home / "lie.semf")
    assert code == 1 and "Not reproduced" in out


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["verify", "missing.semf"], "missing.semf"),
        (["open", "bad.semf"], "bad.semf"),
        (["export", "bad.semf", "--npz", "out.npz"], "bad.semf"),
        (["export", "bad.semf"], "--html"),
        (["run", *SMALL, "--save", "run.zip"], ".semf"),
        (["run", *SMALL, "--save", "nowhere/run.semf"], "nowhere"),
        (["run", *SMALL, "--save", "run.semf", "--title", "x" * 300], "title"),
    ],
)
def test_bad_input_exits_2_with_one_sentence(home, arguments, word, capsys, monkeypatch):
    monkeypatch.chdir(home)
    (home / "bad.semf").write_bytes(b"nonsense")
    code, _, error = run(capsys, *arguments)
    assert code == 2 and error.startswith("semf: ") and error.count("\n") == 1 and word in error
