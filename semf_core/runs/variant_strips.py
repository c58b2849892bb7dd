"""The strip of a workbench: the variants of a model that were tried, in order, and which of them is on show.

A strip is one small file. Its id opens it for looking (whoever follows a strip sees what its owner sees), its key
changes it and controls the runs that were started in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.runs.files import locked, read_json, reading, write_json
from semf_core.runs.ids import checked_id, key_hash, key_matches, new_id

MOST = 200
"""Variants of one strip; then the oldest that is neither pinned nor on show is dropped."""
LONGEST_NAME = 80
MOST_PINS = 2


@dataclass(frozen=True)
class Variant:
    """One model that was run, under a short name."""

    run: str
    name: str
    made: float = 0.0
    field: str = ""
    """What was changed to make it, where it was one thing: a quick second change of the same takes its place."""
    dropped: bool = False


@dataclass(frozen=True)
class Sweep:
    """One number of the model at several values, each with its run."""

    path: str
    words: str
    base: str
    """The run whose model was varied."""
    runs: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Strip:
    """Variants in the order they were made; `trail` is the way through them that undo and redo walk."""

    id: str
    key: str = field(repr=False)
    """SHA-256 of the control key."""
    variants: tuple[Variant, ...] = ()
    trail: tuple[str, ...] = ()
    position: int = -1
    before: str = ""
    """The run that was on show before the present one."""
    pins: tuple[str, ...] = ()
    sweep: Sweep | None = None
    revision: int = 0

    @property
    def current(self) -> str:
        return self.trail[self.position] if self.trail else ""

    @property
    def shown(self) -> list[Variant]:
        return [v for v in self.variants if not v.dropped]

    @property
    def can_undo(self) -> bool:
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        return self.position + 1 < len(self.trail)

    def owner_ok(self, key: object) -> bool:
        return key_matches(key, self.key)

    def variant(self, run_id: str) -> Variant | None:
        return next((v for v in self.variants if v.run == run_id), None)

    # -- changes: each gives a new strip -----------------------------------------------------

    def added(self, variant: Variant) -> Strip:
        """A new variant, on show at once."""
        return replace(self, variants=(*self.variants, variant))._thinned().went(variant.run)

    def superseded(self, variant: Variant) -> Strip:
        """The variant on show is replaced by one that came right after it."""
        gone, before = self.current, self.before
        kept = tuple(v for v in self.variants if v.run != gone)
        trail = tuple(run for run in self.trail[: self.position] if run != gone)
        shorter = replace(self, variants=kept, trail=trail, position=len(trail) - 1)
        return replace(shorter.added(variant), before=before)

    def went(self, run_id: str) -> Strip:
        """Another variant on show; what could be redone is forgotten."""
        if self.variant(run_id) is None:
            raise InvalidInput("variant", "is not in this strip any more")
        if run_id == self.current:
            return self
        trail = (*self.trail[: self.position + 1], run_id)
        return replace(self, trail=trail, position=len(trail) - 1, before=self.current)

    def moved(self, steps: int) -> Strip:
        """Undo (−1) or redo (1)."""
        target = self.position + steps
        if not 0 <= target < len(self.trail):
            raise InvalidInput("strip", "there is nothing to undo" if steps < 0 else "there is nothing to redo", whole=True)
        return replace(self, position=target, before=self.current)

    def renamed(self, run_id: str, name: str) -> Strip:
        text = " ".join(name.split())[:LONGEST_NAME]
        if not text:
            raise InvalidInput("name", "is empty", "write what the variant is called")
        return self._each(run_id, lambda v: replace(v, name=text))

    def dropped(self, run_id: str) -> Strip:
        """Out of sight, until it is brought back; the one on show gives way to the one before."""
        left = [v.run for v in self.shown if v.run != run_id]
        if not left:
            raise InvalidInput("variant", "is the only one", "make another before you drop it")
        trail = tuple(run for run in self.trail if run != run_id) or (left[-1],)
        position = min(len([r for r in self.trail[: self.position + 1] if r != run_id]), len(trail)) - 1
        rest = replace(self, trail=trail, position=max(position, 0), pins=tuple(p for p in self.pins if p != run_id))
        if rest.before in {run_id, rest.current}:
            rest = replace(rest, before="")
        return rest._each(run_id, lambda v: replace(v, dropped=True))

    def without(self, run_id: str) -> Strip:
        """A dropped variant whose run is deleted cannot come back."""
        return replace(self, variants=tuple(v for v in self.variants if v.run != run_id or not v.dropped))

    def restored(self) -> Strip:
        """All that was dropped is back."""
        return replace(self, variants=tuple(replace(v, dropped=False) for v in self.variants))

    def pinned(self, run_id: str) -> Strip:
        """Pin or unpin; the last two pins stay."""
        if run_id in self.pins:
            return replace(self, pins=tuple(p for p in self.pins if p != run_id))
        return replace(self, pins=(*self.pins, run_id)[-MOST_PINS:])

    def _each(self, run_id: str, change: Callable[[Variant], Variant]) -> Strip:
        if self.variant(run_id) is None:
            raise InvalidInput("variant", "is not in this strip any more")
        return replace(self, variants=tuple(change(v) if v.run == run_id else v for v in self.variants))

    def _thinned(self) -> Strip:
        kept = {*self.pins, self.current, self.before}
        surplus = len(self.variants) - MOST
        old = [v.run for v in self.variants if v.run not in kept][: max(0, surplus)]
        if not old:
            return self
        trail = tuple(run for run in self.trail if run not in old)
        variants = tuple(v for v in self.variants if v.run not in old)
        return replace(self, variants=variants, trail=trail, position=trail.index(self.current))


class Strips:
    """Strips below a home folder; any number of threads and servers may use them."""

    def __init__(self, home: Path, may_write: Callable[[], None]) -> None:
        self._folder, self._may_write = home / "strips", may_write

    def create(self, variant: Variant, key: str | None = None) -> tuple[Strip, str]:
        """A new strip that shows this variant, and the key that controls it (that of the run, where given)."""
        self._may_write()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = key or new_id()
        strip = Strip(new_id(), key_hash(key)).added(replace(variant, made=time.time()))
        self._write(strip)
        return strip, key

    def restore(self, saved: Strip, runs: Mapping[str, str], key: str) -> Strip:
        """A strip of the same variants with other runs, which the key controls too."""
        self._may_write()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        variants = tuple(replace(v, run=runs[v.run], made=time.time()) for v in saved.variants)
        trail = tuple(runs[run] for run in (saved.before, saved.current) if run)
        strip = Strip(new_id(), key_hash(key), variants, trail, len(trail) - 1, runs.get(saved.before, ""))
        self._write(strip)
        return strip

    def get(self, strip_id: object) -> Strip:
        try:
            return read_strip(self._path(strip_id))
        except FileNotFoundError:
            raise InvalidInput("workbench", "there is none with this id; it may have been deleted", whole=True) from None

    def change(self, strip_id: str, key: str | None, change: Callable[[Strip], Strip]) -> Strip:
        """Change a strip; only its owner may."""
        self._may_write()
        self.get(strip_id)
        with locked(self._folder / ".lock"):
            strip = self.get(strip_id)
            if not strip.owner_ok(key):
                raise InvalidInput(
                    "key", "only the owner's control link can do this", "make changes on a copy of your own", whole=True
                )
            new = change(strip)
            if new != strip:
                new = replace(new, revision=strip.revision + 1)
                self._write(new)
        return new

    def _path(self, strip_id: object) -> Path:
        return self._folder / f"{checked_id('workbench', strip_id)}.json"

    def _write(self, strip: Strip) -> None:
        write_json(self._path(strip.id), asdict(strip), durable=True)


def read_strip(path: Path) -> Strip:
    """A strip as its file has it."""
    with reading(path):
        values: dict[str, Any] = read_json(path)
        sweep = values.get("sweep")
        if sweep is not None:
            sweep = Sweep(**sweep | {"runs": tuple(sweep["runs"]), "values": tuple(sweep["values"])})
        lists = {name: tuple(values[name]) for name in ("trail", "pins")}
        return Strip(**values | lists | {"variants": tuple(Variant(**v) for v in values["variants"]), "sweep": sweep})


__all__ = ["Strip", "Strips", "Sweep", "Variant", "read_strip"]
