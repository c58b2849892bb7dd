"""Visitors take turns, nobody has more than his share, and the demo always has its place."""

import threading

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs.edits import Edit
from semf_core.runs.fairness import FairQueue
from semf_core.solvers import Limits

from .common import assert_same_numbers, in_process, tiny, wait_for, wait_for_iterations, wait_for_state

pytestmark = pytest.mark.usefixtures("no_reserve")


def filled(*visitors):
    queue = FairQueue()
    for number, visitor in enumerate(visitors):
        queue.put(f"{visitor}{number}", visitor)
    return queue


def drained(queue, may_run=lambda visitor: True):
    served = []
    while (run := queue.next(may_run)) is not None:
        served.append(run.rstrip("0123456789"))
    return "".join(served)


def test_visitors_take_turns():
    assert drained(filled(*"aaaaabbc")) == "abcabaaa"


def test_a_newcomer_goes_before_who_was_served_already():
    queue = filled(*"a" * 200)
    assert queue.next(lambda visitor: True) == "a0"
    queue.put("b0", "b")
    assert queue.position("b0") == 1 and queue.next(lambda visitor: True) == "b0"
    queue.put("b1", "b")  # whoever asks again and again does not go first again and again
    assert queue.position("b1") == 2


def test_addresses_take_turns_before_their_sessions():
    queue = FairQueue()
    for number in range(6):
        queue.put(f"many{number}", f"campus/{number}")
    queue.put("alone", "home/0")
    assert queue.position("alone") == 2
    assert drained(queue) == "manyalone" + "many" * 5


def test_a_visitor_who_may_run_no_more_lets_others_pass():
    queue = filled(*"aab")
    assert queue.next(lambda visitor: visitor != "a") == "b2"
    assert queue.next(lambda visitor: visitor != "a") is None and len(queue) == 2


def test_positions_are_those_of_the_turns():
    queue = filled(*"aaabbc")
    order = queue.order()
    assert [queue.position(run) for run in order] == [1, 2, 3, 4, 5, 6] and queue.position("unknown") is None
    queue.remove("a0")
    assert queue.order()[0] == "a1" and "a0" not in queue


def test_many_runs_of_one_keep_another_waiting_for_one(make_service):
    service = make_service()
    first = service.start(tiny(), visitor="greedy")
    others = [service.start(tiny(10), visitor="greedy") for _ in range(60)]
    wait_for_state(service, first.id, "running")
    modest = service.start(tiny(10), visitor="modest")
    assert service.status(modest.id).queue_position == 1
    service.stop(first.id, first.key)
    wait_for_state(service, modest.id, "finished")
    finished = sum(status.state == "finished" for status in service.list_runs(h.id for h in others))
    assert finished < 30, "it was served after all of them"


def test_one_visitor_does_not_take_all_places_of_a_public_server(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    monkeypatch.setenv("SEMF_MAX_RUNS", "2")
    monkeypatch.setenv("SEMF_MAX_RUNNING_PER_VISITOR", "")
    monkeypatch.setattr("semf_core.service.check_effort", lambda *limits: None)
    service = make_service(max_running=2)
    mine = [service.start(tiny(), visitor="greedy") for _ in range(3)]
    wait_for_state(service, mine[0].id, "running")
    assert [service.status(h.id).state for h in mine[1:]] == ["queued", "queued"]
    modest = service.start(tiny(), visitor="modest")
    wait_for_iterations(service, modest.id, 5)


@pytest.mark.parametrize("variable", ["SEMF_MAX_RUNS_PER_VISITOR", "SEMF_MAX_RUNS_PER_ADDRESS"])
def test_queued_running_and_paused_runs_are_counted(make_service, monkeypatch, variable):
    monkeypatch.setenv(variable, "3")
    service = make_service()
    running, queued = (service.start(tiny(), visitor="here/a") for _ in range(2))
    paused = service.start(tiny(), paused=True, visitor="here/a")
    wait_for(lambda: service.keyframes(paused.id))
    for another in (lambda: service.start(tiny(), visitor="here/a"), lambda: service.fork(paused.id, visitor="here/a")):
        with pytest.raises(InvalidInput, match=r"3 .* are under way already"):
            another()
    service.start(tiny(), visitor="there/b")
    wait_for_state(service, running.id, "running")
    service.stop(queued.id, queued.key)
    fork = service.start(tiny(), paused=True, visitor="here/a")
    with pytest.raises(InvalidInput, match="under way"):
        service.resume(queued.id, queued.key)
    service.delete(fork.id, fork.key)
    service.resume(queued.id, queued.key)


def test_places_are_counted_before_runs_are_there(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_RUNS_PER_VISITOR", "3")
    service, rejected = make_service(), []

    def start():
        try:
            service.start(tiny(), paused=True, visitor="a")
        except InvalidInput:
            rejected.append(1)

    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(rejected) == 9 and len(list((service.home / "runs").iterdir())) == 3


def test_a_run_pauses_when_its_time_is_over_and_goes_on_when_asked(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_RUN_MINUTES", "0.02")
    service = make_service()
    handle = service.start(tiny())
    status = wait_for_state(service, handle.id, "paused")
    assert "its 0.02 minutes are over" in status.message and status.iterations > 0
    service.resume(handle.id, handle.key)
    wait_for_iterations(service, handle.id, status.iterations + 10)
    wait_for_state(service, handle.id, "paused")


def test_models_that_ask_for_too_many_iterations_are_refused(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    service = make_service()
    for limits in ({"max_iter": 10_000_000, "restarts": 3}, {"max_iter": 1000, "restarts": 100_000}):
        with pytest.raises(InvalidInput, match="20,000,000 in all is the most"):
            service.start(tiny(limits=limits))
    handle = service.start(tiny(100), paused=True)
    with pytest.raises(InvalidInput, match="is the most"):
        service.edit(handle.id, handle.key, Edit(limits=Limits(max_iter=10_000_000, restarts=9)))


def test_the_demo_runs_while_every_place_is_taken_and_the_store_is_full(make_service, monkeypatch):
    monkeypatch.setattr("semf_core.service.preset", lambda name: tiny(200, title=name))
    service = make_service()
    runs = [service.start(tiny(), visitor="greedy") for _ in range(5)]
    wait_for_state(service, runs[0].id, "running")
    monkeypatch.setattr(type(service._store.quota), "is_full", lambda self: False)
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "0.001")
    demo = service.demo_run("demo")
    wait_for_state(service, demo, "finished")
    assert service.status(runs[0].id).state == "running"
    wait_for(lambda: service.queue().running == 1)


def test_long_runs_of_some_let_those_of_others_go_first(make_service, monkeypatch):
    """And then go on by themselves, bit for bit as if nobody had come in between."""
    monkeypatch.setenv("SEMF_TURN_SECONDS", "1")
    service, spec = make_service(), tiny()
    long = service.start(spec, visitor="long")
    wait_for_state(service, long.id, "running")
    own = service.start(tiny(10), visitor="long")
    assert not service._manager._others_wait("long"), "nobody goes before himself"
    service.delete(own.id, own.key)
    short = service.start(tiny(10), visitor="short")
    wait_for_state(service, short.id, "finished")
    wait_for_iterations(service, long.id, service.status(long.id).iterations + 20)
    service.pause(long.id, long.key)
    rows = service.scalars(long.id)
    assert_same_numbers(rows, in_process(spec, len(rows)))


def test_turns_count_for_the_time_of_a_run(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_TURN_SECONDS", "1")
    monkeypatch.setenv("SEMF_MAX_RUN_MINUTES", "0.05")
    service = make_service()
    runs = [service.start(tiny(), visitor=name) for name in "ab"]
    for run in runs:
        assert "minutes are over" in wait_for_state(service, run.id, "paused").message


def test_a_run_that_waits_for_its_next_turn_can_be_paused_and_stopped(make_service, monkeypatch):
    monkeypatch.setenv("SEMF_TURN_SECONDS", "1")
    service = make_service()
    first, second = (service.start(tiny(), visitor=name) for name in "ab")
    wait_for_iterations(service, second.id, 1)
    wait_for(lambda: service.status(first.id).state == "queued")
    service.pause(first.id, first.key)
    assert service.status(first.id).state == "paused"
    service.stop(first.id, first.key)
    wait_for_state(service, first.id, "stopped")
    assert service.result(first.id) is not None
