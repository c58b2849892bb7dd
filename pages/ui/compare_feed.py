"""What the comparison's view is sent: curves and aligned montages of runs that changed since it asked last."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from pages.ui.words import state_words
from semf_core.comparing import Reader, Reference, style_of
from semf_core.metrics import FOUND
from semf_core.pictures import Picture, basis
from semf_core.runs.caches import Recent
from semf_core.service import get_service

MOVING = frozenset({"queued", "running"})
_MONTAGES: Recent[tuple[str, ...], Picture] = Recent(128)


@cache
def reader() -> Reader:
    """The reader of this process's service."""
    return Reader(get_service())


def answer(run_ids: Sequence[str], have: Sequence[str], theme: str) -> dict[str, Any]:
    """One entry for each run, in order; only its id and token where the view has it already."""
    read = reader()
    found = read.existing(run_ids)
    reference = read.reference(found)
    entries = [_entry(read, run_id, index, reference, theme) for index, run_id in enumerate(found)]
    known = set(have)
    reply: dict[str, Any] = {
        "runs": [{"id": e["id"], "token": e["token"]} if e["token"] in known else e for e in entries],
        "moving": any(e["state"] in MOVING for e in entries),
        "floor": _floor(read, found),
    }
    if reference is not None and reference.is_truth:
        reply["truth"] = montage_of(read, reference.run_id, reference.parts, theme).to_dict()
    return reply


def _entry(read: Reader, run_id: str, index: int, reference: Reference | None, theme: str) -> dict[str, Any]:
    status, frame = read.service.status(run_id), read.frame(run_id)
    colour, dash = style_of(index)
    seen = (run_id, index, status.iterations, status.state, status.title, theme, "" if frame is None else frame.mark())
    base = "" if reference is None else _digest(reference.parts)
    token = hashlib.blake2b(repr((*seen, base)).encode(), digest_size=8).hexdigest()
    curve = read.curve(run_id)
    entry: dict[str, Any] = {
        "id": run_id,
        "token": token,
        "title": status.title or "Run",
        "state": status.state,
        "words": state_words(status),
        "colour": colour,
        "dash": dash,
        "iterations": curve.iterations.tolist(),
        "seconds": [float(f"{v:.4g}") for v in curve.seconds],
        "error": [float(f"{v:.5g}") for v in curve.error],
    }
    if frame is not None and reference is not None and status.iterations:
        order = read.order(frame.U, reference.parts)
        picture = montage_of(read, run_id, order.of(frame.U), theme)
        entry["montage"] = picture.to_dict()
        entry["matched"] = [place for place, cosine in enumerate(order.cosines) if cosine > FOUND]
        entry["columns"] = list(order.columns)
    return entry


def montage_of(read: Reader, run_id: str, columns: Any, theme: str) -> Picture:
    """Components as one picture, made once for all viewers."""
    shape = read.service.image_shape(run_id)
    key = (run_id, theme, _digest(columns))
    return _MONTAGES.get(key, lambda: basis(columns, shape, None, theme))


def _digest(columns: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(columns).tobytes(), digest_size=8).hexdigest()


def _floor(read: Reader, run_ids: Sequence[str]) -> dict[str, Any] | None:
    """The Eckart–Young bound relative to ‖M‖, where all runs share data and rank."""
    if not run_ids or not read.same_data(run_ids) or len({read.service.status(r).spec.rank for r in run_ids}) != 1:
        return None
    floor, norm = read.service.floor(run_ids[0]), read.norm(run_ids[0])
    return {"value": floor / norm, "rank": read.service.status(run_ids[0]).spec.rank} if floor and norm else None
