"""What the strip of variants is sent: a card for each variant and for each run of a sweep, and what the last change did."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Sequence
from typing import Any

from PIL import Image

from pages.ui import images
from pages.ui.compare_feed import reader
from semf_core.common.errors import InvalidInput
from semf_core.common.notation import number
from semf_core.comparison.alignment import align
from semf_core.factorization.scores import model_groups, truth_words
from semf_core.model.variants import words_of_difference
from semf_core.runs.variant_strips import Strip
from semf_core.service import RunStatus, get_service
from semf_core.service.public import Cache
from semf_core.solvers.run import COLUMNS

MOST_TILES = 6
SIZE = (150, 84)
"""Pixels of a card's picture."""
_ERROR = COLUMNS.index("residual_uv")
_THUMBS: Cache[tuple[str, str], str] = Cache()
_BEFORE: Cache[Any, dict[str, Any]] = Cache()


def answer(strip_id: str, have: Sequence[str], theme: str, shown: str = "") -> dict[str, Any]:
    """Everything about a strip; cards whose token the view has are only named.

    Which variant of a snapshot is on show is each viewer's own matter: it says so.
    """
    gallery = get_service().gallery
    kept = gallery.card(strip_id).as_strip(shown) if gallery.has(strip_id) else None
    strip = kept or get_service().strips.get(strip_id)
    known = set(have)
    cards = [_card(v.run, v.name, theme, v.run in strip.pins) for v in strip.shown]
    reply: dict[str, Any] = {
        "revision": strip.revision,
        "current": strip.current,
        "before": strip.before,
        "undo": strip.can_undo,
        "redo": strip.can_redo,
        "dropped": len(strip.variants) - len(strip.shown),
        "cards": [_new(card, known) for card in cards if card],
        "line": line(strip),
    }
    moving = any(card and card["moving"] for card in cards)
    if strip.sweep is not None:
        made = strip.sweep
        film = [_card(run, value, theme, False) for run, value in zip(made.runs, made.values, strict=True)]
        reply["sweep"] = {"words": made.words, "cards": [_new(card, known) for card in film if card]}
        moving |= any(card and card["moving"] for card in film)
    return reply | {"moving": moving}


def _new(card: dict[str, Any], known: set[str]) -> dict[str, Any]:
    return {"run": card["run"], "token": card["token"]} if card["token"] in known else card


def _card(run_id: str, name: str, theme: str, pinned: bool) -> dict[str, Any] | None:
    """Name, error, scores and a small picture of a run; None if it was deleted meanwhile."""
    service = get_service()
    try:
        status = service.status(run_id)
    except InvalidInput:
        return None
    error = error_of(status)
    seen = (run_id, name, theme, pinned, status.state, status.iterations // (1 if not status.moving else 50))
    card: dict[str, Any] = {
        "run": run_id,
        "token": hashlib.blake2b(repr(seen).encode(), digest_size=6).hexdigest(),
        "name": name,
        "state": status.state,
        "moving": status.moving,
        "error": "" if error is None else number(error, 3),
        "pinned": pinned,
        "title": status.title,
        "badges": [],
    }
    frame = reader().frame(run_id) if status.iterations else None
    if frame is not None:
        if not status.moving:
            card["badges"] = [badge["text"] for badge in truth_words(_truth(run_id, frame))]
        mark = frame.mark() if not status.moving else "moving"
        if mark != "moving" or status.iterations >= 50:
            version = mark if mark != "moving" else f"{status.iterations // 50}"
            card["thumb"] = _THUMBS.get((run_id, theme), lambda: _thumb(run_id, frame.U, theme), version)
    return card


def error_of(status: RunStatus) -> float | None:
    """‖M−UV‖/‖M‖: of the result, or of the newest iteration."""
    read = reader()
    result = read.result(status.id) if status.state in {"finished", "stopped"} else None
    if result is not None:
        return float(result.relative_error)
    rows = get_service().scalars(status.id, max(0, status.iterations - 1))
    norm = read.norm(status.id)
    return float(rows[-1][_ERROR] / norm) if len(rows) and norm else None


def _truth(run_id: str, frame: Any) -> dict[str, Any]:
    try:
        return get_service().truth(run_id, frame)
    except InvalidInput:  # the data of a snapshot is not here
        return {}


def _thumb(run_id: str, U: Any, theme: str) -> str:
    """A few components as a small PNG."""
    drawn = images.basis(U[:, :MOST_TILES], get_service().column_shape(run_id), theme=theme).fitted(*SIZE)
    file = io.BytesIO()
    drawn.quantize(48, Image.Quantize.FASTOCTREE).save(file, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


# -- what the last change did ------------------------------------------------------------------


def line(strip: Strip) -> str:
    """k 16 → 8: error 0.214 → 0.262, nonzeros 25 % → 12.5 %, parts found 9 → 14."""
    service = get_service()
    try:
        before, now = service.status(strip.before), service.status(strip.current)
    except InvalidInput:
        return ""
    changed = words_of_difference(before.spec, now.spec)
    if type(before.spec.dataset) is not type(now.spec.dataset):  # an error on other data is neither better nor worse
        return changed
    effects = [f"{word} {a} → {b}" for word, a, b in _effects(before, now)]
    return f"{changed or 'the same model'}: {', '.join(effects)}" if effects else changed


def _effects(before: RunStatus, now: RunStatus) -> list[tuple[str, str, str]]:
    old, new = error_of(before), error_of(now)
    found = [("error", number(old, 3), number(new, 3))] if old is not None and new is not None else []
    if before.moving or now.moving or not found:
        return found
    read = reader()
    a, b = read.score(before.id), read.score(now.id)
    if a.nonzeros is not None and b.nonzeros is not None:
        found.append(("nonzeros of U", f"{a.nonzeros:.3g} %", f"{b.nonzeros:.3g} %"))
    for word, x, y in (("parts found", a.parts, b.parts), ("groups right", a.groups, b.groups)):
        if x is not None and y is not None:
            found.append((word, str(x), str(y)))
    return found


# -- before and after --------------------------------------------------------------------------


def before(run_id: str, before_id: str, factor: str, theme: str, place: images.Room = None) -> dict[str, Any]:
    """The components of another run in the order, and the places, of this run's: what each of them was before."""
    service = get_service()
    now, old = service.factors(run_id), service.factors(before_id)
    left, right = (now.X, old.X) if factor == "X" else (now.U, old.U)
    if left.shape[0] != right.shape[0]:
        raise InvalidInput("before", "has other data, so its components cannot be set against these")
    groups = model_groups(service.status(run_id).spec.y_set)

    def draw() -> dict[str, Any]:
        order = align(right, left)
        drawn = images.components(order.of(right)[:, : left.shape[1]], service.column_shape(run_id), groups, theme, place)
        return drawn.to_dict() | {"cosines": [round(c, 3) for c in order.cosines[: left.shape[1]]]}

    return _BEFORE.get((run_id, before_id, factor, theme, place), draw, (now.mark(), old.mark()))
