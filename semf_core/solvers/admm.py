"""SeMF: Algorithm 1, the alternating direction method on the split problem (5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from semf_core.parameters import param
from semf_core.solvers.base import SOLVERS, Array, Case, Frame, Problem, Solver, State
from semf_core.solvers.halves import (
    Rows,
    RowSums,
    Sent,
    ascend,
    free,
    free_rows,
    moved,
    relative_change,
    settle_rows,
    solve_shifted,
    to_project,
)
from semf_core.solvers.penalties import QUANTITIES, decide, factors
from semf_core.solvers.starts import starting_factors


@SOLVERS.register
@dataclass(frozen=True, eq=False)
class ADMM(Solver):
    """SeMF's ADMM: closed-form X and Y (8), projected U and V (7c)-(7d), multipliers (7e)-(7f)."""

    name: ClassVar[str] = "semf"
    title: ClassVar[str] = "SeMF (ADMM)"
    summary: ClassVar[str] = "any structure, by variable splitting with penalties that adapt while it runs"
    family: ClassVar[str] = "Structure-enforced"
    enforces: ClassVar[str] = "every set of the model, exactly, on U and V"
    reference: ClassVar[str] = "semf"
    takes_sets: ClassVar[bool] = True
    splits: ClassVar[bool] = True
    drops_zeros: ClassVar[bool] = True
    can_kick: ClassVar[bool] = True

    penalty: str = param(
        "choice",
        "adaptive",
        choices=("adaptive", "fixed", "scale"),
        help="Algorithm 2, constant penalties, or following the factors' scale",
    )
    alpha0: float = param("number", 0.01, low=0, open_low=True, symbol=r"\alpha_0", help="starting α as a multiple of ‖M‖")
    beta0: float = param("number", 0.01, low=0, open_low=True, symbol=r"\beta_0", help="starting β as a multiple of ‖M‖")
    mu: float = param("number", 2.0, low=1, open_low=True, symbol=r"\mu", help="factor by which Algorithm 2 raises a penalty")
    nu: float = param("number", 5.0, low=1, open_low=True, symbol=r"\nu", help="factor by which Algorithm 2 lowers a penalty")
    epsilon: float = param(
        "number",
        5e-4,
        low=0,
        high=1,
        open_low=True,
        open_high=True,
        symbol=r"\varepsilon",
        help="what counts as progress in (10)-(13)",
    )
    q: int = param("integer", 5, low=2, symbol="q", help="iterations that Algorithm 2 averages over")
    scale: float = param("number", 0.3, low=0, open_low=True, symbol="c", help="scale rule: α = c·tr(YYᵀ)/p, β = c·tr(XᵀX)/p")
    gamma: float = param(
        "number", 1.0, low=0, high=1.618, open_low=True, open_high=True, symbol=r"\gamma", help="step length of the multipliers"
    )
    start: str = param(
        "choice", "uniform", choices=("uniform", "normal", "svd"), help="the first Y: random, or from the SVD of M"
    )
    kick_size: float = param("number", 0.3, low=0, open_low=True, help="noise of a kick, as a multiple of the largest entry of V")
    kick_penalty: str = param(
        "choice", "start", choices=("start", "keep"), help="penalties after a kick: the starting ones, or those reached by then"
    )

    def objective(self) -> str:
        return r"\min_{X,Y,U,V}\ \|M-XY\|_F^2 \quad\text{s.t.}\quad X=U\in\mathcal{X},\; Y=V\in\mathcal{Y}"

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        """U, V, Λ, Π zero and Y random (Algorithm 1), or all from given factors."""
        n, p, dtype = problem.matrix.shape[1], problem.rank, problem.matrix.dtype
        arrays = {"Pi": np.zeros((p, n), dtype), "window": np.zeros((2, QUANTITIES))}
        state = State(W=self._rows_like(problem), Z=np.zeros((2 * p, n), dtype), arrays=arrays)
        self._clear_rows(problem, state)
        X0, Y0 = starting_factors(problem, self.start, rng)
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

    def _reset_penalties(self, problem: Problem, state: State) -> None:
        norm = problem.matrix.norm or 1.0
        state.numbers.update(alpha=self.alpha0 * norm, beta=self.beta0 * norm)

    @staticmethod
    def _averaging_afresh(state: State) -> State:
        """Algorithm 2 compares only iterations from here on."""
        state.numbers.update(since_start=0, case=0)
        state.arrays["window"][:] = 0
        return state

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """Penalties whose starting value was changed start again from it; Algorithm 2 averages from here on."""
        norm = problem.matrix.norm or 1.0
        for option, number in (("alpha0", "alpha"), ("beta0", "beta")):
            if getattr(self, option) != getattr(before, option):
                state.numbers[number] = getattr(self, option) * norm
        return self._averaging_afresh(state)

    def kick(self, problem: Problem, state: State, rng: np.random.Generator) -> State:
        """Y near the current V; U, V, Λ, Π zero as at the start."""
        p, V = state.rank, state.V
        W, Z = state.free_buffers(lambda: (self._rows_like(problem), np.empty_like(state.Z)))
        noise = rng.standard_normal(V.shape) if self.start == "normal" else rng.random(V.shape)
        Z[:p] = V + self.kick_size * float(np.abs(V).max()) * noise
        Z[p:] = 0
        state.W, state.Z = W, Z
        self._clear_rows(problem, state)
        state.arrays["Pi"][:] = 0
        state.scratch.pop("YYt", None)
        if self.kick_penalty == "start":
            self._reset_penalties(problem, state)
        return self._averaging_afresh(state)

    def step(self, problem: Problem, state: State) -> State:
        p, M = state.rank, problem.matrix
        numbers, Pi = state.numbers, state.arrays["Pi"]
        W, Z = state.free_buffers(lambda: (self._rows_like(problem), np.empty_like(state.Z)))
        Y, V = Z[:p], Z[p:]
        YYt = state.scratch.get("YYt")
        if YYt is None:
            YYt = state.Y @ state.Y.T
        if self.penalty == "scale":
            numbers["alpha"] = self._scaled(YYt)
        alpha = M.dtype.type(numbers["alpha"])
        rows = self._update_rows(problem, state, W, Sent(state.Y, YYt, alpha, self.gamma))  # (8a), (7c), (7e)

        if self.penalty == "scale":
            numbers["beta"] = self._scaled(rows.XtX)
        beta = M.dtype.type(numbers["beta"])
        spare = self._spare(state, "Pi")
        free(Y, rows.left[:p], state.V, Pi, beta)
        solve_shifted(rows.XtX, beta, Y)  # (8b)
        to_project(Y, Pi, beta, spare)
        V[:] = problem.y_set.project(spare)  # (7d)
        gap_y = ascend(Pi, Y, V, self.gamma * beta, spare)  # (7f)

        YYt = Y @ Y.T
        change = max(relative_change(rows.moved, rows.size), relative_change(*moved(Y, state.Y, spare)))
        residual_xy = M.residual_from(W[:p], Y, rows.left[:p], rows.XtX, YYt)
        residual_uv = M.residual_from(W[p:], V, rows.left[p:], rows.UtU, V @ V.T)

        state.W, state.Z = W, Z
        state.scratch["YYt"] = YYt
        numbers.update(
            residual_xy=residual_xy,
            residual_uv=residual_uv,
            gap_x=float(np.sqrt(rows.gap)),
            gap_y=float(np.sqrt(gap_y)),
            change=change,
            used_alpha=alpha,
            used_beta=beta,
        )
        self._adapt(state)
        return state

    def _scaled(self, gram: Array) -> float:
        """The scale rule: c·tr(gram)/p."""
        return self.scale * max(float(gram.trace()) / len(gram), np.finfo(gram.dtype).tiny)

    def _update_rows(self, problem: Problem, state: State, W: Array, sent: Sent) -> RowSums:
        """X and U of the next iterate into W, which need the previous Y alone."""
        rows = Rows(problem.matrix, state.W, W, state.arrays["Lam"], self._spare(state, "Lam"))
        free_rows(rows, sent)
        return settle_rows(rows, sent, problem.x_set.project(rows.spare.T).T)

    def _adapt(self, state: State) -> None:
        """Algorithm 2 at every q-th iteration, on means over q iterations."""
        numbers, window = state.numbers, state.arrays["window"]
        numbers["since_start"] += 1
        numbers["case"] = Case.NONE
        if self.penalty != "adaptive":
            return
        window[1] += (numbers["residual_uv"], numbers["residual_xy"], numbers["gap_x"], numbers["gap_y"])
        if numbers["since_start"] % self.q:
            return
        if numbers["since_start"] > self.q:
            case = decide(window[1], window[0], self.epsilon)
            raise_alpha, raise_beta = factors(case, self.mu, self.nu)
            numbers["alpha"] *= raise_alpha
            numbers["beta"] *= raise_beta
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
