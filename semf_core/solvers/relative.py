"""SeMF with penalties relative to the factors: the engine's default, which needs no tuning and knows no units."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.solvers.base import SOLVERS, Array, Patience, Problem, Solver, State
from semf_core.solvers.descent import (
    begin_descent,
    begin_loosely,
    descent_step,
    exchanged,
    is_swept,
    may_exchange,
    may_loosen,
)
from semf_core.solvers.splitting import Splitting
from semf_core.solvers.starts import Start, starting_factors, takes_negative

LEAST, MOST = 0.03, 30.0
"""Algorithm 2 keeps the penalties between these multiples of tr(YYᵀ)/p and tr(XᵀX)/p."""
SIZES = {"alpha": "size_y", "beta": "size_x"}
"""What each penalty is a multiple of: tr(YYᵀ)/p and tr(XᵀX)/p."""
TINY = {kind: float(np.finfo(kind).tiny) for kind in "fd"}
"""The smallest tr(gram)/p that is gone by, in each precision."""
EPSILON = 5e-4
"""The paper's ε; right for convex sets, where every small decrease counts."""
SEARCH, LONGEST_SEARCH = 5, 600
"""Iterations before the descent: where both factors are free or nonnegative, they bring a start to the size of M; in other
sets, where the search may fall ever more slowly without stagnating, they find where to descend."""
CYCLES = (((1.0, EPSILON), (1.0, 0.01), (0.3, 0.05)), ((0.3, 0.05), (1.0, 0.01), (1.0, EPSILON)))
"""For sets that are not convex: multiples of c, and ε, at the start and after each kick in turn.

A large ε moves the penalties while supports still change, a small one settles them. Where Y may be negative, supports
change for longer: there (the second row) the large ones come first.
"""

BETWEEN_SEARCHES, WHERE_LOOSER = (0, 2), (4, 1)
"""How often, before a search goes on, a descent begins between looser sets, and how often with a component begun anew: in
general, and where looser sets help."""
EXCHANGES_IN_VAIN = 8
"""Between convex sets, where a search would lead back, so many components in a row begin anew until one of them has brought
a better fit."""
BETTER = 1e-4
"""By this share ‖M−UV‖ has to be smaller for that."""
WINDOW_OF_EXCHANGES = 35
"""There stagnation is judged sooner, which makes room for more of them."""
ANYWHERE = 4
"""Every so many kicks of the search it begins anew: supports that are wrong together do not come apart near the best V."""


@SOLVERS.register
class RelativeADMM(Splitting):
    """α = c·tr(YYᵀ)/p and β = c·tr(XᵀX)/p, c adapted by Algorithm 2 on gaps relative to ‖X‖ and ‖Y‖.

    M → tM changes X, Y, α and β by powers of t and nothing else; exactly so, bit for bit, where t is a power of two.
    The search alternates with descents on U and V themselves and, where a set is not convex, with kicks.
    """

    name: ClassVar[str] = "semf-relative"
    title: ClassVar[str] = "SeMF"
    summary: ClassVar[str] = "any structure, by variable splitting with penalties that follow the factors: no tuning, no units"
    can_descend: ClassVar[bool] = True
    taken_along: ClassVar[tuple[str, ...]] = ("alpha", "beta", *SIZES.values())
    patience: ClassVar[Patience] = Patience(kick=True, window=50, stagnation=0.005, target=0.001)

    scale: float = param(
        "number",
        1.0,
        low=0,
        open_low=True,
        symbol="c",
        help="penalties at the start: α = c·tr(YYᵀ)/p, β = c·tr(XᵀX)/p; from then on between 0.03 and 30",
    )
    epsilon: float | None = param(
        "number",
        None,
        optional=True,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        symbol=r"\varepsilon",
        help="smaller relative changes are a stall to Algorithm 2 (conditions 10 to 13); empty: what fits the sets",
    )
    start: str = param(
        "choice",
        "auto",
        choices=("auto", "uniform", "normal", "svd"),
        help="the first Y: random with the signs of M, uniform in [0, 1], normal, or from the SVD of M",
    )
    kick_size: float = param("number", 0.15, low=0, open_low=True, help="noise of a kick, as a multiple of V's largest entry")
    descend: bool = param(
        "boolean", True, help="descend on U and V themselves where the search stagnates, and from the best ones at the end"
    )
    penalty: str = param("choice", "adaptive", choices=("adaptive", "fixed"), help="Algorithm 2 adapts c, or c stays as it is")

    @property
    def adapts(self) -> bool:
        return self.penalty == "adaptive"

    @property
    def first(self) -> Start:
        return Start(self.start, scaled=True)

    @property
    def kick_noise(self) -> float:
        return self.kick_size

    @property
    def descends(self) -> bool:
        return self.can_descend and self.descend

    def kicks(self, problem: Problem) -> bool:
        """Between convex sets a search would lead back to where a descent ends; elsewhere other supports may be better."""
        return not (self.descends and problem.convex) or may_exchange(problem)

    def gives_up(self, problem: Problem, state: State) -> bool:
        return problem.convex and state.numbers.get("exchanges", 0) >= EXCHANGES_IN_VAIN

    def patience_on(self, problem: Problem) -> Patience:
        return replace(self.patience, window=WINDOW_OF_EXCHANGES) if self._exchanges(problem) else self.patience

    def _exchanges(self, problem: Problem) -> bool:
        return self.descends and may_exchange(problem)

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        state = super().init(problem, rng)
        state.numbers["signed"] = takes_negative(problem.y_set, (problem.rank, problem.matrix.shape[1]))
        self._reset_penalties(problem, state)
        return state

    def _phase(self, problem: Problem, state: State) -> tuple[float, float]:
        """By what c is multiplied from the last kick on, and what counts as progress."""
        if problem.convex:
            return 1.0, self.epsilon or EPSILON
        cycle = CYCLES[int(state.numbers.get("signed", 0))]
        factor, epsilon = cycle[int(state.numbers.get("kicks", 0)) % len(cycle)]
        return factor, self.epsilon or epsilon

    def _reset_penalties(self, problem: Problem, state: State) -> None:
        c = self.scale * self._phase(problem, state)[0]
        state.numbers.update(alpha=c, size_y=1.0, beta=c, size_x=1.0)

    def _follow(self, numbers: dict[str, float], penalty: str, gram: Array) -> None:
        """Keep the penalty the same multiple of tr(gram)/p; one that was set by hand is taken as it is."""
        size = SIZES[penalty]
        now = max(float(gram.trace()) / len(gram), TINY[gram.dtype.char])
        if numbers[size]:
            numbers[penalty] *= now / numbers[size]
        numbers[size] = now

    def _epsilon(self, problem: Problem, state: State) -> float:
        return self._phase(problem, state)[1]

    def _gaps(self, numbers: dict[str, float]) -> tuple[float, float]:
        """Relative to ‖X‖ and ‖Y‖, which may drift apart in size."""
        return numbers["gap_x"] / math.sqrt(numbers["size_x"]), numbers["gap_y"] / math.sqrt(numbers["size_y"])

    def _bounded(self, numbers: dict[str, float]) -> None:
        for penalty, size in SIZES.items():
            numbers[penalty] = float(np.clip(numbers[penalty], LEAST * numbers[size], MOST * numbers[size]))

    def step(self, problem: Problem, state: State) -> State:
        return descent_step(problem, state) if state.numbers.get("descending") else super().step(problem, state)

    def search_length(self, problem: Problem) -> float:
        return SEARCH if is_swept(problem.x_set, problem.y_set) else LONGEST_SEARCH

    def begin_descent(self, problem: Problem, state: State, W: Array, Z: Array) -> State:
        return begin_descent(problem, state, W, Z)

    def kick(self, problem: Problem, state: State, W: Array, Z: Array, rng: np.random.Generator) -> State:
        """A component begun anew, or a search from a Y near V or, every so often, anywhere, with the next pair of the cycle."""
        p, numbers = state.rank, state.numbers
        loosened, exchanges = numbers.get("loosened", 0), numbers.get("exchanges", 0)
        if self._exchanges(problem) and problem.convex:
            residual = problem.matrix.residual(W[p:], Z[p:])
            if residual < (1 - BETTER) * numbers.get("exchanged_from", np.inf):
                exchanges = 0
            numbers.update(exchanges=exchanges + 1, exchanged_from=residual)
            return self._exchanged(problem, state, W, Z, rng)
        most_loosened, most_exchanges = WHERE_LOOSER if may_loosen(problem) else BETWEEN_SEARCHES
        if self.descends and loosened < most_loosened:
            numbers["loosened"] = loosened + 1
            return begin_loosely(problem, state, W, Z, rng)
        if self._exchanges(problem) and exchanges < most_exchanges:
            numbers["exchanges"] = exchanges + 1
            return self._exchanged(problem, state, W, Z, rng)
        kicks = numbers.get("kicks", 0) + 1
        numbers.update(descending=0, loose=0, kicks=kicks, exchanges=0, loosened=0)
        if kicks % ANYWHERE == 0:
            Y = starting_factors(replace(problem, start=(None, None)), self.first, rng)[1]
            Z = np.vstack([Y, Y])
        return super().kick(problem, state, W, Z, rng)

    @staticmethod
    def _exchanged(problem: Problem, state: State, W: Array, Z: Array, rng: np.random.Generator) -> State:
        p = state.rank
        Ut, V = exchanged(problem, W[p:], Z[p:], rng)
        return begin_descent(problem, state, np.vstack([Ut, Ut]), np.vstack([V, V]))

    def set_numbers(self, state: State, values: Mapping[str, float]) -> None:
        super().set_numbers(state, values)
        state.numbers.update({SIZES[penalty]: 0.0 for penalty in values if penalty in SIZES})

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """The search goes on from the current factors; a changed c starts again; Algorithm 2 averages from here on."""
        if state.numbers.get("descending"):
            state.arrays["Lam"][:] = 0
            state.arrays["Pi"][:] = 0
            state.scratch.clear()
            state.numbers["descending"] = 0
        if self.scale != getattr(before, "scale", None):
            self._reset_penalties(problem, state)
        return self._averaging_afresh(state)
