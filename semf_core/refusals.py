"""The one error for everything that a user may get wrong."""

from __future__ import annotations

from typing import Any


class InvalidInput(ValueError):
    """A refusal that names the field at fault and says what to do.

    A message that speaks of indices names them in braces, {column}, and gets them as keywords, counted
    from 0. Where people count otherwise, `counted` says the same in their numbers; {origin} is the first.
    """

    def __init__(self, field: str, message: str, **indices: int) -> None:
        self.field = field
        self._template, self._indices = message, indices
        self.message = self.counted(0)
        super().__init__(f"{field}: {self.message}")

    def counted(self, origin: int) -> str:
        """The message with indices that count from `origin`."""
        if not self._indices:
            return self._template
        return self._template.format(origin=origin, **{name: i + origin for name, i in self._indices.items()})

    def about(self, field: str) -> InvalidInput:
        """The same refusal under another name of its field."""
        return InvalidInput(field, self._template, **self._indices)

    def __reduce__(self) -> tuple[Any, ...]:
        return _refusal, (self.field, self._template, self._indices)


def _refusal(field: str, message: str, indices: dict[str, int]) -> InvalidInput:
    return InvalidInput(field, message, **indices)
