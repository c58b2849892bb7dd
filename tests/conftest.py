"""One BLAS thread in every test process: the matrices here are small, and the cores are shared."""

import os

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@pytest.fixture
def reserve():
    """For a test whose service has to have a worker ready, whatever its fixtures say."""


@pytest.fixture
def no_reserve(request, monkeypatch):
    """A worker is started when a run needs it, none ahead of need: each costs the import of the numerical libraries."""
    if "reserve" not in request.fixturenames:
        monkeypatch.setattr("semf_core.runs.pool.WorkerPool.keep_warm", lambda pool: None)
