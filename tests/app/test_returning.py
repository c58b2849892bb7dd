"""After a reload the server knows what the browser has, or the browser tells it: the workbench shows what was worked on."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from pages.ui import memory, session, workbench_state
from semf_core.model import preset
from semf_core.runs.ids import new_id
from semf_core.service import workbench as bench
from tests.app.widgets import open_page


def test_the_demo_gives_way_to_what_was_worked_on_last(service):
    strip, key = bench.begin(service, preset("swimmer-sparse"), bench.Manner(paused=True))
    page = open_page("workbench")
    assert "run" not in page.query_params and "bench" not in page.query_params, "the demo was not asked for"
    page.session_state[session.STRIPS] = {strip.id: key}
    page.run()
    assert page.query_params["bench"] == strip.id and page.query_params["run"] == strip.current
    assert page.session_state[workbench_state.SYNCED][0] == strip.current


def test_a_strip_that_is_gone_gives_way_to_the_one_before_and_stays_known(service):
    """Were it forgotten here, the browser would tell of it again after every drawing."""
    strip, key = bench.begin(service, preset("swimmer-sparse"), bench.Manner(paused=True))
    page = open_page("workbench")
    known = {strip.id: key, new_id(): "key"}
    page.session_state[session.STRIPS] = dict(known)
    page.run()
    assert page.query_params["bench"] == strip.id
    assert set(page.session_state[session.STRIPS]) == set(known)


LATEST, OTHER = new_id(), new_id()
NOTHING: dict[str, dict[str, str]] = {"runs": {}, "snapshots": {}, "strips": {}, "lessons": {}}


def _recall() -> None:
    from pages.ui import memory

    memory.recall()


def test_a_new_session_of_a_known_browser_has_its_strips_at_once(monkeypatch):
    monkeypatch.setattr(memory, "BROWSERS", memory.Browsers())
    monkeypatch.setattr(memory, "visitor", lambda person: LATEST)
    memory.BROWSERS.add(LATEST, NOTHING | {"strips": {"a": "key"}}, set())
    page = AppTest.from_function(_recall).run()
    assert page.session_state[session.STRIPS] == {"a": "key"}
    page.session_state[session.STRIPS] = {}
    assert page.run().session_state[session.STRIPS] == {}, "only a new one"


def test_what_browsers_have_is_kept_apart_and_within_bounds(monkeypatch):
    browsers = memory.Browsers()
    browsers.add(LATEST, NOTHING | {"runs": {"a": "key", "b": "key"}}, set())
    browsers.add(LATEST, NOTHING | {"runs": {"c": "key"}}, {"a"})  # another tab, where one was thrown away
    assert browsers.get(LATEST)["runs"] == {"b": "key", "c": "key"}
    for nobody in ("", "at-" + "0" * 20):  # all at one address who send no cookie
        browsers.add(nobody, NOTHING | {"runs": {"a": "key"}}, set())
        assert browsers.get(nobody) == {}
    browsers.add(OTHER, NOTHING | {"runs": {"a": "x" * memory.MOST_OF_ONE}}, set())
    assert browsers.get(OTHER) == {}
    monkeypatch.setattr(memory, "MOST_BYTES", 100)
    browsers.add(OTHER, NOTHING | {"runs": {"d": "key"}}, set())
    assert browsers.get(OTHER)["runs"] == {"d": "key"} and browsers.get(LATEST) == {}
