"""One BLAS thread in every test process: the matrices here are small, and the cores are shared."""

import os

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
LONG = ("browser/test_lessons", "browser/test_workbench", "browser/", "app/", "solvers/test_relative", "runs/", "studies/")
"""Files that take long, in the order in which they are begun: none of them should be left when all else is done."""


def pytest_collection_modifyitems(items):
    def rank(item):
        return next((k for k, start in enumerate(LONG) if item.nodeid.startswith(f"tests/{start}")), len(LONG))

    items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from tests.scheduling import BrowsersFirst

    return BrowsersFirst(config, log)


@pytest.fixture
def reserve():
    """For a test whose service has to have a worker ready, whatever its fixtures say."""


@pytest.fixture
def no_reserve(request, monkeypatch):
    """A worker is started when a run needs it, none ahead of need: each costs the import of the numerical libraries."""
    if "reserve" not in request.fixturenames:
        monkeypatch.setattr("semf_core.runs.pool.WorkerPool.keep_warm", lambda pool: None)
