"""Any iteration of a run can be had again, bit for bit, at a bounded cost."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from semf_core.common.errors import InvalidInput
from semf_core.maintenance.checks import problems
from semf_core.runs import recompute, restore_points
from semf_core.runs.folder import RunFolder
from semf_core.runs.ids import new_id
from semf_core.runs.recompute import Recomputed, frame_of, replayed_before
from semf_core.runs.restore_points import one_too_many
from semf_core.runs.session import Session
from semf_core.runs.substeps import substeps
from semf_core.sets import Nonnegative
from semf_core.snapshots.to_run_folder import copy_history
from semf_core.solvers import Run

from .common import tiny, wait_for

KICKED = {"kick": True, "window": 20}


@pytest.fixture(autouse=True)
def one_thread():
    """As in a worker."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def often(monkeypatch):
    """A restore point whenever an iteration has taken any time at all."""
    monkeypatch.setattr(restore_points, "RESTORE_SECONDS", 0.0)
    monkeypatch.setattr("semf_core.runs.recorder.SHARE", 0)


@pytest.fixture
def recomputed():
    made = Recomputed()
    yield made
    made.close()


class Recording(Session):
    """A session that remembers the factors after every iteration, as long as they are there."""

    def __init__(self, folder, revision=0, fresh=True, seen=None):
        super().__init__(folder, revision, fresh)
        self.seen = {} if seen is None else seen
        after = self.recorder.after_iteration

        def watch():
            if not recompute._changed(self.run):
                self.seen[self.run.iterations] = frame_of(self.run, self.run.iterations)
            after()

        setattr(self.recorder, "after_iteration", watch)  # noqa: B010 (a method is replaced, on this object only)

    def on(self, iterations):
        self.go(iterations)
        while self.work(lambda: False) is None:
            continue
        self.pause()

    def change(self, spec, numbers=None):
        self.folder.write_numbers(numbers or {}, self.revision + 1)
        self.folder.write_spec(spec, self.revision + 1)
        self.edit(self.revision + 1, numbers or {}, "changed")


def begun(path, spec):
    path.mkdir(parents=True)
    folder = RunFolder(path)
    folder.write_spec(spec)
    return folder, Recording(folder)


def eventful(path):
    """A run with kicks, and edits of a penalty, of a limit and of the constraints."""
    spec = tiny(limits=KICKED)
    folder, session = begun(path, spec)
    session.on(150)
    session.change(spec, {"alpha": 3.0})
    session.on(40)
    spec = replace(spec, limits=replace(spec.limits, window=10))
    session.change(spec)
    session.on(60)
    session.change(replace(spec, x=(Nonnegative(),)))
    session.on(50)
    session.close()
    assert {"kick", "edit"} == {e.kind for e in folder.events()}
    return folder, session


def same(mine, theirs):
    return all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for name in "UVXY")


def test_every_iteration_is_had_again_bit_for_bit_from_the_nearest_point(often, tmp_path, recomputed, monkeypatch):
    folder, session = eventful(tmp_path / "run")
    assert len(folder.restore_points()) > 100
    steps, advance = [], Run.advance

    def counted(run):
        steps.append(1)
        return advance(run)

    monkeypatch.setattr(Run, "advance", counted)
    kicks = [e.iteration for e in folder.events() if e.kind == "kick"]
    wanted = {*range(1, 301, 23), *kicks[:3], 150, 151, 190, 191, 250, 251, 300}
    for iteration in sorted(wanted, reverse=True):
        found = recomputed.ask("run", folder, session.dataset, iteration, patience=60).frame
        assert found.iteration == iteration
        if iteration in session.seen:
            assert same(found, session.seen[iteration]), iteration
        else:  # the factors that a kick took away: those that the row speaks of
            error = np.linalg.norm(session.dataset.data - found.U.astype(float) @ found.V)
            assert error == pytest.approx(folder.rows()[iteration - 1, 1], rel=1e-5)
    assert len(steps) < 10 * len(wanted), "from the start it would have been thousands"


def test_without_points_the_same_comes_from_the_start(often, tmp_path):
    folder, session = eventful(tmp_path / "run")
    wanted = [1, 20, 151, 190, 191, 250, 251, 300]
    near = [replayed_before(folder, session.dataset, i) for i in wanted]
    for point in folder.restore_points():
        folder.restore_point(point).unlink()
    far = [replayed_before(folder, session.dataset, i) for i in wanted]
    for a, b in zip(near, far, strict=True):
        for name, array in a.packed(past=False).items():
            if name != "meta":  # it holds the time that was taken
                np.testing.assert_array_equal(array, b.packed(past=False)[name], err_msg=name)
        assert [(e.iteration, e.kind) for e in a.events] == [(e.iteration, e.kind) for e in b.events]


def test_a_damaged_or_missing_point_is_replaced_by_an_earlier_one(often, tmp_path, recomputed):
    folder, session = eventful(tmp_path / "runs" / new_id())
    last = [k for k in folder.restore_points() if k < 300]
    folder.restore_point(last[-1]).write_bytes(b"nothing")
    folder.restore_point(last[-2]).unlink()
    assert same(recomputed.ask("run", folder, session.dataset, 299, patience=60).frame, session.seen[299])
    (found,) = (p for p in problems(tmp_path) if p.file.startswith("restore-"))
    found.repair()
    assert last[-1] not in folder.restore_points()


def test_what_a_worker_that_died_has_written_is_removed(often, tmp_path, recomputed):
    folder, session = begun(tmp_path / "run", tiny(limits=KICKED))
    session.on(60)
    kept = folder.checkpoint.read_bytes()
    session.on(60)
    session.close()
    assert folder.restore_points()[-1] > 60
    half = folder.path / ".restore-000000000121.npz.0123"
    half.write_bytes(b"half")
    folder.checkpoint.write_bytes(kept)
    again = Recording(folder, fresh=False, seen=dict(session.seen))
    assert folder.restore_points() and folder.restore_points()[-1] < 60 and not half.exists()
    again.change(tiny(limits={**KICKED, "window": 11}), {"alpha": 7.0})  # another future than the one that was lost
    again.on(50)
    again.close()
    for iteration in (59, 61, 80, 109):
        if iteration in again.seen:
            assert same(recomputed.ask("run", folder, again.dataset, iteration, patience=60).frame, again.seen[iteration])


def test_a_new_start_of_the_run_begins_without_points(often, tmp_path, recomputed):
    folder, session = begun(tmp_path / "run", tiny())
    session.on(60)
    session.close()
    first = recomputed.ask("run", folder, session.dataset, 50, patience=60).frame
    folder.write_spec(replace(tiny(), seed=5))
    again = Recording(folder)
    assert folder.restore_points() == []
    again.on(60)
    again.close()
    second = recomputed.ask("run", folder, again.dataset, 50, patience=60).frame
    assert same(second, again.seen[50]) and not same(first, second)


def test_a_run_that_goes_on_from_another_has_its_points(often, tmp_path):
    folder, session = eventful(tmp_path / "run")
    (tmp_path / "copy").mkdir()
    copy = RunFolder(tmp_path / "copy")
    copy_history(folder, copy, [folder.spec(k) for k in range(4)])
    assert copy.restore_points() == folder.restore_points()
    assert replayed_before(copy, session.dataset, 280).iterations == 279


def test_points_stay_within_their_bytes(often, tmp_path, monkeypatch):
    folder, session = begun(tmp_path / "run", tiny())
    session.on(20)
    size = folder.restore_point(folder.restore_points()[0]).stat().st_size
    monkeypatch.setattr(restore_points, "RESTORE_BYTES", 8 * size)
    session.on(300)
    points = folder.restore_points()
    session.close()
    assert 6 <= len(points) <= 9 and points[-1] > 300 and points[0] < 200
    monkeypatch.setattr(restore_points, "RESTORE_BYTES", 0)
    folder, session = begun(tmp_path / "large", tiny())
    session.on(20)
    session.close()
    assert folder.restore_points() == []


def test_the_younger_half_stays_close_and_the_older_half_is_even():
    kept = []
    for second in range(1, 401):
        kept.append(float(second))
        if len(kept) > 40:
            del kept[one_too_many(kept)]
    gaps = np.diff([0.0, *kept])
    assert (gaps[-19:] == 1).all() and gaps.max() <= 4 * 400 / 20


def test_sub_steps_of_any_iteration_are_those_of_the_run(often, tmp_path):
    folder, session = eventful(tmp_path / "run")
    steps = {step.name: step for step in substeps(folder, session.dataset, 288)}
    after, before = steps["U"].after, steps["V"].before
    assert after is not None and np.array_equal(after.astype(np.float32), session.seen[288].U)
    assert before is not None and np.array_equal(before.astype(np.float32), session.seen[287].V)


def test_what_costs_too_much_is_not_computed_again_beside_the_pages(service, monkeypatch):
    handle = service.start(tiny(40))
    wait_for(lambda: service.status(handle.id).state == "finished")
    monkeypatch.setattr("semf_core.runs.substeps.MOST_SECONDS", 0.0)
    with pytest.raises(InvalidInput, match="takes more than 0 s to compute again"):
        service.substeps(handle.id, 30)
    monkeypatch.setattr(recompute, "MOST_RUN_BYTES", 1000)
    with pytest.raises(InvalidInput, match="too large to be computed again"):
        service.substeps(handle.id, 30)
    unrecorded = next(k for k in range(1, 40) if k not in service.keyframes(handle.id))
    assert service.recomputed(handle.id, unrecorded) == recompute.Recomputation()


def test_what_takes_long_is_computed_while_others_get_their_answers(tmp_path, recomputed, monkeypatch):
    runs = {}
    for name in ("slow", "quick"):
        folder, session = begun(tmp_path / name, tiny())
        session.on(60)
        session.close()
        runs[name] = folder, session
    hold, real = threading.Event(), recompute.replayed_before

    def replayed(folder, *args):
        assert folder.path.name == "quick" or hold.wait(60)
        return real(folder, *args)

    monkeypatch.setattr(recompute, "replayed_before", replayed)
    monkeypatch.setattr(recompute, "SHORT_SECONDS", 0.0)

    def ask(name, patience):
        folder, session = runs[name]
        return recomputed.ask(name, folder, session.dataset, 50, patience)

    assert ask("slow", 0.01).computing and ask("slow", 0.01).frame is None
    monkeypatch.setattr(recompute, "SHORT_SECONDS", 60.0)
    assert same(ask("quick", 60).frame, runs["quick"][1].seen[50])
    hold.set()
    assert same(ask("slow", 60).frame, runs["slow"][1].seen[50])


def test_what_nobody_asks_for_any_more_is_given_up(tmp_path, recomputed, monkeypatch):
    folder, session = begun(tmp_path / "run", tiny())
    session.on(60)
    session.close()
    monkeypatch.setattr(recompute, "ASKED_SECONDS", -1.0)
    assert recomputed.ask("run", folder, session.dataset, 50, patience=60).computing
    wait_for(lambda: not recomputed._jobs)
    monkeypatch.setattr(recompute, "ASKED_SECONDS", 60.0)
    assert recomputed.ask("run", folder, session.dataset, 50, patience=60).frame.iteration == 50
    assert recomputed.ask("run", folder, session.dataset, 61).frame is None
