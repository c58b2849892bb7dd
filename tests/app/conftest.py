"""What page tests share."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import pytest
from streamlit.components.v2 import manifest_scanner

from pages.ui import compare_feed
from semf_core import service as service_module


@pytest.fixture(scope="session", autouse=True)
def packages_searched_once():
    """For every page that is opened Streamlit looks for components in all packages, which takes longer than the page."""
    with patch.object(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests)):
        yield


@pytest.fixture
def service(tmp_path, monkeypatch, no_reserve):
    """A service of its own for the pages of one test."""
    made = service_module.Service(tmp_path / "home", max_running=1)
    monkeypatch.setattr(service_module, "_SERVICE", [made])
    compare_feed.reader.cache_clear()  # that of another test's service
    yield made
    made.close()
