"""One description of everything a user can choose.

A `Param` says what a value is called, what kind it is and which range it has. Structure sets,
solver options and datasets are frozen dataclasses whose fields carry a `Param`; validation, JSON,
command-line parsing, widgets and generated tests all read that one description.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np

from semf_core.common.errors import InvalidInput

REQUIRED: Any = dataclasses.MISSING


@dataclass(frozen=True)
class Param:
    """Name, kind, default, range, symbol and help of one value a user can choose."""

    kind: str
    default: Any
    low: float | None = None
    high: float | None = None
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    optional: bool = False
    index: bool = False
    """A whole number that is the place of a row or column; 0 is the first."""
    symbol: str = ""
    help: str = ""
    name: str = ""

    @property
    def counts(self) -> bool:
        """Its value is made of indices."""
        return self.index or self.kind in {"indices", "groups"}

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def check(self, value: Any) -> Any:
        """The value in its normal form, or InvalidInput with a sentence naming the field."""
        if value is None and self.optional:
            return None
        return _CHECKS[self.kind](self, value)

    def parse(self, text: str, origin: int = 0) -> Any:
        """Read the command-line spelling: numbers, true/false, 0-3+7, 0-3|4-7, or JSON; indices count from `origin`."""
        text = text.strip()
        if self.optional and text.lower() in {"none", "all", ""}:
            return None
        if self.kind == "text" or self.kind == "choice":
            return self.check(text)
        if text.startswith(("[", "{", '"')):
            return self.check(_from_zero(self, _json(self, text), origin))
        if self.kind == "groups":
            return self.check(_from_zero(self, [_index_run(self, part, origin) for part in text.split("|")], origin))
        if self.kind == "indices":
            return self.check(_from_zero(self, _index_run(self, text, origin), origin))
        if self.kind in {"integers", "numbers"}:
            parts = re.split(r"(?<![eE])\+|\|", text)  # the plus of 1e+3 joins nothing
            return self.check([_number(self, part) for part in parts] if len(parts) > 1 else _number(self, text))
        if self.kind == "boolean":
            lowered = text.lower()
            if lowered not in {"true", "false", "yes", "no", "1", "0"}:
                raise self.error(f"must be true or false, not {text!r}")
            return lowered in {"true", "yes", "1"}
        return self.check(_from_zero(self, _number(self, text), origin))

    def error(self, problem: str, remedy: str = "", *, whole: bool = False, **indices: int) -> InvalidInput:
        return InvalidInput(self.name, problem, remedy, whole=whole, **indices)

    def in_range(self, value: float) -> bool:
        return not (
            (self.low is not None and (value < self.low or (self.open_low and value == self.low)))
            or (self.high is not None and (value > self.high or (self.open_high and value == self.high)))
        )

    def describe_range(self) -> str:
        if self.low is not None and self.high is not None:
            opening, closing = "(" if self.open_low else "[", ")" if self.open_high else "]"
            return f"in {opening}{self.low:g}, {self.high:g}{closing}"
        if self.low is not None:
            return f"{'above' if self.open_low else 'at least'} {self.low:g}"
        if self.high is not None:
            return f"{'below' if self.open_high else 'at most'} {self.high:g}"
        return "finite"


def param(kind: str, default: Any = REQUIRED, **description: Any) -> Any:
    """A dataclass field that carries its `Param`."""
    metadata = {"param": Param(kind, default, **description)}
    return dataclasses.field(default=default, metadata=metadata)


def params_of(cls: type) -> tuple[Param, ...]:
    """The parameters of a class: its own in their order, then the keyword-only ones (a set's scope)."""
    return _params_of(cls)


@cache
def _params_of(cls: Any) -> tuple[Param, ...]:
    fields = sorted((f for f in dataclasses.fields(cls) if "param" in f.metadata), key=lambda f: bool(f.kw_only))
    return tuple(dataclasses.replace(f.metadata["param"], name=f.name) for f in fields)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
@dataclass(frozen=True, eq=False)
class Parametrized:
    """A frozen value whose fields are checked, comparable by content, and have a JSON form; subclasses are dataclasses too."""

    name: ClassVar[str] = ""
    storable: ClassVar[bool] = True
    """Has a JSON form; what has none (a Python function) is made in Python only."""

    def __init_subclass__(cls, kw_only: bool = False) -> None:
        dataclass(frozen=True, eq=False, kw_only=kw_only)(cls)

    def __post_init__(self) -> None:
        for p in params_of(type(self)):
            object.__setattr__(self, p.name, p.check(getattr(self, p.name)))

    def to_dict(self) -> dict[str, Any]:
        """The name and every parameter that differs from its default, as JSON types."""
        values: dict[str, Any] = {"name": self.name}
        for p in params_of(type(self)):
            value = _jsonable(getattr(self, p.name))
            if p.required or value != _jsonable(p.default):
                values[p.name] = value
        return values

    @classmethod
    def from_params(cls, values: Mapping[str, Any]) -> Self:
        """Build from plain values, rejecting unknown and missing names."""
        known = {p.name: p for p in params_of(cls)}
        for name in values:
            if name not in known:
                raise InvalidInput(name, f"is not a parameter of {cls.name}", f"it takes {', '.join(known) or 'none'}")
        for p in known.values():
            if p.required and p.name not in values:
                raise InvalidInput(p.name, f"{cls.name} needs a value for it ({p.help or p.kind})", whole=True)
        return cls(**values)

    def identity(self) -> tuple[Any, ...]:
        """What makes two values of a class equal, in a form that can be compared and hashed."""
        return tuple(_hashable(getattr(self, p.name)) for p in params_of(type(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by its fields alone: what was worked out from them on the way is not part of the value."""
        return _rebuilt, (type(self), {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parametrized) and type(self) is type(other) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash((type(self), self.identity()))


def _hashable(value: Any) -> Any:
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def _rebuilt(cls: type, fields: dict[str, Any]) -> Any:
    return cls(**fields)


def _jsonable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple):
        return [_jsonable(v) for v in value]
    return value


def _number(p: Param, text: str) -> float | int:
    if p.kind in {"integer", "integers"} and re.fullmatch(r"\s*-?\d{1,30}\s*", text):
        return int(text)  # a float would round beyond 2**53
    try:
        value = float(text)
    except ValueError:
        raise p.error(f"must be a number, not {text!r}") from None
    return int(value) if p.kind in {"integer", "integers"} and value.is_integer() else value


def _json(p: Param, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise p.error(f"is not valid JSON ({error})") from None


def _from_zero(p: Param, value: Any, origin: int) -> Any:
    """Indices that somebody counted from `origin`, counted from 0."""
    if isinstance(value, list):
        return [_from_zero(p, v, origin) for v in value]
    if not p.counts or not isinstance(value, int) or isinstance(value, bool):
        return value
    if value < origin:
        raise p.error(f"must count from {origin}, not from {value}")
    return value - origin


def _index_run(p: Param, text: str, origin: int = 0) -> list[int]:
    """0-3+7 → 0, 1, 2, 3, 7."""
    indices: list[int] = []
    for part in text.replace(" ", "").split("+"):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if not match:
            raise p.error(f"cannot be read at {part!r}", f"write indices like {origin}-{origin + 3}+{origin + 7}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise p.error(f"the run {part} goes down", f"write {last}-{first}", whole=True)
        if last - first > 10_000_000:
            raise p.error(f"the run {part} is too long", whole=True)
        indices.extend(range(first, last + 1))
    return indices


def _real(p: Param, value: Any, what: str) -> float | int:
    """The value as a finite Python number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise p.error(f"must be {what}, not {_shown(value)}")
    number = value.item() if isinstance(value, np.generic) else value
    try:
        finite = math.isfinite(number)
    except OverflowError:  # an integer beyond the range of floating point
        finite = False
    if not finite:
        raise p.error(f"must be {what} of ordinary size, not {_shown(value)}")
    return number


def _integer(p: Param, value: Any) -> int:
    number = _real(p, value, "a whole number")
    if number != int(number):
        raise p.error(f"must be a whole number, not {_shown(value)}")
    if not p.in_range(number):
        raise p.error(f"must be {p.describe_range()}, not {int(number)}")
    return int(number)


def _float(p: Param, value: Any) -> float:
    number = _real(p, value, "a number")
    if not p.in_range(number):
        raise p.error(f"must be {p.describe_range()}, not {number}")
    return float(number)


def _boolean(p: Param, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise p.error(f"must be true or false, not {_shown(value)}")
    return bool(value)


def _choice(p: Param, value: Any) -> str:
    if not isinstance(value, str) or value not in p.choices:
        raise p.error(f"must be one of {', '.join(p.choices)}, not {_shown(value)}")
    return value


def _text(p: Param, value: Any) -> str:
    if not isinstance(value, str):
        raise p.error(f"must be text, not {_shown(value)}")
    return value


def _sequence(p: Param, value: Any) -> Sequence[Any]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, range | set | frozenset):
        try:
            value = sorted(value)
        except TypeError:
            raise p.error(f"must hold numbers, not {_shown(value)}") from None
    if not isinstance(value, list | tuple):
        raise p.error(f"must be a list, not {_shown(value)}")
    return value


def _indices(p: Param, value: Any) -> tuple[int, ...]:
    one = dataclasses.replace(p, kind="integer", low=0)
    found = tuple(_integer(one, v) for v in _sequence(p, value))
    if not found:
        raise p.error("must name at least one index")
    if len(set(found)) < len(found):
        raise p.error("names an index twice")
    return found


def _groups(p: Param, value: Any) -> tuple[tuple[int, ...], ...]:
    groups = tuple(_indices(p, v) for v in _sequence(p, value))
    if not groups:
        raise p.error("must hold at least one group")
    seen: set[int] = set()
    for group in groups:
        if not seen.isdisjoint(group):
            twice = "overlap: index {index} is in more than one of them (counted from {origin})"
            raise p.error(twice, index=min(seen & set(group)))
        seen.update(group)
    return groups


def _integers(p: Param, value: Any) -> int | tuple[int, ...]:
    one = dataclasses.replace(p, kind="integer")
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_integer(one, v) for v in _sequence(p, value))
    return _integer(one, value)


def _numbers(p: Param, value: Any) -> float | tuple[float, ...]:
    one = dataclasses.replace(p, kind="number")
    if isinstance(value, list | tuple | np.ndarray):
        return tuple(_float(one, v) for v in _sequence(p, value))
    return _float(one, value)


def _matrix(p: Param, value: Any) -> np.ndarray:
    try:
        plain = np.asarray(value)
    except (TypeError, ValueError):
        raise p.error("must be a rectangular table of numbers") from None
    if plain.dtype.kind not in "biuf":  # text that looks like numbers is rejected too
        raise p.error("must be a rectangular table of numbers")
    array = np.array(plain, dtype=float)
    if array.ndim != 2 or array.size == 0:
        raise p.error(f"must be a matrix with rows and columns, not of shape {array.shape}")
    if not np.isfinite(array).all():
        raise p.error("holds a value that is not finite")
    array.setflags(write=False)
    return array


def _mask(p: Param, value: Any) -> np.ndarray:
    array = _matrix(p, value)
    if not np.isin(array, (0.0, 1.0)).all():
        raise p.error("must hold only true/false (1/0)")
    mask = array.astype(bool)
    mask.setflags(write=False)
    return mask


def _function(p: Param, value: Any) -> Callable[..., Any]:
    if not callable(value):
        raise p.error(f"must be a function, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


_CHECKS: dict[str, Callable[[Param, Any], Any]] = {
    "integer": _integer,
    "number": _float,
    "boolean": _boolean,
    "choice": _choice,
    "text": _text,
    "indices": _indices,
    "groups": _groups,
    "integers": _integers,
    "numbers": _numbers,
    "matrix": _matrix,
    "mask": _mask,
    "function": _function,
}
