"""What the live view is sent: only the points and pictures that it does not have yet.

The browser asks with what it has (`Ask`), and gets a dict that is ready for JSON. Curves are thinned
to between 300 and 600 points: each is the end of a stretch of `stride` iterations.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from pages.ui import images
from pages.ui.words import LIVE, state_words
from semf_core import metrics
from semf_core.parameters import InvalidInput
from semf_core.pictures import default_samples
from semf_core.runs.caches import Recent
from semf_core.scores import model_groups, truth_words
from semf_core.solvers.run import COLUMNS
from semf_core.thinning import decisions, stride_for

Array = np.ndarray
CURVES = ("residual_xy", "residual_uv", "alpha", "beta", "gap_x", "gap_y")
MOST_POINTS = 600
MOST_EVENTS = 300
MOST_SAMPLES = 8
MOST_TOP = 5
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
    floor: bool = False
    """It has the Eckart–Young bound."""

    @classmethod
    def from_query(cls, query: Any) -> Ask:
        """Read an address's parameters; whatever cannot be read is refused in words."""
        try:
            return cls(
                since=max(0, int(query.get("since", 0))),
                stride=max(0, int(query.get("stride", 0))),
                tail=float(query.get("tail", -1)),
                events=max(0, int(query.get("events", 0))),
                at=int(query["at"]) if query.get("at") else None,
                picture=query.get("picture", ""),
                factor="X" if query.get("factor") == "X" else "U",
                theme="dark" if query.get("theme") == "dark" else "light",
                samples=tuple(int(s) for s in query.get("samples", "").split(",") if s)[:MOST_SAMPLES],
                compact=query.get("compact") == "1",
                floor=query.get("floor") == "1",
            )
        except (ValueError, OverflowError):
            raise InvalidInput("address", "cannot be read") from None


def answer(service: Any, run_id: str, ask: Ask) -> dict[str, Any]:
    """State, new points, new events and, where they changed, the pictures."""
    status = service.status(run_id)
    reply: dict[str, Any] = {"state": status.state, "words": state_words(status), "live": status.state in LIVE}
    reply |= points(service, run_id, ask)
    events = service.events(run_id)
    reply["events"] = [[e.iteration, e.kind, e.text] for e in events[ask.events if not reply["reset"] else 0 :][-MOST_EVENTS:]]
    reply["event_count"] = len(events)
    reply["keyframes"] = service.keyframes(run_id)
    floor = None if ask.floor else service.floor(run_id)
    if floor is not None:
        reply["floor"] = {"value": floor, "rank": status.spec.rank}
    try:
        reply["picture"] = picture(service, run_id, status.spec, ask)
    except InvalidInput:  # nothing is recorded yet
        reply["picture"] = None
    return reply


# -- curves ------------------------------------------------------------------------------------


def points(service: Any, run_id: str, ask: Ask) -> dict[str, Any]:
    """Points after `since`; the whole history if the view has none, a coarser one, or that of another start."""
    first = max(ask.since - 1, 0)
    rows = service.scalars(run_id, first)
    stride = stride_for(first + len(rows), MOST_POINTS)
    known = ask.since > 0 and len(rows) > 0 and float(rows[0, _SECONDS]) == ask.tail and stride == ask.stride
    if known:
        rows = rows[1:]
        first += 1
    elif first:
        first, rows = 0, service.scalars(run_id, 0)
        stride = stride_for(len(rows), MOST_POINTS)
    usable = len(rows) - (first + len(rows)) % stride
    rows = rows[: max(usable, 0)]
    reply: dict[str, Any] = {"reset": not known, "stride": stride, "from": first}
    if len(rows):
        thin = rows[stride - 1 :: stride]
        reply |= {
            "since": first + len(rows),
            "tail": float(rows[-1, _SECONDS]),
            "curves": _packed(thin[:, _CURVE_INDEX].T.astype("<f4")),
            "cases": _packed(decisions(rows[:, _CASE], stride)),
            "count": len(thin),
        }
    else:
        reply |= {"since": ask.since if known else 0, "tail": ask.tail, "count": 0}
    return reply


def _packed(array: Array) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


# -- pictures ----------------------------------------------------------------------------------


_PICTURES: Recent[Any, Any] = Recent(64)
_SCORES: Recent[Any, Any] = Recent(512)


def picture(service: Any, run_id: str, spec: Any, ask: Ask) -> dict[str, Any] | None:
    """Montage, coefficients, samples and scores of one frame; None if the view has them already."""
    frame = service.factors(run_id, ask.at)
    data = _data(service, run_id)
    count = frame.V.shape[1]
    chosen = tuple(s for s in ask.samples if 0 <= s < count) or default_samples(count)
    mark = frame.mark()
    view = (ask.factor, ask.theme, chosen, ask.compact)
    token = f"{frame.iteration}-{mark}-{hashlib.blake2b(repr(view).encode(), digest_size=4).hexdigest()}"
    if token == ask.picture:
        return None
    scores, matched = _SCORES.get((run_id, mark), lambda: _truth(service, run_id, frame)) if data is not None else ({}, [])
    drawn = _PICTURES.get((run_id, token), lambda: _draw(frame, data, service.image_shape(run_id), spec, view))
    return {"token": token, "iteration": frame.iteration, "badges": truth_words(scores), "matched": matched, **drawn}


def _data(service: Any, run_id: str) -> Any:
    """The data matrix; None for a snapshot whose data is not at hand: then its parts are shown without samples."""
    try:
        return service.dataset(run_id).data
    except InvalidInput:
        return None


def _truth(service: Any, run_id: str, frame: Any) -> tuple[dict[str, Any], list[int]]:
    return service.truth(run_id, frame), _matched(service, run_id, frame)


def _matched(service: Any, run_id: str, frame: Any) -> list[int]:
    """Columns of U that are a true part."""
    matching = service.matching(run_id, frame)
    if matching is None:
        return []
    return [int(column) for column, cosine in zip(matching.columns, matching.cosines, strict=True) if abs(cosine) > metrics.FOUND]


def _draw(frame: Any, data: Any, shape: Any, spec: Any, view: tuple[str, str, tuple[int, ...], bool]) -> dict[str, Any]:
    factor, theme, chosen, compact = view
    groups = model_groups(spec.y_set)
    left, right = (frame.X, frame.Y) if factor == "X" else (frame.U, frame.V)
    drawn: dict[str, Any] = {
        "factor": factor,
        "basis": images.basis(left, shape, groups, theme).to_dict(),
        "grouped": groups is not None and shape is not None,
    }
    if not compact:
        drawn |= {
            "coefficients": images.heat_map(right, theme).to_dict(),
            "use": use_of(right),
            "sample_count": right.shape[1],
        }
        if data is not None:
            shown = images.samples(data, left, right, chosen, shape, theme).to_dict()
            drawn["samples"] = shown | {"chosen": list(chosen)}
    return drawn


def use_of(V: Array) -> list[list[Any]]:
    """For each component: how many samples use it, and which use it most with their coefficients."""
    size = np.abs(V)
    order = np.argsort(-size, axis=1, kind="stable")[:, :MOST_TOP]
    uses = np.count_nonzero(size > 0.01 * size.max(initial=0.0), axis=1)
    return [[int(u), [[int(j), float(f"{V[k, j]:.3g}")] for j in order[k] if size[k, j] > 0]] for k, u in enumerate(uses)]
