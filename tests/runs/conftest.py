"""Real worker processes. One service is shared by the tests that do not end it; every test deletes its runs."""

from __future__ import annotations

import pytest

from semf_core.service import Service


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("home"), max_running=2)
    yield service
    service.close()


@pytest.fixture
def service(shared_service):
    """The shared service; what the test starts is deleted after it."""
    started = []
    create = shared_service._store.create

    def remembered(*args, **kwargs):
        run_id, key, folder = create(*args, **kwargs)
        started.append((run_id, key, folder))
        return run_id, key, folder

    shared_service._store.create = remembered
    yield shared_service
    shared_service._store.create = create
    for run_id, key, folder in started:
        if folder.meta.exists():
            shared_service.delete(run_id, key)


@pytest.fixture
def make_service(tmp_path):
    """Services on a home of the test's own."""
    made = []

    def make(**options):
        made.append(Service(tmp_path / "home", **{"max_running": 1, **options}))
        return made[-1]

    yield make
    for service in made:
        service.close()
