"""The child process: values and refusals come back, and whatever breaks a limit ends in a sentence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from semf_core import sandbox
from semf_core.common.errors import InvalidInput
from semf_core.sandbox import Pool
from semf_core.sandbox import pool as pool_module
from tests.sandbox import functions

ALLOWED = (900, 30)
"""Megabytes and seconds."""


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_READ_MB", "200")
    monkeypatch.setenv("SEMF_MAX_READ_SECONDS", "20")


def refusal(function, **arguments):
    with pytest.raises(InvalidInput) as caught:
        sandbox.call(function, "faces.npz", **arguments)
    return str(caught.value)


def test_values_come_back():
    assert sandbox.call(functions.double, "number", value=21) == 42
    assert sandbox.call(functions.talk, "talk") == "quiet"
    assert len(sandbox.call(functions.large, "text", size=3_000_000)) == 3_000_000


def test_complaints_of_readers_do_not_fill_the_log(capfd):
    pool = Pool(ahead=["tests.sandbox.functions"])  # started here, so that its output is seen
    assert pool.outcome(functions.complain, {}, *ALLOWED).value == "quiet"
    pool.close()
    assert "damaged" not in capfd.readouterr().err


def test_refusals_come_back_with_their_indices():
    with pytest.raises(InvalidInput) as caught:
        sandbox.call(functions.reject, "number", index=4)
    assert caught.value.field == "column" and caught.value.counted(1) == "5 is wrong; take another than 5"


def test_every_call_meets_a_clean_process():
    """What one file did to its reader, the next does not see."""
    assert [sandbox.call(functions.remember, "number", value=v) for v in (1, 2)] == [[1], [2]]


def test_memory_is_limited_and_libraries_do_not_count():
    assert sandbox.call(functions.take_memory, "matrix", megabytes=150) == 150
    assert refusal(functions.take_memory, megabytes=400).startswith("faces.npz: needs more than the 200 MB")


def test_time_is_limited(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_READ_SECONDS", "0.3")
    assert "broken off after 0.3 s of computing" in refusal(functions.compute)
    monkeypatch.setenv("SEMF_MAX_READ_SECONDS", "20")
    assert sandbox.call(functions.double, "number", value=1) == 2, "another child takes its place"


def test_waiting_for_the_processor_is_no_fault_of_the_file(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_READ_SECONDS", "0.1")
    assert sandbox.call(functions.sleep, "faces.npz", seconds=3) is None


def test_what_hangs_without_computing_is_ended(monkeypatch):
    monkeypatch.setattr(pool_module, "SPARE_SECONDS", 1.0)
    monkeypatch.setenv("SEMF_MAX_READ_SECONDS", "0.1")
    assert "broken off after 1.1 s" in refusal(functions.sleep, seconds=600)
    monkeypatch.setattr(pool_module, "SPARE_SECONDS", 600.0)
    assert sandbox.call(functions.double, "number", value=1) == 2, "another child takes its place"


@pytest.mark.parametrize("function", [functions.crash, functions.be_killed, functions.fail])
def test_a_crash_is_a_sentence_and_the_next_call_works(function, caplog):
    text = refusal(function)
    assert text.startswith("faces.npz: ") and ";" in text and "Traceback" not in text
    if function is functions.fail:
        assert "ZeroDivisionError" in caplog.text, "a defect is in the server's log"
    assert sandbox.call(functions.double, "number", value=1) == 2


def test_outcomes_are_measured():
    pool = Pool()
    try:
        outcome = pool.outcome(functions.take_memory, {"megabytes": 100}, *ALLOWED)
        assert outcome.kind == "value" and 100 < outcome.peak_mb < 400 and outcome.seconds > 0
        assert pool.outcome(functions.crash, {}, *ALLOWED).kind == "crashed"
    finally:
        pool.close()


def test_whoever_computes_in_the_background_stands_back():
    code = "import os; from semf_core.sandbox.rlimits import lower_priority; lower_priority(7); print(os.nice(0))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, start_new_session=True)
    assert int(out.stdout) == min(19, os.nice(0) + 7)


def test_a_child_that_was_killed_is_replaced():
    pool = Pool()
    try:
        assert pool.outcome(functions.double, {"value": 1}, *ALLOWED).value == 2
        (child,) = pool._workers.workers
        os.kill(child.pid, signal.SIGKILL)
        while child.alive:
            time.sleep(0.01)
        assert pool.outcome(functions.double, {"value": 2}, *ALLOWED).value == 4
    finally:
        pool.close()


def test_closing_ends_what_is_being_done():
    pool, done = Pool(), []
    thread = threading.Thread(target=lambda: done.append(pool.outcome(functions.sleep, {"seconds": 600}, *ALLOWED)))
    thread.start()
    while not pool._workers.count("busy"):
        time.sleep(0.01)
    pool.close()
    thread.join(30)
    assert [outcome.kind for outcome in done] == ["crashed"] and not pool._workers.workers


def test_a_child_that_does_not_start_in_time_is_no_fault_of_the_file(monkeypatch):
    monkeypatch.setattr(pool_module, "START_SECONDS", 0.0)
    monkeypatch.setattr(pool_module, "_POOL", pool := Pool())
    assert "busy with the files of others" in refusal(functions.double, value=1)
    pool.close()


def test_few_run_at_a_time_and_those_who_wait_too_long_are_told(monkeypatch):
    monkeypatch.setattr(pool_module, "PATIENCE", 0.2)
    pool, done = Pool(), []
    pool.outcome(functions.double, {"value": 1}, *ALLOWED)

    def work():
        done.append(pool.outcome(functions.sleep, {"seconds": 3}, *ALLOWED))

    busy = [threading.Thread(target=work) for _ in range(2)]
    for thread in busy:
        thread.start()
    while len(pool._running) < pool_module.AT_ONCE:
        time.sleep(0.01)
    with pytest.raises(InvalidInput, match="busy"):
        pool.outcome(functions.double, {"value": 1}, *ALLOWED)
    for thread in busy:
        thread.join()
    assert [o.kind for o in done] == ["value", "value"]
    pool.close()


def test_one_visitor_leaves_a_place_to_others(monkeypatch):
    who, release, pool = threading.local(), threading.Event(), Pool()
    monkeypatch.setattr("semf_core.common.visitors._WHO", [lambda: who.name])

    def hold():
        who.name = "greedy"
        with pool._turn():
            release.wait(30)

    greedy = [threading.Thread(target=hold) for _ in range(4)]
    for thread in greedy:
        thread.start()
    while len(pool._visitors) < 4:
        time.sleep(0.01)
    who.name = "modest"
    with pool._turn():  # while those of the other one wait
        assert sorted(pool._visitors[ticket] for ticket in pool._running) == ["greedy", "modest"]
    release.set()
    for thread in greedy:
        thread.join()
    assert not pool._visitors and not pool._running and not len(pool._line)
