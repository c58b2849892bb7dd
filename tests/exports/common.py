"""Run folders as a worker leaves them, made in this process."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from semf_core.datasets import Dataset
from semf_core.model import ModelSpec
from semf_core.runs.files import write_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.session import Session

HOSTILE = "</script><script>alert(1)</script>\" onload='x' $x_{ & <b>\x00\u2028 --> ‖∞"

SMALL = ModelSpec.from_dict(
    {
        "title": "Small",
        "watch": "Look here.",
        "dataset": {"name": "swimmer"},
        "rank": 6,
        "x": [{"name": "nonnegative"}],
        "y": [{"name": "nonnegative"}, {"name": "group_sparse", "groups": [[0, 1, 2], [3, 4], [5]]}],
        "limits": {"max_iter": 60, "tol": 0, "target": 0, "polish": 2},
    }
)


def recorded(path: Path, spec: ModelSpec = SMALL, finish: bool = True) -> RunFolder:
    """The folder of a run, to its end or for ten iterations."""
    folder = RunFolder(path)
    path.mkdir()
    folder.write_spec(spec)
    session = Session(folder, 0, fresh=True)
    session.go(None if finish else 10)
    session.work(lambda: False)
    if finish:
        session.finish()
    else:
        session.pause()
    session.close()
    return folder


def hostile(folder: RunFolder, spec: ModelSpec = SMALL) -> RunFolder:
    """The same run with texts that try to break out of wherever they are put."""
    folder.write_spec(replace(spec, title=HOSTILE, watch=HOSTILE))
    write_json(folder.meta, {"title": "of the run", "created": 1.7e9, "note": "of the recorder"})
    write_json(folder.about, {"title": HOSTILE, "tags": HOSTILE, "note": HOSTILE})
    with open(folder.event_log, "a", encoding="utf-8") as file:
        file.write('{"iteration": 7, "kind": "</script>", "text": "=1+1 </script><img src=x onerror=alert(1)>"}\n')
    return folder


def without_keyframes(folder: RunFolder) -> RunFolder:
    for iteration in folder.keyframes():
        os.unlink(folder.keyframe(iteration))
    folder.live.unlink(missing_ok=True)
    return folder


def hostile_dataset(dataset: Dataset) -> Dataset:
    return replace(dataset, title=HOSTILE, note=HOSTILE)
