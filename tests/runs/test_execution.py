"""A run in a worker is the run in Python, whatever happens on the way."""

import os
import time

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs.folder import RunFolder
from semf_core.solvers import COLUMNS

from .common import assert_same_numbers, in_process, tiny, wait_for, wait_for_iterations, wait_for_state, worker_of

WITH_CHANCE = {"max_iter": 300, "kick": True, "restarts": 2, "window": 20, "polish": 3}
"""Kicks and restarts draw random numbers, so the generator must survive as well."""


def test_result_is_that_of_the_same_run_in_python(service):
    spec = tiny(limits=WITH_CHANCE)
    handle = service.start(spec)
    status = wait_for_state(service, handle.id, "finished")
    run = in_process(spec)
    assert {e.kind for e in run.events} >= {"kick", "restart"}
    assert_same_numbers(service.scalars(handle.id), run)
    result = service.result(handle.id)
    assert service.ending(handle.id) == result.ending
    for mine, theirs in zip((result.U, result.V, result.X, result.Y), run.factors(), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert list(result.events) == run.events == service.events(handle.id)
    assert (status.iterations, status.start, status.message) == (run.iterations, run.start, result.ending.text)
    assert result.stop_reason == run.stop_reason and result.residual_uv == run.best_uv
    assert result.certificate.feasible
    frame = service.factors(handle.id)
    np.testing.assert_array_equal(frame.U, run.factors()[0].astype(np.float32))
    assert service.truth(handle.id, frame)["parts_total"] == 10


def test_pauses_and_steps_change_nothing(service):
    spec = tiny(limits=WITH_CHANCE)
    handle = service.start(spec, paused=True)
    for steps in (1, 2, 40):
        wait_for_state(service, handle.id, "paused")
        before = service.status(handle.id).iterations
        service.step(handle.id, handle.key, steps)
        wait_for(lambda: service.status(handle.id).state == "paused")
        assert service.status(handle.id).iterations == before + steps
    service.resume(handle.id, handle.key)
    wait_for_state(service, handle.id, "finished")
    assert_same_numbers(service.scalars(handle.id), in_process(spec))


def test_a_pause_frees_the_slot_and_the_worker_may_be_lost(make_service):
    service = make_service()
    first, second = service.start(tiny(400)), service.start(tiny())
    # 400 iterations are over quickly, so the first one may already be done: only what follows is judged.
    wait_for_state(service, second.id, "running")
    service.pause(second.id, second.key)
    assert service.status(second.id).state == "paused" and service.queue().running == 0
    kept = service.status(second.id).iterations
    holder = worker_of(service, second.id)
    holder.kill()
    wait_for(lambda: worker_of(service, second.id) is None)
    assert service.status(second.id).state == "paused"
    service.step(second.id, second.key, 50)
    wait_for(lambda: service.status(second.id).iterations == kept + 50)
    wait_for_state(service, second.id, "paused")
    assert_same_numbers(service.scalars(second.id), in_process(tiny(), kept + 50))
    assert wait_for_state(service, first.id, "finished").iterations == 400


def test_keyframes_are_log_spaced_and_hold_the_factors(service):
    spec = tiny(2000)
    handle = service.start(spec)
    wait_for_state(service, handle.id, "finished")
    kept = service.keyframes(handle.id)
    assert kept[:4] == [0, 1, 2, 3] and kept[-1] == 2000 and 40 <= len(kept) <= 80
    for wanted in (1, 100, 1999):
        frame = service.factors(handle.id, wanted)
        assert frame.iteration == max(k for k in kept if k <= wanted)
        expected = in_process(spec, frame.iteration).factors(best=False)
        for mine, theirs in zip((frame.U, frame.V, frame.X, frame.Y), expected, strict=True):
            np.testing.assert_array_equal(mine, theirs.astype(np.float32))


def test_frames_put_back_the_rows_that_are_zero_throughout(service):
    spec = tiny(30, dataset={"name": "swimmer"}, rank=4, x=[{"name": "nonnegative"}], y=[{"name": "nonnegative"}])
    handle = service.start(spec)
    wait_for_state(service, handle.id, "finished")
    run = in_process(spec, 30)
    assert run.problem.rows is not None and len(run.problem.rows) < 1024
    frame = service.factors(handle.id, 30)
    np.testing.assert_array_equal(frame.U, run.factors(best=False)[0].astype(np.float32))


def test_live_factors_are_written_only_for_those_who_look(service):
    handle = service.start(tiny())
    folder = RunFolder(service.home / "runs" / handle.id)
    wait_for_iterations(service, handle.id, 1000)
    assert not folder.live.exists()
    seen = {service.factors(handle.id).iteration}

    def several() -> bool:
        seen.add(service.factors(handle.id).iteration)
        return len(seen) > 5

    wait_for(several)
    assert folder.live.exists()
    # Looked at long ago: the worker stops writing.
    long_ago = time.time() - 3600

    def rests() -> bool:
        os.utime(folder.watched, (long_ago, long_ago))
        return not _changes(folder.live, service, handle.id)

    wait_for(rests)


def _changes(path, service, run_id):
    before = path.stat().st_mtime_ns
    wait_for_iterations(service, run_id, service.status(run_id).iterations + 3000)
    return path.stat().st_mtime_ns != before


def test_a_reader_takes_only_what_is_new(service):
    handle = service.start(tiny(500))
    wait_for_state(service, handle.id, "finished")
    everything = service.scalars(handle.id)
    assert everything.shape == (500, len(COLUMNS)) and everything.dtype == np.float64
    np.testing.assert_array_equal(service.scalars(handle.id, 490), everything[490:])
    assert service.scalars(handle.id, 500).shape == (0, len(COLUMNS))
    assert service.scalars(handle.id, 10_000).shape == (0, len(COLUMNS))


def test_queue_beyond_the_slots(make_service):
    service = make_service()
    first, second, third = (service.start(tiny()) for _ in range(3))
    wait_for_state(service, first.id, "running")
    states = [service.status(h.id) for h in (first, second, third)]
    assert [s.queue_position for s in states] == [None, 1, 2]
    assert [s.state for s in states] == ["running", "queued", "queued"]
    assert (service.queue().slots, service.queue().running, service.queue().waiting) == (1, 1, 2)
    service.pause(second.id, second.key)
    assert service.status(third.id).queue_position == 1
    service.stop(first.id, first.key)
    wait_for_state(service, third.id, "running")
    assert service.status(second.id).state == "paused"
    service.resume(second.id, second.key)
    assert service.status(second.id).queue_position == 1
    service.stop(second.id, second.key)
    assert service.status(second.id).state == "stopped"
    with pytest.raises(InvalidInput, match="no result"):
        service.result(second.id)
