"""What a run gives back: factors, history, and a certificate of what they satisfy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core import metrics
from semf_core.sets import StructureSet, members_of
from semf_core.solvers.run import Event, History, Run

Array = np.ndarray
FEASIBLE = 1e-8
"""A violation below this fraction of the factor's norm is rounding."""


@dataclass(frozen=True)
class Violation:
    """How far a factor is from one of its constraints, in the units of the factor."""

    factor: str
    constraint: str
    latex: str
    value: float
    relative: float


@dataclass(frozen=True)
class Certificate:
    """What U and V satisfy, measured on the factors that are returned."""

    violations: tuple[Violation, ...]
    nonzeros_u: Array
    nonzeros_v: Array
    """Counted nonzeros of each column of U and of V."""
    gap_x: float
    gap_y: float

    @property
    def feasible(self) -> bool:
        return all(v.relative <= FEASIBLE for v in self.violations)

    def to_dict(self) -> dict[str, Any]:
        return {
            "feasible": self.feasible,
            "violations": {f"{v.factor}.{v.constraint}": v.value for v in self.violations},
            "nonzeros_u": self.nonzeros_u.tolist(),
            "nonzeros_v_max": int(self.nonzeros_v.max(initial=0)),
            "gap_x": self.gap_x,
            "gap_y": self.gap_y,
        }


@dataclass(frozen=True)
class Result:
    """M ≈ UV with U and V in their sets; X and Y are the free copies of the split problem (5)."""

    U: Array
    V: Array
    X: Array
    Y: Array
    history: History
    iterations: int
    seconds: float
    stop_reason: str
    residual_xy: float
    residual_uv: float
    norm: float
    starts: int
    events: tuple[Event, ...]
    certificate: Certificate

    @property
    def relative_error(self) -> float:
        return metrics.relative_error(self.norm, self.residual_uv)

    @property
    def snr_db(self) -> float:
        """20 log₁₀ ‖M‖/‖M−UV‖ of the feasible factors (SeMF §4.3)."""
        return metrics.snr_db(self.norm, self.residual_uv)

    @property
    def snr_db_xy(self) -> float:
        return metrics.snr_db(self.norm, self.residual_xy)


def certify(sets: dict[str, StructureSet], factors: dict[str, Array], gaps: tuple[float, float]) -> Certificate:
    """Measure every constraint on the factor it binds; `sets` and `factors` are keyed U and V."""
    violations = [
        violation(name, member, member.violation(factors[name]), float(np.linalg.norm(factors[name])))
        for name, whole in sets.items()
        for member in members_of(whole)
    ]
    counts = [np.count_nonzero(factors[name], axis=0) for name in ("U", "V")]
    return Certificate(tuple(violations), counts[0], counts[1], *gaps)


def violation(factor: str, member: StructureSet, distance: float, norm: float) -> Violation:
    """How far a factor of this norm is from one of its constraints."""
    return Violation(factor, member.name, member.condition(factor), distance, distance / max(norm, 1e-300))


def make_result(run: Run) -> Result:
    """The best factors of a run with their certificate."""
    x_set, y_set = run.problem.whole_sets
    U, V, free_x, free_y = run.factors()
    gaps = (float(np.linalg.norm(free_x - U)), float(np.linalg.norm(free_y - V)))
    certificate = certify({"U": x_set, "V": y_set}, {"U": U, "V": V}, gaps)
    return Result(U=U, V=V, X=free_x, Y=free_y, certificate=certificate, **told_by(run))


def told_by(run: Run) -> dict[str, Any]:
    """What a result says of the run that gave it, beside factors."""
    at_best = run.history.table()[run.best_iteration - 1] if run.best_iteration else None
    return {
        "history": run.history,
        "iterations": run.iterations,
        "seconds": run.seconds,
        "stop_reason": run.stop_reason or "running",
        "residual_xy": float(at_best[0]) if at_best is not None else np.nan,
        "residual_uv": float(run.best_uv),
        "norm": run.problem.matrix.norm,
        "starts": run.start + 1,
        "events": tuple(run.events),
    }
