"""What the live view is sent: only the points and pictures that it does not have yet.

The browser asks with what it has (`Ask`), and gets a dict that is ready for JSON. Curves are thinned
to between 300 and 600 points: each is the end of a stretch of `stride` iterations.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.ui import images
from pages.ui.messages import ENDED, LIVE, state_words
from semf_core.common.errors import InvalidInput
from semf_core.drawing.downsample import stride_for
from semf_core.drawing.pictures import default_samples
from semf_core.drawing.top import plural, word_lists
from semf_core.exports.curves import CURVES
from semf_core.factorization.scores import model_groups, truth_words
from semf_core.mathematics.metrics import CLEAN, FOUND
from semf_core.runs.frames import FactorFrame
from semf_core.service.public import Cache, fits_single, without_vanished
from semf_core.solvers.run import COLUMNS

Array = np.ndarray
MOST_POINTS = 600
MOST_EVENTS = 300
MOST_SAMPLES = 8
MOST_TOP = 5
MOST_WORDS = 6
MANY_SAMPLES = 10_000
LARGEST = 2**53
"""No number in an address is larger."""
_CURVE_INDEX = [COLUMNS.index(name) for name in CURVES]
_CASE, _SECONDS = COLUMNS.index("case"), COLUMNS.index("seconds")


@dataclass(frozen=True)
class Ask:
    """What a view has, and what it wants to see."""

    since: int = 0
    stride: int = 0
    tail: float = -1.0
    """Run time at iteration `since`: another one there means that the run began afresh."""
    events: int = 0
    at: int | None = None
    """The iteration to see; None for the newest."""
    picture: str = ""
    """Token of the pictures on show."""
    factor: str = "U"
    theme: str = "light"
    samples: tuple[int, ...] = ()
    compact: bool = False
    lower_bound: bool = False
    """It has the Eckart–Young bound."""
    exact: bool = False
    """The factors of the iteration itself, not those recorded last before it."""
    hall: images.Room = None

    @classmethod
    def from_query(cls, query: Any) -> Ask:
        """Read an address's parameters; whatever cannot be read is rejected in words."""
        try:
            return cls(
                since=_whole(query.get("since", 0)),
                stride=_whole(query.get("stride", 0)),
                tail=_finite(query.get("tail", -1)),
                events=_whole(query.get("events", 0)),
                at=_whole(query["at"]) if query.get("at") else None,
                picture=query.get("picture", ""),
                factor="X" if query.get("factor") == "X" else "U",
                theme="dark" if query.get("theme") == "dark" else "light",
                samples=tuple(_whole(s) for s in query.get("samples", "").split(",")[:MOST_SAMPLES] if s),
                compact=query.get("compact") == "1",
                lower_bound=query.get("lower_bound") == "1",
                exact=query.get("exact") == "1",
                hall=images.room(query.get("hall", "")),
            )
        except (ValueError, OverflowError):
            raise InvalidInput("address", "cannot be read") from None


def _whole(text: Any) -> int:
    """A number from 0 on that a file can have as its position."""
    value = max(0, int(text))
    if value > LARGEST:
        raise ValueError(text)
    return value


def _finite(text: Any) -> float:
    """A number that JSON can hold, because it is sent back."""
    value = float(text)
    if not np.isfinite(value):
        raise ValueError(text)
    return value


def answer(service: Any, run_id: str, ask: Ask) -> dict[str, Any]:
    """State, new points, new events and, where they changed, the pictures."""
    status = service.status(run_id)
    reply: dict[str, Any] = {"state": status.state, "words": state_words(status), "live": status.state in LIVE}
    ending = service.ending(run_id) if status.state in ENDED else None
    if ending is not None:
        reply["ending"] = {"text": ending.text, "tries": [suggestion.title for suggestion in ending.suggestions]}
    reply |= points(service, run_id, ask)
    reply["event_count"], events = service.newest_events(run_id, 0 if reply["reset"] else ask.events, MOST_EVENTS)
    reply["events"] = [[e.iteration, e.kind, e.text] for e in events]
    reply["keyframes"] = _KEYFRAMES.get(run_id, lambda: service.keyframes(run_id), service.look(run_id))
    reply["iterations"] = status.iterations
    if status.spec.solver.splits:
        reply |= penalties(service, run_id, status)
    lower_bound = None if ask.lower_bound else service.lower_bound(run_id)
    if lower_bound is not None:
        reply["lower_bound"] = {"value": lower_bound, "rank": status.spec.rank}
    exact = service.recomputed(run_id, ask.at) if ask.exact and ask.at is not None else None
    reply["computing"] = exact is not None and exact.computing
    try:
        reply["picture"] = picture(service, run_id, status.spec, ask, exact.frame if exact is not None else None)
    except InvalidInput:  # nothing is recorded yet
        reply["picture"] = None
    return reply


def penalties(service: Any, run_id: str, status: Any) -> dict[str, Any]:
    """The newest α and β, and the rule that they follow."""
    rows = service.scalars(run_id, max(0, status.iterations - 1))
    rule = getattr(status.spec.solver, "penalty", "")
    newest = [float(f"{rows[-1][COLUMNS.index(name)]:.4g}") for name in ("alpha", "beta")] if len(rows) else [np.inf]
    return {"rule": rule, "penalties": newest} if np.isfinite(newest).all() else {"rule": rule}


# -- curves ------------------------------------------------------------------------------------


def points(service: Any, run_id: str, ask: Ask) -> dict[str, Any]:
    """Points after `since`; the whole history if the view has none, a coarser one, or that of another start."""
    stride = stride_for(service.iterations(run_id), MOST_POINTS)
    last = service.row_at(run_id, ask.since) if ask.since and stride == ask.stride else None
    known = last is not None and float(last[_SECONDS]) == ask.tail
    first = ask.since if known else 0
    found = service.history(run_id, first, stride)
    whole = len(found) - (len(found) > 0 and int(found.iterations[-1]) % stride > 0)
    rows = found.values[:whole]
    reply: dict[str, Any] = {"reset": not known, "stride": stride, "from": first}
    if len(rows):
        curves = rows[:, _CURVE_INDEX].T
        double = not all(map(fits_single, curves))
        reply |= {
            "since": int(found.iterations[whole - 1]),
            "tail": float(rows[-1, _SECONDS]),
            "curves": _packed(curves.astype("<f8" if double else "<f4")),
            **({"double": True} if double else {}),
            "cases": _packed(rows[:, _CASE].astype(np.uint8)),
            "count": len(rows),
        }
    else:
        reply |= {"since": ask.since if known else 0, "tail": ask.tail, "count": 0}
    return reply


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


# -- pictures ----------------------------------------------------------------------------------


_PICTURES: Cache[Any, dict[str, Any]] = Cache()
_KEYFRAMES: Cache[str, list[int]] = Cache()
_LARGE = threading.Lock()
"""Large factors are drawn one after another, so that the memory for it is that of one of them."""
LARGE_ENTRIES = 4_000_000
_View = tuple[str, str, tuple[int, ...], bool, images.Room]
"""Factor, theme, samples, whether the view is a small one, its place in a hall."""


def picture(service: Any, run_id: str, spec: Any, ask: Ask, exact: FactorFrame | None = None) -> dict[str, Any] | None:
    """Montage, coefficients, samples and scores of one frame; None if the view has them already.

    The frame is what was computed again for exactly the wanted iteration, else the one recorded last before it.
    Nothing is read or drawn as long as the files stay as they are, however many look how often.
    """
    names = service.component_names(run_id)
    view = (ask.factor, ask.theme, ask.samples, ask.compact, ask.hall, None if exact is None else exact.iteration, names)

    def make() -> dict[str, Any]:
        large = spec.rank * sum(service.shape(run_id)) > LARGE_ENTRIES
        with _LARGE if large else contextlib.nullcontext():
            return _pictures(service, run_id, spec, ask, exact) | {"names": names}

    stamp = service.stamp(run_id, ask.at)
    drawn = _PICTURES.get((run_id, view), make, stamp) if ask.at is None else _PICTURES.get((run_id, view, stamp), make)
    return None if drawn["token"] == ask.picture else drawn


def _pictures(service: Any, run_id: str, spec: Any, ask: Ask, exact: FactorFrame | None) -> dict[str, Any]:
    frame = service.factors(run_id, ask.at) if exact is None else exact
    data = _data(service, run_id)
    count = frame.V.shape[1]
    chosen = tuple(s for s in ask.samples if 0 <= s < count) or default_samples(count)
    view = (ask.factor, ask.theme, chosen, ask.compact, ask.hall)
    seen = hashlib.blake2b(repr((view, service.component_names(run_id))).encode(), digest_size=4).hexdigest()
    token = f"{frame.iteration}-{frame.mark()}-{seen}"
    scores, matched = _truth(service, run_id, frame) if data is not None else ({}, [])
    drawn = _draw(frame, data, service.column_shape(run_id), spec, view)
    if not ask.compact:
        drawn |= _named(service, run_id, (frame.X, frame.Y) if ask.factor == "X" else (frame.U, frame.V), ask.theme)
    if "samples" in drawn:
        columns = service.axes(run_id).columns
        drawn["samples"]["labels"] = [columns.label_with_unit(j) for j in chosen]
    found = {"matched": [column for column, _ in matched], "remainders": [[c, rest] for c, rest in matched if rest > CLEAN]}
    return {"token": token, "iteration": frame.iteration, "badges": truth_words(scores), **found, **drawn}


def _data(service: Any, run_id: str) -> Any:
    """The data matrix; None for a snapshot whose data is not at hand: then its parts are shown without samples."""
    try:
        return service.dataset(run_id).data
    except InvalidInput:
        return None


def _truth(service: Any, run_id: str, frame: Any) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    return service.truth(run_id, frame), _matched(service, run_id, frame)


def _matched(service: Any, run_id: str, frame: Any) -> list[tuple[int, int]]:
    """Columns of U that are a true part, and how much of each is something else, in per cent of its length."""
    matching = service.matching(run_id, frame)
    if matching is None:
        return []
    found = zip(matching.columns, np.abs(matching.cosines), matching.beside, strict=True)
    return [(int(column), rest) for column, cosine, rest in found if cosine > FOUND]


def _draw(frame: Any, data: Any, shape: Any, spec: Any, view: _View) -> dict[str, Any]:
    factor, theme, chosen, compact, place = view
    groups = model_groups(spec.y_set)
    left, right = (frame.X, frame.Y) if factor == "X" else (frame.U, frame.V)
    left = without_vanished(left, right)
    drawn: dict[str, Any] = {
        "factor": factor,
        "basis": images.components(left, shape, groups, theme, place).to_dict(),
        "count": left.shape[1],
        "grouped": groups is not None and shape is not None,
    }
    if not compact:
        drawn["sample_count"] = right.shape[1]
        if data is not None:
            shown = images.samples(data, left, right, chosen, shape, theme).to_dict()
            drawn["samples"] = shown | {"chosen": list(chosen)}
    return drawn


def _named(service: Any, run_id: str, factors: tuple[Array, Array], theme: str) -> dict[str, Any]:
    """What names and axes say: V as curves or maps, the strongest rows where they are words, what samples are called."""
    (left, right), axes, use = factors, service.axes(run_id), use_of(factors[1])
    columns = axes.columns
    return {
        "use": [[count, [[j, value, columns.label(j)] for j, value in top]] for count, top in use] if len(columns) else use,
        "coefficients": images.coefficients(right, axes, theme).to_dict(),
        "as_maps": axes.map_shape is not None,
        "sample_axis": columns.heading or "the axis" if columns.ordered else "",
        "ranked": word_lists(without_vanished(left, right), axes, service.image_shape(run_id), MOST_WORDS),
        "ranked_title": plural(axes.rows.title or "row"),
    }


def use_of(V: Array) -> list[list[Any]]:
    """For each component: how many samples use it, and which use it most with their coefficients."""
    size = np.abs(V)
    if V.shape[1] > MANY_SAMPLES:  # sorting all of them would take a second for a few millions
        first = np.sort(np.argpartition(-size, MOST_TOP, axis=1)[:, :MOST_TOP], axis=1)
        order = np.take_along_axis(first, np.argsort(-np.take_along_axis(size, first, 1), axis=1, kind="stable"), 1)
    else:
        order = np.argsort(-size, axis=1, kind="stable")[:, :MOST_TOP]
    uses = np.count_nonzero(size > 0.01 * size.max(initial=0.0), axis=1)
    return [[int(u), [[int(j), float(f"{V[k, j]:.3g}")] for j in order[k] if size[k, j] > 0]] for k, u in enumerate(uses)]
