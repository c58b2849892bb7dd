"""Changes to a run in the middle: what they are, whether they are possible, and a sentence for the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from semf_core.common.notation import FIRST, spell
from semf_core.common.parameters import InvalidInput, Param, Parametrized, params_of
from semf_core.model import ModelSpec
from semf_core.sets import StructureSet
from semf_core.solvers import Limits, Solver

ALPHA = Param("number", None, low=0, open_low=True, symbol=r"\alpha", help="penalty on X = U from here on", name="alpha")
BETA = Param("number", None, low=0, open_low=True, symbol=r"\beta", help="penalty on Y = V from here on", name="beta")


@dataclass(frozen=True)
class Edit:
    """New sets, options or limits, or new values of α and β; None leaves as it is."""

    x: tuple[StructureSet, ...] | None = None
    y: tuple[StructureSet, ...] | None = None
    solver: Solver | None = None
    limits: Limits | None = None
    alpha: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        for p in (ALPHA, BETA):
            value = getattr(self, p.name)
            if value is not None:
                object.__setattr__(self, p.name, p.check(value))

    def numbers(self) -> dict[str, float]:
        return {name: value for name, value in (("alpha", self.alpha), ("beta", self.beta)) if value is not None}

    def applied(self, spec: ModelSpec) -> ModelSpec:
        """The model after the edit; an edit that changes nothing, or cannot work, is rejected."""
        changes: dict[str, Any] = {
            name: getattr(self, name) for name in ("x", "y", "solver", "limits") if getattr(self, name) is not None
        }
        new = replace(spec, **changes)
        if new == spec and not self.numbers():
            raise InvalidInput("edit", "changes nothing")
        if self.numbers() and getattr(new.solver, "penalty", "") == "scale":
            name = next(iter(self.numbers()))
            raise InvalidInput(
                name, "the scale rule sets it at every iteration", "choose another penalty rule to set it by hand", whole=True
            )
        return new

    def sentence(self, spec: ModelSpec) -> str:
        """What the edit does to this model, for the history."""
        new, parts = self.applied(spec), []
        for symbol, before, after in (("X", spec.x, new.x), ("Y", spec.y, new.y)):
            if before != after:
                parts.append(f"{symbol}: {_listed(after)} instead of {_listed(before)}")
        if type(spec.solver) is not type(new.solver):
            parts.append(f"{new.solver.title or new.solver.name} instead of {spec.solver.title or spec.solver.name}")
        else:
            parts += _differences(spec.solver, new.solver)
        parts += _differences(spec.limits, new.limits)
        parts += [f"{'α' if name == 'alpha' else 'β'} set to {value:g}" for name, value in self.numbers().items()]
        return "; ".join(parts)


def keeps_problem(before: ModelSpec, after: ModelSpec) -> bool:
    """Whether the edited model asks for the same sets, so that the state of the run stays as it is."""
    kept_solver = before.solver.takes_sets if type(before.solver) is type(after.solver) else False
    return before.x == after.x and before.y == after.y and (kept_solver or before.solver == after.solver)


def _differences(before: Parametrized, after: Parametrized) -> list[str]:
    values = [(p.name, getattr(before, p.name), getattr(after, p.name)) for p in params_of(type(after))]
    return [f"{name} {_shown(new)} instead of {_shown(old)}" for name, old, new in values if old != new]


def _listed(sets: Sequence[StructureSet]) -> str:
    return " and ".join(map(_set_words, sets)) or "no constraint"


def _set_words(s: StructureSet) -> str:
    """A set with its parameters, indices counted as in its formula."""
    values = s.to_dict() | {p.name: spell(p, getattr(s, p.name), FIRST) for p in params_of(type(s)) if p.counts}
    rest = ", ".join(f"{name} {_shown(value)}" for name, value in values.items() if name != "name" and value != "")
    return f"{s.name} ({rest})" if rest else s.name


def _shown(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 40 else text[:37] + "…"
