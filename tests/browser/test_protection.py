"""What keeps visitors from one another, in real Chromium: keys that nobody on the way sees, scripts and links that are ours."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from semf_core.datasets import Dataset
from semf_core.service import Service
from semf_core.snapshots.label import Label
from semf_core.studies import Finished, Study, StudyStore
from tests.browser.conftest import PATIENCE, SHORT, make_run
from tests.browser.test_live import LIVE, press, state_is
from tests.runs.common import wait_for

expect.set_options(timeout=PATIENCE)


def test_a_control_link_tells_its_key_to_no_server(server, visit):
    handle = make_run(server.home)
    sent = []
    page = visit("about:blank")
    own = {"x-semf-key"}  # the way of a command to this very server, and to no other

    def heard(request):
        hidden = own if request.url.startswith(f"{server.url}/") else set()
        sent.append(str((request.url, {name: value for name, value in request.headers.items() if name not in hidden})))

    page.on("request", heard)
    page.goto(f"{server.url}/workbench?run={handle.id}#key={handle.key}")
    page.wait_for_selector(LIVE)
    press(page, "Step")
    state_is(page, "Paused")
    assert handle.key not in page.url and "#" not in page.url, "the address can be given away"
    page.get_by_role("link", name="Data").first.click()
    page.wait_for_url("**/data*")
    page.reload()
    page.wait_for_selector("h1")
    assert len(sent) > 20 and not any(handle.key in one for one in sent)
    again = visit(f"{server.url}/workbench?run={handle.id}", context=page.context)
    expect(again.get_by_role("button", name="Play", exact=True).first).to_be_visible()


def test_a_control_link_that_does_not_fit_is_a_sentence(server, visit):
    page = visit(f"{server.url}/workbench?run={make_run(server.home).id}#key={'A' * 22}")
    expect(page.get_by_text("does not fit the run")).to_be_visible()
    expect(page).to_have_url(re.compile(r"\?run=[\w-]+$"))
    assert page.get_by_role("button", name="Stop", exact=True).count() == 0


TEXT = "http://evil.example/a www.evil.example me@evil.example [x](//evil.example) <a href='//evil.example'>y</a> ![](//evil)"
LINKS = """() => [...document.querySelectorAll('*')].flatMap(e => ['href', 'src', 'xlink:href', 'srcset', 'action']
  .map(name => e.getAttribute(name)).filter(value => value?.includes('evil')))"""


@pytest.fixture(scope="module")
def written_on(server):
    """A run, a snapshot and a study on which somebody has written addresses wherever one can write."""
    service = Service(server.home, max_running=1)
    data = service.add_upload(Dataset(np.random.default_rng(0).random((12, 20)), title=TEXT, note=TEXT, image_shape=(3, 4)))
    spec = replace(SHORT, title=TEXT, watch=TEXT, dataset=data, rank=3)
    run = service.start(spec)
    wait_for(lambda: service.status(run.id).state == "finished")
    saved = service.save(run.id, Label(TEXT, "www.evil.example, http://evil.example", TEXT))
    service.gallery.publish(saved.id, saved.key, True)
    axes = [{"name": f"{p} {TEXT}", "path": f"solver.{q}0", "values": [0.1, 1], "labels": [TEXT, f"b {TEXT}"]}
            for p, q in (("α", "alpha"), ("β", "beta"))]  # fmt: skip
    shown = {"measure": "relative_error", "x": axes[0]["name"], "by": axes[1]["name"]}
    views = [{"name": "heat_map"} | shown, {"name": "curve"} | shown]
    form = {"name": TEXT, "title": TEXT, "summary": TEXT, "claim": {"source": TEXT, "text": TEXT}, "base": spec.to_dict()}
    store = StudyStore.create(Study.from_dict(form | {"axes": axes, "views": views, "measures": ["relative_error"]}), server.home)
    store.record([*(Finished(n, {"relative_error": 0.1 * n}, 0.1) for n in range(3)), Finished(3, error=TEXT)])
    store.note("message", TEXT)
    service.close()
    return run, saved, store.id


def walk(page, server, run, saved, study_id):
    """Every page, with what it shows when somebody does something; yields where it is."""
    for path in (f"workbench?run={run.id}#key={run.key}", f"snapshots?snapshot={saved.id}#key={saved.key}"):
        page.goto(f"{server.url}/{path}")
        page.wait_for_selector(LIVE)
        page.get_by_role("button", name="Share").first.click()
        yield path
    page.goto(f"{server.url}/compare?pin={saved.id},{run.id}")
    page.get_by_text("Difference of two components").first.click()
    page.wait_for_timeout(1000)
    yield "compare"
    page.goto(f"{server.url}/studies?study={study_id}")
    page.locator(".js-plotly-plot .heatmaplayer").first.wait_for()
    page.get_by_text("Failed runs").first.click()
    yield "study"
    page.get_by_role("button", name="All studies").click()
    for part in ("A study of your model", "Your studies", "Best so far"):
        page.get_by_text(part, exact=True).first.click()
        page.wait_for_timeout(500)
        yield part
    for path in ("", "snapshots", "data"):
        page.goto(f"{server.url}/{path}")
        page.wait_for_selector("h1")
        page.wait_for_timeout(500)
        yield path
    for name, content in (("www.evil.example.csv", b"red,blue\n"), ("http: www.evil.example.csv", b"1,2,3\n4,5,6\n7,8,9\n")):
        page.get_by_text("Upload", exact=True).first.click()
        page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})
        page.get_by_text("evil").first.wait_for()
        page.wait_for_timeout(1000)
        yield name
    page.get_by_role("button", name="Use this data").first.click()
    page.wait_for_url("**/workbench*")
    page.get_by_text("This model as").first.click()
    yield "workbench"


def test_no_page_breaks_the_policy_and_no_text_of_a_visitor_is_a_link(server, visit, written_on):
    page = visit("about:blank", strict=True)
    seen = []
    for place in walk(page, server, *written_on):
        assert page.evaluate(LINKS) == [], place
        seen.append(place)
        if "evil" in page.inner_text("body"):
            seen.append("written on")
    assert len(seen) > 18, "the texts were there to be seen"
