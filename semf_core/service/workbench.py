"""The workbench: a change of the model becomes a run at once, and the strip remembers what was tried."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace

from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec
from semf_core.model.sweeps import Number, sweep
from semf_core.model.variants import differences, name_by_difference, title_of, titled
from semf_core.runs.variant_strips import Strip, Sweep, Variant
from semf_core.service import RunHandle, RunStatus, Service

QUICK_SECONDS = 3.0
"""A second change of the same thing within this time takes the place of the first: nobody has looked at that."""


@dataclass(frozen=True)
class Manner:
    """How a changed model is run: from a fresh start or on from here, at once or paused, how fast, and for whom."""

    warm: bool = False
    paused: bool = False
    pace: float = 0.0
    visitor: str = ""


def open_strip(service: Service, run_id: str, key: str | None = None) -> tuple[Strip, str]:
    """A strip whose first variant is an existing run; `key` is the run's, where it is one's own."""
    status = service.status(run_id)
    name = status.spec.title or status.title or title_of(status.spec)
    return service.strips.create(Variant(run_id, name), key)


def begin(service: Service, spec: ModelSpec, manner: Manner) -> tuple[Strip, str]:
    """A strip with a run of this model."""
    handle = service.start(spec, manner.paused, visitor=manner.visitor, pace=manner.pace)
    return open_strip(service, handle.id, handle.key)


def change(service: Service, strip: Strip, key: str, spec: ModelSpec, manner: Manner) -> Strip:
    """Run a changed model as the next variant; the one on show rests from now on. An error leaves everything as it was."""
    now = service.status(strip.current)
    before = now.spec
    what = [c.what for c in differences(before, spec)]
    single = what[0] if len(what) == 1 else ""
    last = strip.variant(strip.current)
    quick = bool(single and last and last.field == single and time.time() - last.made < QUICK_SECONDS and strip.before)
    if quick:
        before = service.status(strip.before).spec
    handle = _run(service, strip, key, spec, manner)
    variant = Variant(handle.id, _name(before, spec), time.time(), single)
    strip = service.strips.change(strip.id, key, lambda s: s.superseded(variant) if quick else s.added(variant))
    if quick:
        service.delete(now.id, key)
    return strip


def _name(before: ModelSpec, after: ModelSpec) -> str:
    """A name by difference; another data set begins something new, under its own title."""
    if type(before.dataset) is not type(after.dataset):
        return after.title or title_of(after)
    return name_by_difference(before, after)


def goes_on(old: RunStatus, spec: ModelSpec, manner: Manner) -> bool:
    """Whether a changed model goes on from the factors of this run."""
    return manner.warm and (old.spec.dataset, old.spec.rank) == (spec.dataset, spec.rank) and old.iterations > 0


def _run(service: Service, strip: Strip, key: str, spec: ModelSpec, manner: Manner) -> RunHandle:
    if not goes_on(service.status(strip.current), spec, manner):
        handle = service.start(spec, manner.paused, visitor=manner.visitor, key=key, pace=manner.pace)
        rest(service, strip.current, key)
        return handle
    was_moving = rest(service, strip.current, key)
    try:
        handle = service.branch(strip.current, spec, manner.visitor, key, manner.pace)
    except InvalidInput:
        if was_moving:
            service.resume(strip.current, key)
        raise
    if not manner.paused:
        service.resume(handle.id, key)
    return handle


def rest(service: Service, run_id: str, key: str) -> bool:
    """Pause a run of one's own that moves; whether it did."""
    status = service.status(run_id)
    if not status.moving or not status.owner_ok(key):
        return False
    try:
        service.pause(run_id, key)
    except InvalidInput:  # it has just come to its end
        return False
    return True


# -- several values ----------------------------------------------------------------------------


def try_several(service: Service, strip: Strip, key: str, spec: ModelSpec, number: Number, visitor: str = "") -> Strip:
    """Six values of one number, each a run of its own; what an earlier sweep has left behind is deleted.

    Where one of them is rejected there are none.
    """
    models = sweep(spec, number, service.dataset(strip.current))
    rest(service, strip.current, key)
    runs: list[str] = []
    try:
        for _, model in models:
            runs.append(service.start(titled(model), visitor=visitor, key=key).id)
    except InvalidInput:
        _delete(service, key, runs)
        raise
    values = tuple(number.spelled(value) for value, _ in models)
    made = Sweep(number.path, number.words, strip.current, tuple(runs), values)
    old = strip.sweep
    strip = service.strips.change(strip.id, key, lambda s: replace(s, sweep=made))
    _clear(service, strip, key, old)
    return strip


def end_sweep(service: Service, strip: Strip, key: str) -> Strip:
    """Put the filmstrip away, with the runs that nobody has adopted."""
    old = strip.sweep
    strip = service.strips.change(strip.id, key, lambda s: replace(s, sweep=None))
    _clear(service, strip, key, old)
    return strip


def adopt(service: Service, strip: Strip, key: str, run_id: str) -> Strip:
    """A run of the sweep becomes a variant, on show."""
    made = strip.sweep
    if made is None or run_id not in made.runs:
        raise InvalidInput("variant", "is not in the sweep any more")
    name = name_by_difference(service.status(made.base).spec, service.status(run_id).spec)
    return service.strips.change(
        strip.id, key, lambda s: s.went(run_id) if s.variant(run_id) else s.added(Variant(run_id, name, time.time()))
    )


def _clear(service: Service, strip: Strip, key: str, old: Sweep | None) -> None:
    _delete(service, key, [run_id for run_id in (old.runs if old else ()) if strip.variant(run_id) is None])


def _delete(service: Service, key: str, runs: list[str]) -> None:
    for run_id in runs:
        with suppress(InvalidInput):  # gone already
            service.delete(run_id, key)
