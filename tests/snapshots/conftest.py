"""One small recorded run for all tests of snapshots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semf_core.runs.folder import RunFolder
from semf_core.snapshots.content import Variants
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.recording import record
from tests.runs.common import tiny
from tests.runs.conftest import make_service, service, shared_service  # noqa: F401 - fixtures

CREATED = 1_700_000_000.0


def with_variants(content):
    """The content on show between two others, the first of them shown before."""
    others = {k: replace(content, label=Label(f"Number {k}"), components=()) for k in (0, 2)}
    return replace(content, variants=Variants(("first", "k = 8", "last"), 1, 0, others))


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
    return from_run(recorded, dataset, label, Story(CREATED), include_data=True)
