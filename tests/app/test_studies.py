"""Studies: cards, a study with its progress and figures, a study of one's own, and what was best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.ui import params, session, study_figures, study_page
from pages.ui.study_building import algorithms_axis, own_study, path_words, paths_of
from pages.ui.study_views import CLICKED, clicked_cell
from semf_core.glossary import word
from semf_core.model import ModelSpec, preset
from semf_core.runs.ids import key_hash
from semf_core.sets import Sparse
from semf_core.solvers import ADMM
from semf_core.studies import Finished, Study, StudyStore, builtin_names, builtin_sized, builtin_study
from semf_core.studies import service as studies_service
from semf_core.studies.cell_run import observe
from semf_core.studies.kept_arrays import packed
from tests.helpers import of, present

from ..studies.common import BASE, filled, small
from .widgets import PAGES, errors, open_page, spec_of


def texts(page) -> str:
    return " ".join(m.value for m in [*page.markdown, *page.info, *page.caption])


def opened(page_study: str | None = None, state: dict[str, Any] | None = None):
    """The page with a study open."""
    page = AppTest.from_file(str(PAGES / "studies.py"), default_timeout=60)
    for key, value in (state or {}).items():
        page.session_state[key] = value
    if page_study:
        page.session_state[session.STUDY] = page_study
    page.run()
    assert not page.exception and not errors(page)
    return page


def test_a_card_for_every_study_with_its_claim_and_sizes(service):
    page = open_page("studies")
    for name in builtin_names():
        study = builtin_study(name)
        assert study.claim.source.split(",")[0].lower() in texts(page).replace("\\", "").lower()
        for size in ("quick", "full"):
            assert f"{builtin_sized(name, size).count} runs" in page.button(key=f"start-{name}-{size}").label


def test_studies_of_ones_own_are_found_again(service):
    mine, shared = filled(service, small()), filled(service, builtin_sized("penalty-map", "quick"))
    page = opened(state={session.RUNS: {mine.id: "key", shared.id: "key", "r" * 22: "key"}})
    page.segmented_control(key="studies-part").set_value("Your studies").run()
    assert "Small study" in texts(page) and "12 of 12 runs" in texts(page)
    assert [b.key for b in page.button] == [f"own-{mine.id}"]
    page.button(key=f"own-{mine.id}").click().run()
    assert page.title[0].value == "Small study"
    assert all(word(name).more in texts(page) for name in ("relative_error", "seconds")), "each measure on a press"


def test_a_study_file_is_opened_beside_what_was_computed_here(service):
    mine = filled(service, small())
    page = opened(state={"studies-part": "Your studies"})
    name = "small.semf-study"
    page.file_uploader(key="study-file").set_value((name, service.studies.export(mine.id), "application/zip")).run()
    page.button(key="study-file-open").click().run()
    assert not page.exception and page.title[0].value == "Small study"
    (imported,) = page.session_state[session.RUNS]
    assert imported != mine.id and service.studies.progress(imported).done == 12
    page = opened(state={"studies-part": "Your studies"})
    page.file_uploader(key="study-file").set_value((name, b"no study", "application/zip")).run()
    page.button(key="study-file-open").click().run()
    assert len(errors(page)) == 1 and not page.exception


def test_studies_without_planted_data_run_on_the_data_in_use(service, monkeypatch):
    started = []
    monkeypatch.setattr(studies_service, "start_in_background", lambda store, home, visitor: started.append(store.study()))
    page = open_page("studies", preset("digits-parts"))
    offered = {present(t.key).removeprefix("study-data-") for t in page.toggle}
    assert {"sparse-faces", "csmf-overlap", "reverse-convex", "mixed-norm-groups"} <= offered
    assert not {"swimmer-rates", "penalty-map", "restart-atlas", "dictionary-noise"} & offered
    page.toggle(key="study-data-sparse-faces").set_value(True).run()
    page.button(key="start-sparse-faces-quick").click().run()
    assert not page.exception and started[0].base_trial().model.dataset == preset("digits-parts").dataset
    assert started[0].cell(0).trial.model.x[1].k == round(0.33 * 64), "shares are those of the new data"
    assert page.title[0].value.endswith(started[0].base_trial().model.dataset.title)


@pytest.mark.parametrize("name", builtin_names())
def test_the_figures_of_every_built_in_study_are_drawn(service, name):
    store = filled(service, builtin_sized(name, "quick"))
    page = opened(store.id)
    study = builtin_study(name)
    assert page.title[0].value.replace("\\", "") == study.title
    assert [s.value for s in page.subheader][: len(study.views)]
    assert len(page.get("plotly_chart")) >= len(study.views)  # one of them may be the chart of the choice


def test_the_papers_figures_stand_beside_the_measured_ones(service):
    study = builtin_sized("swimmer-rates", "quick")
    table = filled(service, study).table()
    figure = study_figures.figure_of(study.views[0].draw(table), study.claim)
    paper = [trace for trace in figure.data if trace.name == study_figures.PAPER]
    said = {
        name: y for trace in paper if trace.customdata is not None for (_, name), y in zip(trace.customdata, trace.y, strict=True)
    }
    assert said == {
        "single start, (34) orthogonality": 0.9,
        "single start, (35) groups": 0.9,
        "single start, (35) groups, equal nonzeros": 1.0,
    }
    assert sum(trace.showlegend is not False for trace in paper) == 1


def test_a_diamond_stands_on_the_bar_of_its_series_and_has_its_colour(service):
    study = service.studies.prepare(builtin_sized("sparse-faces", "quick"))
    figure = study_figures.figure_of(study.views[0].draw(filled(service, study).table()), study.claim)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    diamonds = [trace for trace in figure.data if trace.customdata is not None and trace.type == "scatter"]
    assert len(bars) == 4 and len(diamonds) == 1, "this view shows NMFℓ⁰'s reported figures alone"
    assert list(diamonds[0].x) == list(bars[3].x) and diamonds[0].marker.line.color == bars[3].marker.color
    assert figure.layout.xaxis.ticktext == ("33 %", "25 %", "10 %")
    curve = study_figures.figure_of(study.views[3].draw(filled(service, study).table()), study.claim)
    assert curve.layout.xaxis.type == "category" and set(curve.data[-1].x) == {"33 %", "25 %", "10 %"}


def test_one_line_without_a_name_has_no_legend(service):
    study = small(views=[{"name": "curve", "measure": "relative_error", "x": "rank"}])
    figure = study_figures.figure_of(study.views[0].draw(filled(service, study).table()), study.claim)
    assert len(figure.data) == 2 and not figure.layout.showlegend, "a band and a line"


def test_pause_and_resume_from_the_page(service, monkeypatch):
    store = StudyStore.create(small(), service.home)
    store.note("key", key_hash("mine"))
    runner = store.announce(1)  # a process seems to work on it
    page = opened(store.id, {session.RUNS: {store.id: "mine"}})
    assert "Running: 0 of 12 runs" in page.get("progress")[0].proto.text
    next(b for b in page.button if b.label == "Pause").click().run()
    assert store.wish() == "pause"
    runner.leave()
    page.run()
    assert "Paused" in page.get("progress")[0].proto.text
    started = []
    monkeypatch.setattr(studies_service, "start_in_background", lambda store, home, visitor: started.append(store.id))
    next(b for b in page.button if b.label == "Resume").click().run()
    assert started == [store.id] and not errors(page)


def test_a_visitor_without_the_key_only_looks(service):
    store = filled(service, small())
    page = opened(store.id)
    labels = {b.label for b in page.button}
    assert "Pause" not in labels and "Cancel" not in labels


def test_failed_runs_are_run_again_from_the_page(service):
    store = StudyStore.create(small(), service.home)
    store.record([Finished(n, {"relative_error": 0.5}, 0.1) for n in range(11)] + [Finished(11, error="it broke")])
    page = opened(store.id)
    assert not next(b for b in page.button if b.label == "Run the failed ones again").disabled


def test_a_page_at_rest_notices_that_a_study_is_resumed(service, monkeypatch):
    store = StudyStore.create(small(), service.home)
    drawn = []
    monkeypatch.setattr(study_page.st, "rerun", lambda: drawn.append(store.progress().state))
    study_page.watch(store.id)
    assert not drawn
    runner = store.announce(1)
    study_page.watch(store.id)
    runner.leave()
    assert drawn == ["running"]


def test_a_link_to_a_study_that_is_gone(service):
    page = AppTest.from_file(str(PAGES / "studies.py"), default_timeout=60)
    page.query_params["study"] = "x" * 22
    page.run()
    assert not page.exception and errors(page)[0].startswith("There is no study with this id")
    assert "study" not in page.query_params and page.button(key="start-swimmer-rates-quick"), "the list follows"


def test_a_server_that_only_shows_starts_no_study(service):
    store = filled(service, small())
    service.read_only = True
    assert all(b.disabled for b in open_page("studies").button if present(b.key).startswith("start-"))
    page = open_page("studies")
    page.segmented_control(key="studies-part").set_value("A study of your model").run()
    page.text_area(key="study-json").set_value("{}").run()
    assert page.button(key="study-json-start").disabled and page.button(key="study-start").disabled
    buttons = {b.label: b for b in opened(store.id, {session.RUNS: {store.id: "key"}}).button}
    assert buttons["Resume"].disabled and buttons["Open this run"].disabled and "Cancel" not in buttons


def test_a_cell_starts_a_run_of_its_model(service):
    store = filled(service, small())
    page = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run()
    page.session_state[session.STUDY] = store.id
    page.switch_page("studies.py").run()
    page.number_input(key="study-cell").set_value(8).run()  # counted from 1
    next(b for b in page.button if b.label == "Open this run").click().run()
    assert not page.exception
    (strip_id,) = page.session_state[session.STRIPS]
    status = service.status(service.strips.get(strip_id).current)
    assert status.spec.solver == store.study().cell(7).trial.model.solver and status.spec.rank == 4


def test_a_clicked_cell_is_opened_by_the_whole_page(service):
    store = filled(service, small())
    page = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run()
    page.session_state[session.STUDY] = store.id
    page.session_state[CLICKED] = 2
    page.switch_page("studies.py").run()
    assert not page.exception and "seed 2" in page.title[0].value
    (strip_id,) = page.session_state[session.STRIPS]
    assert service.status(service.strips.get(strip_id).current).spec.seed == 2


def test_a_click_on_a_heat_map_names_its_cell(service):
    axes = [{"path": "rank", "values": [3, 4]}, {"path": "y.0.k", "values": [1, 2]}, {"path": "seed", "range": [0, 3]}]
    study = small(axes=axes, views=[{"name": "heat_map", "measure": "relative_error", "x": "rank", "by": "k"}])
    drawing = study.views[0].draw(filled(service, study).table())
    markers = study_figures.figure_of(drawing, study.claim).data[1]
    cells = {(round(x), round(y), n) for x, y, n in zip(markers.x, markers.y, markers.customdata, strict=True)}
    assert cells == {(0, 0, 0), (1, 0, 6), (0, 1, 3), (1, 1, 9)}  # a field's best cell is that of seed 0
    assert clicked_cell([{"customdata": 6}]) == clicked_cell([{"customdata": [6]}]) == 6


def test_a_click_on_a_bar_or_a_point_names_its_run(service):
    values = [{"measure": "relative_error", "value": 0.4}]
    views = [{"name": name, "measure": "relative_error", "x": "rank", "by": "penalty"} for name in ("table", "curve")]
    study = small(views=views, claim={"source": "a paper", "text": "less", "values": values})
    table = filled(service, study).table()
    for view in study.views:
        drawing = view.draw(table)
        traces = [t for t in study_figures.figure_of(drawing, study.claim).data if t.customdata is not None]
        cells = [clicked_cell([{"customdata": one}]) for trace in traces for one in trace.customdata]
        assert [n for n in cells if n is not None] == [0, 6, 3, 9], "seed 0 has the smallest error everywhere"
        assert cells.count(None) == 2, "the paper's figures have no run behind them"


def test_names_are_not_joined_by_a_line(service):
    path = {"name": "scheme", "path": "solver.penalty", "values": ["adaptive", "fixed"]}
    study = small(
        axes=[path, {"path": "seed", "range": [0, 3]}], views=[{"name": "curve", "measure": "relative_error", "x": "scheme"}]
    )
    (dots,) = study_figures.figure_of(study.views[0].draw(filled(service, study).table()), study.claim).data
    assert dots.mode == "markers" and len(dots.error_y.array) == 2


def test_a_click_on_an_empty_field_opens_nothing(service):
    axes = [{"path": "rank", "values": [3, 4]}, {"path": "y.0.k", "values": [1, 2]}]
    study = small(axes=axes, views=[{"name": "heat_map", "measure": "relative_error", "x": "rank", "by": "k"}])
    store = StudyStore.create(study, service.home)
    store.record([Finished(3, {"relative_error": 0.5}, 0.1)])
    markers = study_figures.figure_of(study.views[0].draw(store.table()), study.claim).data[1]
    assert list(markers.customdata) == [-1, -1, -1, 3]
    assert [text.endswith("no result yet") for text in markers.text] == [True, True, True, False]
    assert clicked_cell([{"customdata": -1}]) is None and clicked_cell([]) is None


def test_the_restart_atlas_is_drawn(service):
    base = {"preset": "swimmer-sparse"}
    axes = [{"path": "seed", "range": [0, 3]}]
    study = small(base=base | {"limits": {"max_iter": 20}}, axes=axes, views=[], keep=["factors"])
    store = StudyStore.create(study, service.home)
    for cell in study.cells():
        run = observe(cell.trial).run
        store.record([Finished(cell.number, {"relative_error": run.best_uv}, 0.1, kept=packed(["factors"], run))])
    page = opened(store.id)
    assert "3 runs end in" in texts(page) and any("<img" in h.proto.body for h in page.get("html"))


def test_the_choice_of_rank_and_sparsity_opens_in_model(service):
    ranks, counts = {"name": "Rank", "path": "rank", "values": [3, 4]}, {"name": "k of Y", "path": "y.0.k", "values": [1, 2]}
    views = [{"name": "heat_map", "measure": "held_out_error", "x": "Rank", "by": "k of Y"}]
    axes = [ranks, counts, {"path": "data.seed", "range": [0, 3]}]
    study = small(base=BASE | {"data": {"held_out": 0.1}}, axes=axes, views=views, measures=["held_out_error"])
    store = StudyStore.create(study, service.home)
    error = {(3, 1): 0.5, (3, 2): 0.2, (4, 1): 0.4, (4, 2): 0.19}
    for cell in study.cells():
        model, fold = cell.trial.model, cell.trial.data.seed
        store.record([Finished(cell.number, {"held_out_error": error[model.rank, of(Sparse, model.y[0]).k] + 0.05 * fold}, 0.1)])
    page = opened(store.id)
    assert "rank **3** and **2** nonzeros" in texts(page)
    assert len(page.get("plotly_chart")) == 1, "the choice is marked on the study's own map"
    assert "Click a field" in texts(page)
    service.read_only = True
    assert "Click a field" not in texts(opened(store.id))


def test_a_study_of_ones_own(service):
    spec = preset("dictionary")
    page = open_page("studies", spec)
    page.segmented_control(key="studies-part").set_value("A study of your model").run()
    page.selectbox(key="study-path-1").set_value("solver.scale").run()
    page.text_input(key="study-values-1-solver.scale").set_value("0.1, 1").run()
    page.number_input(key="study-seeds").set_value(3).run()
    assert not page.exception and "6 runs" in " ".join(m.value for m in page.markdown)
    page.text_input(key="study-values-1-solver.scale").set_value("0.1, -1").run()
    assert any("must be" in e for e in errors(page))


def test_own_studies_cover_sets_solver_limits_and_data(service):
    spec = preset("dictionary")
    paths = paths_of(spec)
    assert {"rank", "solver", "y.0.k", "solver.epsilon", "limits.kick", "dataset.snr_db"} <= set(paths)
    assert "data.snr_db" not in paths and {"data.snr_db", "data.samples"} <= set(paths_of(preset("digits-parts")))
    words = [path_words(path, paths[path]) for path in ("rank", "y.0.k", "limits.max_iter")]
    assert words == ["Rank", "k of constraint 1 on Y", "Iterations (limits)"]


def test_algorithms_are_crossed_with_an_option_of_the_models_own(service):
    st.session_state[session.SPEC] = spec = ModelSpec.from_dict(BASE)
    penalty = {"name": "α₀", "path": "solver.alpha0", "values": [0.1, 1]}
    axes = [penalty, algorithms_axis(spec, ["semf", "ksvd"])]
    study = own_study(spec, axes, 2, 0, keep=False, drawn=["relative_error", "solved"])
    solvers = [cell.trial.model.solver for cell in study.cells()]
    assert [s.name for s in solvers] == ["semf"] * 4 + ["ksvd"] * 4
    assert [of(ADMM, s).alpha0 for s in solvers[:4]] == [0.1, 0.1, 1, 1]
    assert [(v.name, v.x, v.by) for v in study.views] == [("curve", "α₀", "Algorithm"), ("rates", "α₀", "Algorithm")]


def test_a_study_of_several_algorithms_from_the_page(service):
    page = open_page("studies", ModelSpec.from_dict(BASE))
    page.segmented_control(key="studies-part").set_value("A study of your model").run()
    page.selectbox(key="study-path-1").set_value("solver").run()
    page.multiselect(key="study-values-1-solver").set_value(["semf", "ksvd", "mod"]).run()
    assert not errors(page) and "30 runs" in texts(page)


def test_best_settings_open_on_the_workbench(service):
    filled(service, builtin_sized("penalty-map", "quick"))
    page = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run()
    page.switch_page("studies.py").run()
    page.segmented_control(key="studies-part").set_value("Best so far").run()
    page.button(key="best-0").click().run()
    assert not page.exception and page.title[0].value.replace("\\", "") == spec_of(page).title
    assert spec_of(page) == service.studies.best([])[0].spec


def test_a_study_as_json_is_started_or_rejected_in_words(service):
    page = open_page("studies")
    page.segmented_control(key="studies-part").set_value("A study of your model").run()
    page.text_area(key="study-json").set_value('{"base": {}}').run()
    page.button(key="study-json-start").click().run()
    assert any("missing" in e for e in errors(page))
    page.text_area(key="study-json").set_value("[" + "0," * params.MOST_CHARACTERS)
    page.button(key="study-json-start").click().run()
    assert any("more than 4 million characters" in e for e in errors(page))


def test_nothing_known_yet_is_said(service):
    store = StudyStore.create(small(), service.home)
    page = opened(store.id)
    assert "first results appear here" in texts(page)
    drawing = small().views[0].draw(store.table())
    assert "nothing is known" in study_figures.description(drawing)
    assert np.isnan(drawing.series[0].middle).all()


def test_durations():
    assert [study_page.duration(s) for s in (5, 600, 7200)] == ["5 s", "10 min", "2.0 h"]


def test_own_study_with_held_out_entries_varies_the_hidden_ones(service):
    spec = ModelSpec.from_dict(BASE)
    study = own_study_in_session(spec)
    assert study.cell(1).trial.data.held_out == 0.2 and study.cell(1).trial.data.seed == 1
    assert "held_out_error" in {m.key for m in study.measures}


def own_study_in_session(spec: ModelSpec) -> Study:
    st.session_state[session.SPEC] = spec
    return own_study(spec, [], 3, 0.2, keep=True)
