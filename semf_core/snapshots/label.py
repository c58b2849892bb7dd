"""What a person writes on a snapshot: title, tags and a note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from semf_core.common.parameters import InvalidInput, Parametrized, param

LONGEST_TITLE, LONGEST_TAG, LONGEST_NOTE = 200, 40, 5000
MOST_TAGS = 20


class Label(Parametrized):
    """Plain text, shown as it is and never as HTML or Markdown."""

    name: ClassVar[str] = "label"

    title: str = param("text", "", help="a title; empty: that of the model")
    tags: str = param("text", "", help="words to find it by, with commas between them")
    note: str = param("text", "", help="what is worth knowing about it")

    def __post_init__(self) -> None:
        super().__post_init__()
        keep = object.__setattr__
        keep(self, "title", _line("title", self.title, LONGEST_TITLE))
        words = dict.fromkeys(_line("tags", word, LONGEST_TAG) for word in self.tags.split(","))
        kept = [word for word in words if word]
        if len(kept) > MOST_TAGS:
            raise InvalidInput("tags", f"are {len(kept)}, more than {MOST_TAGS}", "leave some out")
        keep(self, "tags", ", ".join(kept))
        keep(self, "note", _text("note", self.note.replace("\r\n", "\n").strip(), LONGEST_NOTE))

    @property
    def words(self) -> tuple[str, ...]:
        """The tags one by one."""
        return tuple(self.tags.split(", ")) if self.tags else ()

    @classmethod
    def from_file(cls, values: object) -> Label:
        """The label that a file holds."""
        if not isinstance(values, Mapping):
            raise InvalidInput("label", "must be an object")
        return cls.from_params({k: v for k, v in values.items() if k != "name"})

    def titled(self, otherwise: str) -> Label:
        """With a title, if it had none."""
        return self if self.title else Label(otherwise[:LONGEST_TITLE], self.tags, self.note)


def _line(field: str, text: str, longest: int) -> str:
    line = " ".join(text.split())
    return _text(field, line, longest)


def _text(field: str, text: str, longest: int) -> str:
    if len(text) > longest:
        raise InvalidInput(field, f"has {len(text)} characters, more than {longest}", "shorten it")
    if not text.replace("\n", "").replace("\t", "").isprintable():
        raise InvalidInput(field, "holds a character that cannot be shown", "write it with ordinary ones")
    return text


def readable(field: str, value: Any, longest: int = LONGEST_NOTE) -> str:
    """Text of a file that will be shown."""
    if not isinstance(value, str):
        raise InvalidInput(field, "must be text")
    return _text(field, value, longest)
