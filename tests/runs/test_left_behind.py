"""Workers whose server has gone: they spoil nothing that another server has done since, and keep no run to themselves."""

import fcntl
import json
import signal
import subprocess
import sys
import threading

import pytest

from semf_core.runs import worker_lock
from semf_core.runs.files import is_locked, try_lock
from semf_core.runs.folder import RunFolder
from semf_core.runs.pool import worker_environment
from semf_core.runs.worker_lock import holders, take
from semf_core.snapshots.recording import record
from tests.helpers import present

from .common import is_alive, tiny

HOLDER = """
import fcntl, os, signal, sys
lock = open(sys.argv[1], "ab")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def finished(tmp_path):
    """The folder of a run that has come to its end."""
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    record(tiny(30), folder)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.path.iterdir()}


@pytest.mark.parametrize(
    "order", [{"fresh": True, "budget": None}, {"fresh": False, "budget": None}, {"fresh": False, "stop": True}]
)
def test_an_order_of_a_server_that_has_gone_is_void(finished, tmp_path, order):
    before = contents(finished)
    known = {"order": "work", "number": 1, "run": "R" * 22, "folder": str(finished.path), "revision": 0}
    command, pipe = [sys.executable, "-P", "-m", "semf_core.runs.worker"], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=worker_environment(tmp_path)) as left:
        assert left.stdin is not None and left.stdout is not None and b"ready" in left.stdout.readline()
        with present(try_lock(finished.worker_lock)):  # it waits for one before it, which is how its server can go meanwhile
            left.stdin.write(json.dumps(known | order).encode() + b"\n")
            left.stdin.close()
            left.stdout.close()
        assert left.wait(120) == 0
    assert contents(finished) == before


def test_whoever_waits_for_a_run_leaves_when_its_server_has_gone(finished):
    with present(try_lock(finished.worker_lock)):
        asked = []

        def wanted():
            asked.append(True)
            if len(asked) == 3:
                raise RuntimeError("gone")

        with pytest.raises(RuntimeError, match="gone"):
            take(finished.worker_lock, wanted)
    assert not is_locked(finished.worker_lock)


def test_one_that_hangs_does_not_keep_a_run_for_ever(finished, monkeypatch):
    path = finished.worker_lock
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE) as hung:
        assert hung.stdout is not None and hung.stdout.readline() == b"held\n"
        assert holders(path) == [hung.pid] and is_locked(path)
        waited = []
        monkeypatch.setattr(worker_lock, "LEFT_SECONDS", 0.2)
        take(path, lambda: waited.append(is_alive(hung.pid))).close()
        assert waited[0] and hung.wait(10) == -signal.SIGKILL
    assert holders(path) == []


def test_one_that_writes_its_checkpoint_is_waited_for(finished):
    path, first = finished.worker_lock, present(try_lock(finished.worker_lock))
    threading.Timer(0.1, first.close).start()
    take(path, lambda: None).close()
    assert first.closed


def test_looking_whether_a_lock_is_taken_takes_it_from_nobody(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb") as looks:
        fcntl.flock(looks, fcntl.LOCK_SH)  # as `is_locked` has it for a moment
        assert not is_locked(path)
        threading.Timer(0.05, looks.close).start()
        mine = try_lock(path)
        assert mine is not None and looks.closed
    assert is_locked(path) and try_lock(path) is None
    mine.close()
