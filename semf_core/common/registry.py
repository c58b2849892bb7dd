"""Named families of things: register, look up, build from a dict or a command-line word, iterate."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from semf_core.common.docstrings import with_parameters
from semf_core.common.parameters import InvalidInput, Parametrized, params_of

T = TypeVar("T", bound=Parametrized)


class Registry(Generic[T]):
    """Classes by name; adding one is a class and `@registry.register`."""

    def __init__(self, family: str) -> None:
        self.family = family
        self._classes: dict[str, type[T]] = {}
        self._python_only: dict[str, type[T]] = {}

    def register(self, cls: type[T]) -> type[T]:
        """Enter a class; its docstring gets a section on its parameters."""
        if not cls.name or cls.name in self._classes or cls.name in self._python_only:
            raise ValueError(f"{cls.__name__} needs a name of its own in {self.family}")
        (self._classes if cls.storable else self._python_only)[cls.name] = cls
        return with_parameters(cls)

    def __iter__(self) -> Iterator[type[T]]:
        """What can be chosen as data: from JSON, on the command line, in a widget."""
        return iter(self._classes.values())

    def everything(self) -> Iterator[type[T]]:
        """All that is registered, with what only Python code can make."""
        return iter((*self._classes.values(), *self._python_only.values()))

    def names(self) -> list[str]:
        return list(self._classes)

    def get(self, name: object) -> type[T]:
        if isinstance(name, str) and name in self._python_only:
            cls = self._python_only[name]
            raise InvalidInput(
                self.family, f"{name!r} holds a Python function, not data", f"make a {cls.__name__} in Python", whole=True
            )
        if not isinstance(name, str) or name not in self._classes:
            raise InvalidInput(self.family, f"there is no {name!r}", f"known are {', '.join(self._classes)}", whole=True)
        return self._classes[name]

    def build(self, values: object) -> T:
        """The object described by `{"name": …, parameter: value, …}`."""
        if not isinstance(values, Mapping) or "name" not in values:
            raise InvalidInput(self.family, f'must be an object like {{"name": "{next(iter(self._classes), "")}", …}}')
        rest = {k: v for k, v in values.items() if k != "name"}
        return self.get(values["name"]).from_params(rest)

    def parse(self, word: str) -> T:
        """The object spelled `name:parameter=value,parameter=value` on the command line."""
        name, _, tail = word.partition(":")
        cls = self.get(name.strip())
        known = {p.name: p for p in params_of(cls)}
        values: dict[str, Any] = {}
        for piece in _split_commas(tail):
            key, equals, text = piece.partition("=")
            key = key.strip()
            if not equals:
                raise InvalidInput(self.family, f"{piece!r} in {word!r} is not of the form parameter=value", whole=True)
            if key not in known:
                raise InvalidInput(key, f"is not a parameter of {name}", f"it takes {', '.join(known) or 'none'}")
            if key in values:
                raise InvalidInput(key, f"is given twice in {word!r}")
            values[key] = known[key].parse(text)
        return cls.from_params(values)


def discover(package: str, paths: Iterable[str], group: str) -> None:
    """Import every module of a package, and what installed packages offer as entry points of the group: they register themselves.

    An entry point that cannot be loaded is named in a warning, and the others are there all the same.
    """
    for module in pkgutil.iter_modules(paths):
        importlib.import_module(f"{package}.{module.name}")
    for entry in importlib.metadata.entry_points(group=group):
        try:
            entry.load()
        except Exception as error:  # whatever the code of somebody else does
            warnings.warn(f"{group}: {entry.name} ({entry.value}) cannot be loaded: {error}", stacklevel=2)


def _split_commas(text: str) -> list[str]:
    """Split at commas outside brackets."""
    pieces, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += character
    return [piece for piece in pieces if piece.strip()]
