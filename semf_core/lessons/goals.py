"""What a task asks for: quantities of a run, and goals that compare one with a number."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from semf_core.datasets import Dataset
from semf_core.factorization.scores import truth_scores
from semf_core.lessons.figures import approximation_ratio, order_ratio
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.solvers import COLUMNS
from semf_core.solvers.base import Case

Array = np.ndarray
GOAL = re.compile(r"([a-z_]+) *(>=|<=|==) *(-?[0-9.]+(?:e-?[0-9]+)?)$")
COMPARE: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, "<=": operator.le, "==": operator.eq}
SIGNS = {">=": "≥", "<=": "≤", "==": "="}


class HasFactors(Protocol):
    """Factors U and V, as a recorded frame has them."""

    @property
    def U(self) -> Array: ...
    @property
    def V(self) -> Array: ...


@dataclass(frozen=True)
class Evidence:
    """What goals are checked on: the model, its data, the factors and the history of the run so far."""

    spec: ModelSpec
    dataset: Dataset
    factors: HasFactors
    rows: Array
    """One row an iteration, columns as in COLUMNS."""
    events: Sequence[Any] = ()
    iterations: int = 0

    @property
    def U(self) -> Array:
        return self.factors.U

    @property
    def V(self) -> Array:
        return self.factors.V


def _relative_error(e: Evidence) -> float:
    M = e.dataset.data
    return metrics.relative_error(metrics.frobenius_norm(M), metrics.residual(M, e.U, e.V))


def _truth(name: str) -> Callable[[Evidence], float | None]:
    return lambda e: truth_scores(e.dataset, e.U, e.factors.V, e.spec.y_set).get(name)


def _ghosts(e: Evidence) -> float | None:
    return None if e.dataset.parts is None else metrics.ghosts(e.U, e.dataset.parts)


def _decisions(e: Evidence) -> float:
    """How often Algorithm 2 changed a penalty."""
    cases = e.rows[:, COLUMNS.index("case")]
    return float(np.sum((cases != Case.NONE) & (cases != Case.SKIP)))


QUANTITIES: dict[str, tuple[str, Callable[[Evidence], float | None]]] = {
    "parts_found": ("true parts found", _truth("parts_found")),
    "groups_right": ("true groups right", _truth("groups_correct")),
    "ghosts": ("components with a ghost", _ghosts),
    "relative_error": ("error ‖M−UV‖/‖M‖", _relative_error),
    "constraints": ("constraints on X and Y", lambda e: len(e.spec.x) + len(e.spec.y)),
    "rank": ("rank p", lambda e: e.spec.rank),
    "nonzeros_u": ("nonzeros of a component", lambda e: int(np.count_nonzero(e.U, axis=0).max())),
    "nonzeros_v": ("nonzeros of a code", lambda e: int(np.count_nonzero(e.V, axis=0).max())),
    "sparseness": ("mean sparseness of U", lambda e: float(np.mean(metrics.hoyer_sparseness(e.U)))),
    "overlap": ("mean overlap of U", lambda e: float(metrics.overlap(e.U))),
    "penalty_changes": ("changes of α or β by Algorithm 2", _decisions),
    "kicks": ("kicks", lambda e: sum(event.kind == "kick" for event in e.events)),
    "iterations": ("iterations", lambda e: e.iterations),
}
"""What can be asked for: words, and how it is computed."""
VECTOR_QUANTITIES: dict[str, tuple[str, Callable[[Array], float]]] = {
    "order_ratio": ("the wrong order leads so many times as far", order_ratio),
    "approximation_ratio": ("the approximate projection is so many times as far", approximation_ratio),
}
"""The same of a vector that the reader draws."""
_ALL: dict[str, tuple[str, Callable[[Any], float | None]]] = {**QUANTITIES, **VECTOR_QUANTITIES}


@dataclass(frozen=True)
class Goal:
    """A quantity compared with a number."""

    quantity: str
    sign: str
    bound: float
    place: str = field(default="", compare=False)
    """File and line."""

    @classmethod
    def parse(cls, words: str, known: Iterable[str] = QUANTITIES, place: str = "") -> Goal | None:
        """From `parts_found >= 17`; None where it is none."""
        match = GOAL.match(words.strip())
        if match is None or match[1] not in known:
            return None
        try:
            return cls(match[1], match[2], float(match[3]), place)
        except ValueError:
            return None

    @property
    def words(self) -> str:
        return f"{_ALL[self.quantity][0]} {SIGNS[self.sign]} {self.bound:g}"

    def measured(self, evidence: Evidence | Array) -> float | None:
        """The quantity of a run, or of a vector; None where it has no meaning (no true parts are known)."""
        value = _ALL[self.quantity][1](evidence)
        return None if value is None else float(value)

    def met(self, value: float | None) -> bool:
        return value is not None and COMPARE[self.sign](value, self.bound)
