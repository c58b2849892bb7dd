"""What page tests share."""

from __future__ import annotations

import pytest

from semf_core import service as service_module


@pytest.fixture
def service(tmp_path, monkeypatch, no_reserve):
    """A service of its own for the pages of one test."""
    made = service_module.Service(tmp_path / "home", max_running=1)
    monkeypatch.setattr(service_module, "_SERVICE", [made])
    yield made
    made.close()
