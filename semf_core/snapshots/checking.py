"""From the members of a file to a content that can be trusted: every shape, range and name is checked.

A file may come from anybody. Nothing in it is executed, and what it says about the model is read by the same
registries as any JSON: an unknown set, or one that would need Python code, is rejected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Dataset
from semf_core.datasets.arrays import decode_npy
from semf_core.datasets.axes import LONGEST_NAME
from semf_core.model import ModelSpec
from semf_core.runs.frames import VIEW_BYTES, frame_bytes
from semf_core.runs.outcome import NUMBERS
from semf_core.snapshots import content as parts
from semf_core.snapshots.archive import Members, read_json_member
from semf_core.snapshots.bundle import unbundled
from semf_core.snapshots.content import Checkpoint, Content, DataFacts, Outcome, Revision
from semf_core.snapshots.keyframes import Keyframes
from semf_core.snapshots.label import LONGEST_TITLE, Label, readable
from semf_core.snapshots.thumbnails import checked_thumbnail
from semf_core.solvers import COLUMNS, Event
from semf_core.solvers.base import Case
from semf_core.solvers.history import END, FULL, iteration_of, rows_after
from semf_core.solvers.run import COUNTERS, LATER_COUNTERS

Array = np.ndarray
MOST_EVENTS = 200_000
MOST_EDITIONS = 10_000
_TEXTS = {parts.ABOUT, parts.MODEL, parts.EVENTS, parts.RESULT, parts.CHECKPOINT, parts.BUNDLE, parts.AXES}
_ARRAY = re.compile(r"(history|keyframes|result|start|checkpoint|data)/([A-Za-z][A-Za-z0-9_]{0,39})\.npy")
_HASH = re.compile(r"[0-9a-f]{64}")


def checked_content(name: str, members: Members) -> Content:
    """What the file holds; anything that is not as it should be is rejected in words."""
    texts, arrays = _sorted_out(name, members)
    try:
        return _content(texts, arrays, members.get(parts.THUMBNAIL))
    except InvalidInput as error:
        raise InvalidInput(name, f"cannot be opened: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # the last net for foreign data: whatever it trips over, the file is at fault
        raise InvalidInput(name, "cannot be opened: its parts do not fit together", "save the run again") from error


def _sorted_out(name: str, members: Members) -> tuple[dict[str, Any], dict[str, dict[str, Array]]]:
    """JSON members by name, and arrays by folder and name."""
    texts: dict[str, Any] = {}
    arrays: dict[str, dict[str, Array]] = {}
    for member, data in members.items():
        found = _ARRAY.fullmatch(member)
        if found:
            arrays.setdefault(found[1], {})[found[2]] = decode_npy(f"{name}, {member}", data)
        elif member in _TEXTS:
            texts[member] = read_json_member(name, member, data)
        elif member != parts.THUMBNAIL:
            raise InvalidInput(name, f"holds a member that no snapshot has ({member[:60]!r}); the file was changed")
    for needed in (parts.ABOUT, parts.MODEL, parts.EVENTS):
        if needed not in texts:
            raise InvalidInput(name, f"lacks {needed}; the file is not complete")
    return texts, arrays


def _content(texts: dict[str, Any], arrays: dict[str, dict[str, Array]], thumbnail: bytes | None) -> Content:
    about = _object("about", texts[parts.ABOUT])
    facts = _facts(_object("data", about.get("data")))
    revisions = _revisions(texts[parts.MODEL], facts.shape)
    rank = revisions[-1].spec.rank
    outcome = _outcome(texts.get(parts.RESULT), arrays.pop("result", {}), facts.shape, rank)
    stop_reason = "" if outcome is None else outcome.numbers["stop_reason"]
    history = _history(arrays.pop("history", {}), diverged=stop_reason == "diverged")
    iterations = _iterations(about.get("iterations"), len(history))
    if outcome is not None and outcome.numbers["iterations"] != iterations:
        raise InvalidInput("result", "counts other iterations than the history has")
    events = _events(texts[parts.EVENTS], iterations)
    if sum(e.kind == "edit" for e in events) != len(revisions) - 1:
        raise InvalidInput("model", "its revisions and the edits among the events are not equally many", whole=True)
    keyframes = _keyframes(arrays.pop("keyframes", None), facts.shape, rank, iterations)
    start = _start(arrays.pop("start", None), facts.shape, rank)
    told, stored = texts.get(parts.CHECKPOINT), arrays.pop("checkpoint", {})
    checkpoint = _checkpoint(told, stored, facts.shape, rank, iterations, len(events))
    axes = Axes.from_dict(texts.get(parts.AXES, {}), facts.shape)
    dataset = _dataset(texts.get(parts.BUNDLE), arrays.pop("data", {}), facts)
    return Content(
        label=Label.from_file(about.get("label")),
        created=_number("created", about.get("created"), low=0, high=1e11),
        message=readable("message", about.get("message")),
        remark=readable("remark", about.get("remark")),
        data=facts,
        versions=_versions(_object("versions", about.get("versions"))),
        truth=_truth(_object("truth", about.get("truth"))),
        revisions=revisions,
        history=history,
        iterations=iterations,
        events=events,
        keyframes=keyframes,
        result=outcome,
        start=start,
        checkpoint=checkpoint,
        dataset=None if dataset is None else replace(dataset, axes=axes),
        axes=axes,
        components=_components(about.get("components", []), rank),
        thumbnail=b"" if thumbnail is None else checked_thumbnail(thumbnail),
    )


# -- small things ------------------------------------------------------------------------------


def _object(field: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(field, "must be an object")
    return value


def _number(field: str, value: Any, low: float, high: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InvalidInput(field, f"must be a number of at least {low:g}")
    return float(value)


def _count(field: str, value: Any, most: float = math.inf) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise InvalidInput(field, "must be a whole number in its range")
    return value


def _facts(values: Mapping[str, Any]) -> DataFacts:
    shape = values.get("shape")
    if not isinstance(shape, list) or len(shape) != 2 or not all(_count("shape", side, 2**40) for side in shape):
        raise InvalidInput("shape", "must be two whole numbers")
    fingerprint = values.get("fingerprint")
    if not isinstance(fingerprint, str) or not _HASH.fullmatch(fingerprint):
        raise InvalidInput("fingerprint", "must be a SHA-256 in hexadecimal digits")
    picture = values.get("image_shape")
    if picture is not None:
        sides = [_count("image_shape", side, 2**40) for side in picture] if isinstance(picture, list) else []
        if len(sides) != 2 or math.prod(sides) != shape[0]:
            raise InvalidInput("image_shape", "does not fit the rows of the data")
        picture = (sides[0], sides[1])
    return DataFacts(readable("title", values.get("title"), LONGEST_TITLE), (shape[0], shape[1]), fingerprint, picture)


def _versions(values: Mapping[str, Any]) -> dict[str, str]:
    return {readable("versions", name, 40): readable("versions", value, 200) for name, value in values.items()}


def _truth(values: Mapping[str, Any]) -> dict[str, int | None]:
    known = ("parts_found", "parts_total", "groups_correct", "groups_total")
    if not set(values) <= set(known):
        raise InvalidInput("truth", f"may count only {', '.join(known)}")
    return {name: None if value is None else _count(name, value, 1e9) for name, value in values.items()}


def _components(names: Any, rank: int) -> tuple[str, ...]:
    if not isinstance(names, list) or len(names) > rank:
        raise InvalidInput("components", "must be a list of at most as many names as there are components")
    return tuple(readable("components", name, LONGEST_NAME) for name in names)


# -- the model ---------------------------------------------------------------------------------


def _revisions(values: Any, shape: tuple[int, int]) -> tuple[Revision, ...]:
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_EDITIONS:
        raise InvalidInput("model", "must be a list with the model and its later revisions")
    revisions = tuple(_revision(_object("model", value)) for value in values)
    first = revisions[0].spec
    for revision in revisions:
        spec = revision.spec
        if (spec.rank, spec.dataset, spec.seed) != (first.rank, first.dataset, first.seed):
            raise InvalidInput("model", "an edit changes the rank, the data or the seed, which no run does", whole=True)
        readable("title", spec.title)
        readable("watch", spec.watch)
        if (size := frame_bytes(shape, spec.rank)) > VIEW_BYTES:  # a few stored rows may stand for factors of any size
            sizes = f"makes factors of {size >> 20:,} MB, more than the {VIEW_BYTES >> 20} MB that are opened"
            raise InvalidInput("shape", sizes)
        spec.x_set.check_shape((shape[0], spec.rank))
        spec.y_set.check_shape((spec.rank, shape[1]))
    return revisions


def _revision(value: Mapping[str, Any]) -> Revision:
    numbers = value.get("numbers")
    if numbers is not None:
        numbers = {readable("numbers", k, 40): _number(str(k), v, low=0) for k, v in _object("numbers", numbers).items()}
    return Revision(ModelSpec.from_dict(value.get("spec")), numbers)


# -- history -----------------------------------------------------------------------------------


def _history(columns: Mapping[str, Array], diverged: bool) -> Array:
    """One column for each of COLUMNS; finite, except at the last iteration of a run that diverged."""
    if set(columns) != set(COLUMNS):
        odd = sorted(set(columns) ^ set(COLUMNS))[0]
        raise InvalidInput("history", f"its columns are not those of a run ({odd} is missing or unknown)", whole=True)
    lengths = {(a.shape, a.dtype) for a in columns.values()}
    if len(lengths) != 1 or any(a.ndim != 1 or a.dtype != np.float64 or not len(a) for a in columns.values()):
        raise InvalidInput("history", "its columns must be equally many float64 numbers, at least one", whole=True)
    table = np.stack([columns[name] for name in COLUMNS], axis=1)
    judged = table[: len(table) - diverged]
    for i, name in enumerate(COLUMNS):
        values = judged[:, i]
        wrong = np.isnan(values) if name == "change" else ~np.isfinite(values)  # the first change is infinite
        unused = name in {"alpha", "beta", "gap_x", "gap_y", "change"} and np.isnan(table[:, i]).all()
        if wrong.any() and not unused:
            raise InvalidInput("history", f"{name} is not finite at iteration {int(wrong.argmax()) + 1}", whole=True)
    whole = table[:, [COLUMNS.index("case"), COLUMNS.index("start")]]
    known_cases = np.isin(whole[:, 0], [int(case) for case in Case]).all()
    if not known_cases or not np.isfinite(whole).all() or (whole != np.rint(whole)).any() or (whole < 0).any():
        raise InvalidInput("history", "case must be one of Algorithm 2, and start a whole number", whole=True)
    seconds = table[:, COLUMNS.index("seconds")]
    if not np.isfinite(seconds).all() or seconds[0] < 0 or (np.diff(seconds) < 0).any():
        raise InvalidInput("history", "its times do not go forward", whole=True)
    return table


def _iterations(given: Any, rows: int) -> int:
    """How many iterations the rows stand for: one each, unless the file says that a long history was thinned out."""
    if given is None:
        return rows
    iterations = _count("iterations", given, 2**53)
    kept = rows_after(iterations)
    if iterations <= FULL or rows != kept + (iteration_of(kept - 1) != iterations):
        raise InvalidInput("history", "has not as many rows as its iterations make")
    return iterations


def _check_end(found: Mapping[str, Array], iterations: int) -> None:
    """Where a thinned-out history stands at the checkpoint."""
    end, recent = found.get("history_end"), found.get("history_recent")
    if end is None and recent is None:
        return
    told = end is not None and end.shape == (END,) and end.dtype == np.float64 and end[0] == iterations > FULL
    if not told or recent is None or recent.ndim != 1 or recent.dtype != np.float64:
        raise InvalidInput("checkpoint", "does not say where its history stands")


def _events(values: Any, iterations: int) -> tuple[Event, ...]:
    if not isinstance(values, list) or len(values) > MOST_EVENTS:
        raise InvalidInput("events", "must be a list of what happened")
    events = []
    for value in values:
        item = _object("events", value)
        iteration = _count("events", item.get("iteration"), iterations)
        events.append(Event(iteration, readable("events", item.get("kind"), 40), readable("events", item.get("text"), 100_000)))
    if any(a.iteration > b.iteration for a, b in pairwise(events)):
        raise InvalidInput("events", "are not in order")
    return tuple(events)


# -- factors -----------------------------------------------------------------------------------


def _factors(field: str, found: Mapping[str, Array], names: str, shape: tuple[int, int], rank: int) -> dict[str, Array]:
    """X and U are m×p, Y and V p×n, all of them finite floats."""
    if sorted(found) != sorted(names):
        raise InvalidInput(field, f"must hold exactly the factors {', '.join(names)}")
    for name, array in found.items():
        wanted = (shape[0], rank) if name in "XU" else (rank, shape[1])
        if array.shape != wanted:
            sides = " × ".join(str(s) for s in array.shape)
            raise InvalidInput(
                field, f"{name} is {sides}, but the model and the data make it {wanted[0]} × {wanted[1]}", whole=True
            )
        _check_floats(field, name, array)
    return {name: found[name] for name in names}


def _check_floats(field: str, name: str, array: Array) -> None:
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)) or not np.isfinite(array).all():
        raise InvalidInput(field, f"{name} must hold finite numbers in single or double precision", whole=True)


LONGEST_ENDING = 2000


def _outcome(values: Any, found: Mapping[str, Array], shape: tuple[int, int], rank: int) -> Outcome | None:
    if values is None and not found:
        return None
    numbers = dict(_object("result", values))
    state = numbers.pop("state", None)
    if state not in {"finished", "stopped"} or set(numbers) - {"ending"} != set(NUMBERS):
        raise InvalidInput("result", "is not complete")
    readable("ending", numbers.get("ending", ""), LONGEST_ENDING)
    _count("iterations", numbers["iterations"])
    _count("starts", numbers["starts"])
    reason = readable("stop_reason", numbers["stop_reason"], 40)
    for name in ("seconds", "norm"):
        _number(name, numbers[name], low=0, high=1e300)
    for name in ("residual_xy", "residual_uv"):
        if reason != "diverged" or not isinstance(numbers[name], float):
            _number(name, numbers[name], low=0, high=1e300)
    return Outcome(state, numbers, _factors("result", found, "UVXY", shape, rank))


def _keyframes(found: Mapping[str, Array] | None, shape: tuple[int, int], rank: int, iterations: int) -> Keyframes | None:
    if found is None:
        return None
    keyframes = Keyframes.from_arrays(found, shape, rank)
    if len(keyframes.iterations) and keyframes.iterations[-1] > iterations:
        raise InvalidInput("keyframes", "go on after the end of the history")
    return keyframes


def _start(found: Mapping[str, Array] | None, shape: tuple[int, int], rank: int) -> tuple[Array, Array] | None:
    if found is None:
        return None
    factors = _factors("start", found, "XY", shape, rank)
    return factors["X"], factors["Y"]


def _checkpoint(
    values: Any, found: Mapping[str, Array], shape: tuple[int, int], rank: int, recorded: int, events: int
) -> Checkpoint | None:
    if values is None and not found:
        return None
    meta = dict(_object("checkpoint", values))
    iterations = _count("checkpoint", meta.pop("iterations", None), recorded)
    seen = _count("checkpoint", meta.pop("events", None), events)
    counters = set(_object("counters", meta.get("counters"))) - set(LATER_COUNTERS)
    if set(meta) != {"counters", "rng", "seed"} or counters != set(COUNTERS):
        raise InvalidInput("checkpoint", "is not complete")
    _check_end(found, iterations)
    _check_counters(meta["counters"], iterations)
    _count("seed", meta["seed"])
    try:
        np.random.default_rng().bit_generator.state = meta["rng"]
    except (TypeError, ValueError, KeyError, OverflowError):
        raise InvalidInput("checkpoint", "has no valid state of the random numbers") from None
    for name, most in (("W", shape[0]), ("Z", shape[1])):
        state, best = found.get(name), found.get(f"best_{name}")
        if state is None or best is None or state.shape != best.shape or state.ndim != 2:
            raise InvalidInput("checkpoint", f"{name} and the best {name} are missing or differ in shape", whole=True)
        if len(state) != 2 * rank or not 0 < state.shape[1] <= most:
            raise InvalidInput("checkpoint", f"the shape of {name} does not agree with the model and the data", whole=True)
    for name, array in found.items():
        if array.dtype.kind == "f" and name != "history_end":
            _check_floats("checkpoint", name, array[~_unbounded(found, array)] if name == "numbers" else array)
    return Checkpoint(iterations, seen, meta, dict(found))


def _unbounded(found: Mapping[str, Array], numbers: Array) -> Array:
    """Which numbers may be infinite: the change of factors that were zero."""
    return (found["number_names"] == "change") & np.isposinf(numbers)


def _check_counters(counters: Mapping[str, Any], iterations: int) -> None:
    for name, value in counters.items():
        if name == "stop_reason":
            if value is not None:
                readable(name, value, 40)
        elif name in {"seconds", "best_uv"}:
            _number(name, value, low=0)
        elif name in LATER_COUNTERS:
            if not isinstance(value, float):
                raise InvalidInput(name, "must be a number")
        else:
            _count(name, value, iterations)


def _dataset(info: Any, arrays: Mapping[str, Array], facts: DataFacts) -> Dataset | None:
    if info is None and not arrays:
        return None
    dataset = unbundled(arrays, info)
    if dataset.shape != facts.shape or dataset.fingerprint() != facts.fingerprint:
        raise InvalidInput("data", "is not the data that the run was made from: its fingerprint is another")
    return dataset
