"""The model of a stage: a preset or the previous stage's, plus a difference in the words of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from semf_core.common.parameters import InvalidInput, Param
from semf_core.common.registry import Registry
from semf_core.datasets import DATASETS
from semf_core.factorization.api import SEED
from semf_core.factorization.problem import MAX_RANK
from semf_core.model import ModelSpec, preset
from semf_core.model.variants import titled
from semf_core.sets import SETS, StructureSet
from semf_core.solvers import SOLVERS, Limits

PREVIOUS = "previous"
MODEL_FIELDS = ("model", "data", "rank", "solver", "x", "y", "drop x", "drop y", "add x", "add y", "limits", "seed")
"""In the order in which they act."""
RANK = Param("integer", None, low=1, high=MAX_RANK, name="rank")
LIMITS: Registry[Limits] = Registry("limits")
LIMITS.register(Limits)

Fields = Mapping[str, tuple[int, str]]
ErrorAt = Callable[..., InvalidInput]


def stage_model(fields: Fields, previous: ModelSpec | None, error_at: ErrorAt) -> ModelSpec | None:
    """The model that the fields describe; None where there is none. A mistake is an error with its line."""
    if not fields:
        return None
    if "model" not in fields:
        number = next(iter(fields.values()))[0]
        raise error_at(number, "changes a model, but there is no line model: (a preset, or previous)")
    number, name = fields["model"]
    if name == PREVIOUS and previous is None:
        raise error_at(number, "there is no previous stage with a model", "name a preset")
    try:
        spec = previous if name == PREVIOUS and previous is not None else preset(name)
    except InvalidInput as error:
        raise error_at(number, f"{error.field}: {error.problem}", error.remedy) from None
    for field in MODEL_FIELDS[1:]:
        if field in fields:
            number, words = fields[field]
            try:
                spec = _changed(spec, field, words)
            except InvalidInput as error:
                raise error_at(number, f"{error.field}: {error.problem}", error.remedy) from None
    return titled(spec) if len(fields) > 1 else spec


def _changed(spec: ModelSpec, field: str, words: str) -> ModelSpec:
    if field == "data":
        source = DATASETS.parse(words)
        if source.name == "file":
            raise InvalidInput("data", "must be a built-in set; a lesson is read on other computers too")
        return replace(spec, dataset=source)
    if field == "solver":
        solver = SOLVERS.parse(words)
        return replace(spec, solver=solver) if solver.takes_sets else replace(spec, solver=solver, x=(), y=())
    simple: dict[str, Callable[[], Any]] = {
        "rank": lambda: RANK.parse(words),
        "seed": lambda: SEED.parse(words),
        "limits": lambda: LIMITS.parse(f"{Limits.name}:{words}"),
    }
    if field in simple:
        return replace(spec, **{field: simple[field]()})
    verb, factor = field.split() if " " in field else ("", field)
    if not spec.solver.takes_sets:
        raise InvalidInput(field, f"{spec.solver.title} takes no constraints", "choose another solver first", whole=True)
    return replace(spec, **{factor: _sets(getattr(spec, factor), verb, words)})  # type: ignore[arg-type]


def _sets(now: tuple[StructureSet, ...], verb: str, words: str) -> tuple[StructureSet, ...]:
    if verb == "drop":
        names = words.split()
        for name in names:
            if name not in [s.name for s in now]:
                raise InvalidInput(name, "is not among the constraints")
        return tuple(s for s in now if s.name not in names)
    given = () if words == "none" else tuple(SETS.parse(word) for word in words.split())
    return (*now, *given) if verb == "add" else given
