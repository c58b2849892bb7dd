"""Studies that strangers bring cannot make a page draw without end."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import session, study_figures
from semf_core.studies import Finished, StudyStore

from ..studies.common import filled, small
from .widgets import PAGES, errors


@pytest.mark.parametrize("kind", ["curve", "heat_map", "histories", "sorted_groups"])
def test_a_figure_with_too_many_lines_is_a_sentence_and_the_page_stays(service, kind):
    """Strangers bring studies: drawing one of these once took a minute of the server."""
    measure = "residual_uv" if kind == "histories" else "relative_error"
    many = {"name": kind, "measure": measure, "x": "rank", "by": "seed"}
    few = {"name": "curve", "measure": "relative_error", "x": "rank"}
    axes = [{"name": "rank", "path": "rank", "values": [3, 4]}, {"name": "seed", "path": "seed", "range": [0, 5000]}]
    study = small(axes=axes, views=[few] + [many] * 3, keep=["history"])
    store = StudyStore.create(study, service.home)
    store.record([Finished(0, {"relative_error": 0.5}, 0.1)])
    page = AppTest.from_file(str(PAGES / "studies.py"), default_timeout=60)
    page.session_state[session.STUDY] = store.id
    page.run()
    drawn = len(page.get("plotly_chart"))
    assert not page.exception and all("more than the page can draw" in one for one in errors(page))
    assert (drawn, len(errors(page))) == ((3, 1) if kind == "heat_map" else (1, 3))


def test_what_a_paper_reports_is_drawn_a_thousand_times_at_most(service):
    axes = [{"path": "seed", "range": [0, 300]}]
    claim = {"values": [{"measure": "relative_error", "value": 0.5}] * 500}
    study = small(axes=axes, claim=claim, views=[{"name": "table", "measure": "relative_error", "x": "seed"}])
    figure = study_figures.figure_of(study.views[0].draw(filled(service, study).table()), study.claim)
    assert max(len(trace.x) for trace in figure.data) == study_figures.MOST_REPORTED
