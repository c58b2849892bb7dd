"""The alternating direction method on the split problem (5) of SeMF: what every rule for its penalties shares."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import members_of
from semf_core.solvers.base import Array, Case, Frame, Problem, Solver, State
from semf_core.solvers.carried import Carried, Side, carried_side, forget
from semf_core.solvers.half_steps import (
    Columns,
    Left,
    Rows,
    RowSums,
    Sent,
    advance_columns,
    free_rows,
    has_small_columns,
    in_memory,
    relative_change,
    settle_rows,
)
from semf_core.solvers.penalties import QUANTITIES, decide, factors
from semf_core.solvers.starts import Start, signed_noise, starting_factors

MANY = 100
"""A search of fewer iterations does not pay for what carries products from one to the next."""


class Splitting(Solver):
    """Algorithm 1: X and Y in closed form (8) or improved by steps (7a)-(7b), projected U and V (7c)-(7d), multipliers (7e)-(7f).

    A subclass says where α and β start, how they follow the factors, and what Algorithm 2 goes by.
    """

    family: ClassVar[str] = "Structure-enforced"
    enforces: ClassVar[str] = "every set of the model, exactly, on U and V"
    reference: ClassVar[str] = "semf"
    takes_sets: ClassVar[bool] = True
    splits: ClassVar[bool] = True
    drops_zeros: ClassVar[bool] = True
    can_kick: ClassVar[bool] = True

    mu: float = param("number", 2.0, low=1, open_low=True, symbol=r"\mu", help="factor by which Algorithm 2 raises a penalty")
    nu: float = param("number", 5.0, low=1, open_low=True, symbol=r"\nu", help="factor by which Algorithm 2 lowers a penalty")
    q: int = param("integer", 5, low=2, symbol="q", help="iterations that Algorithm 2 averages over")
    gamma: float = param(
        "number", 1.0, low=0, high=1.618, open_low=True, open_high=True, symbol=r"\gamma", help="step length of the multipliers"
    )
    inner: int = param(
        "integer", 0, low=0, high=1000,
        help="conjugate gradient steps for X and Y, 1 is a gradient step; 0 solves the equations, faster up to p = 1000",
    )  # fmt: skip

    def objective(self) -> str:
        return r"\min_{X,Y,U,V}\ \|M-XY\|_F^2 \quad\text{s.t.}\quad X=U\in\mathcal{X},\; Y=V\in\mathcal{Y}"

    # -- what a rule for the penalties says --------------------------------------------------

    @property
    def first(self) -> Start:
        """How Y starts."""
        raise NotImplementedError

    @property
    def kick_noise(self) -> float:
        """The noise of a kick, as a multiple of V's largest entry."""
        raise NotImplementedError

    @property
    def adapts(self) -> bool:
        """Whether Algorithm 2 changes the penalties."""
        return True

    def _reset_penalties(self, problem: Problem, state: State) -> None:
        """α and β as at a start, or after a kick."""
        raise NotImplementedError

    def _follow(self, numbers: dict[str, float], penalty: str, gram: Array) -> None:
        """Set a penalty for this iteration; gram is YYᵀ for α and XᵀX for β."""

    def _epsilon(self, problem: Problem, state: State) -> float:
        """What counts as progress in (10)-(13)."""
        raise NotImplementedError

    def _gaps(self, numbers: dict[str, float]) -> tuple[float, float]:
        """‖X−U‖ and ‖Y−V‖ as Algorithm 2 compares them."""
        return numbers["gap_x"], numbers["gap_y"]

    def _bounded(self, numbers: dict[str, float]) -> None:
        """Keep α and β within what the rule allows."""

    # -- the iteration -----------------------------------------------------------------------

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        """U, V, Λ, Π zero and Y random (Algorithm 1), or all from given factors."""
        n, p, dtype = problem.matrix.shape[1], problem.rank, problem.matrix.dtype
        arrays = {"Pi": np.zeros((p, n), dtype), "window": np.zeros((2, QUANTITIES))}
        state = State(W=self._rows_like(problem), Z=np.zeros((2 * p, n), dtype), arrays=arrays)
        self._clear_rows(problem, state)
        X0, Y0 = starting_factors(problem, self.first, rng)
        state.Z[:p] = Y0
        if X0 is not None:
            state.W[:p] = X0.T
            state.W[p:] = problem.x_set.project(state.X).T
            state.Z[p:] = problem.y_set.project(state.Y)
        self._reset_penalties(problem, state)
        return self._averaging_afresh(state)

    def _rows_like(self, problem: Problem) -> Array:
        """Room for X above U, transposed."""
        return np.empty((2 * problem.rank, problem.matrix.shape[0]), problem.matrix.dtype)

    def _clear_rows(self, problem: Problem, state: State) -> None:
        """X, U and Λ zero."""
        state.W[:] = 0
        state.arrays["Lam"] = np.zeros((state.rank, state.W.shape[1]), state.W.dtype)

    @staticmethod
    def _averaging_afresh(state: State) -> State:
        """Algorithm 2 compares only iterations from here on, and no product follows from those before."""
        forget(state)
        state.numbers.update(since_start=0, case=0)
        state.arrays["window"][:] = 0
        return state

    def kick(self, problem: Problem, state: State, W: Array, Z: Array, rng: np.random.Generator) -> State:
        """Y near V; U, V, Λ, Π zero as at the start."""
        p = state.rank
        V = Z[p:]
        W, Z = state.free_buffers(lambda: (self._rows_like(problem), np.empty_like(state.Z)))
        Z[:p] = V + self.kick_noise * float(np.abs(V).max()) * signed_noise(problem, self.first.kind, V.shape, rng)
        Z[p:] = 0
        state.W, state.Z = W, Z
        self._clear_rows(problem, state)
        state.arrays["Pi"][:] = 0
        state.scratch.pop("YYt", None)
        self._reset_penalties(problem, state)
        return self._averaging_afresh(state)

    def step(self, problem: Problem, state: State) -> State:
        M, numbers, Pi = problem.matrix, state.numbers, state.arrays["Pi"]
        W, Z = state.free_buffers(lambda: (self._rows_like(problem), np.empty_like(state.Z)))
        YYt = state.scratch.get("YYt")
        if YYt is None:
            YYt = state.Y @ state.Y.T
        self._follow(numbers, "alpha", YYt)
        alpha = M.dtype.type(numbers["alpha"])
        rows = self._update_rows(problem, state, W, Sent(state.Y, YYt, alpha, self.gamma, self.inner))  # (8a), (7c), (7e)

        self._follow(numbers, "beta", rows.XtX)
        beta = M.dtype.type(numbers["beta"])
        columns = Columns(M, W, state.Z, Z, Pi, self._spare(state, "Pi"), problem.y_set)
        right = self._carried(problem, state, "right")
        found = advance_columns(columns, rows, beta, self.gamma, self.inner, right)  # (8b), (7d), (7f)

        state.W, state.Z = W, Z
        state.scratch.update(YYt=found.YYt, YMt=(found.YYt, found.YMt))
        numbers.update(
            residual_xy=found.residual_xy,
            residual_uv=found.residual_uv,
            gap_x=math.sqrt(rows.gap),
            gap_y=math.sqrt(found.gap),
            change=max(relative_change(rows.moved, rows.size), relative_change(found.moved, found.size)),
            used_alpha=alpha,
            used_beta=beta,
        )
        self._adapt(problem, state)
        return state

    def _update_rows(self, problem: Problem, state: State, W: Array, sent: Sent) -> RowSums:
        """X and U of the next iterate into W, which need the previous Y alone."""
        M, p = problem.matrix, state.rank
        rows = Rows(M, state.W, W, state.arrays["Lam"], self._spare(state, "Lam"))
        gram, YMt = state.scratch.get("YMt", (None, None))
        known = state.arrays["right"][:p] if "right" in state.arrays else YMt if gram is sent.YYt else None
        free_rows(rows, sent, known)
        projected = problem.x_set.project(rows.spare.T).T
        if not self.inner and has_small_columns(M, p):
            return settle_rows(rows, sent, projected, "none")
        wanted: Left = "first" if self._carried_side(problem) == "right" else "different"
        return settle_rows(rows, sent, projected, wanted, self._carried(problem, state, "left"))

    def _carried_side(self, problem: Problem) -> Side | None:
        """The factor whose product with M follows from the iteration before, where there will be many."""
        side = carried_side(problem.matrix, problem.rank)
        if side is None or self.inner or self.search_length(problem) < MANY:
            return None
        return None if side == "right" and not members_of(problem.x_set) else side  # U = X: there are two products anyway

    def _carried(self, problem: Problem, state: State, side: Side) -> Carried | None:
        if side != self._carried_side(problem):
            return None
        assert in_memory(problem.matrix)
        return Carried(problem.matrix, state, side)

    def _adapt(self, problem: Problem, state: State) -> None:
        """Algorithm 2 at every q-th iteration, on means over q iterations."""
        numbers, window = state.numbers, state.arrays["window"]
        numbers["since_start"] += 1
        numbers["case"] = Case.NONE
        if not self.adapts:
            return
        window[1] += (numbers["residual_uv"], numbers["residual_xy"], *self._gaps(numbers))
        if numbers["since_start"] % self.q:
            return
        if numbers["since_start"] > self.q:
            case = decide(window[1], window[0], self._epsilon(problem, state))
            raise_alpha, raise_beta = factors(case, self.mu, self.nu)
            numbers["alpha"] *= raise_alpha
            numbers["beta"] *= raise_beta
            self._bounded(numbers)
            numbers["case"] = case
        window[0] = window[1]
        window[1] = 0

    def frame(self, problem: Problem, state: State) -> Frame:
        n = state.numbers
        return Frame(
            n["residual_xy"],
            n["residual_uv"],
            n["used_alpha"],
            n["used_beta"],
            n["gap_x"],
            n["gap_y"],
            n["change"],
            int(n["case"]),
        )

    @staticmethod
    def _spare(state: State, like: str) -> Array:
        """Working memory of the size of Λ or Π, the same at every iteration."""
        spares = state.scratch.setdefault("spare", {})
        if like not in spares:
            spares[like] = np.empty_like(state.arrays[like])
        return spares[like]
