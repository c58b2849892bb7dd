"""The Compare page: what is pinned is shown, what cannot run is said, nothing is lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pages.ui import compare_feed, compare_page, session
from semf_core.datasets import Dataset, SparseCodes
from semf_core.glossary import word
from semf_core.model import ModelSpec
from semf_core.model.variants import titled
from semf_core.sets import Sparse
from semf_core.solvers import Limits
from tests.app.widgets import errors, open_page
from tests.runs.common import tiny, wait_for, wait_for_state

CODES = SparseCodes(rows=6, atoms=4, samples=30, nonzeros=2)
PLANTED = ModelSpec(CODES, 4, y=(Sparse(2),), limits=Limits(max_iter=5, kick=True, polish=3), title="Planted")


@pytest.fixture(autouse=True)
def fresh_reader(service):
    compare_feed.reader.cache_clear()
    yield
    compare_feed.reader.cache_clear()


def pinned(page):
    return page.session_state[compare_page.PINS]


def test_an_empty_page_offers_ways_to_begin(service):
    page = open_page("compare")
    assert not errors(page) and pinned(page) == []
    assert page.button(key="ready-swimmer").label == "Compare 14 models"
    assert page.button(key="compare.start").disabled


def test_algorithms_are_started_on_the_current_data_and_scored(service):
    page = open_page("compare", PLANTED)
    page.multiselect(key="compare.algorithms").set_value(["ksvd", "nmf-mu"]).run()
    page.button(key="compare.start").click().run()
    assert any("negative entries" in w.value for w in page.warning), "the data has negative entries, and it is said"
    (run_id,) = pinned(page)
    limits = wait_for_state(service, run_id, "finished").spec.limits
    assert limits == Limits(max_iter=5, common_start=True), "no kicks and no polish, which are the current model's"
    page.button(key="compare.model").click().run()
    assert len(pinned(page)) == 2 and set(pinned(page)) == set(page.session_state[session.RUNS])
    wait_for_state(service, pinned(page)[1], "finished")
    page.run()
    table = page.dataframe[0].value
    assert list(table["Algorithm"]) == ["K-SVD", "SeMF"] and (table["Error"] < 1).all()
    assert page.query_params["pin"] == ",".join(pinned(page))
    assert any(word("relative_error").more in m.value for m in page.markdown), "a column is explained on a press"


def test_links_pin_and_what_is_pinned_can_be_taken_out(service):
    first, second = (service.start(tiny(max_iter=5, title=title)) for title in ("first", "second"))
    for handle in (first, second):
        wait_for_state(service, handle.id, "finished")
    page = open_page("compare")
    page.text_input(key="compare.link").set_value(f"http://somewhere/run?run={first.id}").run()
    page.text_input(key="compare.link").set_value("no such thing").run()
    assert any("no link or id" in w.value for w in page.warning)
    page.text_input(key="compare.link").set_value(second.id).run()
    assert pinned(page) == [first.id, second.id]
    assert [page.selectbox(key=f"compare.run{place}").value for place in (0, 1)] == [first.id, second.id]
    columns = compare_feed.answer([first.id], [], "light")["runs"][0]["columns"]
    there = [place + 1 for place, column in enumerate(columns) if column >= 0]
    page.number_input(key="compare.component0").set_value(there[2]).run()
    assert page.number_input(key="compare.component1").value == there[2], "B is what is most like A; these two runs are equal"
    assert any("cosine 1.0000" in m.value for m in page.markdown)
    page.number_input(key="compare.component1").set_value(there[1]).run()
    assert any("cosine 0." in m.value for m in page.markdown), "but another can be chosen"
    page.multiselect(key="compare.out").set_value([first.id]).run()
    page.button(key="compare.remove").click().run()
    assert pinned(page) == [second.id]
    service.delete(second.id, second.key)
    page.run()
    assert not errors(page) and pinned(page) == [], "a deleted run is no longer compared"
    assert any("Not everything" in w.value for w in page.warning)
    page.run()
    assert not page.warning, "it is said once"


@pytest.mark.parametrize("truth_first", [False, True])
def test_runs_of_different_data_are_shown_in_either_order(service, truth_first):
    """Only one of them has a truth, which is drawn in the shape of its own images."""
    data = Dataset(np.random.default_rng(0).random((12, 20)), image_shape=(3, 4))
    untrue = service.start(tiny(max_iter=2, title="no truth"), dataset=data)
    swimmer = service.start(tiny(max_iter=2, title="truth", dataset={"name": "swimmer"}, y=[]))
    ids = [swimmer.id, untrue.id] if truth_first else [untrue.id, swimmer.id]
    for run_id in ids:
        wait_for_state(service, run_id, "finished")
    reply = compare_feed.answer(ids, [], "light")
    assert len(reply["truth"]["tiles"]) == 17 and all(run["montage"]["url"] for run in reply["runs"])
    assert len(compare_feed.reader().shown(ids, "iterations").montages) == 3


def test_a_run_and_its_snapshot_are_told_apart(service):
    handle = service.start(tiny(max_iter=5))
    wait_for_state(service, handle.id, "finished")
    ids = [handle.id, service.save(handle.id).id]
    named = ["tiny", "tiny (snapshot)"]
    assert [run["title"] for run in compare_feed.answer(ids, [], "light")["runs"]] == named
    figure = compare_feed.reader().shown(ids, "iterations")
    assert [c.title for c in figure.curves] == [r.title for r in compare_feed.reader().scores(ids)] == named
    assert compare_feed.answer(ids[1:], [], "light")["runs"][0]["title"] == "tiny", "alone it needs no remark"


def test_variants_are_called_by_what_tells_them_apart(service):
    planted = replace(PLANTED, limits=Limits(max_iter=2))
    specs = [titled(replace(planted, y=(Sparse(k),)), CODES.title) for k in (2, 3)]
    specs.append(replace(specs[0], title="Mine", rank=3))
    ids = [service.start(spec).id for spec in specs]
    for run_id in ids:
        wait_for_state(service, run_id, "finished")
    named = [f"{CODES.title}: k = 2", f"{CODES.title}: k = 3", "Mine"]
    assert [row.title for row in compare_feed.reader().scores(ids)] == named
    assert [run["title"] for run in compare_feed.answer(ids, [], "light")["runs"]] == named
    assert compare_feed.reader().names(ids[:1]) == {ids[0]: specs[0].title}, "alone it is called what it is"


def test_the_floor_is_drawn_only_where_all_have_one_rank(service):
    ids = [service.start(tiny(max_iter=5, rank=rank)).id for rank in (4, 4, 5)]
    for run_id in ids:
        wait_for_state(service, run_id, "finished")
        wait_for(lambda run_id=run_id: service.lower_bound(run_id) is not None)
    for chosen, there in ((ids[:2], True), (ids, False)):
        assert (compare_feed.answer(chosen, [], "light")["lower_bound"] is not None) is there
        assert (compare_feed.reader().shown(chosen, "iterations").lower_bound is not None) is there


def test_the_feed_sends_only_what_changed(service):
    handle = service.start(tiny(max_iter=5))
    wait_for_state(service, handle.id, "finished")
    first = compare_feed.answer([handle.id, "A" * 22], [], "light")
    (entry,) = first["runs"]
    assert entry["error"] and entry["montage"]["url"].startswith("data:image/png") and not first["moving"]
    again = compare_feed.answer([handle.id], [entry["token"]], "light")
    assert again["runs"] == [{"id": handle.id, "token": entry["token"]}]
    assert compare_feed.answer([handle.id], [entry["token"]], "dark")["runs"][0]["token"] != entry["token"]
