"""Into everybody's gallery: freely on one's own computer, with the operator's code, or not at all."""

from __future__ import annotations

import pytest

from semf_core.common import passwords, visitors
from semf_core.common.errors import InvalidInput
from semf_core.snapshots.gallery import Gallery, publishing
from semf_core.snapshots.store import SnapshotStore

CODE = "twelve or more"


@pytest.fixture
def gallery(tmp_path, content):
    store = SnapshotStore(tmp_path)
    yield Gallery(store, lambda: None), store.add(content)
    store.close()


def test_on_ones_own_computer_it_is_free(gallery):
    made, handle = gallery
    assert publishing() == "free" and made.publish(handle.id, handle.key, True).published


def test_in_public_it_is_off_unless_there_is_a_code(gallery, monkeypatch):
    made, handle = gallery
    monkeypatch.setenv("SEMF_PUBLIC", "1")
    assert publishing() == "off"
    with pytest.raises(InvalidInput, match="is off on this server"):
        made.publish(handle.id, handle.key, True, CODE)
    monkeypatch.setenv("SEMF_PUBLISH_KEY", CODE)
    assert publishing() == "code"
    for wrong in ("", "guess", CODE + " "):
        with pytest.raises(InvalidInput, match="ask for it"):
            made.publish(handle.id, handle.key, True, wrong)
    with pytest.raises(InvalidInput, match="only its owner"):
        made.publish(handle.id, "x" * 22, True, CODE)
    assert not made.card(handle.id).published and made.publish(handle.id, handle.key, True, CODE).published
    assert not made.publish(handle.id, handle.key, False).published, "taking it out needs no code"


def test_a_code_cannot_be_guessed_by_trying(gallery, monkeypatch):
    made, handle = gallery
    now, who = [1000.0], ["a"]
    monkeypatch.setattr(passwords.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(visitors, "_WHO", [lambda: who[0]])
    monkeypatch.setenv("SEMF_PUBLISH_KEY", CODE)
    for _ in range(passwords.MOST_WRONG):
        with pytest.raises(InvalidInput, match="ask for it"):
            made.publish(handle.id, handle.key, True, "guess")
    with pytest.raises(InvalidInput, match="too often"):
        made.publish(handle.id, handle.key, True, CODE)
    who[0] = "b"
    assert made.publish(handle.id, handle.key, True, CODE).published, "others are not concerned"
    who[0], now[0] = "a", now[0] + 61
    assert made.publish(handle.id, handle.key, True, CODE).published


def test_a_code_that_is_too_short_is_rejected_to_the_operator(monkeypatch):
    monkeypatch.setenv("SEMF_PUBLISH_KEY", "short")
    with pytest.raises(InvalidInput, match="at least 12"):
        publishing()
