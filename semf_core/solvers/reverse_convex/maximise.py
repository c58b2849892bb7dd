"""The sparsity-maximisation algorithm (§5, Table 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semf_core.parameters import param
from semf_core.solvers.base import SOLVERS, Problem, Solver, State
from semf_core.solvers.direct import Factors
from semf_core.solvers.reverse_convex.common import Supervised
from semf_core.solvers.reverse_convex.conic import Array
from semf_core.solvers.reverse_convex.geometry import sparseness
from semf_core.solvers.reverse_convex.half import Half, Quadratic
from semf_core.solvers.reverse_convex.tangent import from_scratch


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class SparsityMax(Supervised):
    """Sparser rows at no worse a fit, (24), then a better fit at a safe distance from the bound, (25).

    (24) is solved at H itself, so its answer fits no worse, and it is the centre of (25): f cannot rise.
    """

    name: ClassVar[str] = "sparsity-max"
    title: ClassVar[str] = "Sparsity maximisation"
    summary: ClassVar[str] = "NMF with bounds on sparseness: sparser, then closer, in turns; ‖M−UV‖ never rises"

    rounds: int = param("integer", 2, low=1, high=100, help="(24) and (25) at most this often before the other factor's turn")
    epsilon: float = param("number", 1e-2, low=0, high=1, help="less relative fall of ‖M−UV‖² than this ends the turn")

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Given factors as they are, otherwise each in turn as near as the bounds allow (Table 2, line 1).

        With labels, codes are always found anew: (24) must start from codes that keep to their class.
        """
        Xt, Y, _ = super().begin(problem, rng, state)
        X0, Y0 = problem.start
        if Y0 is None or self.label_radius is not None:
            Y = self._first(problem, state, Xt, Y, 1)
        return Factors(self._first(problem, state, Y, Xt, 0) if X0 is None else Xt, Y)

    def _first(self, problem: Problem, state: State, other: Array, own: Array, axis: int) -> Array:
        f = self.quadratic(problem, other, axis)
        new, _ = from_scratch(self.half(problem, state, axis), f, own)
        return np.where(f.alive[:, None], new * f.units[:, None], own)

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        state, p = super().retuned(problem, state, before), state.rank
        if self.label_radius is None:
            return state
        return self._placed(problem, state, Factors(state.W[:p], self._first(problem, state, state.W[:p], state.Z[:p], 1)))

    def descend(self, half: Half, f: Quadratic, H: Array) -> Array:
        best = f.value(H)
        for _ in range(self.rounds):
            new = _closer(half, f, H)
            if not half.keeps_labels(f, new):  # a row near zero has a ball too small for the conic solver
                new, _ = from_scratch(half, f, H)
            if not half.keeps_labels(f, new):
                break
            value = f.value(new)
            if value < best:
                H = new
            if half.band.low == 0 or best - value <= self.epsilon * best:
                break
            best = value
        return H


def _closer(half: Half, f: Quadratic, H: Array) -> Array:
    """One round of Table 2; where nothing can get sparser, balls around H itself."""
    if half.band.low == 0:
        return half.band.rectified(half.minimise(f, kind="plain"))
    sparser = half.band.rectified(half.sparser(f, H))
    centre = sparser if sparseness(sparser).min() > sparseness(H).min() else H
    return half.band.rectified(half.within_balls(f, centre))
