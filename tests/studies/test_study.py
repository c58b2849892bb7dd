"""A study is data: paths, axes, cells, sizes, JSON."""

import dataclasses
import json

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset, Swimmer
from semf_core.model import ModelSpec, preset
from semf_core.sets import Sparse
from semf_core.solvers import ADMM, KSVD, RelativeADMM, Run
from semf_core.studies import MEASURES, VIEWS, Study, Trial, axis_from_dict, builtin_study
from semf_core.studies.axes import changed
from semf_core.studies.cell_run import carry_out, observe, order_of
from semf_core.studies.kept_arrays import unpacked
from semf_core.studies.measures import measured, measures_from_form
from semf_core.studies.trials import trial_id
from tests.helpers import of, present

from .common import BASE, small, small_form


def test_errors_of_a_classifier_are_counted_on_samples_that_nothing_has_seen():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    data = np.vstack([labels, 1 - labels, rng.random(60) * 0.1]) + 0.1
    dataset = Dataset(data, labels=labels)
    form = {"dataset": {"name": "digits"}, "rank": 2, "solver": {"name": "nmf-cd"}, "data": {"samples": 20}}
    outcome = observe(Trial.from_dict(form), dataset=dataset)
    for classifier in ("entropy", "neighbour"):
        options = {"name": "label_errors", "learnt": 20, "count": 10, "classifier": classifier}
        assert measures_from_form([options])[0].value(outcome) == 0
    left = outcome.data.left_out
    assert len(set(left)) == 40 and not np.isin(data[2, left], outcome.data.dataset.data[2]).any()
    shuffled = dataclasses.replace(dataset, labels=rng.permutation(labels))
    wrong = measures_from_form([options])[0].value(observe(Trial.from_dict(form), dataset=shuffled))
    assert present(wrong) > 1
    too_many = measures_from_form([options | {"count": 11}])[0]
    assert too_many.value(outcome) is None and measures_from_form([options | {"part": "validation"}])[0].value(outcome) == 0


def test_cells_are_the_product_and_their_ids_follow_from_the_trial():
    study = small()
    cells = list(study.cells())
    assert len(cells) == study.count == 12 and study.shape == (2, 2, 3)
    assert len({c.id for c in cells}) == 12
    last = cells[-1].trial.model
    solver = of(ADMM, last.solver)
    assert (last.rank, last.seed, solver.alpha0, solver.beta0) == (4, 2, 1.0, 0.1)
    for cell in cells:
        assert study.cell(cell.number) == cell
        again = Trial.from_dict(json.loads(json.dumps(cell.trial.to_dict())))
        assert again == cell.trial and trial_id(again.to_dict()) == cell.id


def test_the_id_does_not_depend_on_the_spelling_or_on_texts():
    spelled = BASE | {"title": "Some text", "seed": 0, "solver": {"name": "semf", "start": "normal", "mu": 2.0}}
    assert next(small(base=spelled).cells()).id == next(small().cells()).id
    assert small(title="Another", views=[]).id == small().id
    assert small(measures=["seconds"], views=[]).id != small().id


def test_round_trip_keeps_everything():
    sizes = {"quick": {"axes": {"rank": {"values": [2]}}}}
    study = small(keep=["factors"], claim={"source": "A paper", "text": "It works."}, sizes=sizes)
    again = Study.from_dict(json.loads(json.dumps(study.to_dict())))
    assert again.to_dict() == study.to_dict() and again.id == study.id


def test_any_part_of_a_trial_can_vary():
    form = preset("swimmer-groups").to_dict()
    for path, value in (
        ("seed", 7),
        ("rank", 16),
        ("solver.scale", 5.0),
        ("limits.restarts", 4),
        ("dataset.noise", 0.5),
        ("x.1.k", 12),
        ("y", [{"name": "nonnegative"}]),
        ("solver", {"name": "semf", "penalty": "fixed"}),
        ("data.held_out", 0.1),
        ("until_rmse", 1e-9),
    ):
        before = json.dumps(form)
        trial = Trial.from_dict(changed(form, path, value)).to_dict()
        assert json.dumps(form) == before
        for key in path.split("."):
            trial = trial[int(key)] if isinstance(trial, list) else trial[key]
        assert trial == value
    assert Trial.from_dict(changed(form, "preset", "dictionary")).model.rank == 50


def test_algorithms_with_options_of_their_own_share_an_axis():
    axes = [
        {"name": "algorithm", "path": "solver", "values": [{"name": "semf"}, {"name": "ksvd"}]},
        {"name": "k", "paths": ["y.0.k", "solver:ksvd.k"], "values": [[1, 1], [2, 2]]},
    ]
    semf, ksvd = (small(axes=axes, views=[]).cell(n).trial.model for n in (1, 3))
    assert of(Sparse, semf.y[0]).k == 2 and of(KSVD, ksvd.solver).k == 2
    assert ksvd.x == ksvd.y == ()  # it has its own
    shares = axis_from_dict({"paths": ["x.0.k", "solver:nmf-l0.share"], "shares": [0.25]})
    assert shares.counted(8, 30).values == ((2, 0.25),)
    assert axis_from_dict(shares.to_dict()) == shares


def test_data_with_options_of_its_own_shares_an_axis():
    axes = [
        {"name": "data", "path": "dataset", "values": [{"name": "swimmer"}, {"name": "faces"}]},
        {"name": "instance", "paths": ["seed", "dataset:swimmer.seed"], "values": [[7, 7]]},
    ]
    swimmer, faces = (small(axes=axes, views=[]).cell(n).trial.model for n in (0, 1))
    assert of(Swimmer, swimmer.dataset).seed == 7 and faces.seed == 7 and faces.dataset.name == "faces"


def test_one_seed_is_one_start_for_the_algorithms_of_a_built_in_comparison():
    """CSMF §4.2: the same components for all; codes by least squares for CSMF, the same random ones for relatives of NMF."""
    study, begun = builtin_study("csmf-errors").sized("quick"), {}
    alike = ("csmf", "csmfnc", "csmfncc", "nmf-mu", "lnmf", "nsnmf")
    for number in range(study.count):
        model = study.cell(number).trial.model
        if model.solver.name in alike:
            state = Run(model.problem(model.dataset.load()), model.solver, model.limits, 3).state
            begun[model.solver.name] = state.W[: state.rank], state.Z[: state.rank]
    for part, names in ((0, alike), (1, alike[2:5])):  # V of nsNMF is smoothed
        first, *others = (begun[name][part].ravel() / np.linalg.norm(begun[name][part]) for name in names)
        for name, other in zip(names[1:], others, strict=True):
            assert first @ other > 0.999, name


@pytest.mark.parametrize(
    "axis",
    [
        {"path": "seed"},
        {"path": "seed", "values": [], "name": "s"},
        {"path": "seed", "values": [1], "range": [0, 2]},
        {"path": "nothing.here", "values": [1]},
        {"paths": ["seed", "rank"], "values": [1, 2]},
        {"path": "seed", "range": [0, 0]},
        {"path": "seed", "range": "ab"},
        {"path": "x.1.k", "shares": [1.5]},
        {"path": "seed", "values": [1, 2], "labels": ["one"]},
        {"path": "seed", "values": [1], "colour": "red"},
        "seed",
    ],
)
def test_bad_axes_are_rejected_in_words(axis):
    with pytest.raises(InvalidInput, match=r".+: .{10,}"):
        axis_from_dict(axis)


@pytest.mark.parametrize(
    "changes",
    [
        {"axes": [{"path": "x.².k", "values": [1]}]},
        {"axes": [{"path": f"x.{'9' * 5000}.k", "values": [1]}]},
        {"axes": [{"path": "rank", "values": [3]}, {"name": "rank", "path": "seed", "values": [1]}]},
        {"views": [{"name": "curve", "measure": "relative_error", "x": "nothing"}]},
        {"views": [{"name": "curve", "measure": "nothing", "x": "rank"}]},
        {"views": [{"name": "rates", "measure": "relative_error", "x": "rank"}]},
        {"views": [{"name": "heat_map", "measure": "relative_error", "x": "rank"}]},
        {"views": [{"name": "histories", "measure": "residual_xy", "x": "rank"}]},
        {"views": [{"name": "histories", "measure": "relative_error", "x": "rank"}], "keep": ["history"]},
        {"views": [{"name": "heat_map", "measure": "relative_error", "x": "rank", "by": "rank"}]},
        {"measures": ["relative_error", "relative_error"]},
        {"measures": [{"name": "success", "of": "relative_error"}]},
        {"measures": []},
        {"keep": ["everything"]},
        {"claim": {"values": [{"measure": "relative_error", "value": 10**400}]}},
        {"claim": {"values": [{"measure": "relative_error", "value": float("nan")}]}},
        {"claim": {"values": [{"measure": "relative_error", "value": 1, "rank": [[3]]}]}},
        {"claim": {"values": [{"measure": "relative_error", "value": 1}] * 501}},
        {"axes": [{"name": "seconds", "path": "rank", "values": [3]}], "views": []},
        {"colour": "red"},
        {"sizes": {"quick": {"axes": {"nothing": {"values": [1]}}}}},
        {"axes": [{"path": "seed", "range": [0, 2]}, {"path": "preset", "values": ["dictionary"]}], "views": []},
        {"axes": [{"path": "seed", "range": [0, 100000]}, {"path": "rank", "values": [1, 2, 3]}], "views": []},
    ],
)
def test_bad_studies_are_rejected_in_words(changes):
    with pytest.raises(InvalidInput, match=r".+: .{10,}"):
        small(**changes)


def places(form, path=()):
    """Where something stands in a JSON value, at any depth."""
    items = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def replaced(form, path, value):
    """A copy with another value at one place."""
    if not path:
        return value
    copy = dict(form) if isinstance(form, dict) else list(form)
    copy[path[0]] = replaced(copy[path[0]], path[1:], value)
    return copy


def test_a_field_of_any_wrong_type_is_rejected_in_words():
    """Every place of a study that has all fields, with everything that does not belong there."""
    sizes = {"quick": {"axes": {"seed": {"range": [0, 1]}}, "set": {"limits.max_iter": 5}}}
    claim = {"source": "A paper", "text": "Works.", "values": [{"measure": "success", "value": 0.5, "rank": "3"}]}
    algorithm = {
        "name": "algorithm",
        "paths": ["solver", "solver:semf.alpha0"],
        "values": [[{"name": "semf"}, 1]],
        "labels": ["a"],
    }
    preset_axis = {"path": "preset", "values": ["dictionary"]}
    whole = small_form(keep=["factors"], claim=claim, sizes=sizes, summary="Text")
    whole["axes"] = [preset_axis, *whole["axes"], algorithm]
    rejected = 0
    for path in places(whole):
        for wrong in (5, -1.5, True, None, "word", [], [5], [[5]], {}, {"a": 5}):
            try:
                study = Study.from_dict(replaced(whole, path, wrong))
                study.cell(0)
                json.dumps(study.to_dict())
                assert len(study.id) == 22
            except InvalidInput as refusal:
                rejected += 1
                assert refusal.field and len(refusal.message) > 8
    assert rejected > 300


@pytest.mark.parametrize("name", ["runs", "series", "low", "high", "cell"])
def test_axes_are_not_called_as_columns_are(name):
    with pytest.raises(InvalidInput, match="column of the results"):
        small(axes=[{"name": name, "path": "seed", "range": [0, 2]}], views=[])


def test_a_base_without_an_algorithm_has_the_usual_one():
    base = {k: v for k, v in BASE.items() if k != "solver"}
    axes = [{"path": "solver:semf-relative.scale", "values": [5.0]}]
    assert of(RelativeADMM, small(base=base, axes=axes, views=[]).cell(0).trial.model.solver).scale == 5


def test_a_study_without_views_and_title_has_them():
    axes = small_form()["axes"]
    kinds = {
        "heat_map": axes,
        "curve": [axes[1], axes[2]],
        "table": [axes[2]],
    }
    for kind, given in kinds.items():
        form = {k: v for k, v in small_form(axes=given).items() if k not in ("views", "title")}
        study = Study.from_dict(form)
        assert study.title == "small" and study.views[0].name == kind and study.views[0].measure == "relative_error"
        assert len(study.views) == 3
    assert [v.name for v in Study.from_dict(form | {"axes": axes[:1], "views": []}).views] == ["curve", "rates", "curve"]
    three = small(axes=[*axes, {"path": "y.0.k", "values": [1, 2]}], views=[])
    assert three.views[0].axes() == ("rank", "penalty", "k")
    assert small(axes=[], views=[]).views == ()


def test_a_bad_value_names_its_cell():
    with pytest.raises(InvalidInput, match="rank = 0"):
        list(small(axes=[{"path": "rank", "values": [3, 0]}], views=[]).cells())


def test_sizes_change_axes_and_the_base():
    sizes = {"quick": {"axes": {"seed": {"range": [5, 1]}}, "set": {"limits.max_iter": 7}}}
    quick = small(sizes=sizes).sized("quick")
    assert quick.shape == (2, 2, 1) and quick.size == "quick"
    trial = quick.cell(0).trial
    assert trial.model.limits.max_iter == 7 and trial.model.seed == 5
    with pytest.raises(InvalidInput, match="no size"):
        quick.sized("full")


def test_shares_become_counts_of_the_data():
    axes = [{"name": "k", "path": "x.0.k", "shares": [0.5, 0.01], "of": "rows"}]
    study = small(base=BASE | {"x": [{"name": "sparse", "k": 1}]}, axes=axes, views=[])
    with pytest.raises(InvalidInput, match="shares"):
        study.cell(0)
    ready = study.ready()
    assert [of(Sparse, c.trial.model.x[0]).k for c in ready.cells()] == [4, 1]
    assert ready.axes[0].labels == ("0.5", "0.01")


def test_repetitions_run_last_so_that_figures_fill_early():
    study = small()
    order = study.run_order()
    assert sorted(order) == list(range(12))
    assert {study.cell(int(n)).trial.model.seed for n in order[:4]} == {0}


def test_a_study_on_other_data():
    source = {"name": "sparse_codes", "rows": 9, "atoms": 4, "samples": 30, "nonzeros": 2}
    other = ModelSpec.from_dict(BASE | {"dataset": source}).dataset
    assert small().on(other).cell(3).trial.model.dataset == other
    with pytest.raises(InvalidInput, match="varies its data"):
        small(axes=[{"path": "dataset.seed", "range": [0, 2]}], views=[]).on(other)


def test_changes_of_the_data_are_reproducible_and_hide_what_they_say():
    form = changed(changed(changed(BASE, "data.held_out", 0.2), "data.samples", 20), "data.snr_db", 10)
    trial = Trial.from_dict(form)
    clean = trial.model.dataset.load()
    one, two = trial.data.apply(clean), trial.data.apply(clean)
    np.testing.assert_array_equal(one.dataset.data, two.dataset.data)
    assert one.dataset.shape == (8, 20) and present(one.dataset.activations).shape == (4, 20)
    assert one.dataset.missing == len(present(one.hidden)) == 32
    full = one.dataset.data.copy()
    full.ravel()[one.hidden] = one.values
    noise = full - present(one.dataset.parts) @ present(one.dataset.activations)
    assert 20 * np.log10(np.linalg.norm(full - noise) / np.linalg.norm(noise)) == pytest.approx(10)


def test_every_measure_gives_a_number_where_it_has_a_meaning():
    forms = [{"name": m.name, **({"at_most": 0.5} if m.name == "success" else {})} for m in MEASURES]
    trial = Trial.from_dict(changed(changed(preset("swimmer-groups").to_dict(), "limits.max_iter", 3), "data.held_out", 0.05))
    outcome = observe(trial)
    values = measured(measures_from_form(forms), outcome)
    assert set(values) == {m.name for m in MEASURES}
    assert [k for k, v in values.items() if v is None] == ["label_errors"], "Swimmer has no labels"
    fitted = outcome.U @ outcome.V
    full = trial.model.dataset.load().data
    hidden = outcome.data.hidden
    direct = np.linalg.norm((full - fitted).ravel()[hidden]) / np.linalg.norm(full.ravel()[hidden])
    assert values["held_out_error"] == pytest.approx(direct)
    assert values["true_error"] == pytest.approx(np.linalg.norm(full - fitted) / np.linalg.norm(full))


def test_measures_without_meaning_are_none_not_zero():
    trial = Trial.from_dict({"dataset": {"name": "faces"}, "rank": 2, "limits": {"max_iter": 2}})
    names = ["parts_found", "groups_correct", "solved", "recovered_atoms", "recovered_share", "dictionary_distance", "true_error"]
    assert set(measured(measures_from_form([*names, "held_out_error"]), observe(trial)).values()) == {None}


def test_a_run_ends_once_it_is_exact_enough():
    trial = Trial.from_dict(BASE | {"until_rmse": 1.0})
    assert observe(trial).run.iterations == 1


def test_a_cell_that_cannot_run_becomes_a_sentence():
    trial = Trial.from_dict(changed(BASE, "data.samples", 1000))
    finished = carry_out(order_of(3, trial, ["relative_error"], []))
    assert finished.number == 3 and finished.values is None and "30 samples" in finished.error and not finished.lost


def test_what_is_kept_comes_back():
    trial = Trial.from_dict(BASE)
    outcome = observe(trial)
    kept = unpacked(carry_out(order_of(0, trial, ["relative_error"], ["factors", "history"])).kept)
    np.testing.assert_array_equal(kept["U"], outcome.U.astype(np.float32))
    assert kept["iteration"][0] == 1 and kept["iteration"][-1] == 20
    np.testing.assert_array_equal(kept["residual_uv"], outcome.run.history["residual_uv"][kept["iteration"] - 1])


def test_every_view_has_a_json_form():
    for cls in VIEWS:
        view = cls.from_params({"measure": "relative_error", "x": "rank"} | ({"by": "penalty"} if cls.name == "heat_map" else {}))
        assert VIEWS.build(json.loads(json.dumps(view.to_dict()))) == view


def test_a_study_without_axes():
    with pytest.raises(InvalidInput, match="missing"):
        Study.from_dict({k: v for k, v in small_form().items() if k != "axes"})
