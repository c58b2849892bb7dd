"""No room on the disk: runs are interrupted in words, commands do not break, and everything goes on when there is room."""

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.service import Service
from tests.disks import NoMounting, empty, fill, small_disk

from .common import assert_same_numbers, in_process, tiny, wait_for, wait_for_iterations, wait_for_state


@pytest.fixture
def disk(tmp_path):
    try:
        with small_disk(tmp_path / "disk", 24) as place:
            yield place
    except NoMounting as why:
        pytest.skip(str(why))


@pytest.fixture
def service(disk):
    made = Service(disk / "home", max_running=1)
    yield made
    made.close()


def continued(service, handle):
    """It goes on, with the numbers that it would have had anyway."""
    kept = service.status(handle.id).iterations
    service.resume(handle.id, handle.key)
    wait_for_iterations(service, handle.id, kept + 20)
    service.pause(handle.id, handle.key)
    rows = service.scalars(handle.id)[:5000]
    assert_same_numbers(rows, in_process(tiny(), len(rows)))


def test_a_run_is_interrupted_and_goes_on_when_there_is_room(service, disk):
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 500)
    wait_for(lambda: service._store.folder(handle.id).checkpoint.exists())
    fill(disk)
    status = wait_for_state(service, handle.id, "interrupted")
    assert "the disk is full" in status.message and "the last checkpoint is at" in status.message
    assert status.iterations >= 500 and service.factors(handle.id) is not None and service.events(handle.id) == []
    service.resume(handle.id, handle.key)  # it tries, and says the same again
    wait_for(lambda: service.status(handle.id).state == "interrupted" and "disk is full" in service.status(handle.id).message)
    service.stop(handle.id, handle.key)  # the rows after the checkpoint are dropped first: that may be room enough
    if wait_for_state(service, handle.id, "interrupted", "stopped").state == "stopped":
        service.result(handle.id)  # raises where there is none
    empty(disk)
    continued(service, handle)


def test_pause_and_stop_do_not_break_on_a_full_disk(service, disk):
    paused, running = service.start(tiny(), paused=True), service.start(tiny())
    wait_for_iterations(service, running.id, 500)
    wait_for(lambda: service._store.folder(running.id).checkpoint.exists())
    fill(disk)
    try:
        service.pause(running.id, running.key)
    except InvalidInput as refusal:
        assert "interrupted" in str(refusal)  # it had been noticed already
    assert wait_for_state(service, running.id, "interrupted", "paused").iterations >= 500
    service.stop(paused.id, paused.key)
    for again in (lambda: service.start(tiny()), lambda: service.add_upload(Dataset(tiny().dataset.load().data))):
        with pytest.raises(InvalidInput, match="no room on the server's disk"):
            again()
    empty(disk)
    continued(service, running)


def test_the_state_is_written_once_there_is_room(disk):
    service = Service(disk / "home", max_running=1)
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 500)
    fill(disk)
    wait_for_state(service, handle.id, "interrupted")
    folder = service._store.folder(handle.id)
    assert service._store.meta(folder).state == "running", "there was room for it after all"
    empty(disk)
    wait_for(lambda: service._store.meta(folder).state == "interrupted")
    assert "the disk is full" in service._store.meta(folder).message
    service.close()
