"""The small parts, without a worker."""

import threading

import numpy as np
import pytest

from semf_core.runs import frames
from semf_core.runs.caches import Recent
from semf_core.runs.edits import Edit
from semf_core.runs.files import FolderSizes, locked, try_lock, write_whole
from semf_core.runs.frames import Schedule
from semf_core.runs.home import number_from_env
from semf_core.runs.pool import exit_in_words
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


def test_recent_keeps_the_most_recently_used():
    recent, made = Recent(2), []
    for key in "abacab":
        recent.get(key, lambda key=key: made.append(key))
    assert made == ["a", "b", "c", "b"]


@pytest.mark.parametrize(("code", "words"), [(-9, "signal 9"), (-15, "signal 15"), (3, "exit code 3")])
def test_ends_of_processes_in_words(code, words):
    assert words in exit_in_words(code)


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
    handle, failures = service.start(tiny()), []
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
