"""The Run page: who may do what, and what is said; and what the live view is sent."""

from __future__ import annotations

import base64
import json
import time

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import feed, session
from pages.ui.places import PAGES
from pages.ui.words import state_words
from semf_core.datasets import Swimmer
from semf_core.floor import rank_floor
from semf_core.model import ModelSpec, preset
from semf_core.parameters import InvalidInput
from semf_core.sets import Nonnegative
from semf_core.solvers import ADMM, Limits
from semf_core.solvers.base import Case

ENDLESS = ModelSpec(
    Swimmer(), 17, (Nonnegative(),), (Nonnegative(),), ADMM(), Limits(max_iter=1_000_000, tol=0), title="Endless"
)


def wait_for(service, run_id, *states, seconds=30.0):
    end = time.monotonic() + seconds
    while service.status(run_id).state not in states:
        assert time.monotonic() < end, service.status(run_id)
        time.sleep(0.02)
    return service.status(run_id)


def step(service, handle, steps):
    """Go on for some iterations and wait for them; a busy computer may first need time to get the run ready."""
    wanted = service.status(handle.id).iterations + steps
    end = time.monotonic() + 30
    while True:
        try:
            service.step(handle.id, handle.key, steps)
            break
        except InvalidInput:
            assert time.monotonic() < end
    while service.status(handle.id).iterations < wanted:
        assert time.monotonic() < end
        time.sleep(0.02)
    wait_for(service, handle.id, "paused")


def open_run(run_id=None, key=None):
    page = AppTest.from_file(str(PAGES / "run.py"), default_timeout=60)
    if run_id is not None:
        page.query_params["run"] = run_id
    if key is not None:
        page.query_params["key"] = key
    return page.run()


def button_labels(page):
    return {b.label for b in page.button}


# -- the page ----------------------------------------------------------------------------------


def test_without_a_run_the_page_says_where_to_start(service):
    page = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run().switch_page("run.py").run()
    assert not page.exception and not page.error
    assert any("No run is open" in m.value for m in page.markdown)


@pytest.mark.parametrize("run_id", ["nonsense", "../../etc/passwd", "A" * 22])
def test_a_link_that_leads_nowhere_is_a_sentence_with_ways_on(service, run_id):
    page = AppTest.from_file(str(PAGES / "main.py"), default_timeout=60).run()
    page.query_params["run"] = run_id
    page.switch_page("run.py").run()
    assert not page.exception
    assert page.error[0].value.startswith(("The run has an id", "There is no run")) and page.error[0].value.endswith(".")
    assert any("No run is open" in m.value for m in page.markdown)
    assert page.session_state[session.CURRENT] is None if session.CURRENT in page.session_state else True


def test_the_owner_has_controls_and_a_viewer_has_none(service):
    handle = service.start(ENDLESS, paused=True)
    viewer = open_run(handle.id)
    assert button_labels(viewer).isdisjoint({"Play", "Pause", "Step", "Reset", "Stop", "Delete this run"})
    assert "Fork" in button_labels(viewer)
    owner = open_run(handle.id, handle.key)
    assert {"Play", "Pause", "Step", "Reset", "Stop", "Fork", "Delete this run"} <= button_labels(owner)
    assert "key" not in owner.query_params, "the address can be given away"


def test_a_wrong_key_gives_no_controls_and_a_sentence(service):
    handle = service.start(ENDLESS, paused=True)
    page = open_run(handle.id, "A" * 22)
    assert "does not fit" in page.warning[0].value
    assert "Pause" not in button_labels(page)


def test_play_pause_step_reset_stop(service):
    handle = service.start(ENDLESS, paused=True)
    page = open_run(handle.id, handle.key)
    page.button(key="run-play_arrow").click().run()
    wait_for(service, handle.id, "running")
    page.run()
    page.button(key="run-pause").click().run()
    before = wait_for(service, handle.id, "paused").iterations
    page.button(key="run-skip_next").click().run()
    end = time.monotonic() + 20
    while service.status(handle.id).iterations != before + 1:
        assert time.monotonic() < end
        time.sleep(0.02)
    wait_for(service, handle.id, "paused")
    page.button(key="run-restart_alt").click().run()
    assert wait_for(service, handle.id, "paused").iterations == 0
    page.button(key="run-skip_next").click().run()
    page.button(key="run-stop").click().run()
    wait_for(service, handle.id, "stopped")
    assert not page.exception


def test_penalties_change_in_the_middle_with_a_mark(service):
    handle = service.start(ENDLESS, paused=True)
    page = open_run(handle.id, handle.key)
    page.text_input[0].set_value("twelve")
    page.button[[b.label for b in page.button].index("Set α and β")].click().run()
    assert "must be a number" in page.error[0].value
    page.text_input[0].set_value("12.5")
    page.button[[b.label for b in page.button].index("Set α and β")].click().run()
    assert not page.exception and not page.error
    assert any(e.kind == "edit" and "12.5" in e.text for e in service.events(handle.id))


def test_a_fork_belongs_to_who_made_it(service):
    handle = service.start(preset("dictionary"))
    wait_for(service, handle.id, "finished")
    page = open_run(handle.id)
    page.button[[b.label for b in page.button].index("Fork")].click().run()
    (forked,) = page.session_state[session.RUNS]
    assert forked != handle.id
    assert page.query_params["run"] in (forked, [forked])
    assert "Play" in button_labels(page)


def test_a_finished_run_shows_its_certificate(service):
    handle = service.start(preset("dictionary"))
    wait_for(service, handle.id, "finished")
    page = open_run(handle.id, handle.key)
    assert any(m.label.startswith("Relative error") for m in page.metric)
    assert page.table


def test_an_unexpected_error_is_a_polite_sentence(service, monkeypatch):
    def broken(run_id):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(service, "status", broken)
    page = open_run("A" * 22)
    assert not page.exception
    assert "not your fault" in page.error[0].value and "secret" not in page.error[0].value


# -- what is sent ------------------------------------------------------------------------------


def floats(reply):
    return np.frombuffer(base64.b64decode(reply["curves"]), "<f4").reshape(len(feed.CURVES), -1)


def ask_of(reply, **more):
    return feed.Ask(since=reply["since"], stride=reply["stride"], tail=reply["tail"], events=reply["event_count"], **more)


def test_only_new_points_and_pictures_are_sent(service):
    handle = service.start(ENDLESS, paused=True)
    step(service, handle, 40)
    first = feed.answer(service, handle.id, feed.Ask())
    assert first["reset"] and first["since"] == 40 and first["count"] == 40
    assert np.allclose(floats(first)[1], service.scalars(handle.id)[:, 1], rtol=1e-6)
    again = feed.answer(service, handle.id, ask_of(first, picture=first["picture"]["token"]))
    assert not again["reset"] and again["count"] == 0 and again["picture"] is None and again["events"] == []
    assert len(json.dumps(again)) < 1500
    step(service, handle, 3)
    new = feed.answer(service, handle.id, ask_of(first))
    assert (new["reset"], new["from"], new["count"], new["since"]) == (False, 40, 3, 43)
    service.reset(handle.id, handle.key)
    afresh = feed.answer(service, handle.id, ask_of(new))
    assert afresh["reset"] and afresh["since"] == 0


def test_the_best_that_the_rank_allows_is_sent_once(service):
    dataset = ENDLESS.dataset.load()
    handle = service.start(ENDLESS, paused=True)
    bound = service.floor(handle.id, wait=30)
    assert bound == pytest.approx(rank_floor(dataset.data, ENDLESS.rank))
    reply = feed.answer(service, handle.id, feed.Ask())
    assert reply["floor"] == {"value": bound, "rank": ENDLESS.rank}
    assert "floor" not in feed.answer(service, handle.id, feed.Ask.from_query({"floor": "1"}))


class Recorded:
    """Rows that a run might have."""

    def __init__(self, count):
        self.rows = np.zeros((count, 10))
        self.rows[:, 0] = self.rows[:, 8] = np.arange(1, count + 1)
        self.rows[4::5, 7] = Case.SKIP

    def scalars(self, run_id, since=0):
        return self.rows[since:]


@pytest.mark.parametrize("count", [1, 599, 600, 601, 1201, 75_003])
def test_long_histories_are_thinned_to_a_few_hundred_points(count):
    reply = feed.points(Recorded(count), "run", feed.Ask())
    stride = reply["stride"]
    assert reply["count"] <= feed.MOST_POINTS and (reply["count"] >= feed.MOST_POINTS // 2 or stride == 1)
    assert reply["since"] == count - count % stride
    assert np.array_equal(floats(reply)[0], np.arange(stride, reply["since"] + 1, stride, dtype="f4"))
    known = feed.Ask(since=reply["since"], stride=stride, tail=reply["tail"])
    more = feed.points(Recorded(count + stride), "run", known)
    assert more["reset"] or (more["count"] == 1 + (count % stride + stride) // stride - 1 and more["from"] == reply["since"])


@pytest.mark.parametrize("query", [{"since": "x"}, {"at": "1e9"}, {"samples": "1,b"}, {"tail": "soon"}])
def test_an_address_that_cannot_be_read_is_refused(query):
    with pytest.raises(InvalidInput):
        feed.Ask.from_query(query)


def test_a_swimmer_refresh_is_small(service):
    handle = service.start(preset("swimmer-groups"))
    wait_for(service, handle.id, "finished")
    reply = feed.answer(service, handle.id, feed.Ask())
    assert len(json.dumps(reply)) < 30_000
    picture = reply["picture"]
    assert [b["text"] for b in picture["badges"]] == ["17 of 17 parts found", "5 of 5 groups right"]
    assert sorted(picture["matched"]) == list(range(17))
    assert len(picture["use"]) == 17


def test_states_in_words(service):
    handle = service.start(ENDLESS, paused=True)
    assert state_words(service.status(handle.id)) == "Ready: press Play"
