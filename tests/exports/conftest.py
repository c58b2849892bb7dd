from __future__ import annotations

import shutil

import pytest

from semf_core.runs.folder import RunFolder
from tests.exports.common import SMALL, recorded


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("exports") / "run")


@pytest.fixture(scope="session")
def dataset():
    return SMALL.dataset.load()


@pytest.fixture
def copy(finished, tmp_path):
    """A copy of the finished run, to be spoilt."""
    return RunFolder(shutil.copytree(finished.path, tmp_path / "copy"))
