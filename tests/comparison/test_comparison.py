"""Alignment against all permutations, scores against known numbers, figures that open again, and the ready comparisons."""

import csv
import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from semf_core import solvers
from semf_core.common.errors import InvalidInput
from semf_core.comparison import Curve, Montage, Reader, Score, Shown, align, comparison, comparison_names, table_csv
from semf_core.comparison.figure import figure_html, figure_image
from semf_core.comparison.scores import SCORES, measure
from semf_core.datasets import Swimmer
from semf_core.drawing.pictures import basis
from semf_core.factorization.result import make_result
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec, preset, preset_names
from semf_core.runs.frames import FactorFrame
from semf_core.service import Service
from semf_core.sets import Nonnegative
from semf_core.solvers import SOLVERS, Limits, MultiplicativeNMF, TruncatedSVD
from tests.helpers import present
from tests.runs.common import tiny, wait_for, wait_for_state


def test_a_part_with_a_shadow_of_another_is_one_and_more():
    parts = np.eye(9)[:, :4]
    assert align(parts, parts).found == (0, 1, 2, 3) and not align(parts, parts).mixed
    shadow = align(parts + 0.05 * parts[:, ::-1], parts)
    assert shadow.mixed == shadow.found == (0, 1, 2, 3)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_is_the_best_of_all_permutations(seed):
    rng = np.random.default_rng(seed)
    U, reference = rng.random((9, 4)), rng.random((9, 4))
    similarity = np.abs(metrics.cosines(reference, U))
    best = max(sum(similarity[i, j] for i, j in enumerate(order)) for order in itertools.permutations(range(4)))
    found = align(U, reference)
    assert sorted(found.columns) == [0, 1, 2, 3]
    assert sum(found.cosines) == pytest.approx(best)
    np.testing.assert_array_equal(found.of(U), U[:, list(found.columns)])
    turned = U * [1, -1, 1, -1]
    np.testing.assert_array_equal(align(turned, reference).of(turned), found.of(U), "like stands beside like, not its negative")


def test_more_or_fewer_columns_than_the_reference():
    parts = np.eye(5)[:, :3]
    extra = align(np.eye(5)[:, [4, 2, 1, 0]], parts)
    assert extra.columns == (3, 2, 1, 0) and extra.cosines == (1.0, 1.0, 1.0, 0.0)
    fewer = align(parts[:, [1]], parts)
    assert fewer.columns == (-1, 0, -1)
    np.testing.assert_array_equal(fewer.of(parts[:, [1]]), np.stack([np.zeros(5), parts[:, 1], np.zeros(5)], axis=1))


def test_scores_of_the_truth_itself():
    swimmer = Swimmer().load()
    parts, activations = present(swimmer.parts), present(swimmer.activations)
    truth = FactorFrame(1, parts, activations, parts, activations)
    spec = ModelSpec(Swimmer(), 17, (Nonnegative(),), (Nonnegative(),))
    found = measure(swimmer, spec, truth, metrics.frobenius_norm(swimmer.data), 0.0)
    assert found["error"] == 0 and found["parts"] == 17 and found["overlap"] == 0 and found["violation"] == 0
    assert found["nonzeros"] == pytest.approx(100 * parts.mean()) and found["bound"] is None
    negative = FactorFrame(1, -parts, -activations, -parts, -activations)
    assert measure(swimmer, spec, negative, 1.0, None)["violation"] == pytest.approx(1)
    own = ModelSpec(Swimmer(), 17, solver=MultiplicativeNMF())
    assert measure(swimmer, own, negative, 1.0, None)["violation"] == pytest.approx(1), "its own constraints count too"


def test_what_underflows_is_no_entry_and_a_result_counts_in_full_precision():
    spec = ModelSpec(Swimmer(), 17, solver=TruncatedSVD(), limits=Limits(max_iter=5))
    swimmer, result = spec.dataset.load(), make_result(spec.run().finish())
    frame = FactorFrame(1, *(A.astype(np.float32) for A in (result.U, result.V, result.X, result.Y)))
    norm = metrics.frobenius_norm(swimmer.data)
    rough, exact = measure(swimmer, spec, frame, norm, None), measure(swimmer, spec, frame, norm, None, result)
    assert exact["violation"] < 1e-14 < rough["violation"] and exact["error"] == result.relative_error
    parts, activations = present(swimmer.parts), present(swimmer.activations)
    faint = FactorFrame(1, parts + 1e-7, activations, parts, activations)
    assert measure(swimmer, spec, faint, norm, None)["nonzeros"] == pytest.approx(100 * parts.mean())


def test_the_table_as_csv_is_no_formula():
    text = table_csv([Score("=1+1", "SeMF", "finished", error=0.25, iterations=3), Score("plain, with comma", "PCA", "running")])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == [c.title for c in SCORES]
    assert rows[0]["Run"] == "'=1+1" and rows[0]["Error"] == "0.25" and rows[0]["SNR (dB)"] == ""
    assert rows[1]["Run"] == "plain, with comma"


def shown(title="<script>alert(1)</script> $x$"):
    curve = Curve(title, np.arange(1, 6), np.linspace(0.1, 1, 5), np.geomspace(1, 1e-3, 5))
    return Shown([curve], [Montage(title, basis(np.eye(9)[:, :4], (3, 3)), (0, 1, 2, 3), (2,))], lower_bound=(1e-3, 4))


def test_found_components_are_framed_and_what_has_no_place_on_the_axis_is_said():
    drawn = basis(np.eye(9)[:, :4], (3, 3))
    plain, framed = (replace(shown(), montages=[Montage("M", drawn, (0, 1, 2, 3), found)]) for found in ((), (2,)))
    assert figure_image(plain, "svg").count(b"#009e73") == 0 < figure_image(framed, "svg").count(b"#009e73")
    assert figure_html(plain).count('<i style="left') == 0 and figure_html(framed).count('<i style="left') == 1
    mixed = replace(shown(), montages=[Montage("M", drawn, (0, 1, 2, 3), (1, 2), (2,))])
    assert figure_html(mixed).count("<i class=mixed") == 1, "dashed where something else is beside it"
    assert b"stroke-dasharray" in figure_image(mixed, "svg").partition(b"#009e73")[2]
    exact = Curve("exact", np.arange(1, 3), np.arange(2.0), np.array([0.5, 0.0]))
    assert "drawn at 1e-16" in figure_html(replace(shown(), curves=[exact])), "a logarithmic axis has no zero"


def test_figures_open_again_and_a_title_is_text():
    with Image.open(io.BytesIO(figure_image(shown(), "png"))) as image:
        assert image.width > 800
    assert figure_image(shown(), "svg").lstrip().startswith(b"<?xml")
    page = figure_html(shown())
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page and "data:image/png;base64" in page


@pytest.mark.parametrize("name", comparison_names())
def test_ready_comparisons_share_data_and_can_be_run(name):
    plan = comparison(name)
    assert plan.title and plan.watch and len({model.rank for model in plan.models}) == 1
    dataset = plan.models[0].dataset.load()
    for model in plan.models:
        model.solver.check(model.problem(dataset))
        assert model.title and model.limits.common_start == (name != "swimmer")


def test_every_algorithm_has_a_preset_and_a_place_in_a_ready_comparison():
    offered = {cls.name for cls in SOLVERS if cls.__name__ in solvers.__all__}
    presets = {preset(name).solver.name for name in preset_names()}
    compared = {model.solver.name for name in comparison_names() for model in comparison(name).models}
    assert len(offered) > 40 and not offered - presets, f"add presets of {offered - presets}"
    assert not offered - compared, f"add {offered - compared} to a comparison in semf_core/comparison/ready"


def test_the_swimmer_comparison_has_ten_algorithms():
    assert len({model.solver.name for model in comparison("swimmer").models}) >= 10
    with pytest.raises(InvalidInput, match="known are"):
        comparison("nothing")


def test_the_reader_reads_runs_of_all_kinds(tmp_path, no_reserve):
    service = Service(tmp_path / "home", max_running=1)
    try:
        long = service.start(tiny(max_iter=1000, title="long"))
        other = service.start(tiny(max_iter=5, title="other", dataset={"name": "swimmer"}, y=[], solver={"name": "nmf-mu"}))
        waiting = service.start(tiny(title="waiting"), paused=True)
        for handle in (long, other):
            wait_for_state(service, handle.id, "finished")
        read = Reader(service)
        ids = [long.id, other.id, waiting.id]
        assert read.existing([*ids, long.id, "A" * 22, "nonsense"]) == ids
        curve = read.curve(long.id)
        assert len(curve.iterations) <= 400 and curve.iterations[-1] == 1000
        assert curve.error[-1] == pytest.approx(service.scalars(long.id)[-1][1] / read.norm(long.id))
        wait_for(lambda: service.lower_bound(long.id) is not None)
        row = read.score(long.id)
        assert row.error == service.result(long.id).relative_error and present(row.bound) >= present(row.snr) - 1e-6
        assert present(row.violation) < 1e-15 and row.iterations == 1000 and row.parts is not None
        assert read.score(waiting.id).error is None
        assert read.same_data([long.id, waiting.id]) and not read.same_data(ids)
        reference = present(read.reference([waiting.id, long.id]))
        assert reference.is_truth and reference.run_id == waiting.id
        order, columns = present(read.components(other.id, read.frame(other.id), reference))
        assert order.columns == tuple(range(5)), "other data has no order of these"
        np.testing.assert_allclose(np.abs(columns).max(axis=0), 1, err_msg="no component is drawn fainter than another")
        assert read.components(waiting.id, read.frame(waiting.id), reference) is None
    finally:
        service.close()
