"""From the content of a snapshot to a folder that reads like that of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from semf_core.model import ModelSpec
from semf_core.result import certify
from semf_core.runs.files import write_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import certificate_values
from semf_core.snapshots.content import Content
from semf_core.snapshots.label import Label

Array = np.ndarray


def lay_out(content: Content, folder: RunFolder) -> None:
    """Write the files that a worker would have left. The certificate is measured here, not taken from the file."""
    describe(folder, content.label, content.created, content.data.image_shape)
    for k, edition in enumerate(content.editions):
        folder.write_spec(edition.spec, k)
        if k and edition.numbers is not None:
            folder.write_numbers(edition.numbers, k)
    folder.scalars.write_bytes(np.ascontiguousarray(content.history).tobytes())
    lines = [json.dumps(asdict(e), ensure_ascii=False) + "\n" for e in content.events]
    folder.event_log.write_text("".join(lines), encoding="utf-8")
    if content.keyframes is not None:
        content.keyframes.write(folder, content.data.shape)
    if content.start is not None:
        _save(folder.start_factors, dict(zip("XY", content.start, strict=True)))
    if content.checkpoint is not None:
        _write_checkpoint(content, folder)
    if content.result is not None:
        _write_result(content, folder)


def describe(folder: RunFolder, label: Label, created: float, image_shape: tuple[int, int] | None) -> None:
    """What exports say about the run, and how they draw it where the data itself is missing."""
    words = {"title": label.title, "tags": label.tags, "note": label.note}
    write_json(folder.about, words | {"created": created, "image_shape": image_shape})


def copy_history(source: RunFolder, target: RunFolder, specs: Sequence[ModelSpec]) -> None:
    """What a run needs to go on where another stands, with the editions of its own model; the result stays behind."""
    for k, spec in enumerate(specs):
        target.write_spec(spec, k)
    plain = (source.scalars, source.event_log, source.checkpoint, source.start_factors)
    frames = (source.keyframe(k) for k in source.keyframes())
    for path in (*plain, *frames, *source.path.glob("numbers-*.json")):
        if path.exists():
            shutil.copyfile(path, target.path / path.name)


def _write_checkpoint(content: Content, folder: RunFolder) -> None:
    checkpoint = content.checkpoint
    assert checkpoint is not None
    meta = {**checkpoint.meta, "events": [asdict(e) for e in content.events[: checkpoint.events]]}
    arrays = {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), "history": content.history[: checkpoint.iterations]}
    _save(folder.checkpoint, arrays | dict(checkpoint.arrays))


def _write_result(content: Content, folder: RunFolder) -> None:
    result, spec = content.result, content.spec
    assert result is not None
    U, V, X, Y = (result.factors[name] for name in ("U", "V", "X", "Y"))
    gaps = (float(np.linalg.norm(X - U)), float(np.linalg.norm(Y - V)))
    x_set, y_set = spec.enforced_sets(content.data.shape)
    certificate = certify({"U": x_set, "V": y_set}, {"U": U, "V": V}, gaps)
    _save(folder.result_factors, result.factors)
    values: dict[str, Any] = {"state": result.state, **result.numbers, **certificate_values(certificate)}
    write_json(folder.result, values | {"truth": dict(content.truth)})


def _save(path: Any, arrays: Mapping[str, Array]) -> None:
    np.savez(path, **arrays)  # type: ignore[arg-type]
