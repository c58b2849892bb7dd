"""Specs and presets: data that makes a run."""

import json
from pathlib import Path

import numpy as np
import pytest

import semf_core
from semf_core import InvalidInput
from semf_core.factorization.scores import truth_scores
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.studies import Study


def test_every_file_is_listed():
    files = {file.stem for file in (Path(semf_core.__file__).parent / "presets").glob("*.json")} - {"order"}
    assert set(preset_names()) == files and len(preset_names()) == len(files)


@pytest.mark.parametrize("name", preset_names())
def test_presets_round_trip_and_start(name):
    spec = preset(name)
    assert spec.title and spec.watch
    assert ModelSpec.from_json(spec.to_json()) == spec
    assert not spec.warnings()
    run = spec.run()
    first = run.advance()
    assert np.isfinite(first.residual_uv)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_calls_its_data_as_every_page_does(name):
    data, _, what = preset(name).title.partition(": ")
    assert not what or data.split()[0].lower() in preset(name).dataset.title.lower()


def test_a_spec_reproduces_its_run():
    spec = ModelSpec.from_json(preset("dna-groups").to_json())
    a, b = (spec.run() for _ in range(2))
    for _ in range(20):
        a.advance(), b.advance()
    np.testing.assert_array_equal(a.history.residual_uv, b.history.residual_uv)


def scores(name, seed):
    spec = ModelSpec.from_dict(preset(name).to_dict() | {"seed": seed})
    dataset = spec.dataset.load()
    run = spec.run(dataset).finish()
    U, V, *_ = run.factors()
    assert spec.x_set.violation(U) < 1e-9 and spec.y_set.violation(V) < 1e-9
    return truth_scores(dataset, U, V, spec.y_set)


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("name", ["swimmer-groups", "swimmer-groups-equal"])
def test_swimmer_groups_are_recovered(name, seed):
    assert scores(name, seed) == {"parts_found": 17, "parts_total": 17, "groups_correct": 5, "groups_total": 5}


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_swimmer_parts_are_recovered_by_orthogonality(seed):
    assert scores("swimmer-orthogonal", seed)["parts_found"] == 17


def test_swimmer_ghosts_without_orthogonality():
    assert scores("swimmer-sparse", 11)["parts_found"] < 17


def test_planted_genes_are_recovered():
    found = scores("dna-groups", 11)
    assert found["parts_found"] == found["parts_total"] and found["groups_correct"] == found["groups_total"]


GOOD = {"dataset": {"name": "swimmer"}, "rank": 3}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"rank": 0}, "rank"),
        ({"rank": "3"}, "rank"),
        ({"dataset": {"name": "nothing"}}, "dataset"),
        ({"dataset": "swimmer"}, "dataset"),
        ({"x": [{"name": "unknown"}]}, "set"),
        ({"x": {"name": "nonnegative"}}, "x"),
        ({"x": [{"name": "sparse", "k": 0}]}, "k"),
        ({"x": [{"name": "intersection", "sets": 3}]}, "sets"),
        ({"solver": {"name": "nothing"}}, "solver"),
        ({"limits": {"max_iter": 1.5}}, "max_iter"),
        ({"limits": []}, "limits"),
        ({"seed": -1}, "seed"),
        ({"dtype": "int"}, "dtype"),
        ({"title": 3}, "title"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_bad_specs_name_the_field(change, field):
    ModelSpec.from_dict(GOOD)
    with pytest.raises(InvalidInput) as refusal:
        ModelSpec.from_json(json.dumps(GOOD | change))
    assert refusal.value.field == field


@pytest.mark.parametrize("text", ["", "{", "[" * 5000, '{"rank": ' + "1" * 5000 + "}", "[1, 2]"])
def test_what_is_no_json_is_a_sentence(text):
    """Python rejects numbers of thousands of digits and a depth without end in ways of its own."""
    for cls, field in ((ModelSpec, "spec"), (Study, "study")):
        with pytest.raises(InvalidInput) as refusal:
            cls.from_json(text)
        assert refusal.value.field == field and len(str(refusal.value)) < 200
