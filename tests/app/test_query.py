"""Texts: a query that is typed in is answered on the page by the nearest documents; other runs do not offer it."""

from __future__ import annotations

from semf_core.datasets import Swimmer
from semf_core.model import ModelSpec, preset
from semf_core.solvers import TruncatedSVD
from tests.app.test_workbench import open_bench, wait_for


def test_a_query_is_answered_by_the_nearest_titles(service):
    handle = service.start(preset("lsi"))
    wait_for(service, handle.id, "finished")
    page = open_bench(run=handle.id)
    field = page.text_input(key=f"query.{handle.id}")
    assert "apple" in field.placeholder
    field.set_value("telescope moon zebra").run()
    hits = service.retrieved(handle.id, "telescope moon").hits
    assert hits[0].name in page.table[-1].value.to_string() and any("zebra" in text.value for text in page.markdown)
    field.set_value("zebra").run()
    assert any("no word that is a row" in error.value for error in page.error)


def test_pictures_take_no_queries(service):
    handle = service.start(ModelSpec(Swimmer(), 3, solver=TruncatedSVD()))
    wait_for(service, handle.id, "finished")
    assert f"query.{handle.id}" not in [field.key for field in open_bench(run=handle.id).text_input]
