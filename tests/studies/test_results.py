"""Tables, views, the atlas, the choice of rank and sparsity, the best settings."""

import csv
import io
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.mathematics.metrics import agreement
from semf_core.model import ModelSpec
from semf_core.studies import Finished, StudyStore, run_study
from semf_core.studies.atlas import atlas_of, make_atlas, names_from
from semf_core.studies.best import best_settings
from semf_core.studies.choice import choose
from semf_core.studies.execution import LocalExecutor
from semf_core.studies.summaries import quartiles, standard_error, wilson
from semf_core.studies.views import VIEWS, near_best
from tests.helpers import present

from .common import BASE, small


def filled(tmp_path, study, values):
    """A store with made-up numbers: `values(cell)` gives those of a cell, or None to leave it open."""
    store = StudyStore.create(study, tmp_path)
    found = [(c.number, values(c)) for c in store.study().cells()]
    store.record([Finished(n, v, 0.5) for n, v in found if v is not None])
    return store


@pytest.fixture
def half_done(tmp_path):
    """relative_error = rank + seed/10; the second penalty has no results yet; success for seed 0 only."""

    def values(cell):
        if cell.positions[1] == 1:
            return None
        seed = cell.trial.model.seed
        return {"relative_error": cell.trial.model.rank + seed / 10, "success": float(seed == 0), "seconds": None}

    return filled(tmp_path, small(), values)


def test_the_table_has_what_is_there(half_done):
    table = half_done.table()
    assert table.done.sum() == 6
    assert table.arranged("relative_error", ("rank", "penalty")).shape == (2, 2, 3)
    lines = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert len(lines) == 6 and lines[0]["rank"] == "3" and lines[0]["penalty"] == "0.1, 0.01"
    assert float(lines[-1]["relative_error"]) == 4.2 and lines[0]["seconds"] == ""
    assert table.labels(11) == {"rank": "4", "penalty": "1, 0.1", "seed": "2"}


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "  =1", "＝1"])
def test_a_spreadsheet_takes_no_label_and_no_name_for_a_formula(half_done, text):
    table = half_done.table()
    axes = tuple(replace(axis, name=f"{text} {i}", labels=(text,) * len(axis)) for i, axis in enumerate(table.axes))
    for line in csv.reader(io.StringIO(replace(table, axes=axes).to_csv())):
        assert all(cell.startswith("'") for cell in line[1:4]), line
    minus = replace(table, axes=tuple(replace(axis, labels=("-2.5",) * len(axis)) for axis in table.axes))
    assert list(csv.reader(io.StringIO(minus.to_csv())))[1][1] == "-2.5", "a number stays one"


def test_curves_rates_and_maps(half_done):
    table = half_done.table()
    curve = VIEWS.build({"name": "curve", "measure": "relative_error", "x": "rank", "by": "penalty"}).draw(table)
    assert [s.label for s in curve.series] == ["0.1, 0.01", "1, 0.1"]
    np.testing.assert_allclose(curve.series[0].middle, [3.1, 4.1])
    np.testing.assert_allclose(curve.series[0].low, [3.05, 4.05])
    assert np.isnan(curve.series[1].middle).all() and curve.series[1].counts.tolist() == [0, 0]
    rates = VIEWS.build({"name": "rates", "measure": "success", "x": "rank"}).draw(table)
    assert rates.rate and rates.series[0].middle == pytest.approx([1 / 3, 1 / 3]) and rates.series[0].counts.tolist() == [3, 3]
    grid = VIEWS.build({"name": "heat_map", "measure": "relative_error", "x": "rank", "by": "penalty"}).draw(table).grid
    assert grid is not None
    np.testing.assert_allclose(grid.middle[0], np.array([3.1, 4.1]))
    assert grid.cells.tolist() == [[0, 6], [-1, -1]]  # seed 0 has the smallest error
    for view in ("curve", "table", "heat_map", "sorted_groups"):
        form = {"name": view, "measure": "relative_error", "x": "rank", "by": "penalty"}
        rows = VIEWS.build(form).draw(table).rows()
        assert rows and all("runs" in row for row in rows)


def test_a_figure_says_what_its_middle_is_and_what_success_means(half_done):
    table = half_done.table()
    captions = {
        band: VIEWS.build({"name": "curve", "measure": "rank", "x": "x", "band": band}).caption for band in ("quartiles", "error")
    }
    assert captions["quartiles"].startswith("Median") and captions["error"].startswith("Mean")
    assert VIEWS.build({"name": "heat_map", "measure": "rank", "x": "x", "statistic": "median"}).caption.startswith("Median")
    assert table.title_of("success").startswith("Relative error at most")


def test_the_run_that_stands_for_a_point(tmp_path):
    study = small(views=[], measures=["relative_error", "nonzeros", {"name": "success", "of": "rmse", "at_most": 1.0}])
    wanted = {0: 0.3, 1: 0.1, 2: 0.2}

    def values(cell):
        seed = cell.trial.model.seed
        return (
            {"relative_error": wanted[seed], "nonzeros": wanted[seed], "success": float(seed == 2)} if cell.number < 9 else None
        )

    table = filled(tmp_path, study, values).table()
    assert table.representatives("relative_error", ("rank", "penalty")).tolist() == [[1, 4], [7, -1]], "the best"
    assert table.representatives("success", ("rank", "penalty")).tolist() == [[2, 5], [8, -1]]
    assert table.representatives("nonzeros", ("rank", "penalty")).tolist() == [[2, 5], [8, -1]], "the middle one"


def test_one_measure_chooses_the_run_and_another_is_drawn(tmp_path):
    axes = [{"path": "rank", "values": [3, 4]}, {"name": "start", "path": "seed", "range": [0, 3]}]
    view = {"name": "picked", "measure": "relative_error", "x": "rank", "by_measure": "rmse", "among": "start"}
    study = small(axes=axes, measures=["relative_error", "rmse", "nonzeros"], views=[view])
    test, validation = {0: 0.1, 1: 0.4, 2: 0.2}, {0: 0.3, 1: 0.1, 2: 0.2}

    def values(cell):
        seed = cell.trial.model.seed
        return {"relative_error": test[seed] * cell.trial.model.rank, "rmse": validation[seed]}

    series = study.views[0].draw(filled(tmp_path, study, values).table()).series[0]
    np.testing.assert_allclose(series.middle, [1.2, 1.6])
    assert series.counts.tolist() == [1, 1] and present(series.cells).tolist() == [1, 4]
    with pytest.raises(InvalidInput, match="choose by"):
        small(axes=axes, measures=["relative_error", "nonzeros"], views=[view | {"by_measure": "nonzeros"}])


def test_what_is_needed_and_sorted_groups(tmp_path):
    axes = [{"path": "rank", "values": [1, 2, 3]}, {"path": "y.0.k", "values": [1, 2]}, {"path": "seed", "range": [0, 4]}]

    def values(cell):
        rank, k, seed = cell.trial.model.rank, cell.trial.model.y[0].k, cell.trial.model.seed
        return {"relative_error": float(rank >= k + 1) - 0.01 * seed}

    table = filled(tmp_path, small(axes=axes, views=[], measures=["relative_error"]), values).table()
    needed = VIEWS.build({"name": "needed", "measure": "relative_error", "x": "rank", "over": "k", "level": 0.9}).draw(table)
    assert needed.series[0].middle.tolist() == [2.0, 3.0] and needed.x_title == "k"
    assert present(needed.series[0].cells).tolist() == [11, 23], "of rank 2 with k = 1 and of rank 3 with k = 2"
    groups = VIEWS.build({"name": "sorted_groups", "measure": "relative_error", "x": "rank", "groups": 4}).draw(table)
    assert [s.label for s in groups.series] == [f"group {i}" for i in (1, 2, 3, 4)]
    assert groups.series[0].middle[2] < groups.series[3].middle[2]


def test_intervals():
    share, low, high = wilson(np.array([1.0] * 9 + [0.0]))
    z = 1.959964
    centre = (0.9 + z * z / 20) / (1 + z * z / 10)
    half = z / (1 + z * z / 10) * np.sqrt(0.9 * 0.1 / 10 + z * z / 400)
    assert (share, low, high) == pytest.approx((0.9, centre - half, centre + half), abs=1e-6)
    assert all(np.isnan(v) for f in (wilson, quartiles, standard_error) for v in f(np.array([])))
    mean, low, high = standard_error(np.array([1.0, 3.0]))
    assert (mean, low, high) == pytest.approx((2, 1, 3))


def test_near_the_best_is_relative_and_absolute():
    assert near_best(np.array([0.2, 0.209, 0.22, np.nan])).tolist() == [True, True, False, False]
    assert near_best(np.array([1e-7, 1e-3, 0.01])).tolist() == [True, True, False]


def test_the_atlas_finds_the_solutions_that_were_planted():
    rng = np.random.default_rng(0)
    one, two = np.abs(rng.standard_normal((2, 40, 3)))
    two[:, 0] = one[:, 0]  # one component is common to both
    shuffled = [one, one[:, [2, 0, 1]] * 5, two, two[:, [1, 2, 0]], rng.random((40, 3))]
    factors = [f + 0.001 * rng.standard_normal(f.shape) for f in shuffled]
    atlas = make_atlas(factors, np.array([0.1, 0.101, 0.102, 0.103, 0.5]), [10, 11, 12, 13, 14])
    assert atlas.reference == 0 and atlas.runs == (10, 11, 12, 13, 14)
    assert [s.members for s in atlas.solutions] == [(0, 1), (2, 3), (4,)]
    assert [s.similar for s in atlas.solutions] == [True, True, False]
    assert atlas.columns[1].tolist() == [1, 2, 0]
    assert atlas.stability[0] > 0.999 and atlas.stability[1:].max() < 0.95
    assert agreement(factors[0], factors[1]) > 0.999


def test_the_atlas_of_a_real_study(tmp_path):
    axes = [{"path": "rank", "values": [3, 4]}, {"path": "seed", "range": [0, 3]}]
    base = BASE | {"limits": {"max_iter": 400, "kick": True}}
    study = small(base=base, axes=axes, views=[], keep=["factors"])
    store = StudyStore.create(study, tmp_path)
    run_study(store, LocalExecutor(1, tmp_path))
    atlas = atlas_of(store, [3, 4, 5])
    assert atlas is not None and len(atlas.runs) == 3 and atlas.columns.shape == (3, 4)
    assert np.all(np.diff([s.error for s in atlas.solutions]) >= 0)
    stability = VIEWS.build({"name": "stability", "measure": "relative_error", "x": "rank"}).draw(store.table()).series[0]
    near = [n for n in (3, 4, 5) if near_best(atlas.errors)[n - 3]]
    pairs = [agreement(a, b) for a, b in combinations(store.components(near).values(), 2)]
    assert stability.middle[1] == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)


def test_histories_are_drawn_as_they_were_kept(tmp_path):
    axes = [{"path": "rank", "values": [3, 4]}, {"path": "limits.max_iter", "values": [5, 300], "name": "length"}]
    view = {"name": "histories", "measure": "residual_uv", "x": "rank"}
    store = StudyStore.create(small(axes=axes, views=[view], keep=["history"]), tmp_path)
    run_study(store, LocalExecutor(1, tmp_path))
    table = store.table()
    by_length = VIEWS.build(view | {"by": "length"}).draw(table)
    assert [s.label for s in by_length.series] == ["5, rank 3", "5, rank 4", "300, rank 3", "300, rank 4"]
    short, long = by_length.series[0], by_length.series[2]
    kept = store.histories([0])[0]
    assert short.numbers == (1, 2, 3, 4, 5) and by_length.log
    np.testing.assert_array_equal(short.middle, kept["residual_uv"])
    assert present(long.numbers)[-1] == 300 and len(long.x) <= 200
    assert len(by_length.rows()) > 4 * 5 and len(by_length.rows(6)) == 5 + 5 + 6 + 6
    assert [row["iteration"] for row in by_length.rows(6)[10:16:5]] == ["1", "300"]
    both = VIEWS.build(view).draw(table).series[0]  # the short run counts with its last value after it has ended
    assert both.counts[-1] == 2
    assert both.middle[-1] == pytest.approx((short.middle[-1] + long.middle[-1]) / 2)
    assert VIEWS.build(view).draw(StudyStore.create(small(), tmp_path).table()).series[0].x == ()


def test_one_standard_error_rule(tmp_path):
    means = {(2, 1): 0.5, (2, 2): 0.40, (3, 1): 0.31, (3, 2): 0.30, (4, 1): 0.302, (4, 2): 0.29}
    axes = [{"path": "rank", "values": [2, 3, 4]}, {"path": "y.0.k", "values": [1, 2]}, {"path": "data.seed", "range": [0, 4]}]
    base = BASE | {"data": {"held_out": 0.1}}

    def values(cell):
        fold = cell.trial.data.seed
        return {"held_out_error": means[cell.trial.model.rank, cell.trial.model.y[0].k] + 0.02 * (fold - 1.5)}

    store = filled(tmp_path, small(base=base, axes=axes, views=[], measures=["held_out_error"]), values)
    choice = choose(store.table())
    # the standard error is 0.02·√(5/3)/2 = 0.0129: (3, 2) at 0.30 is within it, (3, 1) at 0.31 is not
    assert choice.best == (2, 1) and choice.chosen == (1, 1)
    assert choice.mean[2, 1] == pytest.approx(0.29) and choice.error[0, 0] == pytest.approx(0.02 * np.sqrt(5 / 3) / 2)
    empty = StudyStore.create(small(base=base, axes=axes, views=[], measures=["held_out_error", "seconds"]), tmp_path)
    assert choose(empty.table()).chosen is None


def test_best_settings_are_models_one_can_open(tmp_path):
    def values(cell):
        solver = cell.trial.model.solver
        return {"relative_error": 0.5 - 0.1 * solver.alpha0 + 0.01 * cell.trial.model.seed**2, "success": 1.0, "seconds": 1.0}

    store = filled(tmp_path, small(), values)
    other = StudyStore.create(small(measures=["seconds"], views=[]), tmp_path)
    best = best_settings([store, other], most=2)
    assert len(best) == 2 and all(s.alpha0 == 1 and s.judged.runs == 3 for s in best)
    assert {s.rank for s in best} == {3, 4}  # the fits of different ranks do not compare
    assert best[0].judged.value == pytest.approx(0.4 + 0.05 / 3), "the mean, as in the tables of the study"
    assert best[0].x == "Unit norm" and best[0].y == "k-sparse (k 2)"
    assert ModelSpec.from_dict(best[0].to_dict()["spec"]) == best[0].spec


def test_a_larger_model_is_not_better_because_it_fits_better(tmp_path):
    axes = [{"path": "rank", "values": [2, 3]}, {"path": "seed", "range": [0, 2]}]

    def values(cell):
        return {"relative_error": 1 / cell.trial.model.rank, "held_out_error": float(cell.trial.model.rank)}

    fits = filled(tmp_path, small(axes=axes, views=[], measures=["relative_error"]), values)
    assert best_settings([fits]) == []
    hidden = small(axes=axes, views=[], measures=["relative_error", "held_out_error"], base=BASE | {"data": {"held_out": 0.1}})
    assert [s.rank for s in best_settings([filled(tmp_path, hidden, values)])] == [2, 3]


def test_algorithms_with_options_of_their_own_compare(tmp_path):
    axes = [
        {"name": "algorithm", "path": "solver", "values": [{"name": "semf"}, {"name": "ksvd", "k": 2}]},
        {"name": "k", "paths": ["y.0.k", "solver:ksvd.k"], "values": [[1, 1], [2, 2]]},
    ]

    def values(cell):
        algorithm, k = cell.positions
        return {"relative_error": 0.5 - 0.2 * k + 0.1 * algorithm}

    store = filled(tmp_path, small(axes=axes, views=[], measures=["relative_error"]), values)
    assert [s.labels for s in best_settings([store])] == [{"algorithm": "semf", "k": "2, 2"}, {"algorithm": "semf", "k": "1, 1"}]


def test_names_go_to_the_components_that_are_the_same_part():
    parts = np.eye(6)[:, :3]
    found = names_from(parts[:, [2, 0, 1]] * [1, -2, 3], np.column_stack([parts[:, :2], np.ones(6)]), ("a", "b", "c"))
    assert found == ["", "a", "b"], "the third is like none of them"
