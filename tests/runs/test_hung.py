"""Workers that do not answer: stopped by somebody, or in a projection without end."""

import os
import signal

import pytest

from semf_core.runs import manager as manager_module
from semf_core.runs import pool, watchdog
from semf_core.runs.channel import BEAT_SECONDS

from .common import assert_same_numbers, in_process, tiny, wait_for, wait_for_iterations, wait_for_state, worker_of

ENDLESS = """
import os
from semf_core.runs import outcome
from semf_core.solvers import ADMM

def endless(function):
    def stuck(*arguments):
        while os.path.exists({flag!r}):
            pass
        return function(*arguments)
    return stuck

ADMM.init, ADMM.step, outcome.make_result = endless(ADMM.init), endless(ADMM.step), endless(outcome.make_result)
"""
"""What every worker does first: as long as the flag is there, no projection comes to an end."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Ten seconds are long for a test."""
    assert BEAT_SECONDS < pool.SILENT_SECONDS / 2 and pool.SILENT_SECONDS + watchdog.LOOK_SECONDS < 10
    monkeypatch.setattr(pool, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(manager_module, "PATIENCE", 0.3)


def hung(service, handle):
    """The same run, whose worker has been stopped in the middle and counts as hung."""
    wait_for_iterations(service, handle.id, 3000)
    wait_for(service._find(handle.id)[0].checkpoint.exists)
    worker = worker_of(service, handle.id)
    os.kill(worker.pid, signal.SIGSTOP)
    wait_for(lambda: "no sign of life" in service.status(handle.id).message)
    assert service.status(handle.id).state == "running"
    return worker


def went_on(service, handle, iterations):
    service.resume(handle.id, handle.key)
    wait_for_iterations(service, handle.id, iterations + 50)
    service.pause(handle.id, handle.key)
    rows = service.scalars(handle.id)[:4000]
    assert_same_numbers(rows, in_process(tiny(), len(rows)))


def test_pause_ends_a_hung_worker_and_keeps_the_history(make_service):
    service = make_service()
    handle = service.start(tiny())
    worker = hung(service, handle)
    kept = service.status(handle.id).iterations
    service.pause(handle.id, handle.key)
    status = service.status(handle.id)
    assert status.state == "paused" and "did not answer" in status.message and status.iterations == kept
    wait_for(lambda: worker not in service._manager._worker_pool.workers)
    went_on(service, handle, kept)


def test_stop_ends_a_hung_worker_with_a_result(make_service):
    service = make_service()
    handle = service.start(tiny())
    hung(service, handle)
    service.stop(handle.id, handle.key)
    wait_for_state(service, handle.id, "stopped")
    assert service.result(handle.id).iterations > 0


def test_reset_ends_a_hung_worker(make_service):
    service = make_service()
    handle = service.start(tiny())
    hung(service, handle)
    service.reset(handle.id, handle.key)
    wait_for_state(service, handle.id, "paused")
    assert service.status(handle.id).iterations == 0


def test_a_pause_that_was_asked_for_before_is_done_when_the_worker_is_known_to_hang(make_service):
    service = make_service()
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 3000)
    os.kill(worker_of(service, handle.id).pid, signal.SIGSTOP)
    service.pause(handle.id, handle.key)  # returns; nobody knows yet
    assert service.status(handle.id).state == "running"
    wait_for_state(service, handle.id, "paused")


def test_a_demo_goes_on_with_another_worker(make_service, monkeypatch):
    """Nobody could pause it, and lessons wait behind it."""
    monkeypatch.setattr(manager_module, "DEMO_SECONDS", 4.0)
    monkeypatch.setattr("semf_core.service.preset", lambda name: tiny())
    service = make_service()
    demo = service.demo_run("demo")
    wait_for_iterations(service, demo, 500)
    wait_for(service._find(demo)[0].checkpoint.exists)
    hung, kept = worker_of(service, demo), service.status(demo).iterations
    os.kill(hung.pid, signal.SIGSTOP)
    wait_for(lambda: hung not in service._manager._worker_pool.workers)
    wait_for_iterations(service, demo, kept + 50)
    rows = service.scalars(demo)[:1000]
    assert_same_numbers(rows, in_process(tiny(), len(rows)))


def test_a_worker_that_goes_on_is_forgiven(make_service):
    service = make_service()
    handle = service.start(tiny())
    worker = hung(service, handle)
    os.kill(worker.pid, signal.SIGCONT)
    wait_for(lambda: "no sign of life" not in service.status(handle.id).message)
    assert service.status(handle.id).state == "running"


def with_endless_projections(tmp_path, monkeypatch):
    """The flag that makes them endless."""
    flag, place = tmp_path / "stuck", tmp_path / "site"
    place.mkdir()
    (place / "sitecustomize.py").write_text(ENDLESS.format(flag=str(flag)))
    monkeypatch.setenv("PYTHONPATH", str(place))
    return flag


def test_an_endless_projection_is_ended(make_service, tmp_path, monkeypatch):
    flag = with_endless_projections(tmp_path, monkeypatch)
    service = make_service()
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 3000)
    wait_for(lambda: service._manager.store.folder(handle.id).checkpoint.exists())
    flag.touch()
    wait_for(lambda: "no sign of life" in service.status(handle.id).message)
    service.stop(handle.id, handle.key)  # the result needs the projection as well, and hangs again
    wait_for(lambda: (status := service.status(handle.id)).state == "stopped" and "no result" in status.message)
    flag.unlink()
    went_on(service, handle, service.status(handle.id).iterations)


def test_hung_errands_do_not_keep_others_from_being_opened(make_service, tmp_path, monkeypatch):
    flag = with_endless_projections(tmp_path, monkeypatch)
    monkeypatch.setattr(watchdog, "ERRAND_SECONDS", 1.0)
    service = make_service()
    flag.touch()
    stuck = [service.start(tiny(), paused=True) for _ in range(3)]
    sound = service.start(tiny(y=[], solver={"name": "svd"}), paused=True)
    wait_for(lambda: worker_of(service, sound.id) is not None and worker_of(service, sound.id).role == "holding")
    roles = [worker_of(service, h.id).role for h in stuck if worker_of(service, h.id)]
    assert roles and set(roles) <= {"busy", "errand"}
    for handle in stuck:
        service.delete(handle.id, handle.key)
    assert not any((service.home / "runs" / h.id).exists() for h in stuck)
