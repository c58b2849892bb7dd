"""Every export opens again, says the same twice, and stands up to hostile texts and missing pieces."""

from __future__ import annotations

import json

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import load_bytes
from semf_core.exports import EXPORTS, available, thumbnail
from semf_core.model import ModelSpec
from semf_core.model.references import entry, references_of
from semf_core.runs.outcome import read_outcome
from semf_core.solvers import COLUMNS, DEFAULT, SOLVERS
from tests.exports.common import hostile, hostile_dataset, recorded, without_keyframes
from tests.exports.readers import READERS, read_picture, read_zip

FIGURES = [f"{name}-{form}" for name in ("residuals", "penalties", "gaps", "basis", "coefficients") for form in ("png", "svg")]
SOME = ["html", "gif", "csv", "parquet", "h5ad", "top", "npz", "mat", "bibtex", "basis-svg", "penalties-png"]


def opened(name, folder, dataset):
    export = EXPORTS[name]
    content = export.make(folder, dataset)
    return READERS["." + export.suffix.rpartition(".")[2]](content)


@pytest.mark.parametrize("name", [name for name in EXPORTS if name not in {"figures", *FIGURES}])
def test_every_other_export_opens_again_and_is_the_same_twice(finished, dataset, name):
    assert EXPORTS[name].name == name
    assert opened(name, finished, dataset) is not None
    assert EXPORTS[name].make(finished, dataset) == EXPORTS[name].make(finished, dataset)


@pytest.mark.parametrize("name", SOME)
def test_without_the_data(finished, name):
    assert opened(name, finished, None) is not None


@pytest.mark.parametrize("name", SOME)
def test_without_keyframes(copy, dataset, name):
    assert opened(name, without_keyframes(copy), dataset) is not None


@pytest.mark.parametrize("name", [*SOME, "residuals-svg"])
def test_hostile_texts(copy, dataset, name):
    assert opened(name, hostile(copy), hostile_dataset(dataset)) is not None


@pytest.mark.parametrize("name", SOME)
def test_a_run_that_goes_on(tmp_path, dataset, name):
    assert opened(name, recorded(tmp_path / "run", finish=False), dataset) is not None


def test_a_run_that_has_not_begun(tmp_path, dataset):
    folder = without_keyframes(recorded(tmp_path / "run", finish=False))
    folder.scalars.unlink()
    page = opened("html", folder, dataset)
    assert "No iteration is recorded yet" in page.text and "No factors are recorded yet" in page.text
    assert opened("bibtex", folder, None)
    for name in ("gif", "npz", "basis-svg"):
        with pytest.raises(InvalidInput):
            EXPORTS[name].make(folder, dataset)


@pytest.mark.parametrize("name", SOME)
def test_a_run_that_diverged(copy, dataset, name):
    rows = copy.rows().copy()
    rows[3:6, :6], rows[-1, :6] = np.nan, np.inf
    copy.scalars.write_bytes(rows.tobytes())
    stored = json.loads(copy.result.read_text()) | {"residual_uv": np.nan, "residual_xy": np.inf, "stop_reason": "diverged"}
    copy.result.write_text(json.dumps(stored))
    assert opened(name, copy, dataset) is not None


def test_data_of_another_shape_is_refused(finished, dataset):
    other = type(dataset)(np.ones((5, 5)))
    with pytest.raises(InvalidInput, match="does not fit"):
        EXPORTS["html"].make(finished, other)


def test_the_tables_hold_the_numbers_of_the_result(finished, dataset):
    result = read_outcome(finished)
    csv, npz, mat = (opened(name, finished, dataset) for name in ("csv", "npz", "mat"))
    for name in "UVXY":
        expected = getattr(result, name)
        np.testing.assert_array_equal(npz[name], expected)
        np.testing.assert_array_equal(mat[name], expected)
        np.testing.assert_array_equal(load_bytes("a.csv", csv[f"{name}.csv"]).data, expected)
    lines = csv["history.csv"].decode().splitlines()
    assert lines[0] == ",".join(("iteration", *COLUMNS))
    np.testing.assert_array_equal(np.loadtxt(lines[1:], delimiter=",")[:, 1:], finished.rows())
    np.testing.assert_array_equal(npz["history"], finished.rows())
    np.testing.assert_array_equal(mat["history"]["residual_uv"][0, 0][:, 0], finished.rows()[:, 1])


def test_a_spreadsheet_takes_no_text_for_a_formula(copy, dataset):
    events = opened("csv", hostile(copy), dataset)["events.csv"].decode()
    assert "'=1+1" in events


def test_the_animation_shows_every_frame_and_then_the_result(finished, dataset):
    for name in ("gif", "webp"):
        image = opened(name, finished, dataset)
        frames = [k for k in finished.keyframes() if k]
        assert 2 < image.n_frames <= len(frames) + 1
        first = np.asarray(image.convert("RGB")).astype(int)
        image.seek(image.n_frames - 1)
        assert np.abs(np.asarray(image.convert("RGB")).astype(int) - first).max() > 50


def test_figures_open_again_and_are_the_same_alone_and_with_all_others(finished, dataset):
    members = read_zip(EXPORTS["figures"].make(finished, dataset))
    assert set(members) == {f"figure{EXPORTS[name].suffix}" for name in FIGURES}
    for name in FIGURES:
        content = EXPORTS[name].make(finished, dataset)
        assert content == members[f"figure{EXPORTS[name].suffix}"]
        READERS["." + name.rpartition("-")[2]](content)


def test_the_thumbnail_is_small(finished, dataset):
    for data in (dataset, None):
        content = thumbnail(finished, data)
        assert read_picture("PNG")(content).size == (320, 200) and len(content) < 30_000


def test_an_algorithm_that_does_not_split_has_neither_penalties_nor_gaps(monkeypatch, finished, dataset):
    monkeypatch.setattr(DEFAULT, "splits", False)
    offered = available(splits=False)
    assert set(EXPORTS) - set(offered) == {f"{name}-{form}" for name in ("penalties", "gaps") for form in ("png", "svg")}
    with pytest.raises(InvalidInput, match="does not split"):
        EXPORTS["gaps-svg"].make(finished, dataset)
    assert sorted(read_zip(EXPORTS["figures"].make(finished, dataset))) == [
        f"figure-{name}.{form}" for name in ("basis", "coefficients", "residuals") for form in ("png", "svg")
    ]
    assert set(opened("npz", finished, dataset)) == {"U", "V", "component_names", "history", "columns", "iteration", "model"}
    page = opened("html", finished, dataset)
    assert "‖X−U‖" not in page.text and "X, Y free" not in page.text and "XY" not in page.text.replace("M − XY", "")


@pytest.mark.parametrize("solver", [cls.name for cls in SOLVERS])
def test_the_report_of_every_algorithm(tmp_path, solver):
    values = {"dataset": {"name": "digits"}, "rank": 4, "solver": {"name": solver}, "limits": {"max_iter": 3}}
    spec = ModelSpec.from_dict(values)
    folder, dataset = recorded(tmp_path / "run", spec), spec.dataset.load()
    page = opened("html", folder, dataset)
    assert spec.solver.title in page.text and spec.solver.enforces in page.text
    assert "does not belong to this model" not in page.text
    assert ("‖X−U‖" in page.text) is spec.solver.splits
    assert entry(references_of(spec)[0]) in opened("bibtex", folder, None)
