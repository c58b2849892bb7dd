"""Presentations over HTTP: waiting for news, links and codes, what followers are told, and what they are not."""

from __future__ import annotations

import asyncio
import json
import re

import pytest
from starlette.applications import Starlette

from pages.ui import follow_feed, presentations, server
from pages.ui.live import is_data
from pages.ui.visitors import Visitors
from semf_core.lessons import lessons
from semf_core.lessons.markup import to_html
from semf_core.lessons.stage_runs import stage_run
from semf_core.service.presentations import Shown
from tests.app.asgi import answer
from tests.app.asgi import ask as asked
from tests.helpers import present
from tests.runs.common import wait_for_state

STAGE = {"page": "learn", "lesson": "structure", "stage": "equal-nonzeros"}
ORIGIN = json.dumps({"origin": "https://studio.example.org"})


@pytest.fixture
def app(service):
    return Visitors(Starlette(routes=[r for r in server.routes() if "presentation" in r.path or "follow" in r.path]))


def ask(app, path="", **more):
    status, _, body = asked(app, f"/studio/presentations{path}", **more)
    return status, json.loads(body)


def begin(app):
    status, made = ask(app, method="POST", body=ORIGIN, headers={"x-semf-key": "new"})
    assert status == 200
    return made


def show(app, made, key=None, **values):
    return ask(app, f"/{made['id']}", method="POST", body=json.dumps(values), headers={"x-semf-key": key or made["key"]})


def test_begun_from_a_page_of_this_server_only(app):
    made = begin(app)
    assert made["link"] == f"https://studio.example.org/studio/follow/{made['id']}"
    assert re.fullmatch(r"https://studio.example.org/studio/notes/[\w-]{22}#key=[\w-]{22}", made["notes"])
    assert made["key"] not in made["notes"], "the notes cannot show anything"
    assert all(made[name].startswith("data:image/svg+xml;base64,") for name in ("code", "notesCode"))
    key = {"x-semf-key": "new"}
    for headers, body in (({}, ORIGIN), (key, '{"origin": "javascript:alert(1)"}'), (key, "[]")):
        assert ask(app, method="POST", body=body, headers=headers)[0] == 400
    assert show(app, made, key="x" * 22, **STAGE)[0] == 409 and show(app, made, page="home")[0] == 409


def test_who_follows_hears_at_once_and_a_question_that_waits_ends(app, monkeypatch):
    monkeypatch.setattr(presentations, "HOLD_SECONDS", 0.2)
    made = begin(app)
    path = f"/studio/presentations/{made['id']}"

    async def both():
        monkeypatch.setattr(presentations, "HOLD_SECONDS", 30.0)
        waiting = asyncio.create_task(answer(app, f"{path}?revision=0"))
        await asyncio.sleep(0.1)
        body = json.dumps(STAGE | {"at": 7})
        await answer(app, path, {"x-semf-key": made["key"]}, method="POST", body=body)
        return await asyncio.wait_for(waiting, 10)

    assert ask(app, f"/{made['id']}?revision=0")[1]["revision"] == 0, "after a while without news"
    status, _, body = asyncio.run(both())
    news = json.loads(body)
    assert status == 200 and (news["revision"], news["at"]) == (1, 7) and "key" not in news
    assert show(app, made, **STAGE, at=7)[1]["followers"] == 1
    assert show(app, made, end=True)[0] == 200
    assert ask(app, f"/{made['id']}")[0] == 404


def test_nothing_is_given_away_before_the_lecturer_has_answered(app, service):
    made = begin(app)
    show(app, made, **STAGE, run=service.demo_run("swimmer-groups"))
    _, before = ask(app, f"/{made['id']}/content")
    question = lessons().get("structure").stages[1].question
    assert question is not None and all(choice.text in before["html"] for choice in question.choices)
    assert before["view"] is None and 'class="right"' not in before["html"] and "can come out clean" not in before["html"]
    show(app, made, **STAGE, answer=0, run=service.demo_run("swimmer-groups"))
    _, after = ask(app, f"/{made['id']}/content")
    assert '<li class="right">Hardly any' in after["html"] and "can come out clean" in after["html"]
    assert before["content"] != after["content"]
    assert after["view"]["follower"] and "key" not in after["view"] and "control" not in after["view"]


def test_notes_are_for_their_key_alone(app):
    made = begin(app)
    show(app, made, **STAGE)
    path, key = f"/{made['id']}/notes", made["notes"].partition("#key=")[2]
    status, told = ask(app, path, headers={"x-semf-key": key})
    assert status == 200 and "look at components" in told["html"] and told["next"] == "Limbs apart from the torso"
    for wrong in ({}, {"x-semf-key": made["id"]}, {"x-semf-key": made["key"]}):
        assert ask(app, path, headers=wrong)[0] == 404


def test_pages_are_empty_and_escaped(app):
    status, headers, body = asked(app, '/studio/follow/"><script>alert(1)</script>')
    assert status in (200, 404) and b"<script>alert" not in body
    made = begin(app)
    status, headers, body = asked(app, f"/studio/follow/{made['id']}")
    assert status == 200 and made["id"].encode() in body and headers["cache-control"] == "no-store"
    assert not is_data(f"/studio/follow/{made['id']}") and is_data(f"/studio/presentations/{made['id']}")


def test_every_stage_can_be_followed(service):
    for lesson in lessons().lessons:
        for stage in lesson.stages:
            told = follow_feed.content(Shown("learn", lesson.name, stage.name, 0))
            assert told["title"] == stage.title and "<code>" not in told["html"], "no formula is left as it was written"


def test_drawings_are_followed_as_they_were_moved(service):
    def followed(stage, *drawing):
        return follow_feed.content(Shown("learn", "projections", stage, drawing=drawing))["figure"]

    moved = followed("the-nearest-point", "length 1", 0.0, 2.0)
    assert "(0, 2) is projected to (0, 1)" in moved["words"] and moved["data"] and moved["plotly"]
    first = followed("the-nearest-point")["words"]
    for wrong in (("nonsense", 0.0, 2.0), ("length 1", 0.0), ("length 1", 0.0, 3.0), (1.0, 2.0), ("length 1", "a", "b")):
        assert followed("the-nearest-point", *wrong)["words"] == first, "what it cannot be is how it begins"
    assert "at a distance of 0" in followed("equal-nonzeros", "x ≥ 0", *[1.0] * 8)["words"]
    assert follow_feed.content(Shown("learn", "structure", "sparse-nmf"))["figure"] is None


def test_a_sketch_is_followed_with_its_answer_only_after_it(service):
    stage = next(s for s in lessons().get("splitting").stages if s.question is not None and s.question.sketch is not None)
    run = stage_run(service, present(stage.model))
    wait_for_state(service, run, "finished")
    open_ = follow_feed.content(Shown("learn", "splitting", stage.name, None, drawing=(0.5,) * 48))["figure"]
    seen = follow_feed.content(Shown("learn", "splitting", stage.name, 0, drawing=(0.5,) * 48))["figure"]
    assert [trace["mode"] for trace in open_["data"]] == ["markers"], "nothing is given away"
    assert [trace["mode"] for trace in seen["data"]] == ["markers", "lines", "lines"]


def test_two_stages_are_followed_in_the_order_of_the_lesson(service):
    told = follow_feed.content(Shown("learn", "structure", "groups", 0, beside="sparse-nmf"))["beside"]
    assert told["titles"] == ["1. Sparse NMF", "4. Groups"] and len({run["run"] for run in told["runs"]}) == 2
    for given, beside in ((None, "sparse-nmf"), (0, ""), (0, "groups")):
        assert follow_feed.content(Shown("learn", "structure", "groups", given, beside=beside))["beside"] is None


def test_lessons_are_markdown_and_no_html():
    made = to_html("**a** <img src=x onerror=alert(1)> [b](javascript:alert(1)) [c](https://x.org) ![d](/p.png) $x<1$ $\\x{$")
    assert "<strong>a</strong>" in made and '<a href="https://x.org">c</a>' in made and "<math" in made
    assert "<img" not in made and 'href="javascript' not in made
