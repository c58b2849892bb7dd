"""One small recorded run for all tests of snapshots."""

from __future__ import annotations

import pytest

from semf_core.runs.folder import RunFolder
from semf_core.snapshots.gathering import Story, gather
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from tests.runs.common import tiny
from tests.runs.conftest import make_service, service, shared_service  # noqa: F401 - fixtures

CREATED = 1_700_000_000.0


@pytest.fixture(scope="session")
def spec():
    return tiny(max_iter=40, limits={"restarts": 2, "polish": 2}, x=[{"name": "unit_norm"}])


@pytest.fixture(scope="session")
def recorded(spec, tmp_path_factory):
    """The folder of a finished run."""
    folder = RunFolder(tmp_path_factory.mktemp("recorded"))
    record(spec, folder)
    return folder


@pytest.fixture(scope="session")
def dataset(spec):
    return spec.dataset.load()


@pytest.fixture(scope="session")
def content(recorded, dataset):
    label = Label("A title", "faces, sparse", "Two\nlines")
    return gather(recorded, dataset, label, Story(CREATED), include_data=True)
