"""What is done with a file that a visitor brings, as functions that the limited child can run."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from semf_core.model import ModelSpec
from semf_core.runs import sandboxed
from semf_core.runs.datasets import check_visitors_source
from semf_core.sandbox.child import attempt
from semf_core.sets import combine
from semf_core.snapshots.sandboxed import open_into
from semf_core.studies.service import receive


def take_upload(name: str, path: str, place: str, reading: dict[str, Any]) -> None:
    """All that the Data page does with a file: read, store, describe and draw it."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        sandboxed.store_files([(name, path)], reading, folder, place)
        sandboxed.draw_folder(folder, None)


def take_snapshot(name: str, path: str, place: str) -> None:
    with tempfile.TemporaryDirectory(dir=place) as folder:
        open_into(name, path, folder, place)


def take_study(name: str, path: str, place: str) -> None:
    with tempfile.TemporaryDirectory(dir=place) as home:
        receive(name, path, home, True)


def take_model(name: str, path: str, place: str) -> None:
    """What the Model page does with a pasted text before it asks for the data."""
    model = ModelSpec.from_json(Path(path).read_text(encoding="utf-8", errors="replace"))
    combine(model.x), combine(model.y)
    check_visitors_source(model.dataset)


def take_some(orders: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, Any, float, float]]:
    """Several files one after the other: how each ended, what came of it, its processor seconds and the peak so far in MB."""
    ended = []
    for take, arguments in orders:
        began = time.process_time()
        kind, value = attempt(lambda: globals()[take](**arguments))  # noqa: B023 - called at once
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        ended.append((kind, value, time.process_time() - began, peak_mb))
    return ended
