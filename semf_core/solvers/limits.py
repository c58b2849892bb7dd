"""When a run stops, starts afresh or gets a kick: what its user sets, and what follows from it for a problem and a solver."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import ClassVar

from semf_core.common.docstrings import with_parameters
from semf_core.common.parameters import Parametrized, param
from semf_core.solvers.base import Patience, Problem, Solver


@with_parameters
class Limits(Parametrized):
    """When a run stops, starts afresh or gets a kick, and what is done at its end.

    Examples
    --------
    >>> from semf_core import Limits, factorize
    >>> Limits(max_iter=500, restarts=3).to_dict()
    {'name': 'limits', 'max_iter': 500, 'restarts': 3}
    >>> factorize([[1.0, 2.0], [3.0, 4.0]], 1, max_iter=500, restarts=3).starts <= 3
    True
    """

    name: ClassVar[str] = "limits"

    max_iter: int = param("integer", 1000, low=1, high=10_000_000, help="iterations of one start at most")
    tol: float = param(
        "number",
        1e-6,
        low=0,
        high=1,
        symbol=r"\mathrm{tol}",
        help="stop when X and Y change by less, relative to their size (equation 9); 0: never",
    )
    restarts: int = param("integer", 1, low=1, high=100_000, help="starting points at most; the best ‖M−UV‖ is kept")
    target: float | None = param(
        "number",
        None,
        optional=True,
        low=0,
        high=1,
        help="‖M−UV‖/‖M‖ at which a start counts as solved: no kick, no further start; empty: what fits the algorithm",
    )
    kick: bool | None = param(
        "boolean", None, optional=True, help="push iterates out of a stagnation above the target; empty: what fits the algorithm"
    )
    window: int | None = param(
        "integer",
        None,
        optional=True,
        low=2,
        high=1_000_000,
        help="iterations over which stagnation is judged; empty: what fits the algorithm",
    )
    stagnation: float | None = param(
        "number",
        None,
        optional=True,
        low=0,
        high=1,
        help="less relative progress than this in a window is stagnation; empty: what fits the algorithm",
    )
    common_start: bool = param("boolean", False, help="begin with the X and Y that all algorithms with this seed begin with")
    polish: int = param("integer", 0, low=0, high=100_000, help="sweeps of coordinate descent on the final supports")

    def patience(self, fitting: Patience) -> Patience:
        """When a run counts as stuck or solved: what is set here, else what fits the solver.

        Parameters
        ----------
        fitting : Patience
            What fits the solver.

        Returns
        -------
        Patience
            Window, stagnation, target, and whether there are kicks.
        """
        given = {f.name: getattr(self, f.name) for f in fields(Patience) if getattr(self, f.name) is not None}
        return replace(fitting, **given)


@dataclass(frozen=True)
class Rules:
    """What every iteration of a run is judged by, worked out once for a problem, a solver and limits."""

    patience: Patience
    kicks: bool
    """A kick follows where a start is stuck above the target."""
    by_tolerance: bool
    """A descent is stuck only when (9) says so: there is nothing else to try, or it may be slow but does not lead astray."""
    search_length: float
    """Iterations of a search after which a descent begins even where it has not stagnated."""
    reserve: int
    """Iterations of a start that are kept for the descent at its end."""

    @classmethod
    def of(cls, problem: Problem, solver: Solver, limits: Limits) -> Rules:
        patience = limits.patience(solver.patience_on(problem))
        kicks = patience.kick and solver.can_kick and solver.kicks(problem)
        reserve = limits.max_iter // 20 if solver.descends else 0
        by_tolerance = not kicks or problem.convex
        return cls(patience, kicks, by_tolerance, solver.search_length(problem), reserve)
