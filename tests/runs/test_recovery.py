"""Workers die, servers die, disks are shared: what was computed is kept."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import semf_core
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.runs.folder import RunFolder
from tests.helpers import present

from .common import assert_same_numbers, in_process, is_alive, tiny, wait_for, wait_for_iterations, wait_for_state, worker_of


def test_a_killed_worker_is_reported_and_the_run_resumes(service):
    handle = service.start(tiny(), paused=True)
    service.step(handle.id, handle.key, 60)
    wait_for(lambda: service.status(handle.id).iterations == 60)
    wait_for_state(service, handle.id, "paused")
    service.resume(handle.id, handle.key)
    wait_for_iterations(service, handle.id, 100)
    os.kill(worker_of(service, handle.id).pid, signal.SIGKILL)
    status = wait_for_state(service, handle.id, "failed")
    kept = status.iterations
    assert "killed (signal 9" in status.message and f"{kept} iterations are kept, the last checkpoint is at" in status.message
    assert len(service.scalars(handle.id)) == kept and service.factors(handle.id, 60).iteration == 60
    service.resume(handle.id, handle.key)
    wait_for(lambda: service.status(handle.id).state == "running" and service.status(handle.id).iterations > 200)
    service.pause(handle.id, handle.key)
    rows = service.scalars(handle.id)[:3000]
    assert_same_numbers(rows, in_process(tiny(), len(rows)))


def test_an_exception_in_the_worker_is_reported_in_words(service):
    dataset = Dataset(np.random.default_rng(0).random((8, 20)))
    first = service.start(tiny(5), dataset=dataset)
    wait_for_state(service, first.id, "finished")
    spec = service.status(first.id).spec
    (service.home / "data" / spec.dataset.id / "data.npy").unlink()
    second = service.start(spec)  # the server still has the data in memory, the worker does not
    status = wait_for_state(service, second.id, "failed")
    assert "upload it again" in status.message and "not begun" in status.message
    assert "Traceback" in RunFolder(service.home / "runs" / second.id).log.read_text()
    with pytest.raises(InvalidInput, match="no factors"):
        service.factors(second.id)


def test_a_new_server_finds_everything_and_resumes(make_service):
    old = make_service()
    finished, running, waiting = old.start(tiny(30)), old.start(tiny()), old.start(tiny(40))
    wait_for_iterations(old, running.id, 100)
    old.close()
    kept = RunFolder(old.home / "runs" / running.id).iterations()

    new = make_service()
    assert new.status(finished.id).state == "finished" and new.result(finished.id).iterations == 30
    status = new.status(running.id)
    assert status.state == "interrupted" and status.iterations == kept
    assert f"the last checkpoint is at {kept}" in status.message
    assert new.status(waiting.id).state == "interrupted"
    with pytest.raises(InvalidInput, match="control link"):
        new.resume(running.id, waiting.key)
    new.resume(waiting.id, waiting.key)
    assert wait_for_state(new, waiting.id, "finished").iterations == 40
    new.step(running.id, running.key, 25)
    wait_for(lambda: new.status(running.id).iterations == kept + 25)
    wait_for_state(new, running.id, "paused")
    rows = new.scalars(running.id)[-1500:]
    expected = in_process(tiny(), kept + 25).history.table()[-1500:]
    np.testing.assert_array_equal(rows[:, :8], expected[:, :8])


SERVER = """
import sys, time
from tests.runs.common import tiny, wait_for_iterations, worker_of
from semf_core.service import Service
service = Service(sys.argv[1], max_running=1)
handle = service.start(tiny())
wait_for_iterations(service, handle.id, 50)
print(handle.id, handle.key, *[w.pid for w in service._manager._worker_pool.workers], flush=True)
time.sleep(600)
"""


def test_workers_of_a_killed_server_checkpoint_and_end(tmp_path, make_service):
    root = Path(semf_core.__file__).parent.parent
    command = [sys.executable, "-c", SERVER, str(tmp_path / "home")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        run_id, key, *pids = present(server.stdout).readline().split()
        assert pids
        server.kill()
    wait_for(lambda: not any(is_alive(int(pid)) for pid in pids))
    new = make_service()
    status = new.status(run_id)
    assert status.state == "interrupted" and f"the last checkpoint is at {status.iterations}" in status.message
    new.step(run_id, key, 1)
    wait_for(lambda: new.status(run_id).iterations == status.iterations + 1)


def test_two_services_share_a_home(make_service):
    a, b = make_service(), make_service()
    handle = a.start(tiny())
    wait_for_iterations(b, handle.id, 50)
    assert b.status(handle.id).state == "running" and b.factors(handle.id).iteration >= 0
    for command in (b.pause, b.stop, b.resume, b.reset, b.delete):
        with pytest.raises(InvalidInput, match="another server"):
            command(handle.id, handle.key)
    assert a.status(handle.id).state == "running"
    other = b.start(tiny(20))
    assert wait_for_state(b, other.id, "finished").iterations == 20
    a.pause(handle.id, handle.key)
    kept = a.status(handle.id).iterations
    a.close()
    b.step(handle.id, handle.key, 5)
    wait_for(lambda: b.status(handle.id).iterations == kept + 5)
    wait_for_state(b, handle.id, "paused")
    b.delete(handle.id, handle.key)
    assert b.list_runs([handle.id]) == []


def test_closing_ends_every_worker(make_service):
    service = make_service()
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 10)
    pids = [w.pid for w in service._manager._worker_pool.workers]
    service.close()
    assert pids and not any(is_alive(pid) for pid in pids)
    with pytest.raises(InvalidInput, match="shutting down"):
        service.resume(handle.id, handle.key)


def test_a_run_is_resumed_by_one_server_only(make_service):
    first = make_service()
    handle = first.start(tiny())
    wait_for_iterations(first, handle.id, 50)
    first.close()
    servers = [make_service() for _ in range(4)]
    ready, outcomes = threading.Barrier(4), []

    def resume(server):
        ready.wait()
        try:
            server.resume(handle.id, handle.key)
            outcomes.append(server)
        except InvalidInput as refusal:
            assert "another server works on it" in str(refusal)

    threads = [threading.Thread(target=resume, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    (winner,) = outcomes
    wait_for_state(winner, handle.id, "running")
    assert [worker_of(s, handle.id) is not None for s in servers] == [s is winner for s in servers]
