"""What varies in a study: dotted paths into a trial's JSON form, and the values they take.

A path is `seed`, `rank`, `solver.alpha0`, `limits.max_iter`, `dataset.noise`, `data.held_out`, `x.1.k` (a parameter
of the second constraint on X), `y` (all constraints on Y), `solver` (the algorithm with its options) or `preset`
(the whole model). An axis that names several paths changes them together. `solver:ksvd.k` counts only where the
algorithm is ksvd, and `dataset:swimmer.seed` where the data is swimmer, so that what has different options can share an axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from semf_core.common.errors import InvalidInput
from semf_core.model import FIELDS, preset
from semf_core.solvers import DEFAULT, SOLVERS
from semf_core.studies.trials import EXTRAS

ROOTS = (*FIELDS, *EXTRAS, "preset")
MOST_VALUES = 100_000
REPEATS = ("seed", "dataset.seed", "data.seed")
"""Paths whose values make repetitions, not settings."""
FORMS = ("values", "range", "shares")


@dataclass(frozen=True)
class Axis:
    """One direction of the grid: at position i, path j has values[i][j]."""

    name: str
    paths: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    labels: tuple[str, ...]
    shares_of: str = ""
    """The values are fractions of "rows" or "columns"; at the first path they become counts once the data is known."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def repeats(self) -> bool:
        """Its values make repetitions of a setting."""
        return set(self.paths) <= set(REPEATS)

    def changes(self, position: int) -> list[tuple[str, Any]]:
        """Path and value of everything that this position sets."""
        return list(zip(self.paths, self.values[position], strict=True))

    def numbers(self) -> list[float] | None:
        """The values of the first path as numbers, or None if they are not all numbers."""
        first = [v[0] for v in self.values]
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in first):
            return [float(v) for v in first]
        return None

    @property
    def ordered(self) -> bool:
        """Its values are numbers, or none (no noise, no limit) as the end of them; names follow in no order."""
        return all(v[0] is None or (isinstance(v[0], int | float) and not isinstance(v[0], bool)) for v in self.values)

    def counted(self, rows: int, columns: int) -> Axis:
        """Shares turned into counts of at least one."""
        if not self.shares_of:
            return self
        length = rows if self.shares_of == "rows" else columns
        counts = tuple((max(1, round(point[0] * length)), *point[1:]) for point in self.values)
        return Axis(self.name, self.paths, counts, self.labels)

    def to_dict(self) -> dict[str, Any]:
        single = len(self.paths) == 1
        form: dict[str, Any] = {"name": self.name}
        form |= {"path": self.paths[0]} if single else {"paths": list(self.paths)}
        form["shares" if self.shares_of else "values"] = [v[0] if single or self.shares_of else list(v) for v in self.values]
        if self.shares_of:
            form["of"] = self.shares_of
        return form | {"labels": list(self.labels)}


def axis_from_dict(form: object) -> Axis:
    """An axis of a study from its JSON form.

    Parameters
    ----------
    form : dict
        `{"path": …, "values": […]}`, `{"paths": […], "values": [[…], …]}`, `{"path": "seed", "range": [first, count]}`
        (the same number for every path) or `{"path": "x.1.k", "shares": [0.33, …], "of": "rows"}`.

    Returns
    -------
    Axis
        What varies, and the values that it takes.

    Examples
    --------
    >>> from semf_core.studies import axis_from_dict
    >>> axis_from_dict({"path": "seed", "range": [100, 3]}).values
    ((100,), (101,), (102,))
    """
    if not isinstance(form, Mapping):
        raise InvalidInput("axes", 'must hold objects like {"path": "seed", "range": [0, 20]}')
    known = {"name", "path", "paths", "labels", "of", *FORMS}
    for key in form:
        if key not in known:
            raise InvalidInput("axes", f"{key!r} is not part of an axis", f"known are {', '.join(sorted(known))}", whole=True)
    paths = _paths(form)
    name = form.get("name") or paths[0].rpartition(".")[2]
    if not isinstance(name, str):
        raise InvalidInput("axes", "the name of an axis must be text", whole=True)
    given = [key for key in FORMS if key in form]
    if len(given) != 1:
        raise InvalidInput(name, "an axis needs one of values, range and shares", whole=True)
    values = _values(name, given[0], form[given[0]], len(paths))
    shares_of = form.get("of", "rows") if "shares" in form else ""
    if shares_of not in ("", "rows", "columns"):
        raise InvalidInput(name, "shares are of rows or of columns", whole=True)
    if shares_of and not all(isinstance(v, int | float) and 0 < v <= 1 for point in values for v in point):
        raise InvalidInput(name, "a share must be above 0 and at most 1", whole=True)
    return Axis(name, paths, values, _labels(name, form.get("labels"), values, bool(shares_of)), shares_of)


def _paths(form: Mapping[str, Any]) -> tuple[str, ...]:
    if ("path" in form) == ("paths" in form):
        raise InvalidInput("axes", "an axis names one path, or several paths that change together", whole=True)
    paths = (form["path"],) if "path" in form else form["paths"]
    if not isinstance(paths, Sequence) or isinstance(paths, str) or not paths or not all(isinstance(p, str) for p in paths):
        raise InvalidInput("axes", "paths must be words like solver.alpha0", whole=True)
    for path in paths:
        if path.partition(".")[0].partition(":")[0] not in ROOTS:
            raise InvalidInput(path, "is not part of a trial", f"a path begins with one of {', '.join(ROOTS)}")
    return tuple(paths)


def _values(name: str, kind: str, given: Any, width: int) -> tuple[tuple[Any, ...], ...]:
    if kind == "range":
        return _ranged(name, given, width)
    if kind == "shares":  # one number each, for every path
        return tuple(point * width for point in _points(name, given, 1))
    return _points(name, given, width)


def _ranged(name: str, given: Any, width: int) -> tuple[tuple[Any, ...], ...]:
    whole = isinstance(given, Sequence) and len(given) == 2 and all(isinstance(v, int) and v >= 0 for v in given)
    if not whole or not 1 <= given[1] <= MOST_VALUES:
        raise InvalidInput(name, f"a range is [first, count], with a count from 1 to {MOST_VALUES}", whole=True)
    return tuple((number,) * width for number in range(given[0], given[0] + given[1]))


def _points(name: str, given: Any, width: int) -> tuple[tuple[Any, ...], ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or not 1 <= len(given) <= MOST_VALUES:
        raise InvalidInput(name, f"needs a list of 1 to {MOST_VALUES} values")
    if width == 1:
        return tuple((value,) for value in given)
    for point in given:
        if not isinstance(point, Sequence) or isinstance(point, str) or len(point) != width:
            raise InvalidInput(name, f"changes {width} paths together, so every value is a list of {width}")
    return tuple(tuple(point) for point in given)


def _labels(name: str, given: Any, values: tuple[tuple[Any, ...], ...], shares: bool) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{point[0]:.3g}".rstrip() if shares else ", ".join(map(shown, point)) for point in values)
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(values):
        raise InvalidInput(name, f"needs a label for each of its {len(values)} values")
    return tuple(str(label) for label in given)


def shown(value: Any) -> str:
    """A value in a few characters: numbers, names of sets and algorithms."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return str(value.get("name", "…"))
    if isinstance(value, list | tuple):
        return " & ".join(shown(v) for v in value) or "free"
    return "none" if value is None else str(value)


def changed(form: Any, path: str, value: Any) -> Any:
    """The same JSON value with `value` at `path`; what lies beside the path is shared, not copied."""
    if path == "preset":
        return preset_form(value)
    root, *keys = path.split(".")
    root, _, only = root.partition(":")
    if root == "solver" and keys and form.get("solver") is None:
        form = {**form, "solver": {"name": DEFAULT.name}}  # as in a model that names none
    if only and _named(form.get(root)) != only:
        return form
    return _changed(form, [root, *keys], value, path)


def fitting(form: dict[str, Any]) -> dict[str, Any]:
    """Without the constraints, where the algorithm has its own and takes none from the model."""
    solver = form.get("solver")
    if isinstance(solver, Mapping) and not SOLVERS.get(solver.get("name")).takes_sets:
        return {k: v for k, v in form.items() if k not in ("x", "y")}
    return form


def preset_form(name: object) -> dict[str, Any]:
    """A preset without its texts, as the start of a trial; never changed in place."""
    if not isinstance(name, str):
        raise InvalidInput("preset", f"must be the name of a preset, not {shown(name)}")
    return _preset_form(name)


def _named(choice: object) -> object:
    return choice.get("name") if isinstance(choice, Mapping) else None


@cache
def _preset_form(name: str) -> dict[str, Any]:
    form = preset(name).to_dict()
    return {k: v for k, v in form.items() if k not in ("title", "watch")}


def _changed(form: Any, keys: list[str], value: Any, path: str) -> Any:
    if not keys:
        return value
    key, *rest = keys
    if isinstance(form, list | tuple):
        if not key.isdecimal() or len(key) > 9 or int(key) >= len(form):
            raise InvalidInput(path, f"there is no number {key!r} in a list of {len(form)}", "the first has number 0", whole=True)
        number = int(key)
        return [*form[:number], _changed(form[number], rest, value, path), *form[number + 1 :]]
    if form is None or isinstance(form, Mapping):
        inner = dict(form or {})
        inner[key] = _changed(inner.get(key), rest, value, path)
        return inner
    raise InvalidInput(path, f"nothing lies below {form!r}", f"end the path before {key!r}", whole=True)
