"""After a reload the browser tells what was worked on: the workbench shows it, though it had to show something before."""

from __future__ import annotations

from pages.ui import session, workbench_state
from semf_core.model import preset
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
