"""Who may do what to a run, and what it does to it."""

import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs.edits import Edit
from semf_core.runs.folder import RunFolder
from semf_core.service import Service
from semf_core.sets import Nonnegative, OrthogonalTo, Sparse
from semf_core.solvers import ADMM, COLUMNS, Limits

from .common import assert_same_numbers, in_process, tiny, wait_for, wait_for_iterations, wait_for_state

CONTROLS = {
    "pause": (),
    "resume": (),
    "step": (3,),
    "stop": (),
    "reset": (),
    "edit": (Edit(alpha=1.0),),
    "delete": (),
}
LOOKS = ("status", "scalars", "events", "keyframes", "factors", "result", "dataset", "fork")
NEARLY = "A" * 21
HOSTILE = ["../x", "", "/etc/passwd", "a/b", NEARLY, *(NEARLY + end for end in ("A/..", "AA", "é", "\n", "\0")), None, 7, ["a"]]


@pytest.fixture
def paused(service):
    """A run at rest after 20 iterations."""
    handle = service.start(tiny(), paused=True)
    service.step(handle.id, handle.key, 20)
    wait_for(lambda: service.status(handle.id).iterations == 20)
    wait_for_state(service, handle.id, "paused")
    return handle


@pytest.mark.parametrize("run_id", ["A" * 22, *HOSTILE])
def test_unknown_and_hostile_ids_are_rejected_everywhere(service, run_id, tmp_path):
    for name in LOOKS:
        with pytest.raises(InvalidInput, match="run"):
            getattr(service, name)(run_id)
    for name, arguments in CONTROLS.items():
        with pytest.raises(InvalidInput, match="run"):
            getattr(service, name)(run_id, "key", *arguments)
    assert service.list_runs([run_id]) == []


@pytest.mark.parametrize("key", ["", "wrong", None, 3, "A" * 22])
def test_control_needs_the_key_and_looking_does_not(service, paused, key):
    for name, arguments in CONTROLS.items():
        with pytest.raises(InvalidInput, match="control link"):
            getattr(service, name)(paused.id, key, *arguments)
    status = service.status(paused.id)
    assert status.iterations == 20 and status.state == "paused"
    assert status.owner_ok(paused.key) and not status.owner_ok(key)
    assert paused.key not in RunFolder(service.home / "runs" / paused.id).meta.read_text() + repr(status) + repr(paused)


def test_after_a_new_start_the_model_is_not_one_of_an_earlier_start(service, paused, monkeypatch):
    def printed(penalty):
        return Edit(solver=ADMM(penalty=penalty))

    service.edit(paused.id, paused.key, printed("fixed"))
    submit = service._manager._submit

    def watched(*arguments, **options):
        service.status(paused.id)  # somebody looks while the new start is on its way
        submit(*arguments, **options)

    monkeypatch.setattr(service._manager, "_submit", watched)
    service.reset(paused.id, paused.key)
    service.edit(paused.id, paused.key, printed("adaptive"))
    assert service.status(paused.id).spec.solver.penalty == "adaptive"
    service.edit(paused.id, paused.key, Edit(alpha=2.0))
    assert service.status(paused.id).spec.solver.penalty == "adaptive", "what was set last stays"


@pytest.mark.parametrize("steps", [50, 500_000], ids=["an errand", "a slot of its own"])
def test_play_right_after_a_step_goes_on(service, paused, steps):
    service.step(paused.id, paused.key, steps)
    service.resume(paused.id, paused.key)
    wait_for_iterations(service, paused.id, 1000)
    assert service.status(paused.id).state == "running"


def test_data_that_would_fill_the_server_is_refused(service, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_ENTRIES_MILLIONS", "0.0002")
    with pytest.raises(InvalidInput, match="10 × 30 is more than 200 entries"):
        service.start(tiny())
    own = Service(tmp_path / "own", max_running=1, local_files=True)
    own.start(tiny(), paused=True)  # on one's own computer there is no such limit
    own.close()


def test_a_change_is_told_with_places_counted_as_in_formulas():
    new = Edit(x=(Sparse(2, columns=[0, 1]), OrthogonalTo(4)))
    assert new.sentence(tiny()) == "X: sparse (k 2, columns 1-2) and orthogonal_to (column 5) instead of no constraint"


def test_wrong_states_are_rejected_with_a_sentence(service, paused):
    done = service.start(tiny(5))
    wait_for_state(service, done.id, "finished")
    with pytest.raises(InvalidInput, match="finished"):
        service.resume(done.id, done.key)
    with pytest.raises(InvalidInput, match="finished"):
        service.stop(done.id, done.key)
    with pytest.raises(InvalidInput, match="finished"):
        service.pause(done.id, done.key)
    with pytest.raises(InvalidInput, match="no result"):
        service.result(paused.id)
    assert service.ending(paused.id) is None
    with pytest.raises(InvalidInput, match="steps"):
        service.step(paused.id, paused.key, 0)
    service.resume(paused.id, paused.key)
    with pytest.raises(InvalidInput, match="already"):
        service.resume(paused.id, paused.key)


def test_new_sets_go_on_from_the_current_factors(service, paused):
    service.edit(paused.id, paused.key, Edit(x=(Nonnegative(),), y=(Nonnegative(), Sparse(3))))
    status = service.status(paused.id)
    assert status.state == "paused" and status.iterations == 20 and status.edits == 1
    event = service.events(paused.id)[-1]
    assert (event.iteration, event.kind) == (20, "edit")
    assert event.text == "X: nonnegative instead of no constraint; Y: nonnegative and sparse (k 3) instead of sparse (k 2)"
    service.step(paused.id, paused.key, 30)
    wait_for(lambda: service.status(paused.id).iterations == 50)
    wait_for_state(service, paused.id, "paused")
    rows = service.scalars(paused.id)
    unchanged = in_process(tiny(), 20)
    assert rows[20, COLUMNS.index("alpha")] == unchanged.state.numbers["alpha"]
    frame = service.factors(paused.id, 50)
    assert frame.U.min() >= 0 and np.count_nonzero(frame.V, axis=0).max() <= 3
    again = in_process(tiny(x=[{"name": "nonnegative"}], y=[{"name": "nonnegative"}, {"name": "sparse", "k": 3}]), 1)
    fresh, edited = again.history.last("change"), rows[20, COLUMNS.index("change")]
    assert np.isinf(fresh) and np.isfinite(edited), "it began afresh instead of going on"


def test_a_running_run_is_edited_without_stopping(service):
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 100)
    service.edit(handle.id, handle.key, Edit(alpha=7.5, beta=0.25))
    event = service.events(handle.id)[-1]
    assert event.text == "α set to 7.5; β set to 0.25"
    wait_for_iterations(service, handle.id, event.iteration + 1)
    row = service.scalars(handle.id, event.iteration)[0]
    assert row[COLUMNS.index("alpha")] == 7.5 and row[COLUMNS.index("beta")] == 0.25
    assert service.status(handle.id).state == "running"


def test_an_edited_run_resumes_from_its_checkpoint_as_edited(service, paused):
    service.edit(paused.id, paused.key, Edit(y=(Sparse(1),), solver=ADMM(alpha0=2.0)))
    service.stop(paused.id, paused.key)
    assert service.status(paused.id).state == "stopped"
    service.resume(paused.id, paused.key)
    wait_for_iterations(service, paused.id, 60)
    service.pause(paused.id, paused.key)
    assert np.count_nonzero(service.factors(paused.id).V, axis=0).max() <= 1
    assert service.status(paused.id).spec.solver.alpha0 == 2.0 and service.status(paused.id).edits == 1


def test_a_finished_run_goes_on_with_a_higher_limit(service):
    handle = service.start(tiny(50))
    wait_for_state(service, handle.id, "finished")
    service.edit(handle.id, handle.key, Edit(limits=Limits(max_iter=70, tol=0.0, target=0.0)))
    service.resume(handle.id, handle.key)
    assert wait_for_state(service, handle.id, "finished").iterations == 120
    expected = in_process(tiny(), 50)
    assert_same_numbers(service.scalars(handle.id)[:50], expected)
    assert service.result(handle.id).iterations == 120


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda: Edit(), "nothing"),
        (lambda: Edit(y=(Sparse(2),)), "nothing"),
        (lambda: Edit(x=(Sparse(5000),)), "k"),
        (lambda: Edit(alpha=-1), "alpha"),
        (lambda: Edit(solver=ADMM(penalty="scale"), beta=1.0), "beta"),
    ],
)
def test_impossible_edits_are_rejected_and_leave_the_run_alone(service, paused, edit, word):
    with pytest.raises(InvalidInput, match=word):
        service.edit(paused.id, paused.key, edit())
    status = service.status(paused.id)
    assert (status.state, status.edits, service.events(paused.id)) == ("paused", 0, [])


def test_reset_starts_the_present_model_afresh(service, paused):
    service.edit(paused.id, paused.key, Edit(limits=Limits(max_iter=40, tol=0.0, target=0.0)))
    service.reset(paused.id, paused.key)
    status = service.status(paused.id)
    assert (status.state, status.iterations, status.generation, status.edits) == ("paused", 0, 1, 0)
    assert service.keyframes(paused.id) == [0] and service.events(paused.id) == []
    service.reset(paused.id, paused.key, paused=False)
    assert wait_for_state(service, paused.id, "finished").iterations == 40
    assert_same_numbers(service.scalars(paused.id), in_process(tiny(40)))


def test_stop_gives_a_result_and_resume_goes_on(service):
    handle = service.start(tiny())
    wait_for_iterations(service, handle.id, 50)
    service.stop(handle.id, handle.key)
    stopped = service.status(handle.id)
    assert stopped.state == "stopped" and service.result(handle.id).stop_reason == "cancelled"
    service.resume(handle.id, handle.key)
    wait_for_iterations(service, handle.id, stopped.iterations + 50)
    with pytest.raises(InvalidInput, match="no result"):
        service.result(handle.id)
    service.pause(handle.id, handle.key)
    rows = service.scalars(handle.id)
    assert_same_numbers(rows[:2000], in_process(tiny(), min(len(rows), 2000)))


def test_fork_starts_from_the_factors_and_belongs_to_someone_else(service, paused):
    fork = service.fork(paused.id, 15)
    wait_for(lambda: service.keyframes(fork.id))
    status = service.status(fork.id)
    assert status.state == "paused" and "iteration" in status.title and status.spec.y == tiny().y
    theirs, mine = service.factors(paused.id, 15), service.factors(fork.id, 0)
    np.testing.assert_array_equal(mine.X, theirs.X)
    np.testing.assert_array_equal(mine.Y, theirs.Y)
    with pytest.raises(InvalidInput, match="control link"):
        service.resume(fork.id, paused.key)
    service.step(fork.id, fork.key, 5)
    wait_for(lambda: service.status(fork.id).iterations == 5)
    assert service.events(fork.id)[0].kind == "fork" and service.status(paused.id).iterations == 20


def test_a_deleted_run_is_gone_even_while_it_runs(service, paused):
    running = service.start(tiny())
    wait_for_iterations(service, running.id, 10)
    service.delete(running.id, running.key)
    assert not (service.home / "runs" / running.id).exists()
    with pytest.raises(InvalidInput, match="no run"):
        service.status(running.id)
    assert [s.id for s in service.list_runs([running.id, paused.id])] == [paused.id]
    assert service.queue().running == 0
    again = service.start(tiny(10))
    wait_for_state(service, again.id, "finished")


def test_models_that_cannot_run_are_rejected_before_they_start(service, tmp_path):
    with pytest.raises(InvalidInput, match="k"):
        service.start(tiny(y=[{"name": "sparse", "k": 50}]))
    np.save(tmp_path / "secret.npy", np.eye(3))
    with pytest.raises(InvalidInput, match="upload"):
        service.start(tiny(dataset={"name": "file", "path": str(tmp_path / "secret.npy")}))
    with pytest.raises(InvalidInput, match="no longer"):
        service.start(tiny(dataset={"name": "upload", "id": "A" * 22}))


def test_a_full_store_rejects_and_deletes_nothing(service, paused, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "0.001")
    for attempt in (lambda: service.start(tiny()), lambda: service.fork(paused.id)):
        with pytest.raises(InvalidInput, match="store: is full"):
            attempt()
    assert service.status(paused.id).iterations == 20
    monkeypatch.setenv("SEMF_MAX_STORE_MB", "much")
    with pytest.raises(InvalidInput, match="SEMF_MAX_STORE_MB"):
        service.start(tiny())


def test_the_demo_is_one_run_for_everybody(service, monkeypatch):
    monkeypatch.setattr("semf_core.service.preset", lambda name: tiny(200, title=name))
    first = service.demo_run("demo")
    assert {service.demo_run("demo") for _ in range(3)} == {first}
    wait_for_state(service, first, "finished")
    assert service.demo_run("demo") == first and service.status(first).state == "finished"
    assert service.demo_run("demo", rerun=True) == first
    status = wait_for_state(service, first, "finished")
    assert status.generation == 1 and status.iterations == 200
    monkeypatch.setattr("semf_core.service.preset", lambda name: tiny(100, title=name))
    assert service.demo_run("demo") != first
