"""Presentations: what a lecturer shows now, so that others can follow it.

A presentation is one small file. Its id opens it for looking, and for nothing else; its key says what is on show, and a
second key, which follows from the first and not the other way round, opens the speaker notes.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.lessons.format import NAME
from semf_core.runs.files import locked, needing_room, read_json, reading, write_json
from semf_core.runs.ids import ID, checked_id, key_hash, key_matches, new_id
from semf_core.runs.journal import note

PAGES = ("", "learn", "workbench")
LARGEST = 2**53
MOST_DRAWN, LONGEST_WORDS = 64, 100
"""Words and numbers of a drawing, and characters of such a word."""
TOUCH_SECONDS = 300.0
"""A presentation in which nothing changes is marked as used so often."""


@dataclass(frozen=True)
class Shown:
    """Everything that whoever follows sees of the lecturer's choices. Components and choices are counted from 0."""

    page: str = ""
    lesson: str = ""
    stage: str = ""
    answer: int | None = None
    """The choice that was given to the stage's question; None as long as there is none, and then nothing is given away."""
    run: str = ""
    at: int | None = None
    """The iteration on show; None for the newest."""
    replay: bool = False
    """It plays by itself, from `at` on."""
    factor: str = "U"
    component: int | None = None
    spot: int | None = None
    """The component that the others are dimmed for."""
    beside: str = ""
    """The stage that stands beside this one."""
    drawing: tuple[str | float, ...] = ()
    """What a drawing of the stage was moved to, or the curve that answered its question: words and numbers."""

    @classmethod
    def read(cls, values: object) -> Shown:
        """What a browser says is on show; rejected where it is anything else."""
        known = [f.name for f in fields(cls)]
        if not isinstance(values, Mapping) or not set(values) <= set(known):
            raise InvalidInput("presentation", f"takes {', '.join(known)}, and nothing else")
        given = values.get("drawing", ())
        shown = cls(**{**values, "drawing": tuple(given) if isinstance(given, list) else given})
        wrong = next((name for name, fine in shown._checks() if not fine), None)
        if wrong is not None:
            raise InvalidInput("presentation", f"cannot show this {wrong}")
        return shown

    def _checks(self) -> list[tuple[str, bool]]:
        return [
            ("page", self.page in PAGES),
            ("lesson", _is_name(self.lesson, NAME)),
            ("stage", _is_name(self.stage, NAME)),
            ("beside", _is_name(self.beside, NAME)),
            ("drawing", _is_drawing(self.drawing)),
            ("run", _is_name(self.run, ID)),
            ("factor", self.factor in ("U", "X")),
            ("replay", isinstance(self.replay, bool)),
            *((name, _is_number_or_none(getattr(self, name))) for name in ("answer", "at", "component", "spot")),
        ]

    def content(self) -> str:
        """A token of what has to be drawn anew; the other choices only change how it is seen."""
        parts = (self.page, self.lesson, self.stage, self.answer, self.run, self.beside, self.drawing)
        return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _is_name(value: object, form: re.Pattern[str]) -> bool:
    return isinstance(value, str) and (not value or form.fullmatch(value) is not None)


def _is_number_or_none(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST)


def _is_drawing(value: object) -> bool:
    if not isinstance(value, tuple) or len(value) > MOST_DRAWN:
        return False
    words = all(len(one) <= LONGEST_WORDS for one in value if isinstance(one, str))
    numbers = [one for one in value if not isinstance(one, str)]
    return words and all(isinstance(one, int | float) and not isinstance(one, bool) and abs(one) <= LARGEST for one in numbers)


@dataclass(frozen=True)
class Presentation:
    """What a lecturer shows, and since when."""

    id: str
    key: str = field(repr=False)
    """SHA-256 of the control key."""
    notes: str = field(repr=False)
    """The same of the key to the speaker notes."""
    visitor: str = field(repr=False)
    made: float
    shown: Shown = Shown()
    revision: int = 0

    def may_read_notes(self, key: object) -> bool:
        return key_matches(key, self.notes)


def notes_key(key: str) -> str:
    """The key to the speaker notes of whoever has the control key."""
    return hashlib.sha256(f"notes {key}".encode()).hexdigest()[:22]


class Presentations:
    """Presentations below a home folder; any number of threads and servers may use them."""

    def __init__(self, home: Path, may_write: Callable[[], None]) -> None:
        self._home, self._may_write = home, may_write

    @needing_room()
    def create(self, visitor: str) -> tuple[Presentation, str]:
        """A new presentation that shows nothing yet, and the key that controls it."""
        self._may_write()
        folder = _folder(self._home)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(folder / ".lock"):
            expire_presentations(self._home)
            self._check_room(visitor)
            key = new_id()
            made = Presentation(new_id(), key_hash(key), key_hash(notes_key(key)), visitor, time.time())
            self._write(made)
        note(self._home, "began a presentation", made.id, visitor)
        return made, key

    def _check_room(self, visitor: str) -> None:
        limits, files = server_limits(), presentation_files(self._home)
        if len(files) >= limits.presentations:
            raise InvalidInput("server", f"has {len(files)} presentations, which is the most", "try again later")
        mine = 0
        for path in files:
            try:
                mine += read_presentation(path).visitor == visitor
            except (FileNotFoundError, InvalidInput):  # gone, or damaged
                continue
        if mine >= limits.presentations_per_visitor:
            raise InvalidInput("server", f"has {mine} presentations of yours, which is the most", "end one of them first")

    def get(self, presentation_id: object) -> Presentation:
        """What is on show; rejected where it has ended."""
        path = self._path(presentation_id)
        try:
            if path.stat().st_mtime < oldest():
                raise FileNotFoundError
            return read_presentation(path)
        except FileNotFoundError:
            raise InvalidInput("presentation", "has ended", "ask the lecturer for a new link") from None

    @needing_room()
    def show(self, presentation_id: str, key: object, shown: Shown) -> Presentation:
        """Show this to all who follow; only whoever began the presentation may."""
        with self._own(presentation_id, key) as old:
            if shown == old.shown:
                self._touch(old.id)
                return old
            new = replace(old, shown=shown, revision=old.revision + 1)
            self._write(new)
        return new

    def end(self, presentation_id: str, key: object) -> None:
        """Nobody can follow any more."""
        with self._own(presentation_id, key) as old:
            self._path(old.id).unlink(missing_ok=True)

    @contextmanager
    def _own(self, presentation_id: str, key: object) -> Iterator[Presentation]:
        """The presentation, while nobody else changes it."""
        self._may_write()
        self.get(presentation_id)
        with locked(_folder(self._home) / ".lock"):
            found = self.get(presentation_id)
            if not key_matches(key, found.key):
                raise InvalidInput("key", "only whoever began the presentation can do this", whole=True)
            yield found

    def _touch(self, presentation_id: str) -> None:
        path = self._path(presentation_id)
        if path.stat().st_mtime < time.time() - TOUCH_SECONDS:
            os.utime(path)

    def _path(self, presentation_id: object) -> Path:
        return _folder(self._home) / f"{checked_id('presentation', presentation_id)}.json"

    def _write(self, presentation: Presentation) -> None:
        write_json(self._path(presentation.id), asdict(presentation))


def _folder(home: Path) -> Path:
    return home / "presentations"


def presentation_files(home: Path) -> list[Path]:
    """The files of presentations."""
    return sorted(path for path in _folder(home).glob("*.json") if ID.fullmatch(path.stem))


def read_presentation(path: Path) -> Presentation:
    """A presentation as its file has it."""
    with reading(path):
        values: dict[str, Any] = read_json(path)
        return Presentation(**values | {"shown": Shown.read(values["shown"])})


def oldest() -> float:
    """A presentation that was last used before this time has ended."""
    return time.time() - 3600 * server_limits().presentation_hours


def expire_presentations(home: Path) -> None:
    """Remove those that have ended because nobody used them."""
    for path in presentation_files(home):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest():
                path.unlink()
