"""Presentations: whoever has the id looks, whoever has the key shows, and there are never too many of them."""

import os
import time

import pytest

from semf_core.common.errors import InvalidInput
from semf_core.maintenance.checks import problems, repair
from semf_core.maintenance.entries import delete, entries
from semf_core.service import Service
from semf_core.service.presentations import Presentations, Shown, notes_key, presentation_files

RUN = "R" * 22


@pytest.fixture
def presentations(tmp_path):
    return Presentations(tmp_path, lambda: None)


def test_the_key_shows_and_the_id_only_looks(presentations, tmp_path):
    made, key = presentations.create("eve")
    shown = Shown("learn", "structure", "groups", 1, RUN, 40, False, "X", 3, 3, "sparse-nmf", ("x ≥ 0", 0.6, 1))
    now = presentations.show(made.id, key, shown)
    assert presentations.get(made.id) == now and now.shown == shown and now.revision == 1
    assert presentations.show(made.id, key, shown).revision == 1, "nothing new, nothing written"
    for wrong in ("", None, made.id, notes_key(key), made.key):
        with pytest.raises(InvalidInput, match="only whoever began"):
            presentations.show(made.id, wrong, Shown())
        with pytest.raises(InvalidInput, match="only whoever began"):
            presentations.end(made.id, wrong)
    assert now.may_read_notes(notes_key(key)) and not now.may_read_notes(key) and not now.may_read_notes(made.id)
    assert key not in (tmp_path / "presentations" / f"{made.id}.json").read_text(), "what is stored is no key"
    presentations.end(made.id, key)
    with pytest.raises(InvalidInput, match="has ended"):
        presentations.get(made.id)


@pytest.mark.parametrize(
    "wrong",
    [
        None, [], "x", {"page": "home"}, {"lesson": "../x"}, {"stage": "A B"}, {"run": "../../etc"}, {"at": -1}, {"at": 2**60},
        {"at": True}, {"at": "3"}, {"component": 1.5}, {"replay": 1}, {"factor": "V"}, {"spot": [1]}, {"more": 1},
        {"lesson": None}, {"page": ["learn"]}, {"answer": {}}, {"beside": "../x"}, {"drawing": "x"}, {"drawing": [None]},
        {"drawing": [True]}, {"drawing": ["x" * 101]}, {"drawing": [0.0] * 65}, {"drawing": [float("nan")]}, {"drawing": [[1]]},
    ],
)  # fmt: skip
def test_only_what_can_be_shown_is_taken(wrong):
    with pytest.raises(InvalidInput, match="presentation"):
        Shown.read(wrong)


def test_content_changes_with_what_has_to_be_drawn_anew():
    one = Shown("learn", "structure", "groups", run=RUN)
    assert one.content() == Shown("learn", "structure", "groups", run=RUN, at=3, component=2, spot=2, factor="X").content()
    others = [Shown("learn", "structure", "groups", 0, RUN), Shown("learn", "structure", "sparse-nmf", run=RUN), Shown()]
    others += [Shown("learn", "structure", "groups", run=RUN, **more) for more in ({"beside": "sparse-nmf"}, {"drawing": (1,)})]
    assert len({one.content(), *(other.content() for other in others)}) == 6


def test_there_are_so_many_of_one_visitor_and_of_all_and_old_ones_end(presentations, tmp_path, monkeypatch):
    monkeypatch.setenv("SEMF_MAX_PRESENTATIONS_PER_VISITOR", "2")
    monkeypatch.setenv("SEMF_MAX_PRESENTATIONS", "3")
    mine = [presentations.create("eve") for _ in range(2)]
    with pytest.raises(InvalidInput, match="2 presentations of yours"):
        presentations.create("eve")
    presentations.create("adam")
    with pytest.raises(InvalidInput, match="which is the most; try again later"):
        presentations.create("abel")
    old, key = mine[0]
    file = tmp_path / "presentations" / f"{old.id}.json"
    os.utime(file, (time.time() - 25 * 3600,) * 2)
    for use in (lambda: presentations.get(old.id), lambda: presentations.show(old.id, key, Shown())):
        with pytest.raises(InvalidInput, match="has ended"):
            use()
    presentations.create("abel")
    assert not file.exists() and len(presentation_files(tmp_path)) == 3


def test_a_server_for_showing_results_begins_none(tmp_path):
    with pytest.raises(InvalidInput, match="shows results only"):
        Service(tmp_path, read_only=True).presentations.create("eve")


def test_a_damaged_one_harms_only_itself_and_upkeep_knows_all(presentations, tmp_path):
    made, _ = presentations.create("eve")
    other, _ = presentations.create("eve")
    (tmp_path / "presentations" / f"{made.id}.json").write_text('{"id": 3}')
    with pytest.raises(InvalidInput, match="damaged"):
        presentations.get(made.id)
    presentations.create("eve")
    assert presentations.get(other.id) == other
    assert {e.id: e.state for e in entries(tmp_path)}[made.id] == "damaged"
    assert [(p.kind, p.id) for p in problems(tmp_path)] == [("presentation", made.id)]
    assert len(repair(tmp_path)[0]) == 1 and not list(problems(tmp_path))
    delete(tmp_path, other.id)
    with pytest.raises(InvalidInput, match="has ended"):
        presentations.get(other.id)
