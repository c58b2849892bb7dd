"""The command line as a user types it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.common.registry import Registry


def run_json(capsys, *arguments):
    code = main(["run", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_preset_prints_one_object(capsys):
    code, out = run_json(capsys, "--preset", "swimmer-groups", "--seed", "3", "--restarts", "1")
    assert code == 0
    for key in (
        "iterations",
        "seconds",
        "residual_xy",
        "residual_uv",
        "snr_db",
        "stop_reason",
        "violations",
        "parts_found",
        "groups_correct",
    ):
        assert key in out
    assert out["parts_found"] == 17 and out["groups_correct"] == 5
    assert out["feasible"] and max(out["violations"].values()) < 1e-9
    assert out["iterations"] <= 2000


def test_data_file_with_sets_and_options(tmp_path, capsys):
    np.save(tmp_path / "m.npy", np.random.default_rng(0).random((10, 12)))
    arguments = [
        "--data",
        str(tmp_path / "m.npy"),
        "--rank",
        "3",
        "--x",
        "nonnegative",
        "--y",
        "nonnegative",
        "sparse:k=2,axis=column",
    ]
    out_file = tmp_path / "out.npz"
    code, out = run_json(capsys, *arguments, "--max-iter", "40", "--solver", "semf", "--alpha0", "0.5", "--out", str(out_file))
    assert code == 0 and out["iterations"] <= 40
    assert set(out["violations"]) == {"U.nonnegative", "V.nonnegative", "V.sparse"}
    assert main(["run", *arguments, "--y-rounds", "2", "--max-iter", "2", "--out", str(tmp_path / "f.npz")]) == 0
    with np.load(tmp_path / "f.npz") as stored:
        (y,) = json.loads(str(stored["spec"]))["y"]
    assert (y["method"], y["rounds"], len(y["sets"])) == ("successive", 2, 2)
    with np.load(out_file, allow_pickle=False) as stored:
        assert stored["U"].shape == (10, 3) and stored["history_alpha"][0] > 0
        assert json.loads(str(stored["spec"]))["solver"]["alpha0"] == 0.5


def test_another_algorithm_takes_the_presets_data(capsys):
    code, out = run_json(capsys, "--preset", "swimmer-groups", "--solver", "nmf-mu", "--max-iter", "5")
    assert code == 0 and out["iterations"] == 5 and set(out["violations"]) == {"U.nonnegative", "V.nonnegative"}
    assert main(["run", "--preset", "swimmer-groups", "--solver", "nmf-mu", "--alpha0", "3"]) == 2
    assert "option of SeMF" in capsys.readouterr().err


def test_listings_name_everything(capsys):
    from semf_core.datasets import DATASETS
    from semf_core.model import preset_names
    from semf_core.sets import SETS
    from semf_core.solvers import SOLVERS

    registries: dict[str, Registry] = {"sets": SETS, "solvers": SOLVERS, "datasets": DATASETS}
    for command, names in [("presets", preset_names()), *((word, r.names()) for word, r in registries.items())]:
        assert main([command]) == 0
        text = capsys.readouterr().out
        assert main([command, "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert [r["name"] for r in rows] == list(names)
        assert all(name in text for name in names)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--preset", "nothing"], "preset"),
        (["--data", "missing.npy", "--rank", "2"], "missing.npy"),
        (["--data", "swimmer"], "rank"),
        (["--data", "swimmer", "--rank", "0"], "rank"),
        (["--data", "swimmer", "--rank", "x"], "rank"),
        (["--data", "swimmer:nose=1", "--rank", "2"], "nose"),
        (["--data", "swimmer", "--rank", "3", "--x", "sparse"], "k"),
        (["--data", "swimmer", "--rank", "3", "--x", "sparse:k=5000"], "k"),
        (["--data", "swimmer", "--rank", "3", "--x", "sparse:k=five"], "k"),
        (["--data", "swimmer", "--rank", "3", "--y", "unknown"], "unknown"),
        (["--data", "swimmer", "--rank", "3", "--y", "group_sparse:groups=0|1"], "groups"),
        (["--data", "swimmer", "--rank", "3", "--gamma", "2"], "gamma"),
        (["--data", "swimmer", "--rank", "3", "--max-iter", "-1"], "max_iter"),
        (["--spec", "missing.json"], "missing.json"),
    ],
)
def test_bad_input_exits_2_with_one_sentence(arguments, word, capsys):
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("semf: ") and captured.err.count("\n") == 1
    assert word in captured.err and captured.out == ""


def test_bad_json_spec(tmp_path, capsys):
    (tmp_path / "bad.json").write_text('{"rank": ')
    assert main(["run", "--spec", str(tmp_path / "bad.json")]) == 2
    assert "JSON" in capsys.readouterr().err


def test_as_a_module_without_traceback(tmp_path):
    bad = tmp_path / "bad.npy"
    np.save(bad, np.array([[1.0, np.inf]]))
    command = [sys.executable, "-m", "semf_core", "run", "--data", str(bad), "--rank", "1"]
    out = subprocess.run(command, capture_output=True, text=True)
    assert out.returncode == 2 and "Traceback" not in out.stderr and "infinite" in out.stderr


def test_scale_warning_reaches_the_terminal(capsys):
    assert main(["run", "--data", "swimmer", "--rank", "2", "--x", "l1_ball:radius=1", "--max-iter", "2"]) == 0
    assert "unit norm" in capsys.readouterr().err
