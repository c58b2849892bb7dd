"""What the live view is sent, and the commands that come back from it."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json

import numpy as np
import pytest
from starlette.requests import Request

from pages.ui import control, feed, live, server
from pages.ui.messages import state_words
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.model import preset
from semf_core.runs.bounds import rank_bound
from semf_core.runs.caches import cached_bytes
from semf_core.runs.folder import RunFolder
from semf_core.snapshots.label import Label
from semf_core.solvers import DEFAULT, Limits
from semf_core.solvers.base import SOLVERS, Case
from tests.app.runs import ENDLESS, step, wait_for
from tests.helpers import noted

# -- commands of the view ----------------------------------------------------------------------


def test_commands_over_http_need_the_key(service):
    handle = service.start(ENDLESS, paused=True)
    control.obey(handle.id, handle.key, {"do": "play"})
    wait_for(service, handle.id, "running")
    control.obey(handle.id, handle.key, {"do": "penalty", "alpha": 12.5})
    assert any(e.kind == "edit" and "12.5" in e.text for e in service.events(handle.id))
    control.obey(handle.id, handle.key, {"do": "hold", "on": True})
    assert service.status(handle.id).spec.solver.penalty == "fixed"
    control.obey(handle.id, handle.key, {"do": "pause"})
    before = wait_for(service, handle.id, "paused").iterations
    control.obey(handle.id, handle.key, {"do": "step", "steps": 3})
    wait_for(service, handle.id, "paused")
    assert service.status(handle.id).iterations in (before, before + 3)
    wrong: tuple[object, ...] = (
        None,
        ["play"],
        {"do": "fly"},
        {"do": []},
        {"do": {}},
        {"do": "step", "steps": []},
        {"do": "pace", "rate": "x"},
    )
    for key, values in (("A" * 22, {"do": "play"}), *((handle.key, values) for values in wrong)):
        with pytest.raises(InvalidInput):
            control.obey(handle.id, key, values)
    control.obey(handle.id, handle.key, {"do": "restart", "paused": True})
    assert wait_for(service, handle.id, "paused").iterations == 0


@pytest.mark.parametrize("text", ["", "{", "[" * 4000, "\udc80", '{"do": "play"}' + " " * 4096])
def test_a_command_that_cannot_be_read_is_none(text):
    parts = [text.encode(errors="surrogateescape")]

    async def receive():
        return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

    assert asyncio.run(control.body(Request({"type": "http", "method": "POST", "headers": []}, receive))) is None


def test_algorithm_2_of_the_default_rests_and_goes_on(service):
    handle = service.start(dataclasses.replace(ENDLESS, solver=DEFAULT()), paused=True)
    for on, rule in ((True, "fixed"), (False, "adaptive")):
        control.obey(handle.id, handle.key, {"do": "hold", "on": on})
        assert feed.penalties(service, handle.id, service.status(handle.id))["rule"] == rule


def test_only_penalties_that_there_are_can_be_held(service):
    """Other algorithms call the price of a nonzero a penalty."""
    spec = dataclasses.replace(ENDLESS, x=(), y=(), solver=SOLVERS.build({"name": "ksvd"}))
    handle = service.start(spec, paused=True)
    with pytest.raises(InvalidInput, match="has no penalties that could be held"):
        control.obey(handle.id, handle.key, {"do": "hold", "on": True})


# -- what is sent ------------------------------------------------------------------------------


def floats(reply):
    return np.frombuffer(base64.b64decode(reply["curves"]), "<f4").reshape(len(feed.CURVES), -1)


def ask_of(reply, **more):
    return feed.Ask(since=reply["since"], stride=reply["stride"], tail=reply["tail"], events=reply["event_count"], **more)


def test_only_new_points_and_pictures_are_sent(service):
    handle = service.start(ENDLESS, paused=True)
    step(service, handle, 40)
    first = feed.answer(service, handle.id, feed.Ask())
    assert first["reset"] and first["since"] == 40 and first["count"] == 40
    assert np.allclose(floats(first)[1], service.scalars(handle.id)[:, 1], rtol=1e-6)
    again = feed.answer(service, handle.id, ask_of(first, picture=first["picture"]["token"]))
    assert not again["reset"] and again["count"] == 0 and again["picture"] is None and again["events"] == []
    assert len(json.dumps(again)) < 1500
    step(service, handle, 3)
    new = feed.answer(service, handle.id, ask_of(first))
    assert (new["reset"], new["from"], new["count"], new["since"]) == (False, 40, 3, 43)
    service.reset(handle.id, handle.key)
    afresh = feed.answer(service, handle.id, ask_of(new))
    assert afresh["reset"] and afresh["since"] == 0


@pytest.mark.parametrize("name", ["since", "stride", "events", "at", "samples"])
def test_numbers_in_an_address_have_an_end(service, name):
    handle = service.start(ENDLESS, paused=True)
    for number in (2**53, -(2**70)):
        assert feed.answer(service, handle.id, feed.Ask.from_query({name: str(number)}))["state"] == "paused"
    for number in (2**64, 10**5000):
        with pytest.raises(InvalidInput, match="address"):
            feed.Ask.from_query({name: f"{number:#x}" if number > 2**100 else str(number)})
    for look in (service.scalars, service.history):
        assert len(look(handle.id, 2**64)) == 0


def test_pictures_are_drawn_again_only_when_files_change_and_the_worker_hears_of_the_viewer(service, monkeypatch):
    handle = service.start(ENDLESS, paused=True)
    step(service, handle, 5)
    watched = service.home / "runs" / handle.id / "watched"
    asked: list = []
    monkeypatch.setattr(service, "factors", noted(asked, service.factors))
    for _ in range(3):
        watched.unlink(missing_ok=True)
        assert feed.answer(service, handle.id, feed.Ask())["picture"]["iteration"] == 5
        assert watched.exists()
    assert len(asked) == 1
    before = cached_bytes()
    step(service, handle, 5)
    drawn = feed.answer(service, handle.id, feed.Ask())["picture"]
    assert drawn["iteration"] == 10 and len(asked) == 2
    assert cached_bytes() < before + len(json.dumps(drawn)) / 2, "the pictures before are kept for nobody"


def test_the_best_that_the_rank_allows_is_sent_once(service):
    dataset = ENDLESS.dataset.load()
    handle = service.start(ENDLESS, paused=True)
    bound = service.lower_bound(handle.id, wait=30)
    assert bound == pytest.approx(rank_bound(dataset.data, ENDLESS.rank))
    reply = feed.answer(service, handle.id, feed.Ask())
    assert reply["lower_bound"] == {"value": bound, "rank": ENDLESS.rank}
    assert "lower_bound" not in feed.answer(service, handle.id, feed.Ask.from_query({"lower_bound": "1"}))


class Recorded:
    """A run that has come so far."""

    def __init__(self, folder, count):
        self.file = RunFolder(folder).row_file
        rows = np.zeros((count, 10))
        rows[:, 0] = rows[:, 8] = np.arange(1, count + 1)
        rows[4::5, 7] = Case.SKIP
        self.file.scalars.write_bytes(rows.tobytes())

    def iterations(self, run_id):
        return self.file.iterations()

    def history(self, run_id, since=0, stride=1):
        return self.file.read(since, stride)

    def row_at(self, run_id, iteration):
        return self.file.at(iteration)


@pytest.mark.parametrize("count", [1, 599, 600, 601, 1201, 75_003])
def test_long_histories_are_thinned_to_a_few_hundred_points(count, tmp_path):
    reply = feed.points(Recorded(tmp_path, count), "run", feed.Ask())
    stride = reply["stride"]
    assert reply["count"] <= feed.MOST_POINTS and (reply["count"] >= feed.MOST_POINTS // 2 or stride == 1)
    assert reply["since"] == count - count % stride
    assert np.array_equal(floats(reply)[0], np.arange(stride, reply["since"] + 1, stride, dtype="f4"))
    known = feed.Ask(since=reply["since"], stride=stride, tail=reply["tail"])
    more = feed.points(Recorded(tmp_path, count + stride), "run", known)
    assert more["reset"] or (more["count"] == 1 + (count % stride + stride) // stride - 1 and more["from"] == reply["since"])


@pytest.mark.parametrize(
    "query", [{"since": "x"}, {"at": "1e9"}, {"samples": "1,b"}, *({"tail": t} for t in ("soon", "nan", "inf"))]
)
def test_an_address_that_cannot_be_read_is_refused(query):
    with pytest.raises(InvalidInput):
        feed.Ask.from_query(query)


def of_size(service, size, saved=True):
    """The answers for a run on data of this size, and for its snapshot."""
    M = size * np.random.default_rng(0).random((8, 30))
    spec = dataclasses.replace(ENDLESS, rank=3, solver=DEFAULT(), limits=Limits(max_iter=20, tol=0, target=0))
    handle = service.start(spec, dataset=Dataset(M, image_shape=(2, 4)))
    wait_for(service, handle.id, "finished")
    service.lower_bound(handle.id, wait=60)
    shown = [handle.id, service.save(handle.id, Label("Saved")).id] if saved else [handle.id]
    replies = [feed.answer(service, one, feed.Ask(at=at)) for one in shown for at in (7, None)]
    assert json.loads(json.dumps(server.finite(replies), allow_nan=False))[0]["since"] > 0
    return replies


def test_data_beyond_single_precision_look_like_any_other(service):
    """Powers of two change no bit of the algorithm."""
    usual = of_size(service, 1.0)
    for power in (-200, 500):
        for reply, other in zip(of_size(service, 2.0**power), usual, strict=True):
            for name in ("basis", "coefficients", "samples"):
                assert reply["picture"][name]["url"] == other["picture"][name]["url"]
            curves = np.frombuffer(base64.b64decode(reply["curves"]), "<f8" if reply["double"] else "<f4")
            known = np.frombuffer(base64.b64decode(other["curves"]), "<f4").reshape(-1, other["count"])
            assert np.isfinite(curves).all() and ((curves.reshape(known.shape) != 0) == (known != 0)).all()
    of_size(service, 1e300, saved=False)  # squares overflow, and nobody can check it


def test_a_swimmer_refresh_is_small(service):
    handle = service.start(preset("swimmer-groups"))
    wait_for(service, handle.id, "finished")
    reply = feed.answer(service, handle.id, feed.Ask())
    assert len(json.dumps(reply)) < 30_000
    picture = reply["picture"]
    assert [b["text"] for b in picture["badges"]] == ["17 of 17 parts found", "5 of 5 groups right"]
    assert sorted(picture["matched"]) == list(range(17))
    assert len(picture["use"]) == 17


def test_states_in_words(service):
    handle = service.start(ENDLESS, paused=True)
    assert state_words(service.status(handle.id)) == "Ready: press Play"
    step(service, handle, 20)
    for pace in (1, 10):
        service.set_pace(handle.id, handle.key, pace)
        status = dataclasses.replace(service.status(handle.id), state="running")
        assert state_words(status) == f"Running, {pace} iteration{'s' * (pace > 1)} a second", "as slow as it was asked to be"


def test_an_iteration_between_two_recorded_ones_is_computed_again(service):
    handle = service.start(ENDLESS, paused=True)
    step(service, handle, 60)
    kept = service.keyframes(handle.id)
    between = next(i for i in range(40, 60) if i not in kept)
    recorded = feed.answer(service, handle.id, feed.Ask(at=between))["picture"]
    exact = feed.answer(service, handle.id, feed.Ask(at=between, exact=True))["picture"]
    assert recorded["iteration"] < between and exact["iteration"] == between
    frame = service.recomputed(handle.id, between).frame
    error = np.linalg.norm(service.dataset(handle.id).data - frame.U @ frame.V)
    assert error == pytest.approx(service.scalars(handle.id)[between - 1, 1], rel=1e-4)


def test_a_part_with_a_visible_remainder_is_marked_as_that(service):
    handle = service.start(preset("swimmer-groups"))
    wait_for(service, handle.id, "finished")
    frame = service.factors(handle.id)
    assert all(rest == 0 for _, rest in feed._matched(service, handle.id, frame))
    other = frame.U + 0.12 * np.linalg.norm(frame.U[:, 0]) * np.roll(frame.U, 1, axis=1) / np.linalg.norm(frame.U[:, 1])
    seen = feed._matched(service, handle.id, dataclasses.replace(frame, U=other))
    assert seen and all(0 < rest <= 14 for _, rest in seen)


def test_a_component_that_has_vanished_is_drawn_as_nothing_and_is_no_part(service):
    handle = service.start(preset("swimmer-groups"))
    wait_for(service, handle.id, "finished")
    frame = service.factors(handle.id)
    scale = np.ones(17)
    scale[[0, 16]] = 2e-6, 1e-2
    faint = dataclasses.replace(frame, U=frame.U * scale)
    assert 0 not in [column for column, _ in feed._matched(service, handle.id, faint)]
    truth = service.truth(handle.id, faint)
    assert (truth["parts_found"], truth["groups_correct"]) == (16, 4)
    view = ("U", "light", (0, 1), True, None)
    drawn, without = (
        feed._draw(f, None, (32, 32), preset("swimmer-groups"), view)["basis"]["url"]
        for f in (faint, dataclasses.replace(faint, U=np.where(np.arange(17) == 0, 0, faint.U)))
    )
    assert drawn == without


def test_a_view_that_has_nothing_yet_asks_again_and_gets_the_beginning(service):
    """As it does while a run stands in line: it knows the stride, and no point."""
    handle = service.start(ENDLESS, paused=True)
    wait_for(service, handle.id, "paused")
    reply = feed.answer(service, handle.id, feed.Ask())
    again = feed.answer(service, handle.id, feed.Ask(stride=reply["stride"], tail=reply["tail"]))
    assert again["count"] == 0 and again["since"] == 0


def test_the_data_beside_the_picture_is_called_by_its_file(service):
    mine = service.add_upload(Dataset(np.ones((6, 4)), title="spectra of june"))
    handle = service.start(dataclasses.replace(ENDLESS, dataset=mine, rank=2), paused=True)
    assert live._furnished(service.status(handle.id))["imposed"].endswith("· spectra of june, rank 2")
