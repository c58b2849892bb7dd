"""What the limited child process does with snapshots: check, open, relabel and save them.

Everything here takes and gives JSON types and leaves the rest in files, because it is called through `semf_core.sandbox`.
"""

from __future__ import annotations

import base64
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from semf_core.datasets import DATASETS, Dataset
from semf_core.runs.files import write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import Quota
from semf_core.runs.uploads import load_source
from semf_core.snapshots.cards import card_of
from semf_core.snapshots.content import Content, Variants
from semf_core.snapshots.format import read_file, relabelled, snapshot_bytes
from semf_core.snapshots.from_run import Story, from_run
from semf_core.snapshots.label import Label
from semf_core.snapshots.to_run_folder import run_folder_bytes, to_run_folder


def inspect(name: str, path: str) -> dict[str, Any]:
    """Check a file from end to end; its card and its small picture."""
    return _told(read_file(Path(path), name))


def open_into(name: str, path: str, folder: str, home: str | None) -> None:
    """Check a file and lay it out in a folder that reads like that of a run, within the quota of a home folder."""
    content = read_file(Path(path), name)
    with nullcontext() if home is None else Quota(Path(home)).reserved(run_folder_bytes(content)):
        to_run_folder(content, RunFolder(Path(folder)))


def relabel(path: str, label: dict[str, Any]) -> dict[str, Any]:
    """Write other words into a file."""
    content = relabelled(read_file(Path(path)), Label.from_file(label))
    _write(Path(path), content)
    return _told(content)


def save(run: dict[str, Any], home: str, out: str, options: dict[str, Any], strip: dict[str, Any] | None) -> None:
    """Write the snapshot of a run at rest.

    A run is told by `folder`, `source`, `created` and `remark`; `options` are `label` and `include_data`; a `strip` has
    the `names` of its variants, which is `current` and `before`, and the `others` as runs by their numbers.
    """
    known: dict[str, Dataset] = {}  # variants mostly have the same data

    def content(one: dict[str, Any], label: Label) -> Content:
        key = repr(one["source"])
        known[key] = known.get(key) or load_source(DATASETS.build(one["source"]), Path(home))
        story = Story(one["created"], one["remark"])
        return from_run(RunFolder(Path(one["folder"])), known[key], label, story, options["include_data"])

    saved = content(run, Label.from_file(options["label"]))
    if strip is not None:
        others = {int(k): content(one, Label()) for k, one in strip["others"].items()}
        saved = replace(saved, variants=Variants(tuple(strip["names"]), strip["current"], strip["before"], others))
    _write(Path(out), saved)


def _write(path: Path, content: Content) -> None:
    data = snapshot_bytes(content)
    write_whole(path, lambda file: file.write(data), durable=True)


def _told(content: Content) -> dict[str, Any]:
    card = card_of(content, id="", key="", added=0.0, size=0).to_dict()
    return {"card": card, "thumbnail": base64.b64encode(content.thumbnail).decode()}
