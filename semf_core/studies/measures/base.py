"""What a measure is, and the list of all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, Parametrized, param
from semf_core.common.registry import Registry
from semf_core.solvers import Run
from semf_core.studies.trials import Prepared, Trial

Array = np.ndarray


@dataclass(frozen=True)
class Outcome:
    """A finished run of a trial, with the factors that count."""

    trial: Trial
    data: Prepared
    run: Run
    U: Array
    V: Array
    cpu_seconds: float = 0.0

    @property
    def norm(self) -> float:
        return self.run.problem.matrix.norm

    @property
    def entries(self) -> int:
        m, n = self.data.dataset.shape
        return m * n


class Measure(Parametrized):
    """A number taken from a finished run, or None where it has no meaning."""

    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    better: ClassVar[str] = ""
    """"low" or "high", where one of them is."""
    yes_no: ClassVar[bool] = False
    """0 or 1: drawn as a rate."""
    orders: ClassVar[bool] = False
    """May differ by orders of magnitude: a logarithmic axis may be drawn."""

    @property
    def key(self) -> str:
        """The name of its column."""
        return self.name

    @property
    def heading(self) -> str:
        """What a figure of it is called."""
        return self.title

    def value(self, outcome: Outcome) -> float | None:
        raise NotImplementedError


MEASURES: Registry[Measure] = Registry("measure")


@MEASURES.register
class Success(Measure):
    """Whether another measure reached its target."""

    name, title, better, yes_no = "success", "Success", "high", True

    of: str = param("text", "relative_error", help="the measure that is judged")
    at_most: float | None = param("number", None, optional=True, help="success if it is at most this")
    at_least: float | None = param("number", None, optional=True, help="success if it is at least this")
    label: str = param("text", "", help="name of the column, where a study has several")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.of == self.name:
            raise InvalidInput("of", "success is judged by another measure", whole=True)
        MEASURES.get(self.of)
        if (self.at_most is None) == (self.at_least is None):
            raise InvalidInput("at_most", "give at_most or at_least, one of them", whole=True)

    @property
    def key(self) -> str:
        return self.label or self.name

    @property
    def heading(self) -> str:
        bound = f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"
        return f"{MEASURES.get(self.of).title} {bound}"

    def value(self, outcome: Outcome) -> float | None:
        found = MEASURES.get(self.of).from_params({}).value(outcome)
        if found is None or math.isnan(found):
            return None
        if self.at_most is not None:
            return float(found <= self.at_most)
        assert self.at_least is not None
        return float(found >= self.at_least)


def measure_from_form(form: object) -> Measure:
    """A measure from its name, or from an object with its parameters."""
    return MEASURES.build({"name": form} if isinstance(form, str) else form)


def measure_form(measure: Measure) -> str | dict[str, Any]:
    values = measure.to_dict()
    return measure.name if len(values) == 1 else values


def measures_from_form(forms: object) -> tuple[Measure, ...]:
    """A list of measures whose columns have different names."""
    if not isinstance(forms, Sequence) or isinstance(forms, str | Mapping) or not forms:
        raise InvalidInput("measures", f"must be a list of names such as {', '.join(MEASURES.names()[:3])}")
    found = tuple(measure_from_form(form) for form in forms)
    keys = [m.key for m in found]
    for key in keys:
        if keys.count(key) > 1:
            raise InvalidInput("measures", f"two of them are called {key!r}", "give one a label", whole=True)
    return found


def measured(measures: Sequence[Measure], outcome: Outcome) -> dict[str, float | None]:
    """All numbers of an outcome; what is not finite (an exact fit has no SNR) is None."""
    values = {m.key: m.value(outcome) for m in measures}
    return {k: float(v) if v is not None and math.isfinite(v) else None for k, v in values.items()}
