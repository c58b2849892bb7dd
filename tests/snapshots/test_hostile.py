"""Files from strangers: rejected in words, and nothing of them is executed or written anywhere."""

from __future__ import annotations

import io
import json
import re
import stat
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.mutations import mutated
from pages.ui import feed
from semf_core.common.errors import InvalidInput
from semf_core.runs import folder as folder_module
from semf_core.runs.frames import read_frame
from semf_core.snapshots import checking
from semf_core.snapshots.archive import MANIFEST, packed
from semf_core.snapshots.content import npy_bytes
from semf_core.snapshots.format import read_snapshot, snapshot_bytes
from semf_core.solvers import COLUMNS
from tests.helpers import noted

MUTATIONS = 200


@pytest.fixture(scope="module")
def members(content):
    return content.members()


def refusal(data):
    with pytest.raises(InvalidInput) as caught:
        read_snapshot("bad.semf", data)
    assert "Traceback" not in str(caught.value) and len(str(caught.value)) < 600
    return str(caught.value)


def edited(members, name, change):
    value = json.loads(members[name])
    changed = change(value)
    return packed(members | {name: json.dumps(value if changed is None else changed).encode()})


def zipped(entries):
    """A ZIP with these entries as they are: (name or ZipInfo, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


def entries_of(members):
    with zipfile.ZipFile(io.BytesIO(packed(members))) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


@pytest.mark.parametrize("data", [b"", b"nothing", b"PK\x05\x06" + bytes(18), b"PK\x03\x04" * 50])
def test_what_is_no_archive(data):
    assert refusal(data)


def test_an_ordinary_zip_is_no_snapshot():
    assert "not a snapshot" in refusal(zipped([("a.txt", b"hello")]))


@pytest.mark.parametrize("name", ["../evil.json", "/etc/cron.d/evil", "a/../../b", "..\\evil", "a//b"])
def test_paths_that_lead_elsewhere(members, name):
    assert "leads out" in refusal(zipped([*entries_of(members), (name, b"x")]))


def test_links_folders_and_repeated_members(members):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "link" in refusal(zipped([*entries_of(members), (link, b"/etc/passwd")]))
    assert "folder" in refusal(zipped([*entries_of(members), ("folder/", b"")]))
    with pytest.warns(UserWarning):
        twice = zipped([*entries_of(members), ("about.json", b"{}")])
    assert "twice" in refusal(twice)


def test_a_member_that_expands_to_gigabytes(members, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_UPLOAD_MB", "20")
    bomb = zipped([*entries_of(members), ("data/more.npy", bytes(40 << 20))])
    assert len(bomb) < 1 << 20 and "unpacks to more than" in refusal(bomb)


def test_a_size_that_lies(members):
    """The directory promises less than the member expands to: no more than promised is ever unpacked."""
    data = bytearray(packed(members))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        info = archive.getinfo("keyframes/Y.npy")
    at = data.rindex(b"keyframes/Y.npy") - 46 + 24
    assert int.from_bytes(data[at : at + 4], "little") == info.file_size
    data[at : at + 4] = (10).to_bytes(4, "little")
    assert "damaged" in refusal(bytes(data))


def test_a_wrong_checksum_and_a_manifest_that_differs(members):
    entries = dict(entries_of(members))
    assert "checksum" in refusal(zipped((entries | {"events.json": b"[]"}).items()))
    del entries["events.json"]
    assert "differ" in refusal(zipped(entries.items()))
    listed = json.loads(entries[MANIFEST])
    listed["format"] = "other"
    assert "not a snapshot" in refusal(zipped((entries | {MANIFEST: json.dumps(listed).encode()}).items()))


def test_unknown_members_and_missing_ones(members):
    assert "no snapshot has" in refusal(packed(members | {"evil.py": b"import os"}))
    assert "no snapshot has" in refusal(packed(members | {"code/evil.npy": npy_bytes(np.zeros(1))}))
    rest = {name: data for name, data in members.items() if name != "model.json"}
    assert "lacks model.json" in refusal(packed(rest))


def test_pickled_objects_are_never_opened(members):
    file = io.BytesIO()
    np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "object" in refusal(packed(members | {"history/alpha.npy": file.getvalue()}))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("column", ["residual_uv", "alpha", "seconds", "case"])
def test_histories_that_are_not_finite(content, column, bad):
    table = content.history.copy()
    table[3, COLUMNS.index(column)] = bad
    text = refusal(snapshot_bytes(replace(content, history=table)))
    assert "history" in text


@pytest.mark.parametrize("case", [-1, 0.5, 99])
def test_decisions_that_algorithm_2_does_not_know(content, case):
    table = content.history.copy()
    table[3, COLUMNS.index("case")] = case
    assert "Algorithm 2" in refusal(snapshot_bytes(replace(content, history=table)))


def test_times_that_go_back(content):
    table = content.history.copy()
    table[5, COLUMNS.index("seconds")] = 1e9
    assert "forward" in refusal(snapshot_bytes(replace(content, history=table)))


def test_columns_of_unequal_length(members):
    assert "equally many" in refusal(packed(members | {"history/alpha.npy": npy_bytes(np.zeros(3))}))


SHAPED = ("result/U", "result/Y", "keyframes/U", "keyframes/V", "checkpoint/W", "checkpoint/best_Z", "data/matrix")


@pytest.mark.parametrize("name", SHAPED)
def test_shapes_that_do_not_agree_with_the_model(members, name):
    array = np.lib.format.read_array(io.BytesIO(members[f"{name}.npy"]))
    assert refusal(packed(members | {f"{name}.npy": npy_bytes(array[..., :-1])}))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda m: m[0]["spec"].update(x=[{"name": "no_such_set"}]), "no_such_set"),
        (lambda m: m[0]["spec"].update(x=[{"name": "custom", "function": "os.system"}]), "Python function"),
        (lambda m: m[0]["spec"].update(solver={"name": "oracle"}), "oracle"),
        (lambda m: m[0]["spec"].update(rank=6), "rank|shape|agree|×"),
        (lambda m: m[0]["spec"].update(x=[{"name": "sparse", "k": 9999}]), "k"),
        (lambda m: m[0]["spec"].update(evil=1), "evil"),
        (lambda m: m.append(m[0]), "equally many"),
        (lambda m: m.clear(), "list"),
        (lambda m: 5, "list"),
    ],
)
def test_models_that_are_refused(members, change, word):
    assert re.search(word, refusal(edited(members, "model.json", change)))


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        ("about.json", lambda a: a["data"].update(shape=[0, 3]), "shape"),
        ("about.json", lambda a: a["data"].update(fingerprint="f" * 64), "fingerprint"),
        ("about.json", lambda a: a["label"].update(title="x" * 300), "title"),
        ("about.json", lambda a: a.update(created=float("nan")), "created"),
        ("about.json", lambda a: a["truth"].update(parts_found=-3), "parts_found"),
        ("events.json", lambda e: e.append({"iteration": 10**9, "kind": "kick", "text": ""}), "events"),
        ("events.json", lambda e: e.reverse() or e, "order|equally"),
        ("result.json", lambda r: r.update(residual_uv=float("nan")), "residual_uv"),
        ("result.json", lambda r: r.update(iterations=1), "iterations"),
        ("checkpoint.json", lambda c: c["counters"].update(advance=1), "complete"),
        ("checkpoint.json", lambda c: c["rng"].update(bit_generator="os.system"), "random"),
        ("checkpoint.json", lambda c: c.update(iterations=10**6), "checkpoint"),
    ],
)
def test_texts_that_are_refused(members, name, change, word):
    assert re.search(word, refusal(edited(members, name, change)))


def test_json_that_is_too_deep_or_cannot_be_written(members):
    assert "JSON" in refusal(packed(members | {"events.json": b"[" * 100_000}))
    assert "JSON" in refusal(packed(members | {"events.json": b'["\\ud800"]'}))


def test_script_in_titles_is_text(content):
    label = replace(content.label, title="<script>alert(1)</script>", note="<img src=x onerror=alert(1)>")
    assert read_snapshot("x.semf", snapshot_bytes(replace(content, label=label))).label == label


def test_a_thumbnail_that_is_none(members):
    assert "PNG" in refusal(packed(members | {"thumbnail.png": b"GIF89a" + bytes(100)}))
    assert "PNG" in refusal(packed(members | {"thumbnail.png": b"<svg onload='alert(1)'/>"}))


def test_generated_files_never_crash_the_reader(members):
    rejected = 0
    for seed in range(MUTATIONS):
        try:
            read_snapshot("generated.semf", mutated(members, seed))
        except InvalidInput:
            rejected += 1
    assert rejected > MUTATIONS / 2


# -- what looking at it costs ------------------------------------------------------------------


def light(members, rows):
    """A file of a few kilobytes that declares this many rows of data, of which its keyframes keep eight."""
    kept = {name: data for name, data in members.items() if name.startswith(("history", "keyframes", "events", "model"))}
    about = json.loads(members["about.json"])
    about["data"]["shape"][0] = rows
    return packed(kept | {"about.json": json.dumps(about).encode()})


def test_a_shape_that_makes_factors_of_gigabytes(members):
    """Rejected by the declared numbers: nothing of that size is made, not even to look at it."""
    tracemalloc.start()
    try:
        text = refusal(light(members, 10**8))
        assert "shape: makes factors of" in text
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()


def test_a_shape_that_is_not_that_of_the_data(service, members, monkeypatch):
    """The recipe makes other data than the file declares: it is drawn without them, once for all who look."""
    handle = service.gallery.add_file("light.semf", light(members, 100_000))
    with pytest.raises(InvalidInput, match="dataset"):
        service.dataset(handle.id)
    reads: list = []
    monkeypatch.setattr(folder_module, "read_frame", noted(reads, read_frame))
    for _ in range(5):
        reply = feed.answer(service, handle.id, feed.Ask())
        assert "basis" in reply["picture"] and "samples" not in reply["picture"]
    assert len(reads) <= 2, "the newest keyframe, and a look for a newer frame"


def test_too_many_keyframes(members):
    count = 2000
    names = ("X", "U", "Y", "V")
    planes = {f"keyframes/{n}.npy": npy_bytes(np.repeat(decoded(members, n)[..., :1], count, axis=-1)) for n in names}
    planes["keyframes/iterations.npy"] = npy_bytes(np.arange(count))
    planes["keyframes/exponents.npy"] = npy_bytes(np.zeros((4, count), np.int16))
    assert "keyframes: are 2,000" in refusal(packed(members | planes))


def decoded(members, name):
    return np.lib.format.read_array(io.BytesIO(members[f"keyframes/{name}.npy"]))


def test_texts_of_many_megabytes_are_rejected_by_their_size(members, monkeypatch):
    """2000 events of 90 kB: nothing of them is read, nor looked at letter by letter."""
    events = [{"iteration": 0, "kind": "kick", "text": "x" * 90_000}] * 2000
    monkeypatch.setattr(checking, "read_json_member", None)
    assert "events.json has more than 16 MB" in refusal(packed(members | {"events.json": json.dumps(events).encode()}))


@pytest.mark.parametrize("shape", [(1,) * 65, (2**70, 8), (0, 2**70), (True, 8), (-3, 8), (0, 2**40, 2**40)], ids=str)
def test_shapes_that_no_array_has(members, shape):
    head = repr({"descr": "<f8", "fortran_order": False, "shape": shape}).encode().ljust(700) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(64)
    assert re.search("dimensions|size|cut off", refusal(packed(members | {"history/alpha.npy": array})))
