"""The workbench: who may do what, and what a change does."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import memory, panel, session, strip_feed, sweep, workbench_state
from pages.ui.places import PAGES
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Axis, Dataset, SparseCodes, Swimmer
from semf_core.glossary import word
from semf_core.model import ModelSpec, preset, variants
from semf_core.model.sweeps import with_value
from semf_core.runs.variant_strips import Strip
from semf_core.sets import Nonnegative, Sparse
from semf_core.solvers import ADMM, Limits
from tests.app.runs import step, wait_for
from tests.app.widgets import block_keys, errors, spec_of
from tests.helpers import of


def open_bench(spec=None, handle=None, strips=None, **query):
    """The page, where a run or strips of one's own are given with their keys, as the browser brings them."""
    page = AppTest.from_file(str(PAGES / "workbench.py"), default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    if handle is not None:
        page.query_params["run"], page.session_state[session.RUNS] = handle.id, {handle.id: handle.key}
    if strips is not None:
        page.session_state[session.STRIPS] = strips
    page.run()
    assert not page.exception
    return page


def title_of(page):
    """Without the escapes of Markdown."""
    return page.title[0].value.replace("\\", "")


def on_show(service, page):
    """The run on show, from the strip that the page works on."""
    strip = service.strips.get(page.session_state[session.STRIP])
    return service.status(strip.current), strip


def small(**changes):
    x, limits = (Nonnegative(), Sparse(k=3)), Limits(max_iter=1_000_000, tol=0)
    model = ModelSpec(SparseCodes(rows=6, atoms=4, samples=30, nonzeros=2), 4, x, (), ADMM(), limits)
    return dataclasses.replace(model, **changes)


# -- the page ----------------------------------------------------------------------------------


def test_a_newcomer_finds_the_demo_and_may_change_it(service):
    page = open_bench()
    assert title_of(page) == preset("swimmer-groups").title
    assert session.STRIP not in page.session_state, "looking alone leaves nothing behind"
    page.number_input(key="spec1.seed").set_value(3).run()
    status, strip = on_show(service, page)
    assert status.spec.seed == 3 and [v.name for v in strip.variants] == [preset("swimmer-groups").title, "seed = 3"]
    assert strip.before == strip.variants[0].run
    assert page.query_params["run"] in (status.id, [status.id])


@pytest.mark.parametrize("run_id", ["nonsense", "../../etc/passwd", "A" * 22])
def test_a_link_that_leads_nowhere_is_a_sentence_with_ways_on(service, run_id):
    page = open_bench(run=run_id)
    assert page.error[0].value.startswith(("The run has an id", "There is no run")) and page.error[0].value.endswith(".")
    assert title_of(page) == preset("swimmer-groups").title


def test_a_viewer_looks_and_changes_a_copy(service):
    handle = service.start(small(), paused=True)
    viewer = open_bench(run=handle.id)
    assert not viewer.number_input and "Delete this run" not in {b.label for b in viewer.button}
    assert session.STRIP not in viewer.session_state
    viewer.button(key="bench-copy").click().run()
    key = block_keys(viewer, "X")[1]
    viewer.number_input(key=f"{key}.k").set_value(2).run()
    status, strip = on_show(service, viewer)
    assert of(Sparse, status.spec.x[1]).k == 2 and strip.variants[0].run == handle.id
    assert service.status(handle.id).spec == small(), "the run of the other person is as it was"


def test_a_viewer_reads_what_the_data_is_called(service):
    M = np.random.default_rng(0).random((6, 30))
    handle = service.start(ModelSpec(Swimmer(), 4), dataset=Dataset(M, title="Own table"), paused=True)
    assert any(m.value.startswith("**Own table** · rank 4") for m in open_bench(run=handle.id).markdown)


def test_the_owner_has_controls(service):
    handle = service.start(small(), paused=True)
    owner = open_bench(handle=handle)
    assert "Delete this run" in {b.label for b in owner.button} and owner.number_input


def test_a_key_in_a_query_is_taken_out_and_does_not_count(service):
    """Queries are in logs and in Referers, so whoever has read one of those must not control a run by it."""
    handle = service.start(small(), paused=True)
    page = open_bench(run=handle.id, key=handle.key)
    assert "key" not in page.query_params and "#key=" in page.warning[0].value and not page.number_input


def test_a_change_acts_at_once_and_undo_brings_the_model_back(service):
    page = open_bench(handle=service.start(small(), paused=True))
    first, _ = on_show(service, page)
    key = block_keys(page, "X")[1]
    page.number_input(key=f"{key}.k").set_value(2).run()
    second, strip = on_show(service, page)
    assert second.id != first.id and second.spec.x[1].k == 2
    assert [v.name for v in strip.variants][1] == "k = 2"
    assert second.title == "Sparse codes, X ≥ 0 with 2 per column"
    page.selectbox(key="bench.several").set_value("rank").run()
    assert on_show(service, page)[1].sweep.base == second.id, "it sets out from the variant that the change has made"
    command(page, do="undo")
    back, strip = on_show(service, page)
    assert back.id == first.id and of(Sparse, spec_of(page).x[1]).k == 3
    assert strip.before == second.id and strip.can_redo
    command(page, do="redo")
    assert on_show(service, page)[0].id == second.id and of(Sparse, spec_of(page).x[1]).k == 2


def command(page, **values):
    """What the view asks of the page, as its component would."""
    page.session_state["test_command"] = values
    script = str(Path(__file__).with_name("command_script.py"))
    asked = AppTest.from_file(script, default_timeout=60)
    for name in (
        session.STRIP,
        session.STRIPS,
        session.RUNS,
        session.SPEC,
        session.STAMP,
        workbench_state.SYNCED,
        "test_command",
    ):
        if name in page.session_state:
            asked.session_state[name] = page.session_state[name]
    asked.run()
    assert not asked.exception
    page.query_params["run"] = asked.query_params["run"]
    page.run()
    return asked


def test_what_cannot_be_run_is_said_and_the_last_result_stays(service):
    page = open_bench(handle=service.start(small(), paused=True))
    first, _ = on_show(service, page)
    key = block_keys(page, "X")[1]
    page.number_input(key=f"{key}.k").set_value(7).run()
    assert any("at most 6 nonzeros fit" in e for e in errors(page))
    assert on_show(service, page)[0].id == first.id


def test_quick_changes_of_one_number_leave_one_variant(service):
    page = open_bench(handle=service.start(small(), paused=True))
    key = block_keys(page, "X")[1]
    for k in (4, 5):
        page.number_input(key=f"{key}.k").set_value(k).run()
    _, strip = on_show(service, page)
    assert [v.name for v in strip.variants][1:] == ["k = 5"]
    assert len(list((service.home / "runs").iterdir())) == 2


def test_going_on_from_here_keeps_the_earlier_curve(service, reserve):
    handle = service.start(small(), paused=True)
    step(service, handle, 20)
    page = open_bench(handle=handle)
    page.segmented_control(key=workbench_state.WARM).set_value(workbench_state.ON).run()
    page.toggle(key=workbench_state.PAUSED).set_value(True).run()
    page.session_state[panel.OPTIONS] = True
    page.run()
    page.number_input(key="solver1.semf.q").set_value(7).run()
    status, strip = on_show(service, page)
    assert strip.variants[-1].name == "q = 7" and status.iterations == 20 and status.spec.solver.q == 7
    assert (service.scalars(status.id) == service.scalars(handle.id)).all()
    page.number_input(key="spec1.rank").set_value(3).run()
    assert on_show(service, page)[0].iterations == 0, "another rank has nothing to go on from"


def test_what_goes_on_from_other_factors_has_no_name_that_tells_of_a_fresh_start(service, reserve):
    known = preset("swimmer-groups")
    handle = service.start(variants.titled(with_value(known, "x.1.k", 12)), paused=True)
    step(service, handle, 5)
    page = open_bench(handle=handle)
    page.toggle(key=workbench_state.PAUSED).set_value(True).run()
    page.segmented_control(key=workbench_state.WARM).set_value(workbench_state.ON).run()
    page.number_input(key=f"{block_keys(page, 'X')[1]}.k").set_value(17).run()
    spec = on_show(service, page)[0].spec
    assert variants.same_model(spec, known) and not spec.watch
    assert spec.title == variants.title_of(known) == title_of(page)


def test_a_finished_run_shows_its_certificate(service):
    handle = service.start(preset("dictionary"))
    wait_for(service, handle.id, "finished")
    page = open_bench(handle=handle)
    assert any(m.label.startswith("Relative error") for m in page.metric)
    assert page.table and any(word("relative_error").more in m.value for m in page.markdown), "a number is explained on a press"


def test_components_are_shown_by_name_and_keep_the_names_that_are_typed(service):
    axes = Axes(Axis("gene", names=("A", "B", "<C>")), Axis("time", "s", values=np.arange(4.0)))
    data = Dataset(np.random.default_rng(0).random((3, 4)), axes=axes)
    handle = service.start(ModelSpec(Swimmer(), 2, (Nonnegative(),), (Nonnegative(),), limits=Limits(max_iter=5)), dataset=data)
    wait_for(service, handle.id, "finished")
    page = open_bench(handle=handle)
    drawn = next(h.value for h in page.html if "semf-components" in h.value)
    assert "top genes" in drawn and "&lt;C&gt;" in drawn and "semf-curve" in drawn and "component 2" in drawn
    page.text_input(key=f"component.{handle.id}.1").set_value("slow <b>")
    next(b for b in page.button if b.label == "Keep these names").click().run()
    assert service.component_names(handle.id) == ("", "slow <b>")
    assert any("slow &lt;b&gt;" in h.value for h in page.html)
    with pytest.raises(InvalidInput, match="only the owner"):
        service.name_components(handle.id, "A" * 22, ["mine"])
    with pytest.raises(InvalidInput, match="there are 2 components"):
        service.name_components(handle.id, handle.key, ["a", "b", "c"])
    saved = service.save(handle.id)
    assert service.component_names(saved.id) == ("", "slow <b>") and service.axes(saved.id) == axes


def test_a_control_link_of_a_strip_controls_all_of_it(service):
    first = open_bench(handle=service.start(small(), paused=True))
    first.number_input(key="spec1.seed").set_value(5).run()
    status, strip = on_show(service, first)
    key = first.session_state[session.STRIPS][strip.id]
    follower = open_bench(bench=strip.id)
    assert not follower.number_input and "run" not in follower.query_params, "it follows what the owner has on show"
    assert memory._fits("bench", strip.id, key) and not memory._fits("bench", strip.id, "A" * 22)
    owner = open_bench(bench=strip.id, strips={strip.id: key})
    assert owner.number_input(key="spec1.seed").value == 5
    assert status.owner_ok(key)


def test_an_unexpected_error_is_a_polite_sentence(service, monkeypatch):
    def broken(run_id):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(service, "status", broken)
    page = AppTest.from_file(str(PAGES / "workbench.py"), default_timeout=60)
    page.query_params["run"] = "A" * 22
    page.run()
    assert not page.exception
    assert "not your fault" in page.error[0].value and "secret" not in page.error[0].value


# -- several values ----------------------------------------------------------------------------


def test_several_values_are_run_and_one_is_adopted(service):
    page = open_bench(handle=service.start(small(limits=Limits(max_iter=5)), paused=True))
    page.selectbox(key=sweep.KEY).set_value("x.1.k").run()
    _, strip = on_show(service, page)
    assert strip.sweep.values == ("1", "2", "4", "5", "6") and page.selectbox(key=sweep.KEY).value is None
    for run_id in strip.sweep.runs:
        wait_for(service, run_id, "finished")
    command(page, do="adopt", run=strip.sweep.runs[1])
    status, strip = on_show(service, page)
    assert of(Sparse, status.spec.x[1]).k == 2 and strip.variants[-1].name == "k = 2" and of(Sparse, spec_of(page).x[1]).k == 2
    command(page, do="end_sweep")
    assert on_show(service, page)[1].sweep is None
    assert len(list((service.home / "runs").iterdir())) == 2, "what nobody adopted is gone"


# -- the strip ---------------------------------------------------------------------------------


def test_the_strip_is_sent_once_and_says_what_a_change_did(service):
    handle = service.start(small(limits=Limits(max_iter=5)))
    wait_for(service, handle.id, "finished")
    page = open_bench(handle=handle)
    page.number_input(key=f"{block_keys(page, 'X')[1]}.k").set_value(2).run()
    status, strip = on_show(service, page)
    for variant in strip.variants:
        wait_for(service, variant.run, "finished")
    reply = strip_feed.answer(strip.id, (), "light")
    assert [card["name"] for card in reply["cards"]][1] == "k = 2" and reply["current"] == status.id and reply["undo"]
    assert all(card["thumb"].startswith("data:image/png") and card["error"] for card in reply["cards"])
    assert reply["line"].startswith("k 3 → 2: error ") and "nonzeros of U 45.8 % → 33.3 %" in reply["line"]
    other = service.start(ModelSpec(Swimmer(), 2, limits=Limits(max_iter=2)))
    wait_for(service, other.id, "finished")
    switched = cast(Strip, SimpleNamespace(before=status.id, current=other.id))
    assert strip_feed.line(switched).endswith("→ Swimmer"), "errors on two data sets are not compared"
    again = strip_feed.answer(strip.id, [card["token"] for card in reply["cards"]], "light")
    assert all(set(card) == {"run", "token"} for card in again["cards"]) and not again["moving"]
    drawn = strip_feed.before(status.id, strip.before, "U", "light")
    assert len(drawn["tiles"]) == 4 and len(drawn["cosines"]) == 4
