"""A real server on a free port with a home of its own, and real Chromium. Only these processes are ended."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from unittest.mock import patch

import pytest
from playwright.sync_api import sync_playwright

from semf_core.datasets import Swimmer
from semf_core.model import ModelSpec
from semf_core.runs.folder import RunFolder
from semf_core.service import RunHandle, Service
from semf_core.sets import Nonnegative
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from semf_core.snapshots.store import SnapshotHandle, SnapshotStore
from semf_core.solvers import ADMM, Limits
from semf_core.studies import Finished, Study, StudyStore

ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
SHELL = shutil.which("chromium-headless-shell") or CHROMIUM
"""The same Chromium without windows and toolbars of its own, which cost a fifth of every page that is opened."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run"]
UNOPTIMIZED = "--js-flags=--no-opt --no-maglev --max-lazy"
"""The tests leave a page too soon for optimized scripts to pay: these cost a sixth of its processor time."""
STILL = """addEventListener('DOMContentLoaded', () => {
    const still = new CSSStyleSheet();
    still.replaceSync('[data-testid=stSkeleton] { animation: none !important }');
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
})"""
"""Streamlit's placeholders pulse sixty times a second for as long as a page loads, which slows the loading down."""
PATIENCE = 60_000
"""Milliseconds: a computer under load is slow, not wrong."""
SHORT = ModelSpec(Swimmer(), 9, (Nonnegative(),), (Nonnegative(),), ADMM(), Limits(max_iter=60, tol=0), title="Nine parts")
ENDLESS = ModelSpec(
    Swimmer(), 17, (Nonnegative(),), (Nonnegative(),), ADMM(), Limits(max_iter=5_000_000, tol=0), title="Endless Swimmer"
)
"""It goes on until it is stopped."""


def pytest_collection_modifyitems(items):
    """A press may be lost on a busy computer: what fails is tried once more, and the summary names it (-rR)."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.flaky(reruns=1))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Server:
    """One `streamlit run app.py`."""

    home: Path
    settings: dict[str, str] = field(default_factory=dict)
    """Variables of the environment."""
    options: list[str] = field(default_factory=list)
    """Of `streamlit run`."""
    port: int = 0
    process: subprocess.Popen | None = None

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def start(self) -> Server:
        self.port = self.port or free_port()
        options = ["--server.port", str(self.port), "--server.headless", "true", *self.options]
        command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
        log = open(self.home.parent / f"server-{self.port}.log", "wb")  # noqa: SIM115 - the process has it until it ends
        settings = os.environ | {"SEMF_HOME": str(self.home)} | self.settings
        self.process = subprocess.Popen(command, cwd=ROOT, env=settings, stdout=log, stderr=log, start_new_session=True)
        log.close()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                    return self
            except OSError:
                assert self.process.poll() is None, "the server ended at once"
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    @cached_property
    def other(self) -> Service:
        """Another server with the same home, where runs come to their end before anybody looks; its workers stay."""
        return Service(self.home, max_running=1)

    def stop(self) -> None:
        """As an operator would, and the whole group by force if that takes too long."""
        assert self.process is not None
        if "other" in vars(self):
            self.other.close()
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(10)

    def workers(self) -> list[int]:
        """Process ids of this server's workers."""
        assert self.process is not None
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                if b"semf_core.runs.worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.append(int(child))
        return found


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server(tmp_path_factory.mktemp("browser") / "home").start()
    yield running
    running.stop()


@pytest.fixture(scope="package")  # while Playwright is open, no other test of the process may run an event loop
def chromium():
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=SHELL, args=[*FLAGS, UNOPTIMIZED])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Opens pages, each in a browser profile of its own.

    A script error on a page fails the test. Playwright waits by `eval`, which the content security policy forbids, so
    that is out of force unless a test is `strict`; then whatever the policy forbids fails the test.
    """
    contexts, problems = [], []

    def open_page(url, width=1280, height=900, scheme="light", context=None, strict=False):
        if context is None:
            size = {"width": width, "height": height}
            context = chromium.new_context(viewport=size, color_scheme=scheme, bypass_csp=not strict)
            context.set_default_timeout(PATIENCE)
            context.add_init_script(STILL)
            contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: problems.append(said.text) if "Content Security Policy" in said.text else None)
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems


def make_run(home: Path, spec: ModelSpec = ENDLESS, pace: float = 200) -> RunHandle:
    """A run that another server has left behind: it can be looked at and resumed.

    At that pace it leaves the cores to others; 0 is full speed.
    """
    with patch("semf_core.runs.pool.WorkerPool.keep_warm"):
        other = Service(home, max_running=1)
        handle = other.start(spec, paused=True, pace=pace)
        other.close()
    return handle


def make_finished_run(server: Server, spec: ModelSpec) -> RunHandle:
    """A run that has come to its end on another server."""
    handle = server.other.start(spec)
    end = time.monotonic() + 60
    while server.other.status(handle.id).state != "finished":
        assert time.monotonic() < end, server.other.status(handle.id)
        time.sleep(0.02)
    return handle


def make_study(home: Path) -> StudyStore:
    """A finished study with a heat map and bars, its numbers made up."""
    axes = [{"name": f"{p}₀", "path": f"solver.{q}0", "values": [0.1, 1]} for p, q in (("α", "alpha"), ("β", "beta"))]
    form = {"title": "Clicked", "base": SHORT.to_dict(), "axes": axes, "measures": ["relative_error"]}
    form["views"] = [{"name": kind, "measure": "relative_error", "x": "α₀", "by": "β₀"} for kind in ("heat_map", "table")]
    store = StudyStore.create(Study.from_dict(form), home)
    store.record([Finished(n, {"relative_error": 0.1 * n}, 0.1) for n in range(4)])
    return store


def make_snapshot(home: Path, folder: Path, label: Label, published: bool = False) -> SnapshotHandle:
    """A snapshot of a short run, put into the store of a server that runs."""
    dataset = record(SHORT, RunFolder(folder)).dataset
    store = SnapshotStore(home)
    handle = store.add(from_run(RunFolder(folder), dataset, label, Story(1.7e9)))
    if published:
        store.publish(handle.id, True)
    store.close()
    return handle
