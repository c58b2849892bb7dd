"""The Snapshots page: a gallery of the visitor's own and the published ones, and each of them opened."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import compare_feed, feed, session, strip_feed
from pages.ui.messages import READ_ONLY
from pages.ui.places import PAGES
from semf_core import service as service_module
from semf_core.datasets import Swimmer
from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.runs.uploads import UNNAMED
from semf_core.service import Service
from semf_core.sets import Nonnegative
from semf_core.snapshots.content import Content
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.gallery import PAGE
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.solvers import Limits
from tests.app.runs import wait_for
from tests.snapshots.conftest import with_variants

SPEC = ModelSpec(Swimmer(), 5, (Nonnegative(),), (Nonnegative(),), limits=Limits(max_iter=4, tol=0), title="Five parts")
HOSTILE = "<script>alert(1)</script> **bold** ![x](http://x)"


@pytest.fixture(autouse=True)
def new_reader():
    """The Compare page keeps a reader of the process's service, and every test has a service of its own."""
    compare_feed.reader.cache_clear()
    yield
    compare_feed.reader.cache_clear()


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> Content:
    folder = RunFolder(tmp_path_factory.mktemp("run"))
    dataset = record(SPEC, folder).dataset
    return from_run(folder, dataset, Label("Five parts", "swimmer, small", "A note"), Story(1.7e9))


def add(service, content, published=False, **label):
    handle = service._snapshots.add(replace(content, label=Label(**label)) if label else content)
    if published:
        service.gallery.publish(handle.id, handle.key, True)
    return handle


def open_page(own=(), page="snapshots", **query):
    made = AppTest.from_file(str(PAGES / f"{page}.py"), default_timeout=60)
    made.session_state[session.SNAPSHOTS] = {h.id: h.key for h in own}
    for name, value in query.items():
        made.query_params[name] = value
    made.run()
    assert not made.exception
    return made


def texts(page):
    return " ".join(m.value for m in page.markdown)


def asked(page):
    """The snapshot in the address."""
    value = page.query_params["snapshot"]
    return value if isinstance(value, str) else value[0]


def labels(page):
    return {b.label for b in page.button}


def test_an_empty_gallery_says_where_snapshots_come_from(service):
    page = open_page()
    assert "no snapshot yet" in texts(page) and not page.error


def test_the_gallery_shows_the_own_and_the_published_ones(service, content):
    mine, _ = add(service, content), add(service, content, title="Of somebody else")
    add(service, content, published=True, title="For everybody")
    page = open_page([mine])
    assert "Five parts" in texts(page) and "For everybody" in texts(page) and "somebody else" not in texts(page)
    assert "relative error" in texts(page) and "swimmer" in texts(page) and "A note" in texts(page)
    page.text_input(key="gallery.search").set_value("everybody").run()
    assert "Five parts" not in texts(page) and "For everybody" in texts(page)
    page.text_input(key="gallery.search").set_value("no such words").run()
    assert "Nothing fits" in texts(page)


def test_titles_are_text_wherever_they_are_shown(service, content):
    handle = add(service, content, title=HOSTILE, note=HOSTILE, tags="<b>x</b>")
    for page in (open_page([handle]), open_page([handle], snapshot=handle.id)):
        shown = texts(page) + " ".join(t.value for t in page.title)
        assert "<script>" not in shown and "\\<script\\>" in shown and "![x]" not in shown and "**bold**" not in shown


def test_paging_and_sorting(service, content):
    handles = [add(service, content, title=f"No {i:02d}") for i in range(PAGE + 2)]
    page = open_page(handles)
    assert f"Page 1 of 2, {PAGE + 2} snapshots" in texts(page) and "No 00" not in texts(page)
    next(b for b in page.button if b.label == "Next").click().run()
    assert "Page 2 of 2" in texts(page) and "No 00" in texts(page)
    page.selectbox(key="gallery.sort").set_value("title").run()
    assert "Page 1 of 2" in texts(page) and "No 00" in texts(page)


def test_open_rename_duplicate_delete_undo(service, content):
    handle = add(service, content)
    page = open_page([handle])
    page.button(key=f"open-{handle.id}").click().run()
    assert asked(page) == handle.id and page.title[0].value == "Five parts"
    page.text_input(key=f"relabel.{handle.id}.title").set_value("Renamed")
    next(b for b in page.button if b.label == "Keep").click().run()
    assert page.title[0].value == "Renamed" and service.gallery.card(handle.id).title == "Renamed"
    page.button(key="snapshot-copy").click().run()
    copy = asked(page)
    assert copy != handle.id and "copy" in page.warning[0].value
    page.button(key="snapshot-delete").click().run()
    assert not service.gallery.has(copy) and "was deleted" in texts(page)
    next(b for b in page.button if b.label == "Undo").click().run()
    assert service.gallery.has(copy) and copy in page.session_state[session.SNAPSHOTS]
    assert not page.exception and not page.error


def test_a_whole_strip_is_looked_at_variant_by_variant_and_restored(service, content):
    handle = add(service, with_variants(content))
    page = open_page([handle])
    assert "3 variants" in texts(page)
    page = open_page(snapshot=handle.id)
    told = strip_feed.answer(handle.id, (), "light")
    assert [card["name"] for card in told["cards"]] == ["first", "k = 8", "last"] and told["current"] == handle.id
    assert all(card["thumb"] and card["error"] for card in told["cards"])
    other = strip_feed.answer(handle.id, (), "light", f"{handle.id}.2")
    assert (other["current"], other["before"]) == (f"{handle.id}.2", handle.id) and other["line"]
    assert feed.answer(service, f"{handle.id}.0", feed.Ask())["picture"]["basis"]
    for number, shown in (("1", f"{handle.id}.0"), ("2", handle.id), ("9", handle.id), ("x", handle.id)):
        page = open_page(snapshot=handle.id, variant=number)
        page.button(key="snapshot-continue").click().run()
        (run_id,) = page.session_state[session.RUNS]
        assert service.status(run_id).title.startswith(service.status(shown).title)
    page = open_page(snapshot=handle.id)
    page.button(key="snapshot-continue-strip").click().run()
    ((strip_id, key),) = page.session_state[session.STRIPS].items()
    strip = service.strips.get(strip_id)
    assert strip.owner_ok(key) and [v.name for v in strip.shown] == ["first", "k = 8", "last"]
    assert all(service.status(v.run).state == "finished" for v in strip.shown)


def test_a_link_opens_it_read_only_and_a_run_goes_on_from_it(service, content):
    handle = add(service, content)
    page = open_page(snapshot=handle.id)
    assert {"Continue from here", "Duplicate"} <= labels(page) and {"Delete", "Keep"}.isdisjoint(labels(page))
    assert "Play" not in labels(page) and page.metric[0].label.startswith("Relative error")
    page.button(key="snapshot-continue").click().run()
    (run_id,) = page.session_state[session.RUNS]
    assert service.status(run_id).state == "paused" and not service.status(run_id).is_snapshot


def test_a_key_in_a_query_is_taken_out_and_does_not_count(service, content):
    handle = add(service, content)
    page = open_page(snapshot=handle.id, key=handle.key)
    assert "key" not in page.query_params and "Delete" not in labels(page) and "#key=" in page.warning[0].value
    assert "Delete" in labels(open_page([handle], snapshot=handle.id))


@pytest.mark.parametrize("bad", ["nonsense", "A" * 22, "../x"])
def test_an_unknown_snapshot_is_a_sentence(service, bad):
    page = open_page(snapshot=bad)
    assert page.error[0].value.endswith(".")


def test_comparing_two_snapshots(service, content):
    unnamed = replace(content.revisions[0], spec=replace(content.spec, dataset=UNNAMED))
    one = add(service, content, title="One")
    other = add(service, replace(content, revisions=(unnamed,)), title="Without its data")
    page = open_page(page="compare", pin=f"{one.id},{other.id}")
    assert not page.error and not page.info, "the fingerprints agree"
    assert list(page.dataframe[0].value.iloc[:, 0]) == ["One", "Without its data"]


def test_publishing(service, content):
    handle = add(service, content)
    page = open_page([handle], snapshot=handle.id)
    page.toggle(key=f"publish-{handle.id}").set_value(True).run()
    assert service.gallery.card(handle.id).published and "Five parts" in texts(open_page())


def test_saving_on_the_workbench(service):
    handle = service.start(replace(SPEC, limits=Limits(max_iter=3, tol=0)))
    wait_for(service, handle.id, "finished")
    page = open_page(page="workbench", run=handle.id)
    page.text_input(key=f"save.{handle.id}.title").set_value("x" * 300)
    next(b for b in page.button if b.label == "Save snapshot").click().run()
    assert "shorten" in page.error[0].value
    page.text_input(key=f"save.{handle.id}.title").set_value("Saved by hand")
    page.text_input(key=f"save.{handle.id}.tags").set_value("a, b")
    page.checkbox(key="save.data").set_value(True)
    next(b for b in page.button if b.label == "Save snapshot").click().run()
    ((snapshot_id, key),) = page.session_state[session.SNAPSHOTS].items()
    card = service.gallery.card(snapshot_id)
    assert card.owner_ok(key) and card.label == Label("Saved by hand", "a, b") and card.holds_data
    assert "Saved as a snapshot" in texts(page) and "Open the snapshot" in labels(page)
    assert "Save snapshot" not in labels(page), "one save, one confirmation"
    assert any(f"snapshots?snapshot={snapshot_id}" in c.value for c in page.code)


def test_a_server_for_showing_results(service, content, monkeypatch):
    handle = add(service, content, published=True)
    run = service.start(SPEC)
    wait_for(service, run.id, "finished")
    service.close()
    reader = Service(service.home, read_only=True)
    monkeypatch.setattr(service_module, "_SERVICE", [reader])
    try:
        main = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run()
        assert not main.exception and READ_ONLY in [i.value for i in main.info]
        assert "No run of it is on this server" in texts(main)
        assert all(b.disabled for b in main.button if b.label == "Run")
        assert "Five parts" in texts(open_page())
        shown = open_page([handle], snapshot=handle.id)
        assert shown.metric and labels(shown).isdisjoint({"Continue from here", "Duplicate", "Delete", "Keep"})
        page = AppTest.from_file(str(PAGES / "workbench.py"), default_timeout=60)
        page.query_params["run"], page.session_state[session.RUNS] = run.id, {run.id: run.key}
        page.run()
        assert not page.exception and page.metric and labels(page).isdisjoint({"Make changes on a copy", "Save snapshot"})
        assert not page.number_input
        empty = open_page(page="workbench")
        assert empty.title[0].value == "Workbench" and "this server starts none" in texts(empty)
        compare_feed.reader.cache_clear()
        compare = open_page(page="compare", pin=handle.id)
        assert compare.dataframe and compare.button(key="compare.model").disabled
    finally:
        reader.close()


def test_the_live_view_is_fed_from_a_snapshot(service, content):
    handle = add(service, content)
    reply = feed.answer(service, handle.id, feed.Ask())
    assert json.dumps(reply) and not reply["live"] and reply["since"] == 4
    shown = reply["picture"]["samples"]
    assert reply["keyframes"] == [0, 1, 2, 3, 4] and shown["labels"] == [str(s + 1) for s in shown["chosen"]]
    early = feed.answer(service, handle.id, feed.Ask(at=2))
    assert early["picture"]["iteration"] == 2


def test_without_its_data_a_snapshot_shows_its_parts(service, content):
    revisions = (replace(content.revisions[0], spec=replace(content.spec, dataset=UNNAMED)),)
    handle = add(service, replace(content, revisions=revisions))
    drawn = feed.answer(service, handle.id, feed.Ask())["picture"]
    assert drawn["basis"]["tiles"] and "samples" not in drawn and drawn["grouped"] is False
    page = open_page(snapshot=handle.id)
    assert "without samples" in page.info[0].value
    page.button(key="snapshot-continue").click().run()
    assert "holds its data" in page.warning[0].value


def test_publishing_needs_the_operators_code_in_public(service, content, monkeypatch):
    handle = add(service, content)
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    page = open_page([handle], snapshot=handle.id)
    assert not page.toggle and "Nobody publishes" in texts(page)
    monkeypatch.setenv("SEMF_PUBLISH_KEY", "twelve or more")
    for code, published in (("guess", False), ("twelve or more", True)):
        page = open_page([handle], snapshot=handle.id)
        field = next(field for field in page.text_input if field.label == "Publishing code")
        field.set_value(code)
        next(b for b in page.button if b.label == "Show it in everybody's gallery").click().run()
        assert service.gallery.card(handle.id).published is published and not page.exception
        assert published or "ask for it" in page.warning[0].value
    next(b for b in page.button if b.label.startswith("Take it out")).click().run()
    assert not service.gallery.card(handle.id).published
