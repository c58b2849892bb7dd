"""The server over HTTP: what every answer carries, files to download, and live answers beside them."""

from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import threading
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from benchmarks.visiting import Visitor, arrive
from semf_core.exports import curves
from semf_core.service import Service
from semf_core.snapshots.label import Label
from tests.browser.conftest import ROOT, Server, make_snapshot, make_study

ALWAYS = {"x-content-type-options", "referrer-policy", "content-security-policy", "cross-origin-resource-policy"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One that lets one download of a visitor wait."""
    running = Server(tmp_path_factory.mktemp("http") / "home", {"SEMF_MAX_DOWNLOADS_PER_VISITOR": "1"}).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def snapshot(server, tmp_path_factory):
    return make_snapshot(server.home, tmp_path_factory.mktemp("recorded"), Label("Nine"))


def get(server, path, **headers):
    """Status, headers and body."""
    request = urllib.request.Request(server.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, {k.lower(): v for k, v in answer.headers.items()}, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, {k.lower(): v for k, v in error.headers.items()}, error.read()


def test_every_kind_of_answer_is_protected(server, snapshot):
    shown = [f"live/{snapshot.id}", "live/nonsense", "compare", "assets/x/live/view.js", "assets/x/../../app.py", "none"]
    shown += ["presentations/nonsense", "presentations/nonsense/notes", "follow/nonsense", "notes/nonsense"]
    files = [f"{snapshot.id}/semf", f"{snapshot.id}/exe", "nonsense/html", "study/nonsense/csv", "comparison.csv"]
    own = ["", "run", "_stcore/health", "_stcore/host-config", "_stcore/metrics", "_stcore/bidi-components/x", "media/none.svg"]
    paths = [*own, "static/none.js", "component/x/y", *(f"studio/{one}" for one in shown + [f"download/{one}" for one in files])]
    for path in paths:
        status, headers, body = get(server, f"/{path}")
        assert status < 500 and headers.keys() >= ALWAYS and b"Traceback" not in body, path
    assert get(server, "/_stcore/metrics")[0] == 404 and b"import" not in get(server, "/studio/assets/x/../../app.py")[2]


def test_files_come_as_files(server, snapshot):
    reader = Service(server.home, read_only=True)
    try:
        for kind in ("csv", "semf"):
            name, data = reader.gallery.file(snapshot.id) if kind == "semf" else reader.export(snapshot.id, kind)[::2]
            status, headers, body = get(server, f"/studio/download/{snapshot.id}/{kind}")
            assert (status, body, headers["content-length"]) == (200, data, str(len(data)))
            assert headers["content-disposition"] == f'attachment; filename="{name}"'
        study = make_study(server.home)
        status, headers, body = get(server, f"/studio/download/study/{study.id}/csv")
        assert status == 200 and body.decode() == reader.studies.table(study.id).to_csv()
        status, headers, body = get(server, f"/studio/download/comparison.csv?runs={snapshot.id},nonsense")
        assert status == 200 and body.decode().count("\n") == 2 and "comparison.csv" in headers["content-disposition"]
        status, _, body = get(server, f"/studio/download/comparison.csv?runs={snapshot.id}&axis=x")
        assert status == 404 and body.endswith(b".")
    finally:
        reader.close()


def test_many_downloads_end_in_a_sentence_and_live_answers_go_on(server, snapshot):
    """Of one visitor one file is made and one waits; the rest is told to come again."""
    kinds = [f"{name}-{form}" for name in ("residuals", "penalties", "gaps", "basis", "coefficients") for form in ("png", "svg")]
    answers = []

    def download(kind):
        answers.append(get(server, f"/studio/download/{snapshot.id}/{kind}"))

    asking = [threading.Thread(target=download, args=(kind,)) for kind in kinds]
    for one in asking:
        one.start()
    live = []
    while any(one.is_alive() for one in asking):
        live.append(get(server, f"/studio/live/{snapshot.id}"))
    found = Counter(status for status, _, _ in answers)
    assert set(found) == {200, 429} and found[200] >= 2
    rejected = next(answer for answer in answers if answer[0] == 429)
    assert b"wait until" in rejected[2] and rejected[1]["retry-after"]
    assert len(live) > 5 and {status for status, _, _ in live} == {200}
    assert json.loads(live[-1][2])["state"] == "finished"


def test_a_live_answer_is_packed_for_those_who_take_it(server, snapshot):
    plain = get(server, f"/studio/live/{snapshot.id}")
    packed = get(server, f"/studio/live/{snapshot.id}", **{"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain[1] and packed[1]["content-encoding"] == "gzip" and len(packed[2]) < len(plain[2])
    assert json.loads(gzip.decompress(packed[2])) == json.loads(plain[2])


def test_it_listens_on_this_computer_unless_asked_otherwise(server):
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {row[1].partition(":")[0] for row in rows if row[3] == "0A" and int(row[1].partition(":")[2], 16) == server.port}
    assert listening == {"0100007F"}, "127.0.0.1"
    for given, host in ((), "127.0.0.1"), (("HOST=0.0.0.0",), "0.0.0.0"):
        told = subprocess.run(["make", "-n", "app", *given], capture_output=True, text=True, cwd=ROOT, check=True).stdout
        assert f"--host {host} " in told


def test_what_the_charts_show_is_a_module_of_the_live_view(server):
    status, headers, body = get(server, "/studio/assets/x/live/description.js")
    assert status == 200 and headers["content-type"].startswith("text/javascript") and body.decode() == curves.script()


class Watching(Visitor):
    """A visitor who notes which pages the server says it draws, and the fragments and addresses that he has heard of."""

    def __init__(self, client):
        super().__init__(client)
        self.drawn, self.fragments, self.pages = [], [], {}

    def _take(self, message):
        super()._take(message)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.drawn.append(message.new_session.page_script_hash)
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
        elif kind == "delta" and message.delta.fragment_id:
            self.fragments.append(message.delta.fragment_id)

    async def ask_at_once(self, *wanted):
        """Ask for pages and fragments, none of which waits for the one before; all that is drawn for them."""
        self.drawn.clear()
        for page, fragment in wanted:
            message = BackMsg()
            message.rerun_script.page_script_hash, message.rerun_script.fragment_id = self.pages[page], fragment
            await self._send(message)
        await self._settle()
        message = BackMsg()
        message.rerun_script.page_script_hash = self.pages["learn"]  # nothing is drawn after it that was asked for before
        await self._send(message)
        await self._settle()
        return self.drawn


def test_a_fragment_of_a_page_that_was_left_is_not_drawn_after_the_new_page_or_in_its_place(server):
    """The browser takes everything from a page as soon as another one is announced."""

    async def main():
        async with arrive(server.url) as first:
            visitor = Watching(first.http)
            await visitor.open("studies", f"study={make_study(server.home).id}")
            drawn = await visitor.ask_at_once(("data", ""), ("studies", visitor.fragments[0]))
            await visitor.leave()
            return drawn, visitor.pages

    drawn, pages = asyncio.run(main())
    assert drawn == [pages["data"], pages["learn"]]
