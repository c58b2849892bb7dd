"""What is measured on a finished run. A measure is a class, its registration and one formula."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from semf_core import metrics
from semf_core.parameters import InvalidInput, Parametrized, param
from semf_core.registry import Registry
from semf_core.result import certify
from semf_core.scores import truth_scores
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

    @property
    def norm(self) -> float:
        return self.run.problem.matrix.norm

    @property
    def entries(self) -> int:
        m, n = self.data.dataset.shape
        return m * n


@dataclass(frozen=True, eq=False)
class Measure(Parametrized):
    """A number taken from a finished run, or None where it has no meaning."""

    title: ClassVar[str] = ""
    unit: ClassVar[str] = ""
    better: ClassVar[str] = ""
    """"low" or "high", where one of them is."""
    yes_no: ClassVar[bool] = False
    """0 or 1: drawn as a rate."""

    @property
    def key(self) -> str:
        """The name of its column."""
        return self.name

    def value(self, outcome: Outcome) -> float | None:
        raise NotImplementedError


MEASURES: Registry[Measure] = Registry("measure")


@MEASURES.register
@dataclass(frozen=True, eq=False)
class RelativeError(Measure):
    """‖M − UV‖ / ‖M‖ over the entries that were shown."""

    name, title, better = "relative_error", "Relative error", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.relative_error(outcome.norm, outcome.run.best_uv)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Snr(Measure):
    """20 log₁₀ ‖M‖ / ‖M − UV‖ of the feasible factors (SeMF §4.3)."""

    name, title, unit, better = "snr_db", "SNR of UV", "dB", "high"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.snr_db(outcome.norm, outcome.run.best_uv)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Rmse(Measure):
    """‖M − UV‖ / √(mn) (SeMF §4.1)."""

    name, title, better = "rmse", "RMSE of UV", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.rmse(outcome.run.best_uv, outcome.entries)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class RmseFree(Measure):
    """‖M − XY‖ / √(mn) of the last iteration: the quantity of SeMF §4.1, whose factors need not be feasible."""

    name, title, better = "rmse_xy", "RMSE of XY", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.rmse(outcome.run.history.last("residual_xy"), outcome.entries)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class SquaredError(Measure):
    """‖M − UV‖², as in Table 3 of the reverse-convex paper."""

    name, title, better = "squared_error", "Squared error", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.best_uv**2


@MEASURES.register
@dataclass(frozen=True, eq=False)
class SampleError(Measure):
    """‖M − UV‖² / n, the mean squared error of a sample (CSMF, Table 7)."""

    name, title, better = "sample_error", "Squared error of a sample", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.best_uv**2 / outcome.data.dataset.shape[1]


@MEASURES.register
@dataclass(frozen=True, eq=False)
class HeldOutError(Measure):
    """‖M − UV‖ / ‖M‖ over the entries that were hidden from the run."""

    name, title, better = "held_out_error", "Held-out error", "low"

    def value(self, outcome: Outcome) -> float | None:
        hidden, values = outcome.data.hidden, outcome.data.values
        if hidden is None or values is None:
            return None
        rows, columns = np.divmod(hidden, outcome.data.dataset.shape[1])
        fitted = np.empty(len(hidden))
        for i in range(0, len(hidden), 100_000):
            part = slice(i, i + 100_000)
            fitted[part] = np.einsum("ij,ji->i", outcome.U[rows[part]], outcome.V[:, columns[part]])
        return metrics.relative_error(float(np.linalg.norm(values)), float(np.linalg.norm(values - fitted)))


@MEASURES.register
@dataclass(frozen=True, eq=False)
class TrueError(Measure):
    """‖AB − UV‖ / ‖AB‖ against the true parts A and activations B, without the noise."""

    name, title, better = "true_error", "Error against the truth", "low"

    def value(self, outcome: Outcome) -> float | None:
        truth = outcome.data.dataset
        if truth.parts is None or truth.activations is None:
            return None
        clean = truth.parts @ truth.activations
        return metrics.relative_error(float(np.linalg.norm(clean)), metrics.residual(clean, outcome.U, outcome.V))


@dataclass(frozen=True, eq=False)
class _Score(Measure):
    """One of the numbers that the truth gives."""

    def value(self, outcome: Outcome) -> float | None:
        return self.of(truth_scores(outcome.data.dataset, outcome.U, outcome.trial.model.y_set))

    def of(self, scores: dict[str, Any]) -> float | None:
        raise NotImplementedError


@MEASURES.register
@dataclass(frozen=True, eq=False)
class PartsFound(_Score):
    """True parts that have a column of their own with cosine above 0.99."""

    name, title, better = "parts_found", "Parts found", "high"

    def of(self, scores: dict[str, Any]) -> float | None:
        return scores.get("parts_found")


@MEASURES.register
@dataclass(frozen=True, eq=False)
class GroupsRight(_Score):
    """Groups of the model that hold exactly the parts of one true group."""

    name, title, better = "groups_correct", "Groups right", "high"

    def of(self, scores: dict[str, Any]) -> float | None:
        return scores.get("groups_correct")


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Solved(_Score):
    """All true parts found and, where the model has groups, all of them right."""

    name, title, better, yes_no = "solved", "All parts (and groups) right", "high", True

    def of(self, scores: dict[str, Any]) -> float | None:
        if not scores:
            return None
        groups = scores.get("groups_correct")
        return float(scores["parts_found"] == scores["parts_total"] and (groups is None or groups == scores["groups_total"]))


@MEASURES.register
@dataclass(frozen=True, eq=False)
class RecoveredAtoms(Measure):
    """Atoms of the generating dictionary within 0.01 of a learned one (SeMF 27)."""

    name, title, better = "recovered_atoms", "Recovered atoms", "high"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.recovered_atoms(parts, outcome.U)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class RecoveredShare(Measure):
    """Recovered atoms as a fraction of all."""

    name, title, better = "recovered_share", "Share of recovered atoms", "high"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.recovered_atoms(parts, outcome.U) / parts.shape[1]


@MEASURES.register
@dataclass(frozen=True, eq=False)
class DictionaryDistance(Measure):
    """Mean distance of the generating atoms to the learned dictionary (SeMF 28)."""

    name, title, better = "dictionary_distance", "Distance of the dictionaries", "low"

    def value(self, outcome: Outcome) -> float | None:
        parts = outcome.data.dataset.parts
        return None if parts is None else metrics.dictionary_distance(parts, outcome.U)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Sparseness(Measure):
    """Mean of Hoyer's sparseness over the columns of U."""

    name, title = "sparseness", "Sparseness of the components"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.hoyer_sparseness(outcome.U).mean())


@MEASURES.register
@dataclass(frozen=True, eq=False)
class SparsenessCodes(Measure):
    """Mean of Hoyer's sparseness over the rows of V."""

    name, title = "sparseness_v", "Sparseness of the activations"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.hoyer_sparseness(outcome.V.T).mean())


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Nonzeros(Measure):
    """Mean share of nonzeros in a column of U."""

    name, title = "nonzeros", "Nonzero share of the components"

    def value(self, outcome: Outcome) -> float | None:
        return float(metrics.nonzero_fraction(outcome.U).mean())


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Overlap(Measure):
    """Average overlapping degree of the components (CSMF 15)."""

    name, title, better = "overlap", "Overlap (AOD)", "low"

    def value(self, outcome: Outcome) -> float | None:
        return metrics.overlap(outcome.U)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Feasible(Measure):
    """U and V are in their sets up to rounding."""

    name, title, better, yes_no = "feasible", "Feasible", "high", True

    def value(self, outcome: Outcome) -> float | None:
        model = outcome.trial.model
        certificate = certify({"U": model.x_set, "V": model.y_set}, {"U": outcome.U, "V": outcome.V}, (0.0, 0.0))
        return float(certificate.feasible)


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Iterations(Measure):
    """Iterations of all starts together."""

    name, title, better = "iterations", "Iterations", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.iterations


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Seconds(Measure):
    """Time inside the algorithm."""

    name, title, unit, better = "seconds", "Time", "s", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.seconds


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Starts(Measure):
    """Starting points that were used."""

    name, title, better = "starts", "Starts", "low"

    def value(self, outcome: Outcome) -> float | None:
        return outcome.run.start + 1


@MEASURES.register
@dataclass(frozen=True, eq=False)
class Kicks(Measure):
    """Kicks out of a stagnation."""

    name, title, better = "kicks", "Kicks", "low"

    def value(self, outcome: Outcome) -> float | None:
        return sum(event.kind == "kick" for event in outcome.run.events)


@MEASURES.register
@dataclass(frozen=True, eq=False)
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
            raise InvalidInput("of", "success is judged by another measure")
        MEASURES.get(self.of)
        if (self.at_most is None) == (self.at_least is None):
            raise InvalidInput("at_most", "give at_most or at_least, one of them")

    @property
    def key(self) -> str:
        return self.label or self.name

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
            raise InvalidInput("measures", f"two of them are called {key!r}; give one a label")
    return found


def measured(measures: Sequence[Measure], outcome: Outcome) -> dict[str, float | None]:
    """All numbers of an outcome; what is not finite (an exact fit has no SNR) is None."""
    values = {m.key: m.value(outcome) for m in measures}
    return {k: float(v) if v is not None and math.isfinite(v) else None for k, v in values.items()}
