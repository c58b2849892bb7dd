"""Strips of variants: what undo walks, what dropping leaves, and who may change one."""

from __future__ import annotations

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.runs.variant_strips import MOST, Strip, Variant
from semf_core.service import Service
from semf_core.service import workbench as bench
from semf_core.service.workbench import Manner
from tests.runs.common import tiny, wait_for, wait_for_iterations, wait_for_state


@pytest.fixture
def service(tmp_path, no_reserve):
    made = Service(tmp_path / "home", max_running=1)
    yield made
    made.close()


def strip_of(*runs):
    strip = Strip("id", "key")
    for run in runs:
        strip = strip.added(Variant(run, run))
    return strip


def test_undo_and_redo_walk_the_trail_and_a_new_variant_ends_it():
    strip = strip_of("a", "b", "c")
    back = strip.moved(-1).moved(-1)
    assert (back.current, back.before, back.can_undo, back.can_redo) == ("a", "b", False, True)
    assert back.moved(1).current == "b"
    grown = back.added(Variant("d", "d"))
    assert grown.trail == ("a", "d") and not grown.can_redo and [v.run for v in grown.variants] == ["a", "b", "c", "d"]
    for steps in (-1, 1):
        with pytest.raises(InvalidInput, match="nothing to"):
            strip_of("a").moved(steps)


def test_clicking_is_a_step_that_can_be_undone():
    strip = strip_of("a", "b", "c").went("a")
    assert (strip.current, strip.before) == ("a", "c") and strip.moved(-1).current == "c"
    with pytest.raises(InvalidInput, match="not in this strip"):
        strip.went("z")


def test_a_superseded_variant_leaves_no_trace():
    strip = strip_of("a", "b").superseded(Variant("c", "c"))
    assert [v.run for v in strip.variants] == ["a", "c"] and strip.trail == ("a", "c") and strip.before == "a"


def test_what_is_dropped_comes_back():
    strip = strip_of("a", "b", "c").pinned("b").dropped("b").dropped("c")
    assert strip.current == "a" and strip.pins == () and [v.run for v in strip.shown] == ["a"]
    with pytest.raises(InvalidInput, match="only one"):
        strip.dropped("a")
    assert [v.run for v in strip.restored().shown] == ["a", "b", "c"]
    assert [v.run for v in strip.without("b").restored().shown] == ["a", "c"]


def test_pins_names_and_the_limit():
    strip = strip_of("a", "b", "c")
    for run in "abc":
        strip = strip.pinned(run)
    assert strip.pins == ("b", "c") and strip.pinned("b").pins == ("c",)
    assert strip.renamed("a", "  a   new name ").variant("a").name == "a new name"
    with pytest.raises(InvalidInput, match="empty"):
        strip.renamed("a", "  ")
    many = strip_of(*(f"r{i}" for i in range(MOST + 5)))
    assert len(many.variants) == MOST and many.current == f"r{MOST + 4}"


def test_only_the_owner_changes_a_strip_and_everybody_sees_it(service):
    strip, key = bench.begin(service, tiny(), Manner(paused=True))
    with pytest.raises(InvalidInput, match="only the owner"):
        service.strips.change(strip.id, "A" * 22, lambda s: s.renamed(s.current, "x"))
    service.strips.change(strip.id, key, lambda s: s.renamed(s.current, "mine"))
    again = Service(service.home)
    assert again.strips.get(strip.id).variants[0].name == "mine"
    again.close()
    for wrong in ("nonsense", "A" * 22, None):
        with pytest.raises(InvalidInput):
            service.strips.get(wrong)


def test_a_change_runs_as_a_variant_and_the_one_before_rests(service):
    strip, key = bench.begin(service, tiny(), Manner())
    first = strip.current
    wait_for_iterations(service, first, 5)
    strip = bench.change(service, strip, key, tiny(seed=4), Manner())
    assert service.status(first).state == "paused" and strip.before == first
    wait_for_iterations(service, strip.current, 5)
    assert service.status(strip.current).owner_ok(key)
    warm = bench.change(service, strip, key, tiny(seed=4, limits={"max_iter": 77}), Manner(warm=True, paused=True))
    wait_for(lambda: service.events(warm.current))  # a busy computer needs a moment to open it
    assert service.status(warm.current).iterations >= 5 and service.events(warm.current)[-1].kind == "edit"
    with pytest.raises(InvalidInput):
        bench.change(service, warm, key, tiny(rank=0), Manner())
    assert service.strips.get(strip.id).current == warm.current


def test_a_pace_is_kept_and_can_be_changed_while_it_runs(service):
    handle = service.start(tiny(), pace=5)
    wait_for_state(service, handle.id, "running")
    wait_for_iterations(service, handle.id, 3)
    slow = service.status(handle.id)
    assert slow.iterations < 60, "a run at full speed makes thousands by now"
    service.set_pace(handle.id, handle.key, 0)
    wait_for_iterations(service, handle.id, slow.iterations + 200)
    service.pause(handle.id, handle.key)
    with pytest.raises(InvalidInput):
        service.set_pace(handle.id, handle.key, -1)
    with pytest.raises(InvalidInput):
        service.set_pace(handle.id, "A" * 22, 1)
