"""Test files are given out whole, those with a browser first and to two processes at a time."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.scheduling import BROWSER, MOST_BROWSERS, BrowsersFirst

FILES = [f"{BROWSER}test_{k}.py" for k in range(5)] + [f"tests/test_{k}.py" for k in range(40)]
TESTS = [f"{file}::test_{k}" for file in FILES for k in range(4)]


class Process:
    """Runs one test at a time, in the order in which they were given."""

    def __init__(self):
        self.given, self.shutting_down, self.gateway = [], False, SimpleNamespace(id="")

    def send_runtest_some(self, indices):
        self.given += indices

    def shutdown(self):
        self.shutting_down = True


@pytest.mark.parametrize("count", [2, 3, 4])
def test_every_test_runs_once_and_two_browsers_at_most(count):
    option = SimpleNamespace(loadscopereorder=True)
    config = SimpleNamespace(option=option, getvalue=lambda name: {"tx": [f"{count}*popen"]}.get(name))
    scheduler = BrowsersFirst(config)
    processes = [Process() for _ in range(count)]
    for process in processes:
        scheduler.add_node(process)
        scheduler.add_node_collection(process, TESTS)
    scheduler.schedule()
    ran, at_once = [], []
    while any(process.given for process in processes):
        now = [process for process in processes if process.given]
        at_once.append(sum(TESTS[process.given[0]].startswith(BROWSER) for process in now))
        for process in now:
            ran.append(process.given.pop(0))
            scheduler.mark_test_complete(process, ran[-1])
    assert sorted(ran) == list(range(len(TESTS))) and scheduler.tests_finished
    assert at_once[0] == max(at_once) == MOST_BROWSERS
