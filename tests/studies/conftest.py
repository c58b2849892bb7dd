"""One worker for each background process: every fresh one costs the import of the numerical libraries."""

import pytest


@pytest.fixture(autouse=True)
def one_worker(monkeypatch):
    monkeypatch.setenv("SEMF_STUDY_WORKERS", "1")
