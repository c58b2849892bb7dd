"""What the benchmarks of the dashboard share: a real server with a home of its own, real Chromium, and pages that are watched."""

from __future__ import annotations

import dataclasses
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, sync_playwright

from semf_core.model import ModelSpec, preset
from semf_core.solvers.relative import RelativeADMM
from tests.browser.conftest import CHROMIUM, FLAGS, Server

LIVE = '.semf-live[data-drawn="yes"]'
POINTS = "(document.querySelector('.semf-plot')?.data?.[1].x.length ?? 0)"
REFRESHES = "Number(document.querySelector('.semf-live')?.dataset.refreshes ?? 0)"
DEMO = "swimmer-groups"
PATIENCE = 120_000
"""Milliseconds: a slow page is a figure in a table, not a failure of the benchmark."""
COMPLAINTS = '[data-testid="stException"], [data-testid="stAlertContentError"]'
"""What Streamlit shows for an error."""


@dataclass
class Traffic:
    """Bytes that a page has received, and those of the live view's answers one by one."""

    received: int = 0
    socket: int = 0
    """Of these, over Streamlit's own connection."""
    answers: list[int] = field(default_factory=list)

    def count(self, page: Page) -> Traffic:
        """From now on everything that the browser gets for this page."""
        devtools = page.context.new_cdp_session(page)
        asked: set[str] = set()

        def request(event: dict[str, Any]) -> None:
            if "/studio/live/" in event["request"]["url"]:
                asked.add(event["requestId"])

        def finished(event: dict[str, Any]) -> None:
            self.received += int(event["encodedDataLength"])
            if event["requestId"] in asked:
                self.answers.append(int(event["encodedDataLength"]))

        def frame(event: dict[str, Any]) -> None:
            packed = event["response"]
            size = len(packed["payloadData"]) * (3 if packed["opcode"] == 2 else 4) // 4  # binary frames come as base64
            self.received += size
            self.socket += size

        devtools.on("Network.requestWillBeSent", request)
        devtools.on("Network.loadingFinished", finished)
        devtools.on("Network.webSocketFrameReceived", frame)
        devtools.send("Network.enable")
        return self


def is_error(said: ConsoleMessage) -> bool:
    """An error that a script reports; rejected requests are counted as such."""
    return said.type == "error" and not said.text.startswith("Failed to load resource")


def is_refusal(response: Response) -> bool:
    """An answer that says no. At a page's address Streamlit looks for its server below that address first, which is no fault."""
    return response.status >= 400 and not re.search(r"/\w+/_stcore/[\w-]+$", response.url)


@dataclass
class Visitor:
    """A page in a browser profile of its own, with everything that went wrong on it."""

    page: Page
    traffic: Traffic
    problems: list[str] = field(default_factory=list)

    def listen(self) -> Visitor:
        """Collect failed requests, rejected ones and script errors."""
        page, problems = self.page, self.problems
        page.on("pageerror", lambda error: problems.append(f"script: {error}"))
        page.on("console", lambda said: problems.append(f"console: {said.text}") if is_error(said) else None)
        page.on("response", lambda r: problems.append(f"{r.status} {r.url}") if is_refusal(r) else None)
        page.on("requestfailed", self.failed)
        return self

    def failed(self, request: Request) -> None:
        """A request that got no answer, unless the page itself gave it up."""
        if "ERR_ABORTED" not in str(request.failure):
            self.problems.append(f"{request.failure} {request.url}")

    def complaints(self) -> list[str]:
        """Texts of the errors that the page shows now."""
        return [text.strip() for text in self.page.locator(COMPLAINTS).all_inner_texts()]

    def press(self, label: str) -> None:
        """Click a button when it can be clicked."""
        self.page.get_by_role("button", name=label, exact=True, disabled=False).first.click()

    def state_is(self, text: str, timeout: float = PATIENCE) -> None:
        """Wait until the live view says so."""
        said = "t => document.querySelector('.semf-state')?.textContent.startsWith(t)"
        self.page.wait_for_function(said, arg=text, timeout=timeout)

    def close(self) -> None:
        self.page.context.close()


@dataclass
class Studio:
    """A server and a browser."""

    server: Server
    browser: Browser

    def visitor(self, address: str = "", script: str = "", scheme: str = "light") -> Visitor:
        """Open a page as somebody who has never been here; `script` runs in it from the beginning."""
        size = {"width": 1440, "height": 900}
        # Playwright waits by `eval`, which the content security policy forbids.
        context = self.browser.new_context(viewport=size, color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        visitor = Visitor(page, Traffic().count(page)).listen()
        page.goto(self.server.url + address)
        return visitor


@contextmanager
def studio() -> Iterator[Studio]:
    """A server that somebody has visited already, and Chromium; both end with this process, even if it is told to end."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with tempfile.TemporaryDirectory(prefix="semf-benchmark-") as folder:
        server = Server(Path(folder) / "home").start()
        try:
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                made = Studio(server, browser)
                warm_up(made)
                yield made
                browser.close()
        finally:
            server.stop()


def warm_up(made: Studio) -> None:
    """The first visit ever: the demo runs to its end."""
    first = made.visitor()
    first.page.wait_for_selector(LIVE)
    first.page.wait_for_function("document.querySelector('.semf-badges').textContent.includes('17 of 17')", timeout=60_000)
    first.close()


def endless(max_iter: int = 5_000_000) -> ModelSpec:
    """The demo, but it goes on after it has converged, without kicks and descents: all iterations cost the same."""
    spec = preset(DEMO)
    limits = dataclasses.replace(spec.limits, max_iter=max_iter, restarts=1, tol=0.0, kick=False)
    return dataclasses.replace(spec, limits=limits, solver=RelativeADMM(descend=False), title="Endless Swimmer")
