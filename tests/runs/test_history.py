"""An endless run's numbers stay few: which rows are kept, and that everybody who reads them knows it."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from pages.ui import feed
from semf_core.exports import EXPORTS
from semf_core.runs import rows as rows_module
from semf_core.runs.edits import Edit
from semf_core.runs.folder import RunFolder
from semf_core.runs.rows import ROW_BYTES, RowFile
from semf_core.runs.session import Session
from semf_core.snapshots import checking
from semf_core.snapshots.format import read_snapshot, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.reproduce import reproduce
from semf_core.snapshots.to_run_folder import copy_history, to_run_folder
from semf_core.solvers import COLUMNS, Case, Run, history, run
from semf_core.solvers.history import CASE, History, iterations_of, rows_after
from tests.helpers import present

from .common import TIMED, in_process, tiny

SMALL = 64
TEN_MILLION = 10_000_000


@pytest.fixture
def short(monkeypatch):
    """As if every iteration were kept for the first 64 only."""
    for module in (history, rows_module, checking):
        monkeypatch.setattr(module, "FULL", SMALL)
    monkeypatch.setattr(history, "HALF", SMALL // 2)


def made_up(count, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.random((count, len(COLUMNS)))
    table[:, CASE] = rng.choice([0, 0, 0, 1, 3, 5], count)
    table[:, COLUMNS.index("start")] = 0
    return table


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 66, 127, 128, 129, 131, 132, 255, 256, 257, 1000, 5000])
def test_rows_and_iterations_belong_together(short, count):
    rows = rows_after(count)
    numbers = iterations_of(np.arange(rows + 1))
    assert numbers.tolist() == [history.iteration_of(row) for row in range(rows + 1)]
    assert (numbers[:rows] <= count).all() and numbers[rows] > count
    assert (numbers[: min(rows, SMALL)] == np.arange(1, min(rows, SMALL) + 1)).all()
    strides = np.diff(numbers)
    assert (np.diff(strides) >= 0).all() and (numbers[1:] % strides == 0).all()


@pytest.mark.parametrize("count", [3, 64, 65, 66, 200, 1001])
def test_a_row_stands_for_the_iterations_before_it(short, count):
    full, table = made_up(count), History(made_up(count), bounded=True)
    numbers = table.iteration
    assert numbers[-1] == count == table.iterations and len(numbers) == len(table) == len(table.table())
    others = [i for i in range(len(COLUMNS)) if i != CASE]
    np.testing.assert_array_equal(table.table()[:, others], full[numbers - 1][:, others])
    for before, here, row in zip([0, *numbers], numbers, table.table(), strict=False):
        decisions = [c for c in full[before:here, CASE] if c > Case.SKIP]
        assert row[CASE] == (decisions[-1] if decisions else full[before:here, CASE].max())


def test_the_last_values_are_there_at_full_resolution(short):
    table, full = History(bounded=True), made_up(500)
    table.remember(90)
    for n, row in enumerate(full, 1):
        table._add(row)
        if n >= 90:
            np.testing.assert_array_equal(table.recent(90), full[n - 90 : n, COLUMNS.index("residual_uv")])


def test_ten_million_iterations_are_a_few_megabytes():
    assert rows_after(TEN_MILLION) * ROW_BYTES < 14e6
    assert rows_after(1000 * TEN_MILLION) * ROW_BYTES < 30e6


def test_a_checkpoint_goes_on_bit_for_bit_wherever_it_was_made(short, tmp_path):
    spec = tiny(limits={"kick": True, "window": 20})
    whole = in_process(spec, 0)
    whole.history.bounded = True
    for _ in range(300):
        whole.advance()
    for at in (10, 64, 65, 66, 150, 151):
        first = spec.run(bounded=True)
        for _ in range(at):
            first.advance()
        first.checkpoint(tmp_path / "checkpoint.npz")
        again = Run.resume(tmp_path / "checkpoint.npz", first.problem, first.solver, first.limits, bounded=True)
        while again.iterations < 300:
            again.advance()
        assert_same(again.history, whole.history)
        assert again.events == whole.events and "kick" in {e.kind for e in again.events}
        assert again.best_xy == whole.best_xy


def assert_same(mine, theirs):
    np.testing.assert_array_equal(np.delete(mine.table(), TIMED, 1), np.delete(theirs.table(), TIMED, 1))
    np.testing.assert_array_equal(mine.iteration, theirs.iteration)


def advance(session, iterations):
    session.go(iterations)
    while session.work(lambda: False) is None:
        continue
    session.pause()


def test_what_is_recorded_is_what_the_run_has(short, tmp_path):
    spec, folder = tiny(limits={"kick": True, "window": 20}), RunFolder(tmp_path)
    folder.write_spec(spec)
    session = Session(folder, revision=0, fresh=True)
    for steps in (30, 34, 1, 1, 100, 57):
        advance(session, steps)
        recorded = folder.history()
        np.testing.assert_array_equal(recorded.values, session.run.history.table())
        np.testing.assert_array_equal(recorded.iterations, session.run.history.iteration)
        assert folder.iterations() == session.run.iterations == present(folder.checkpoint_position())[0]
        assert folder.row_file.at(session.run.iterations) is not None
    session.close()
    # A worker that died had written more than its checkpoint knows: the next one cuts it off.
    with open(folder.scalars, "ab") as file:
        file.write(made_up(7).tobytes() + b"half a row")
    again = Session(folder, revision=0, fresh=False)
    np.testing.assert_array_equal(folder.rows(), again.run.history.table())
    advance(again, 50)
    whole = spec.run(bounded=True)
    while whole.iterations < again.run.iterations:
        whole.advance()
    assert_same(again.run.history, whole.history)
    again.close()


def test_a_worker_that_dies_beyond_the_first_rows_is_followed_by_one_before_them(short, tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_spec(tiny())
    session = Session(folder, revision=0, fresh=True)
    advance(session, 60)
    kept = folder.checkpoint.read_bytes()
    advance(session, 60)
    assert folder.end.exists()
    session.close()
    folder.checkpoint.write_bytes(kept)
    again = Session(folder, revision=0, fresh=False)
    assert folder.iterations() == 60 and len(folder.rows()) == 60 and not folder.end.exists()
    again.close()


def test_a_folder_of_an_earlier_version_keeps_its_numbers(short, tmp_path):
    spec, folder = tiny(), RunFolder(tmp_path)
    full = in_process(spec, 200)
    folder.write_spec(spec)
    folder.scalars.write_bytes(full.history.table().tobytes())
    full.checkpoint(folder.checkpoint)
    assert folder.iterations() == 200 and folder.history().iterations.tolist() == list(range(1, 201))
    session = Session(folder, revision=0, fresh=False)
    assert folder.iterations() == 200 and len(folder.rows()) == rows_after(200)
    thinned = folder.history()
    np.testing.assert_array_equal(thinned.values[:, 0], full.history.table()[thinned.iterations - 1, 0])
    session.close()


class OneRun:
    """A service that has one run."""

    def __init__(self, folder):
        self.folder = folder

    def iterations(self, run_id):
        return self.folder.iterations()

    def history(self, run_id, since=0, stride=1):
        return self.folder.history(since, stride)

    def row_at(self, run_id, iteration):
        return self.folder.row_file.at(iteration)


def grown(folder, table, count):
    """The files of a run that has come so far."""
    end = table.end()
    if end is not None:
        folder.end.write_bytes(end.tobytes())
    folder.scalars.write_bytes(table.kept().tobytes())
    assert folder.iterations() == count


@pytest.mark.parametrize("steps", [(5, 700, 1100), (1300, 90, 9000), (64, 1, 1, 2000)])
def test_the_live_view_gets_every_point_once(short, monkeypatch, tmp_path, steps):
    monkeypatch.setattr(feed, "MOST_POINTS", 40)
    folder, full, table = RunFolder(tmp_path), made_up(sum(steps)), History(bounded=True)
    full[:, COLUMNS.index("seconds")] = np.arange(len(full))
    ask = feed.Ask()
    shown: list = []
    decided: list = []
    for step in steps:
        for row in full[table.iterations : table.iterations + step]:
            table._add(row)
        grown(folder, table, table.iterations)
        reply = feed.points(OneRun(folder), "", ask)
        if reply["reset"]:
            shown, decided = [], []
        if reply["count"]:
            shown += np.frombuffer(feed.base64.b64decode(reply["curves"]), "<f4").reshape(len(feed.CURVES), -1)[1].tolist()
            decided += feed.base64.b64decode(reply["cases"])
        stride = reply["stride"]
        ask = feed.Ask(since=reply["since"], stride=stride, tail=reply["tail"])
        count = table.iterations // stride
        expected = full[stride - 1 : count * stride : stride, COLUMNS.index("residual_uv")]
        np.testing.assert_array_equal(np.array(shown, np.float32), np.float32(expected))
        assert len(shown) <= 41 and reply["since"] == count * stride
        for i, case in enumerate(decided):
            stretch = full[i * stride : (i + 1) * stride, CASE]
            assert case == (stretch[stretch > Case.SKIP][-1] if (stretch > Case.SKIP).any() else stretch.max())


def test_a_fresh_viewer_of_a_long_run_costs_little(tmp_path):
    file = RowFile(tmp_path / "scalars.bin", tmp_path / "end.bin")
    file.scalars.write_bytes(np.zeros((rows_after(TEN_MILLION), len(COLUMNS))).tobytes())
    file.end.write_bytes(np.array([TEN_MILLION, 0.0, *np.zeros(len(COLUMNS))]).tobytes())
    assert file.iterations() == TEN_MILLION
    folder = RunFolder(tmp_path)
    tracemalloc.start()
    reply = feed.points(OneRun(folder), "", feed.Ask())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 300 <= reply["count"] <= 600 and peak < 20e6


def test_snapshots_of_thinned_histories_are_whole_and_verified(short, tmp_path):
    spec, folder = tiny(limits={"kick": True, "window": 20}), RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.write_spec(spec)
    session = Session(folder, revision=0, fresh=True)
    advance(session, 173)
    folder.write_numbers({"alpha": 2.0}, 1)
    folder.write_spec(Edit(alpha=2.0).applied(spec), 1)
    session.edit(1, {"alpha": 2.0}, "α")
    advance(session, 100)
    dataset = spec.dataset.load()
    content = from_run(folder, dataset, Label(), Story(0.0))
    assert content.iterations == 273 and len(content.history) < 273
    back = read_snapshot("x", snapshot_bytes(content))
    np.testing.assert_array_equal(back.history, content.history)
    found = reproduce(back, dataset)
    assert found.exact and found.sentence().startswith(f"Reproduced bit for bit: 273 iterations ({len(back.history)} of them")
    lie = back.history.copy()
    lie[-2, 0] *= 1 + 1e-12
    found = reproduce(replace(back, history=lie), dataset)
    assert not found.reproduced and found.first_difference == content.numbers[-2]
    opened = RunFolder(tmp_path / "opened")
    opened.path.mkdir()
    to_run_folder(back, opened)
    np.testing.assert_array_equal(opened.history().iterations, folder.history().iterations)
    np.testing.assert_array_equal(opened.rows(), folder.rows())
    assert EXPORTS["csv"].make(opened, dataset) and EXPORTS["html"].make(opened, dataset)
    more = RunFolder(tmp_path / "more")
    more.path.mkdir()
    copy_history(opened, more, [back.revisions[0].spec, back.revisions[1].spec])
    continued = Session(more, revision=1, fresh=False)
    for one in (continued, session):
        advance(one, 60)
    assert_same(continued.run.history, session.run.history)
    for one in (continued, session):
        one.close()


@pytest.mark.parametrize("iterations", [63, 272, 300, 2**60, -1, 273.0, True, "273"])
def test_a_snapshot_that_lies_about_its_iterations_is_refused(short, tmp_path, iterations):
    folder = RunFolder(tmp_path)
    folder.write_spec(tiny())
    session = Session(folder, revision=0, fresh=True)
    advance(session, 273)
    session.close()
    content = from_run(folder, tiny().dataset.load(), Label(), Story(0.0))
    with pytest.raises(ValueError, match=r"rows|whole number"):
        read_snapshot("x", snapshot_bytes(replace(content, iterations=iterations)))


def test_kicks_without_end_are_not_listed_without_end(monkeypatch):
    monkeypatch.setattr(run, "MOST_EVENTS", 5)
    kicked = in_process(tiny(limits={"kick": True, "window": 2, "stagnation": 1}), 200)
    assert [e.kind for e in kicked.events] == ["kick"] * 5 + ["unlisted"]
    assert "not listed" in kicked.events[-1].text
    while not kicked.moved:
        kicked.advance()
    assert kicked.events[-1].iteration < kicked.iterations
