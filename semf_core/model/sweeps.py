"""One number of a model at several values: which numbers a model has, and values worth trying."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from semf_core.common.notation import label
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.datasets import Dataset
from semf_core.factorization.problem import MAX_RANK
from semf_core.model import ModelSpec
from semf_core.sets import in_rounds, without_rounds

COUNT = 6
FACTORS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 2.0, 4.0, 8.0, 16.0)
NEARBY = (-3, -2, -1, 1, 2, 3)
SHARES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.8, 0.9)
RANK = Param("integer", 2, low=1, high=MAX_RANK, symbol="p", help="columns of X and rows of Y", name="rank")
SEED = Param("integer", 0, low=0, high=2**31, help="starting point", name="seed")


@dataclass(frozen=True)
class Number:
    """One number of a model: `path` names it, as in x.1.k (k of the second constraint on X)."""

    path: str
    p: Param
    value: float
    words: str

    def spelled(self, value: float) -> str:
        return f"{value:g}"


def numbers_of(spec: ModelSpec) -> list[Number]:
    """Every number of a model that can be varied, the constraints' own first."""
    found: list[Number] = []
    for factor in ("x", "y") if spec.solver.takes_sets else ():
        for i, s in enumerate(without_rounds(getattr(spec, factor))[0]):
            found += _numbers(f"{factor}.{i}", s, f" of {s.title} on {factor.upper()}")
    found.append(Number("rank", RANK, spec.rank, "Rank p"))
    found += _numbers("solver", spec.solver, f" of {spec.solver.title}")
    found.append(Number("seed", SEED, spec.seed, "Seed"))
    return found


def _numbers(root: str, owner: Any, where: str) -> Iterator[Number]:
    for p in params_of(type(owner)):
        value = getattr(owner, p.name)
        countable = p.kind in {"integer", "number"} or (p.kind == "integers" and isinstance(value, int))
        if countable and not p.index and isinstance(value, int | float) and not isinstance(value, bool):
            yield Number(f"{root}.{p.name}", p, value, label(p) + where)


def with_value(spec: ModelSpec, path: str, value: float) -> ModelSpec:
    """The model with this number at another value; rejected in words where that cannot be."""
    root, *rest = path.split(".")
    if not rest:
        return replace(spec, **{root: int(value)})  # type: ignore[arg-type]
    if root in ("x", "y"):
        members, rounds = without_rounds(getattr(spec, root))
        sets, index = list(members), int(rest[0])
        sets[index] = _changed(sets[index], rest[1], value)
        return replace(spec, **{root: in_rounds(sets, rounds)})  # type: ignore[arg-type]
    return replace(spec, **{root: _changed(getattr(spec, root), rest[0], value)})


def _changed(owner: Any, name: str, value: float) -> Any:
    values = {p.name: getattr(owner, p.name) for p in params_of(type(owner))}
    whole = isinstance(values[name], int)
    return type(owner).from_params(values | {name: int(value) if whole else float(value)})


def sweep(spec: ModelSpec, number: Number, dataset: Dataset, count: int = COUNT) -> list[tuple[float, ModelSpec]]:
    """Up to six models with other values of a number, ascending; those that do not fit the data are left out."""
    usable = _usable(spec, number, dataset, _candidates(number))
    usable = usable or _usable(spec, number, dataset, _within(number, _scaled(number)))
    if not usable:
        raise InvalidInput(number.words, "no other value of it fits this data and this model", whole=True)
    while len(usable) > count:  # those farthest from the present value go first
        first, last = (_distance(number, usable[i][0]) for i in (0, -1))
        usable.pop(0 if first > last else -1)
    return usable


def _usable(spec: ModelSpec, number: Number, dataset: Dataset, values: list[float]) -> list[tuple[float, ModelSpec]]:
    found = []
    for value in values:
        try:
            model = with_value(spec, number.path, value)
            model.solver.check(model.problem(dataset))
        except InvalidInput:
            continue
        found.append((value, model))
    return found


def _distance(number: Number, value: float) -> float:
    """How far a value is from the present one, as a ratio where both are positive."""
    low, high = sorted((abs(number.value), abs(value)))
    return high / low if low > 0 else high


def _candidates(number: Number) -> list[float]:
    """Values around the present one, within the bounds of the parameter."""
    p, value = number.p, number.value
    found: list[float]
    if number.path == "seed":
        found = [value + step for step in range(1, COUNT + 1)]
    elif p.kind in {"integer", "integers"}:
        spread: list[float] = [round(value * f) for f in (*FACTORS, 0.75, 1.5)]
        found = [*spread, *(value + step for step in NEARBY)] if value < 8 else spread
    elif p.low is not None and p.high is not None and value >= 0.05 * p.high:
        found = [p.low + share * (p.high - p.low) for share in SHARES]
    else:
        found = _scaled(number)
    return _within(number, found)


def _scaled(number: Number) -> list[float]:
    """Multiples of what the value has above the lower end of its range."""
    bottom = number.p.low or 0.0 if number.value > (number.p.low or 0.0) else 0.0
    return [bottom + (number.value - bottom or 1.0) * f for f in FACTORS]


def _within(number: Number, found: list[float]) -> list[float]:
    """Ascending, without the present value and what the parameter does not allow; rounded so that they can be read."""
    p, value = number.p, number.value
    low = -float("inf") if p.low is None else p.low
    high = float("inf") if p.high is None else p.high
    digits = 4 if value > 1 else 3
    kept = {float(f"{v:.{digits}g}") if p.kind == "number" else float(v) for v in found if low <= v <= high}
    return sorted(kept - {float(value)})
