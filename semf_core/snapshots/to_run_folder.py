"""From the content of a snapshot to a folder that reads like that of a run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.factorization.result import certify
from semf_core.model import ModelSpec
from semf_core.runs.files import write_json
from semf_core.runs.folder import RunFolder
from semf_core.runs.outcome import certificate_values
from semf_core.runs.uploads import AXES, stored_bytes, write_dataset
from semf_core.snapshots.content import Content
from semf_core.snapshots.label import Label
from semf_core.solvers.history import CASE, rows_after

Array = np.ndarray
DATA, OTHERS = "data", "variants"


def to_run_folder(content: Content, folder: RunFolder) -> None:
    """Write the files that a worker would have left. The certificate is measured here, not taken from the file."""
    describe(folder, content.label, content.created, content.data.image_shape)
    if named := content.axes.to_dict():
        write_json(folder.path / AXES, named)
    if content.components:
        folder.write_component_names(content.components)
    for k, revision in enumerate(content.revisions):
        folder.write_spec(revision.spec, k)
        if k and revision.numbers is not None:
            folder.write_numbers(revision.numbers, k)
    _write_history(content, folder)
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
    if content.dataset is not None:
        (folder.path / DATA).mkdir()
        write_dataset(content.dataset, folder.path / DATA)
    for k, variant in content.variants.others.items() if content.variants is not None else ():
        place = variant_folder(folder, k)
        place.path.mkdir(parents=True)
        to_run_folder(replace(variant, dataset=None) if variant.dataset is content.dataset else variant, place)


def run_folder_bytes(content: Content) -> int:
    """About what the files of a snapshot take: its keyframes in single precision, everything else as it is."""
    arrays = [content.history, *(content.start or ())]
    arrays += content.result.factors.values() if content.result is not None else ()
    arrays += content.checkpoint.arrays.values() if content.checkpoint is not None else ()
    frames = sum(plane.nbytes for plane in content.keyframes.planes.values()) if content.keyframes is not None else 0
    data = stored_bytes(content.dataset) if content.dataset is not None else 0
    others = content.variants.others.values() if content.variants is not None else ()
    apart = [replace(one, dataset=None) if one.dataset is content.dataset else one for one in others]
    return 2 * frames + data + sum(array.nbytes for array in arrays) + sum(map(run_folder_bytes, apart))


def data_folder(folder: RunFolder) -> Path:
    """Where the data of an opened snapshot lies, if it holds it; that of a variant may be the snapshot's own."""
    own = folder.path / DATA
    return folder.path.parents[1] / DATA if folder.path.parent.name == OTHERS and not own.is_dir() else own


def variant_folder(folder: RunFolder, k: int) -> RunFolder:
    """Where a variant of an opened snapshot lies."""
    return RunFolder(folder.path / OTHERS / str(k))


def describe(folder: RunFolder, label: Label, created: float, image_shape: tuple[int, int] | None) -> None:
    """What exports say about the run, and how they draw it where the data itself is missing."""
    words = {"title": label.title, "tags": label.tags, "note": label.note}
    write_json(folder.about, words | {"created": created, "image_shape": image_shape})


def copy_history(source: RunFolder, target: RunFolder, specs: Sequence[ModelSpec], result: bool = False) -> None:
    """What a run needs to go on where another stands, with the revisions of its own model; with its `result` or without."""
    for k, spec in enumerate(specs):
        target.write_spec(spec, k)
    plain = [source.scalars, source.end, source.event_log, source.checkpoint, source.start_factors, source.components]
    plain += [source.result, source.result_factors] if result else []
    frames = (source.keyframe(k) for k in source.keyframes())
    points = (source.restore_point(k) for k in source.restore_points())
    for path in (*plain, *frames, *points, *source.path.glob("numbers-*.json")):
        if path.exists():
            shutil.copyfile(path, target.path / path.name)


def _write_history(content: Content, folder: RunFolder) -> None:
    rows = content.history
    if len(rows) != content.iterations:
        folder.end.write_bytes(np.array([content.iterations, rows[-1, CASE], *rows[-1]]).tobytes())
        rows = rows[: rows_after(content.iterations)]
    folder.scalars.write_bytes(np.ascontiguousarray(rows).tobytes())


def _write_checkpoint(content: Content, folder: RunFolder) -> None:
    checkpoint = content.checkpoint
    assert checkpoint is not None
    meta = {**checkpoint.meta, "events": [asdict(e) for e in content.events[: checkpoint.events]]}
    thinned = "history_end" in checkpoint.arrays
    rows = content.history[: rows_after(checkpoint.iterations) if thinned else checkpoint.iterations]
    arrays = {"meta": np.frombuffer(json.dumps(meta).encode(), np.uint8), "history": rows}
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
