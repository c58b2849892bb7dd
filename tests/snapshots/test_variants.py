"""A snapshot of a whole strip: every variant is checked, can be looked at, run again and gone on with."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from zipfile import ZipFile

import numpy as np
import pytest

from semf_core.command_line.cli import main
from semf_core.common.errors import InvalidInput
from semf_core.service import workbench as bench
from semf_core.service.workbench import Manner
from semf_core.snapshots.archive import MANIFEST, VARIANTS, packed
from semf_core.snapshots.format import read_snapshot, snapshot_bytes
from tests.helpers import present
from tests.runs.common import tiny, wait_for_state
from tests.snapshots.conftest import with_variants
from tests.snapshots.test_hostile import refusal, zipped


@pytest.fixture(scope="module")
def members(content):
    return with_variants(content).members()


def test_what_is_read_is_what_was_saved_and_the_data_is_there_once(content):
    saved = with_variants(content)
    data = snapshot_bytes(saved)
    back = read_snapshot("strip.semf", data)
    assert snapshot_bytes(back) == data and back.variants is not None
    assert (back.variants.names, back.variants.current, back.variants.before) == (("first", "k = 8", "last"), 1, 0)
    assert [one.label.title for one in back.variants.others.values()] == ["Number 0", "Number 2"]
    assert all(one.dataset is back.dataset for one in back.variants.others.values())
    np.testing.assert_array_equal(back.variants.others[2].history, content.history)
    without = replace(saved, dataset=None, variants=replace(saved.variants, others={k: replace(one, dataset=None)
                      for k, one in saved.variants.others.items()}))  # fmt: skip
    assert present(read_snapshot("strip.semf", snapshot_bytes(without)).variants).others[0].dataset is None


def test_a_run_without_variants_can_be_read_by_an_older_version(content, members):
    def schema(data):
        return json.loads(ZipFile(BytesIO(data)).read(MANIFEST))["schema"]

    assert (schema(snapshot_bytes(content)), schema(packed(members))) == (1, 2)


@pytest.mark.parametrize(
    "change",
    [
        {"names": ["one"]},
        {"names": ["one", "", "three"]},
        {"names": ["x" * 81, "two", "three"]},
        {"names": "abc"},
        {"current": 3},
        {"current": True},
        {"before": 1},
        {"before": -1},
        {"more": 1},
    ],
)
def test_a_list_of_variants_that_is_wrong_is_refused(members, change):
    told = json.loads(members[VARIANTS]) | change
    assert refusal(packed(members | {VARIANTS: json.dumps(told).encode()}))


def test_variants_that_are_missing_foreign_or_nested_are_refused(members, content):
    first = "variants/0.semf"
    assert "differ" in refusal(packed({name: data for name, data in members.items() if name != first}))
    assert "differ" in refusal(packed(members | {"variants/1.semf": members[first]}))
    assert "valid JSON" in refusal(packed({name: data for name, data in members.items() if name != VARIANTS}))
    assert "no snapshot has" in refusal(packed(members | {"variants/03.semf": members[first]}))
    assert "variant 1" in refusal(packed(members | {first: b"PK nothing"}))
    assert "variant 1" in refusal(packed(members | {first: packed(members)}))
    damaged = bytearray(members[first])
    damaged[len(damaged) // 2] ^= 1
    assert "variant 1" in refusal(packed(members | {first: bytes(damaged)}))


def test_a_variant_with_another_shape_than_the_data_it_names_is_refused(content):
    other = replace(content, dataset=None, data=replace(content.data, shape=(4, 3), image_shape=None))
    saved = with_variants(content)
    wrong = replace(saved, variants=replace(saved.variants, others={0: other, 2: saved.variants.others[2]}))
    assert "variant 1" in refusal(snapshot_bytes(wrong))


def test_all_variants_together_are_within_the_limit_of_a_file(members, monkeypatch):
    bomb = zipped([("manifest.json", b"{}"), *((f"{k}.npy", bytes(400_000)) for k in range(3))])
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "1")
    assert "MB" in refusal(packed({VARIANTS: members[VARIANTS], "variants/0.semf": bomb, **members} | {"variants/0.semf": bomb}))


def test_a_strip_is_saved_looked_at_and_gone_on_with(service):
    strip, key = bench.begin(service, tiny(max_iter=30), Manner())
    wait_for_state(service, strip.current, "finished")
    strip = bench.change(service, strip, key, replace(tiny(max_iter=30), rank=3), Manner())
    wait_for_state(service, strip.current, "finished")
    strip = bench.change(service, strip, key, replace(tiny(max_iter=30), rank=3, seed=7), Manner(paused=True))
    with pytest.raises(InvalidInput, match="has not iterated"):
        service.save(strip.before, strip_id=strip.id)
    strip = service.strips.change(strip.id, key, lambda s: s.dropped(s.current))
    handle = service.save(strip.current, strip_id=strip.id)
    card = service.gallery.card(handle.id)
    assert len(card.variants) == 2 and card.headline["rank"] == 3
    first = card.variant_id(0)
    seen = service.status(first)
    assert seen.is_snapshot and seen.state == "finished" and seen.spec.rank == 5 and service.dataset(first) is not None
    np.testing.assert_array_equal(service.result(first).U, service.result(strip.variants[0].run).U)
    assert service.export(first, "npz")[2] and service.content_mark(first) == service.content_mark(handle.id)
    looked = card.as_strip(first)
    assert (looked.current, looked.before) == (first, "") and card.as_strip().before == first
    for wrong in (f"{handle.id}.1", f"{handle.id}.7", f"{handle.id}.00"):
        with pytest.raises(InvalidInput):
            service.status(wrong)
    with pytest.raises(InvalidInput, match="owner"):
        service.gallery.delete(first, handle.key)
    copy = service.gallery.duplicate(handle.id)
    assert service.gallery.card(copy.id).variants == card.variants

    mine, my_key = service.continue_strip(handle.id)
    assert [v.name for v in mine.shown] == list(card.variants) and mine.owner_ok(my_key)
    now = service.status(mine.current)
    assert (now.state, now.spec.rank) == ("finished", 3)
    assert not now.is_snapshot and now.owner_ok(my_key)
    np.testing.assert_array_equal(service.result(mine.before).U, service.result(first).U)
    grown = bench.change(service, mine, my_key, replace(now.spec, rank=4), Manner())
    wait_for_state(service, grown.current, "finished")
    assert len(grown.shown) == 3
    alone = service.save(strip.current)
    with pytest.raises(InvalidInput, match="no strip"):
        service.continue_strip(alone.id)


def test_verifying_covers_every_variant(content, tmp_path, capsys):
    saved = with_variants(content)
    path = tmp_path / "strip.semf"
    path.write_bytes(snapshot_bytes(saved))
    assert main(["verify", str(path)]) == 0
    said = capsys.readouterr().out
    assert said.count("bit for bit") == 3 and "Variant “1: first”" in said and "Variant “3: last”" in said
    history = content.history.copy()
    history[5, 0] *= 1.01
    others = dict(saved.variants.others) | {2: replace(content, history=history)}
    wrong = replace(saved, variants=replace(saved.variants, others=others))
    path.write_bytes(snapshot_bytes(wrong))
    assert main(["verify", str(path), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["reproduced"] and told["variants"]["1: first"]["reproduced"] and not told["variants"]["3: last"]["reproduced"]
