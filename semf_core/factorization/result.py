"""What a run gives back: factors, history, and a certificate of what they satisfy."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from semf_core.common.notation import number
from semf_core.datasets.axes import Axes, component_names
from semf_core.factorization.ending import Ending, ending, finish_of
from semf_core.mathematics import metrics
from semf_core.sets import StructureSet, members_of
from semf_core.solvers import Event, History, Run

Array = np.ndarray
FEASIBLE = 1e-8
"""A violation below this fraction of the factor's norm is rounding."""


@dataclass(frozen=True)
class Violation:
    """How far a factor is from one of its constraints.

    Attributes
    ----------
    factor : str
        "U" or "V".
    constraint : str
        Name of the set.
    latex : str
        What a member of it satisfies.
    value : float
        Distance from the set, in the units of the factor.
    relative : float
        The same, divided by the norm of the factor.
    """

    factor: str
    constraint: str
    latex: str
    value: float
    relative: float


@dataclass(frozen=True)
class Certificate:
    """What U and V satisfy, measured on the factors that are returned.

    Attributes
    ----------
    violations : tuple of Violation
        One for each constraint.
    nonzeros_u, nonzeros_v : array
        Counted nonzeros of each column of U and of V.
    gap_x, gap_y : float
        ‖X − U‖ and ‖Y − V‖.
    feasible : bool
        Every violation is rounding: below 1e-8 of the norm of its factor.

    Examples
    --------
    >>> from semf_core import factorize
    >>> from semf_core.sets import Nonnegative, Sparse
    >>> result = factorize([[1.0, 0, 2], [0, 1, 1]], 2, X=[Nonnegative()], Y=[Sparse(1)], max_iter=50)
    >>> for violation in result.certificate.violations:
    ...     print(violation.factor, violation.constraint, violation.value)
    U nonnegative 0.0
    V sparse 0.0
    >>> result.certificate.nonzeros_v.max()
    np.int64(1)
    """

    violations: tuple[Violation, ...]
    nonzeros_u: Array
    nonzeros_v: Array
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


@dataclass(frozen=True, repr=False)
class Result:
    """M ≈ UV with U and V in their sets, and how they were found. Printed, it is a summary.

    Attributes
    ----------
    U, V : array
        The factors, m × p and p × n, in their sets.
    X, Y : array
        Their free copies in the split problem (SeMF eq. 5); the same as U and V for algorithms that do not split.
    history : History
        One row of numbers for every iteration.
    iterations, seconds, starts : int, float, int
        What it took: of all starts together.
    stop_reason : str
        "converged", "iteration limit", "gave up", "cancelled" or "diverged".
    residual_xy, residual_uv, norm : float
        ‖M − XY‖, ‖M − UV‖ and ‖M‖.
    events : tuple of Event
        Kicks, new starts and the like, with their iterations.
    certificate : Certificate
        How far U and V are from each constraint.
    ending : Ending
        How the run ended, in words, and what could be tried next.
    axes : Axes
        What rows and columns of M are called, where that is known.
    image_shape : tuple of int, optional
        Height and width of a column of U, where it is an image.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core import factorize
    >>> result = factorize(np.outer([1.0, 2, 3], [1.0, 0, 1, 2]), 1, solver="svd")
    >>> result.U.shape, result.V.shape, f"{result.relative_error:.3f}"
    ((3, 1), (1, 4), '0.000')
    >>> print(str(result).splitlines()[0])
    Result: M (3 × 4) ≈ U (3 × 1) · V (1 × 4)
    """

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
    ending: Ending
    axes: Axes = field(default_factory=Axes, kw_only=True)
    image_shape: tuple[int, int] | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        """A summary; the arrays are in U, V, X and Y."""
        (m, rank), n = self.U.shape, self.V.shape[1]
        return "\n".join(
            [
                f"Result: M ({m} × {n}) ≈ U ({m} × {rank}) · V ({rank} × {n})",
                f"  relative error  {self.relative_error:.4g}",
                f"  feasible        {'yes' if self.certificate.feasible else 'no'}",
                f"  ended           {self.stop_reason} after {self.iterations} iterations, {number(self.seconds, 3)} s",
                f"  {self.ending.text}",
            ]
        )

    def _repr_html_(self) -> str:
        """The summary and the components, for notebooks."""
        from semf_core.drawing.components import STYLE, components_html

        drawn = components_html(self.U, self.V, self.axes, self.image_shape, component_names((), self.U.shape[1]))
        return f"<style>{STYLE}</style><pre>{html.escape(repr(self))}</pre>{drawn}"

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
    told = told_by(run)
    return Result(U=U, V=V, X=free_x, Y=free_y, certificate=certificate, ending=ending(finish_of(run, U, V)), **told)


def told_by(run: Run) -> dict[str, Any]:
    """What a result says of the run that gave it, beside factors."""
    return {
        "history": run.history,
        "iterations": run.iterations,
        "seconds": run.seconds,
        "stop_reason": run.stop_reason or "running",
        "residual_xy": float(run.best_xy),
        "residual_uv": float(run.best_uv),
        "norm": run.problem.matrix.norm,
        "starts": run.start + 1,
        "events": tuple(run.events),
    }
