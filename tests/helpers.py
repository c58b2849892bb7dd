"""Small things that tests of every package need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """A value that must be there, where its type allows for None."""
    assert value is not None
    return value


def of(kind: type[T], value: object) -> T:
    """A value that must be of this class, where its type is only a base of it."""
    assert isinstance(value, kind)
    return value


def noted(calls: list[tuple], function: Callable[..., Any]) -> Callable[..., Any]:
    """A function, or a method as its class has it, that writes down the arguments of each call."""

    def call(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return function(*args, **options)

    return call
