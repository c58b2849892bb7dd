"""What the comparison's view is sent: curves and aligned montages of runs that changed since it asked last."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

from pages.ui.messages import state_words
from semf_core.comparison import Reader, Reference, style_of
from semf_core.comparison.reading import digest
from semf_core.drawing.pictures import Room
from semf_core.service import get_service

MOVING = frozenset({"queued", "running"})


@cache
def reader() -> Reader:
    """The reader of this process's service."""
    return Reader(get_service())


def answer(run_ids: Sequence[str], have: Sequence[str], theme: str, room: Room = None) -> dict[str, Any]:
    """One entry for each run, in order; only its id and token where the view has it already."""
    read = reader()
    found = read.existing(run_ids)
    reference = read.reference(found)
    names = read.names(found)
    entries = [_entry(read, run_id, names[run_id], index, reference, (theme, room)) for index, run_id in enumerate(found)]
    known, lower_bound = set(have), read.lower_bound(found)
    reply: dict[str, Any] = {
        "runs": [{"id": e["id"], "token": e["token"]} if e["token"] in known else e for e in entries],
        "moving": any(e["state"] in MOVING for e in entries),
        "lower_bound": None if lower_bound is None else {"value": lower_bound[0], "rank": lower_bound[1]},
    }
    truth = read.truth(reference, theme, room)
    if truth is not None:
        reply["truth"] = truth.picture.to_dict()
    reply["count"] = 0 if reference is None else reference.parts.shape[1]
    return reply


def _entry(
    read: Reader, run_id: str, name: str, index: int, reference: Reference | None, drawn: tuple[str, Room]
) -> dict[str, Any]:
    status, frame = read.service.status(run_id), read.frame(run_id)
    colour, dash = style_of(index)
    named = read.service.component_names(run_id)
    seen = (run_id, index, status.iterations, status.state, name, named, drawn, "" if frame is None else frame.mark())
    base = "" if reference is None else digest(reference.parts)
    token = hashlib.blake2b(repr((*seen, base)).encode(), digest_size=8).hexdigest()
    curve = read.curve(run_id)
    entry: dict[str, Any] = {
        "id": run_id,
        "token": token,
        "title": name,
        "state": status.state,
        "words": state_words(status),
        "colour": colour,
        "dash": dash,
        "iterations": curve.iterations.tolist(),
        "seconds": [float(f"{v:.4g}") for v in curve.seconds],
        "error": [float(f"{v:.5g}") for v in curve.error],
    }
    montage = read.montage(run_id, frame, name, reference, *drawn)
    if montage is not None:
        entry |= {"montage": montage.picture.to_dict(), "matched": montage.found, "mixed": montage.mixed}
        entry |= {"columns": montage.columns, "names": montage.names, "ranked": montage.words}
    return entry
