"""Files of an earlier version call a revision an edition; they are read all the same."""

import json

from semf_core.model import preset
from semf_core.runs.store import Store, read_meta
from semf_core.snapshots.cards import Card


def test_a_run_of_an_earlier_version(tmp_path):
    store = Store(tmp_path)
    _, _, folder = store.create(preset("lsi"), "paused")
    store.close()
    stored = json.loads(folder.meta.read_text())
    del stored["revision"]
    folder.meta.write_text(json.dumps(stored | {"edition": 2}))
    assert read_meta(folder).revision == 2


def test_a_card_of_an_earlier_version():
    texts = dict.fromkeys(("id", "key", "title", "tags", "note", "state", "message", "remark", "data_title", "fingerprint"), "")
    numbers = {"added": 0.0, "size": 1, "created": 0.0, "edition": 3, "shape": [2, 2], "image_shape": None, "headline": {}}
    assert Card.from_dict({**texts, **numbers}).revision == 3
