"""The one error for everything that a user may get wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class InvalidInput(ValueError):
    """Something that cannot be done as asked: the field at fault, what is wrong with it and what to do.

    The problem goes on after the name of its field ("must be positive"), unless it is `whole`: a clause of its own
    ("there is no run with this id"). Problems and remedies that speak of indices name them in braces, {column}, and
    get them as keywords, counted from 0. Where people count otherwise, `counted` says the same in their numbers;
    {origin} is the first.

    Parameters
    ----------
    field : str
        The name of what is wrong: a parameter, a file, "run".
    problem : str
        What is wrong with it.
    remedy : str
        What to do about it, where that can be said.
    whole : bool
        The problem is a clause of its own.
    **indices : int
        Those that the problem and the remedy name.

    Examples
    --------
    >>> from semf_core import InvalidInput
    >>> error = InvalidInput("rank", "is 9, but there are only 4 samples", "lower it")
    >>> print(error)
    rank: is 9, but there are only 4 samples; lower it
    >>> error.remedy
    'lower it'
    """

    def __init__(self, field: str, problem: str, remedy: str = "", *, whole: bool = False, **indices: int) -> None:
        self.field, self.whole = field, whole
        self._problem, self._remedy, self._indices = problem, remedy, indices
        super().__init__(f"{field}: {self.message}")

    @property
    def problem(self) -> str:
        return self._filled(self._problem, 0)

    @property
    def remedy(self) -> str:
        return self._filled(self._remedy, 0)

    @property
    def message(self) -> str:
        """Problem and remedy, with indices that count from 0."""
        return self.counted(0)

    def counted(self, origin: int) -> str:
        """Problem and remedy, with indices that count from `origin`."""
        return self._filled("; ".join(filter(None, (self._problem, self._remedy))), origin)

    def about(self, field: str) -> InvalidInput:
        """The same under another name of its field."""
        return InvalidInput.from_dict(self.to_dict() | {"field": field})

    def noted(self, note: str) -> InvalidInput:
        """The same with a note at its end, as to where it happened."""
        note = note.replace("{", "{{").replace("}", "}}") if self._indices else note
        last = "remedy" if self._remedy else "problem"
        return InvalidInput.from_dict(self.to_dict() | {last: f"{self.to_dict()[last]} ({note})"})

    def to_dict(self) -> dict[str, Any]:
        """As JSON types, to be sent to another process."""
        return {
            "field": self.field,
            "problem": self._problem,
            "remedy": self._remedy,
            "whole": self.whole,
            "indices": self._indices,
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> InvalidInput:
        """What `to_dict` has made."""
        return cls(form["field"], form["problem"], form["remedy"], whole=form["whole"], **form["indices"])

    def _filled(self, template: str, origin: int) -> str:
        if not self._indices:
            return template
        return template.format(origin=origin, **{name: i + origin for name, i in self._indices.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return InvalidInput.from_dict, (self.to_dict(),)


def parsed_json(field: str, text: str | bytes) -> Any:
    """The value of a JSON text from outside; one that is none, or too deep, or has numbers of thousands of digits is rejected.

    So is one with half a surrogate pair, which can be written into no file.
    """
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except (ValueError, RecursionError) as error:
        raise InvalidInput(field, f"is not valid JSON: {str(error).partition(';')[0]}") from None
