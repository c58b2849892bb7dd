"""Cells are computed once and none is lost, whoever dies on the way."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs import pool
from semf_core.runs.files import try_lock
from semf_core.runs.pool import worker_environment
from semf_core.studies import Finished, StudyStore, all_studies, run_study
from semf_core.studies import background as background_module
from semf_core.studies.background import start_in_background
from semf_core.studies.cell_run import carry_out, order_of
from semf_core.studies.execution import LocalExecutor, make_executor
from semf_core.studies.queue import StudyQueue
from tests.helpers import present

from .common import rows, slow, small, wait_for


def numbers(store):
    return [(r["cell"], r["relative_error"]) for r in store.table().records()]


def test_a_study_gives_what_its_cells_give_alone(tmp_path):
    store = StudyStore.create(small(), tmp_path)
    counted: list = []
    progress = run_study(store, LocalExecutor(2, tmp_path), counted.append)
    assert (progress.state, progress.done, progress.failed) == ("finished", 12, 0) and sum(counted) == 12
    for cell in store.study().cells():
        alone = carry_out(order_of(cell.number, cell.trial, ["relative_error"], []))
        assert numbers(store)[cell.number] == (cell.number, present(alone.values)["relative_error"])
    before = rows(store, "ended")
    run_study(store, LocalExecutor(1, tmp_path))
    assert rows(store, "ended") == before and {c for (c,) in rows(store, "claims")} == {1}


def test_the_same_study_has_the_same_folder(tmp_path):
    store = StudyStore.create(small(), tmp_path)
    store.record([Finished(0, {"relative_error": 0.5}, 0.1)])
    assert StudyStore.create(small(title="Other words"), tmp_path).progress().done == 1
    assert [s.id for s in all_studies(tmp_path)] == [store.id] and StudyStore.find(store.id, tmp_path).id == store.id
    with pytest.raises(InvalidInput, match="no study"):
        StudyStore.find("x" * 22, tmp_path)


def test_claims_are_exclusive_and_those_of_the_dead_are_free(tmp_path):
    store = StudyStore.create(small(), tmp_path)
    one, two = store.announce(1), store.announce(1)
    mine, others = store.claim(one.token, 5), store.claim(two.token, 100)
    assert len(mine) == 5 and len(others) == 7 and not set(mine) & set(others)
    assert store.claim(one.token, 5) == []
    store.release(mine[:1], one.token)
    store.release(others, one.token)  # not one's own: nothing happens
    assert store.claim(two.token, 100) == mine[:1]
    one.leave()
    assert sorted(store.claim(two.token, 100)) == sorted(mine[1:])
    two.leave()


def test_a_result_is_recorded_once(tmp_path):
    store = StudyStore.create(small(), tmp_path)
    assert store.record([Finished(3, {"relative_error": 0.1}, 0.1), Finished(4, error="it broke")]) == 2
    assert store.record([Finished(3, {"relative_error": 0.9}, 0.1)]) == 0
    assert store.table().columns["relative_error"][3] == 0.1
    assert store.failures() == [(4, "it broke")]
    assert store.retry() == 0
    store.record([Finished(5, error="its worker died", lost=True)])
    assert store.retry() == 1 and store.progress().failed == 1
    assert store.retry(every=True) == 1 and store.progress().failed == 0


def test_a_killed_worker_loses_nothing(tmp_path):
    store = StudyStore.create(slow(6), tmp_path)
    executor = LocalExecutor(2, tmp_path)
    killed: list = []

    def kill_one(_):
        if not killed:
            killed.append(next(iter(executor._orders)).pid)
            os.kill(killed[0], signal.SIGKILL)

    progress = run_study(store, executor, kill_one)
    assert killed and progress.done == 6 and progress.failed == 0


def test_a_cell_that_kills_its_workers_is_given_up(tmp_path):
    store = StudyStore.create(slow(1, max_iter=100_000), tmp_path)
    executor = LocalExecutor(1, tmp_path)

    def killer():
        for _ in range(3):
            wait_for(lambda: any(w.ready for w in list(executor._orders)))
            for worker in list(executor._orders):
                os.kill(worker.pid, signal.SIGKILL)
                wait_for(lambda gone=worker: gone not in executor._orders)

    thread = threading.Thread(target=killer, daemon=True)
    thread.start()
    progress = run_study(store, executor)
    assert progress.failed == 1 and progress.state == "finished"
    assert all("killed" in error for _, error in store.failures())


def test_kill_9_of_the_background_process_and_resume(tmp_path):
    store = StudyStore.create(slow(8), tmp_path)
    start_in_background(store, tmp_path)
    process = background_module._STARTED[-1]
    wait_for(lambda: store.progress().done >= 2)
    assert store.progress().state == "running" and store.progress().seconds_left is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: not store.living() and not store.waits())
    kept = [row for row in rows(store, "number, ended, result") if row[2]]
    assert len(kept) >= 2 and store.progress().state == "interrupted"
    start_in_background(store, tmp_path)
    wait_for(lambda: store.progress().state == "finished")
    assert set(kept) <= set(rows(store, "number, ended, result"))
    assert store.progress().done == 8
    background_module._STARTED[-1].wait()


def test_pause_cancel_and_resume(tmp_path):
    store = StudyStore.create(slow(60), tmp_path)

    def work():
        run_study(StudyStore.find(store.id, tmp_path), LocalExecutor(1, tmp_path))

    for wish, state in (("pause", "paused"), ("cancel", "cancelled")):
        store.ask("run")
        thread = threading.Thread(target=work)
        already = store.progress().done
        thread.start()
        wait_for(lambda already=already: store.progress().done > already)
        store.ask(wish)
        thread.join(30)
        progress = store.progress()
        assert progress.state == state and 0 < progress.done < 60 and progress.running == 0
        assert not [s for (s,) in rows(store, "state") if s == 1]


def test_two_processes_share_a_study(tmp_path):
    store = StudyStore.create(slow(8), tmp_path)
    code = "import sys; from semf_core.studies import *; run_study(StudyStore.find(sys.argv[1]))"
    environment = worker_environment(tmp_path) | {"SEMF_STUDY_WORKERS": "1"}
    both = [subprocess.Popen([sys.executable, "-c", code, store.id], env=environment) for _ in range(2)]
    assert [p.wait(240) for p in both] == [0, 0]
    assert store.progress().done == 8 and {c for (c,) in rows(store, "claims")} == {1}


def test_a_study_that_comes_in_the_last_moment_is_served(tmp_path, monkeypatch):
    """The process has seen an empty queue and still holds the lock: whoever puts a study there starts no other."""
    monkeypatch.setenv("SEMF_HOME", str(tmp_path))
    monkeypatch.setattr(background_module.os, "nice", lambda niceness: niceness)
    monkeypatch.setattr(background_module, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(background_module, "_start", lambda *_: pytest.fail("a second process"))
    store = StudyStore.create(slow(1), tmp_path)
    dismissed: list = []

    def dismiss(self):
        if not dismissed:
            start_in_background(store, tmp_path)
        dismissed.append(self)

    def work(self, store):
        store.record([Finished(0, {"relative_error": 0.1})])
        return "finished"

    monkeypatch.setattr(background_module.Service, "_dismiss", dismiss)
    monkeypatch.setattr(background_module.Service, "_work", work)
    lock = present(try_lock(StudyQueue(tmp_path / "studies").lock))
    inherited = os.dup(lock.fileno())
    lock.close()
    assert background_module.main(inherited) == 0
    assert store.progress().done == 1 and not StudyQueue(tmp_path / "studies").has(store.id)


def test_waiting_studies_are_rows_and_one_process_serves_them(tmp_path):
    stores = [StudyStore.create(slow(n), tmp_path) for n in (6, 2, 3, 4)]
    for number, store in enumerate(stores):
        start_in_background(store, tmp_path, f"visitor {number}")
    wait_for(lambda: stores[0].progress().state == "running")
    assert [s.progress().state for s in stores[1:]] == ["queued"] * 3 and not any(s.living() for s in stores[1:])
    assert len(background_module._STARTED) == 1
    wait_for(lambda: all(s.progress().state == "finished" for s in stores))
    background_module._STARTED[-1].wait()
    assert not StudyQueue(tmp_path / "studies").served()


def test_studies_take_turns(tmp_path, monkeypatch):
    """A long study goes on after a short one that came later, with everything that it had."""
    monkeypatch.setattr(background_module, "TURN_SECONDS", 0.5)
    monkeypatch.setattr(background_module, "IDLE_SECONDS", 0.1)
    long, short = StudyStore.create(slow(15), tmp_path), StudyStore.create(slow(1), tmp_path)
    queue = StudyQueue(tmp_path / "studies")
    for store, visitor in ((long, "a"), (short, "b")):
        store.ask("run")
        queue.put(store.id, visitor)
    seen = []

    def remove(study):
        seen.append((study, long.progress().done))
        StudyQueue.remove(queue, study)

    monkeypatch.setattr(queue, "remove", remove)
    background_module.Service(queue, tmp_path, set()).serve()
    assert [study for study, _ in seen] == [short.id, long.id]
    assert 0 < seen[0][1] < 15 and long.progress().done == 15
    assert {c for (c,) in rows(long, "claims")} <= {1, 2}


def test_visitors_take_turns_in_the_queue(tmp_path):
    queue = StudyQueue(tmp_path)
    for n in range(20):
        queue.put(f"greedy {n}", "greedy")
    queue.put("modest", "modest")
    assert queue.next() == "greedy 0" and queue.next() == "modest"
    assert queue.visitors().count("greedy") == 20
    queue.remove("modest")
    assert queue.next(without={f"greedy {n}" for n in range(1, 20)}) == "greedy 0"


def test_a_damaged_queue_is_replaced(tmp_path):
    queue = StudyQueue(tmp_path)
    queue.put("a", "")
    (tmp_path / "queue.db").write_bytes(b"no database" * 100)
    assert not queue.has("a")
    queue.put("b", "")
    assert queue.next() == "b" and (tmp_path / "queue.db.damaged").exists()


def test_a_study_that_cannot_go_on_says_why_and_lets_the_others_run(tmp_path, monkeypatch):
    monkeypatch.setattr(background_module, "IDLE_SECONDS", 0.1)
    broken, sound = StudyStore.create(slow(3), tmp_path), StudyStore.create(slow(2), tmp_path)
    queue = StudyQueue(tmp_path / "studies")
    for store in (broken, sound):
        store.ask("run")
        queue.put(store.id, store.id)
    (broken.folder / "study.json").write_bytes(b"")
    background_module.Service(queue, tmp_path, set()).serve()
    assert sound.progress().state == "finished"
    assert broken.progress().state == "paused" and "damaged file (study.json)" in broken.progress().message


def test_a_hung_run_is_named_and_given_back_at_a_pause(tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "SILENT_SECONDS", 1.0)
    store = StudyStore.create(slow(3, max_iter=100_000), tmp_path)
    executor = LocalExecutor(1, tmp_path)
    thread = threading.Thread(target=run_study, args=(StudyStore.find(store.id, tmp_path), executor))
    store.ask("run")
    thread.start()
    wait_for(lambda: any(w.ready and w.role == "busy" for w in list(executor._orders)))
    os.kill(next(iter(executor._orders)).pid, signal.SIGSTOP)
    wait_for(lambda: "no sign of life" in store.progress().message)
    store.ask("pause")
    thread.join(30)
    assert not thread.is_alive() and store.progress().state == "paused"
    assert {s for (s,) in rows(store, "state")} == {0}, "it was given back, not failed"


def test_a_run_of_a_study_has_its_time(tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_RUN_MINUTES", "0.05")
    store = StudyStore.create(slow(2, max_iter=10_000_000), tmp_path)
    progress = run_study(store, LocalExecutor(2, tmp_path))
    assert progress.failed == 2 and "0.05 minutes" in store.failures()[0][1]


def test_workers_that_cannot_start_are_said_so(tmp_path, monkeypatch):
    store = StudyStore.create(small(), tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="before it was ready"):
        run_study(store, LocalExecutor(1, tmp_path))
    assert store.progress().done == 0 and not store.living()


def test_the_cluster_needs_its_package_and_an_answer(monkeypatch):
    monkeypatch.setenv("SEMF_DASK", "tcp://127.0.0.1:1")
    with pytest.raises(InvalidInput, match="leave the number out"):
        make_executor(3)
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "semf_core.studies.cluster", raising=False)
    with pytest.raises(InvalidInput, match=r"semf-studio\[cluster\]"):
        make_executor()


def test_results_keep_their_places(tmp_path):
    axes = [{"path": "rank", "values": [1, 2, 3, 4, 5]}, {"path": "seed", "range": [0, 40]}]
    store = StudyStore.create(small(axes=axes, views=[]), tmp_path)
    store.record([Finished(n, {"relative_error": float(n)}, 0.1) for n in reversed(range(200))])
    assert store.table().columns["relative_error"].tolist() == [float(n) for n in range(200)]
