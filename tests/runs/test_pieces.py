"""The small parts, without a worker."""

import gc
import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from semf_core.datasets import Dataset
from semf_core.runs import frames
from semf_core.runs.caches import Cache, cached_bytes, size_of
from semf_core.runs.edits import Edit
from semf_core.runs.files import FolderSizes, locked, try_lock, write_whole
from semf_core.runs.frames import Schedule
from semf_core.runs.home import number_from_env
from semf_core.runs.pool import WorkerPool, exit_message
from semf_core.sets import Nonnegative
from semf_core.solvers import ADMM, Limits, Run

from .common import assert_same_numbers, in_process, tiny, wait_for_state


def recorded(schedule, iterations, events=()):
    """Keyframes that are left after a run of so many iterations."""
    kept, due = [0], schedule.next(0)
    for i in range(1, iterations + 1):
        if i in events:
            schedule.mark_event(i)
            due = schedule.next(i)
        if i >= due:
            kept.append(i)
            gone = set(schedule.thinned(kept))
            kept = [k for k in kept if k not in gone]
            due = schedule.next(i)
    return kept


def test_keyframes_are_about_sixty_in_two_thousand():
    kept = recorded(Schedule(1000), 2000)
    assert kept[:5] == [0, 1, 2, 3, 4] and 50 <= len(kept) <= 70
    gaps = np.diff(kept)
    assert (gaps[1:] >= gaps[:-1] - 1).all()


def test_keyframes_come_close_together_after_an_event():
    kept = recorded(Schedule(1000), 2000, events={1500})
    assert {1501, 1502, 1503} <= set(kept)


def test_keyframes_stay_bounded_by_thinning():
    kept = recorded(Schedule(frames.FRAME_BYTES), 30_000, events=set(range(100, 30_000, 100)))
    assert kept[0] == 0 and len(kept) <= frames.TOTAL_BYTES // frames.FRAME_BYTES
    assert kept[-1] > 10_000
    assert len(recorded(Schedule(10), 30_000, events=set(range(50, 30_000, 50)))) <= frames.MAX_FRAMES


def test_huge_factors_have_no_keyframes_and_a_note_says_so():
    schedule = Schedule(frames.FRAME_BYTES + 1)
    assert recorded(schedule, 100) == [0] and "too large" in schedule.note
    assert Schedule(10).note == ""


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    write_whole(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_whole(path, fail)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_locks_exclude_each_other(tmp_path):
    with locked(tmp_path / "lock"):
        assert try_lock(tmp_path / "lock") is None
    lock = try_lock(tmp_path / "lock")
    assert lock is not None
    lock.close()


def test_folder_sizes_follow_what_comes_and_goes(tmp_path):
    sizes = FolderSizes()
    assert sizes.total(tmp_path / "nothing") == 0
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"x" * 100)
    assert sizes.total(tmp_path) == 200
    (tmp_path / "a" / "more").write_bytes(b"x" * 50)
    assert sizes.total(tmp_path) == 250
    (tmp_path / "b" / "file").unlink()
    (tmp_path / "b").rmdir()
    assert sizes.total(tmp_path) == 150


def test_caches_drop_what_was_used_least_recently_when_their_bytes_are_too_many(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_CACHE_MB", "2.5")
    one: Cache = Cache()
    other: Cache = Cache()
    made: list = []

    def make(key, count):
        made.append(key)
        return np.zeros(count)

    def ask(cache, key):
        return cache.get(key, lambda: make(key, 1 << 17))  # 1 MB

    for cache, key in ((one, "a"), (other, "b"), (one, "a"), (other, "c"), (one, "a"), (other, "b")):
        ask(cache, key)
    assert made == ["a", "b", "c", "b"]
    assert 2 << 20 < cached_bytes() < 5 << 19
    for _ in range(2):
        one.get("huge", lambda: make("huge", 1 << 19))
    assert made[-2:] == ["huge", "huge"], "what is larger than the budget is not kept"
    assert len(ask(one, "a")) and made.count("a") == 1, "and drives nothing out"


def test_caches_drop_what_nobody_asks_for_any_more(monkeypatch):
    monkeypatch.setenv("SEMF_MAX_CACHE_MB", "12")
    monkeypatch.setattr("semf_core.runs.caches.IDLE_SECONDS", 1e-9)
    cache: Cache = Cache()
    for key in range(5):
        cache.get(key, lambda: np.zeros(1 << 17))  # 1 MB
    made: list = []
    cache.get(4, lambda: made.append(4))
    assert not made and cached_bytes() < 5 << 19, "a sixth of the budget is kept, and that is what came last"
    cache.get(0, lambda: made.append(0))
    assert made == [0]


def test_a_newer_version_takes_the_place_of_the_one_before():
    cache: Cache = Cache()
    before = cached_bytes()
    made: list = []

    def make(version):
        made.append(version)
        return np.full(1000, version)

    def ask(version):
        return cache.get("picture", lambda: make(version), version)

    for version in (1, 1, 2, 3, 3):
        assert ask(version)[0] == version
    assert made == [1, 2, 3]
    assert 8000 < cached_bytes() - before < 16000, "what was there before is not kept"


def test_a_cache_that_is_gone_leaves_nothing(monkeypatch):
    cache: Cache = Cache()
    before = cached_bytes()
    cache.get(1, lambda: np.zeros(1000))
    assert cached_bytes() > before + 8000
    del cache
    gc.collect()
    assert cached_bytes() <= before


def test_a_value_is_made_once_for_all_who_ask_at_the_same_time():
    cache: Cache = Cache()
    made: list = []
    ready = threading.Barrier(4)

    def make():
        made.append(1)
        time.sleep(0.05)
        return "value"

    def ask():
        ready.wait()
        assert cache.get("key", make) == "value"

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_sizes_of_values(tmp_path, monkeypatch):
    A = np.zeros((100, 100))
    assert size_of(A) >= 80_000 and size_of(A[:2, :2]) >= 80_000, "a view keeps its base"
    assert size_of([A, A.T, {"A": A}]) < 90_000, "what is shared counts once"
    assert size_of(Dataset(A)) >= 80_000 and size_of(sparse.csc_array(np.ones((100, 100)))) >= 80_000
    np.save(tmp_path / "A.npy", A)
    mapped = Dataset(np.load(tmp_path / "A.npy", mmap_mode="r"))
    assert 80_000 <= size_of(mapped) < 90_000, "its pages are in memory, and its file stays on the disk"
    monkeypatch.setenv("SEMF_MAX_CACHE_MB", "1")
    np.save(tmp_path / "B.npy", np.zeros((400, 1000)))
    assert size_of(Dataset(np.load(tmp_path / "B.npy", mmap_mode="r"))) < 300_000, "a large one leaves room for others"


@pytest.mark.parametrize(("code", "words"), [(-9, "signal 9"), (-15, "signal 15"), (3, "exit code 3")])
def test_ends_of_processes_in_words(code, words):
    assert words in exit_message(code)


def test_numbers_of_the_operator(monkeypatch):
    monkeypatch.setenv("SEMF_TEST", " 3.5 ")
    assert number_from_env("SEMF_TEST", 1) == 3.5
    monkeypatch.delenv("SEMF_TEST")
    assert number_from_env("SEMF_TEST", 1) == 1
    for wrong in ("x", "-1", "nan"):
        monkeypatch.setenv("SEMF_TEST", wrong)
        with pytest.raises(ValueError, match="SEMF_TEST"):
            number_from_env("SEMF_TEST", 1)


class TestRunEdit:
    """Run.edit, on which the worker's edit rests."""

    def test_limits_alone_leave_the_iterates_alone(self):
        run = in_process(tiny(), 23)
        state = run.state
        run.edit(run.problem, run.solver, Limits(max_iter=17, tol=0.0, target=0.0), {}, "limits")
        assert run.state is state
        run.finish()
        assert run.iterations == 40 and run.stop_reason == "iteration limit"

    def test_a_changed_starting_penalty_is_taken_up(self):
        run = in_process(tiny(), 23)
        beta = run.state.numbers["beta"]
        run.edit(run.problem, ADMM(alpha0=5.0), run.limits, {}, "alpha0")
        assert run.state.numbers["alpha"] == 5.0 * run.problem.matrix.norm and run.state.numbers["beta"] == beta

    def test_new_sets_are_met_at_once_and_the_best_is_judged_afresh(self):
        spec = tiny(x=[{"name": "nonnegative"}])
        run = in_process(tiny(), 23)
        X = run.factors(best=False)[2]
        run.edit(spec.problem(spec.dataset.load()), run.solver, run.limits, {}, "sets")
        U, _, now, _ = run.factors()
        np.testing.assert_array_equal(now, X)
        np.testing.assert_array_equal(U, Nonnegative().project(X))
        assert run.best_uv == pytest.approx(np.linalg.norm(spec.dataset.load().data - U @ run.factors()[1]))

    def test_resumes_bit_for_bit_from_a_checkpoint_after_it(self, tmp_path):
        spec = tiny(x=[{"name": "nonnegative"}], limits={"kick": True, "window": 20})
        problem = spec.problem(spec.dataset.load())
        run = in_process(tiny(limits={"kick": True, "window": 20}), 23)
        run.edit(problem, run.solver, run.limits, {"alpha": 0.5}, "sets")
        run.checkpoint(tmp_path / "checkpoint.npz")
        again = Run.resume(tmp_path / "checkpoint.npz", problem, run.solver, run.limits)
        for _ in range(150):
            run.advance(), again.advance()
        assert "kick" in {e.kind for e in run.events}
        assert_same_numbers(again.history.table(), run)


def test_commands_from_many_threads_at_once(service):
    """Whatever comes in whatever order: a refusal or an effect, never anything else, and the run stays usable."""
    handle = service.start(tiny())
    failures: list[Exception] = []
    commands = [service.pause, service.resume, service.step, service.stop, service.reset]

    def hammer(seed):
        rng = np.random.default_rng(seed)
        for choice in rng.integers(0, len(commands), 12):
            try:
                commands[choice](handle.id, handle.key)
            except ValueError as refusal:
                failures.extend([] if "run: " in str(refusal) else [refusal])
            except Exception as error:
                failures.append(error)

    threads = [threading.Thread(target=hammer, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == [] and not any(t.is_alive() for t in threads)
    service.reset(handle.id, handle.key)
    assert service.status(handle.id).state == "paused"
    service.edit(handle.id, handle.key, Edit(limits=tiny(30).limits))
    service.resume(handle.id, handle.key)
    assert wait_for_state(service, handle.id, "finished").iterations == 30


def fake_worker():
    return SimpleNamespace(role="idle", since=time.monotonic(), ready=True, alive=True)


def test_a_worker_that_has_just_died_gets_nothing_to_do():
    pool: WorkerPool = WorkerPool(fake_worker, 2)
    first = pool.pick()
    first.alive = False  # and its end was not heard of yet
    second: Any = pool.free()
    assert pool.workers == [first, second]
    second.role = "busy"
    assert pool.free() is None, "two are all that there may be"
    pool.remove(first)
    assert all(pool.free() is not other for other in (None, first, second))


def test_workers_that_never_get_ready_are_not_started_again_and_again():
    pool: WorkerPool = WorkerPool(fake_worker, 2)
    for _ in range(pool.MOST_FAILED_STARTS):
        pool.keep_warm()
        pool.workers[0].ready = False
        pool.remove(pool.workers[0])
    pool.keep_warm()
    assert not pool.workers and pool.fails_to_start
    pool.is_ready(pool.pick())
    assert not pool.fails_to_start
