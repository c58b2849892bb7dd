"""The sparsity-maximisation algorithm (§5, Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.solvers.base import SOLVERS, Problem, Solver, State
from semf_core.solvers.direct import Factors, generator
from semf_core.solvers.reverse_convex.common import Supervised
from semf_core.solvers.reverse_convex.conic import Array
from semf_core.solvers.reverse_convex.geometry import sparseness
from semf_core.solvers.reverse_convex.half import Half, Quadratic
from semf_core.solvers.reverse_convex.sampling import MOST_COMBINATIONS, on_cones, starting_points
from semf_core.solvers.reverse_convex.tangent import from_scratch


@SOLVERS.register
class SparsityMax(Supervised):
    """Sparser rows at no worse a fit, (24), then a better fit at a safe distance from the bound, (25).

    (24) is solved at H itself, so its answer fits no worse, and it is the centre of (25): f cannot rise.
    """

    name: ClassVar[str] = "sparsity-max"
    title: ClassVar[str] = "Sparsity maximisation"
    summary: ClassVar[str] = "NMF with bounds on sparseness: sparser, then closer, in turns; ‖M−UV‖ never rises"
    programs: ClassVar[str] = "sparser at no worse a fit, (24), then as good a fit as can be within balls around that, (25)"
    boundary: ClassVar[str] = r"\|%s-z\|_2\le r"

    program_bytes: ClassVar[tuple[int, int]] = (4000, 800)

    search: str = param(
        "choice", "local", choices=("local", "enumeration", "sampling"),
        help="where sparseness is linearised: at the factor itself, or also at the best of points sampled on the cones",
    )  # fmt: skip
    points: int = param("integer", 10, low=2, high=1000, help="points sampled on each cone, in each possible way or drawn")
    rounds: int = param("integer", 2, low=1, high=100, help="sparser, then closer, so often at most before the other's turn")
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

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.search == "enumeration" and self.points**problem.rank > MOST_COMBINATIONS:
            count = f"{self.points} points on each of {problem.rank} cones make more than {MOST_COMBINATIONS:,} combinations"
            raise InvalidInput("points", count, "take fewer points, or search by sampling", whole=True)

    def half(self, problem: Problem, state: State, axis: int) -> Half:
        half = super().half(problem, state, axis)
        half.rng = generator(state)
        return half

    def _elsewhere(self, half: Half, f: Quadratic, H: Array) -> list[Array]:
        """Further points at which (24) is linearised (§6.2)."""
        if self.search == "local" or half.band.low == 0:
            return []
        return starting_points(f, H, on_cones(H, half.band, self.points, half.rng), self.search, half.rng)

    def descend(self, half: Half, f: Quadratic, H: Array) -> Array:
        best = f.value(H)
        for _ in range(self.rounds):
            new = _closer(half, f, H, self._elsewhere(half, f, H))
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


def _closer(half: Half, f: Quadratic, H: Array, elsewhere: Sequence[Array]) -> Array:
    """One round of Table 2, (24) from H and from elsewhere; where nothing can get sparser, balls around H itself."""
    if half.band.low == 0:
        return half.band.rectified(half.minimise(f, kind="plain"))
    found = [half.band.rectified(half.sparser(f, H, at)) for at in (H, *elsewhere)]
    centre = max((H, *found), key=lambda rows: float(sparseness(rows).min()))
    return half.band.rectified(half.within_balls(f, centre))
