"""SeMF: Algorithm 1, the alternating direction method on the split problem (5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import get_blas_funcs, get_lapack_funcs

from semf_core.parameters import param
from semf_core.solvers.base import SOLVERS, Array, Case, Frame, Problem, Solver, State
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
        (m, n), p, dtype = problem.matrix.shape, problem.rank, problem.matrix.dtype
        state = State(
            W=np.zeros((2 * p, m), dtype),
            Z=np.zeros((2 * p, n), dtype),
            arrays={"Lam": np.zeros((p, m), dtype), "Pi": np.zeros((p, n), dtype), "window": np.zeros((2, QUANTITIES))},
        )
        X0, Y0 = starting_factors(problem, self.start, rng)
        state.Z[:p] = Y0
        if X0 is not None:
            state.W[:p] = X0.T
            state.W[p:] = problem.x_set.project(state.X).T
            state.Z[p:] = problem.y_set.project(state.Y)
        self._reset_penalties(problem, state)
        return self._averaging_afresh(state)

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
        W, Z = self._free_buffers(state)
        noise = rng.standard_normal(V.shape) if self.start == "normal" else rng.random(V.shape)
        Z[:p] = V + self.kick_size * float(np.abs(V).max()) * noise
        Z[p:] = 0
        W[:] = 0
        state.W, state.Z = W, Z
        state.arrays["Lam"][:] = 0
        state.arrays["Pi"][:] = 0
        state.scratch.pop("YYt", None)
        if self.kick_penalty == "start":
            self._reset_penalties(problem, state)
        return self._averaging_afresh(state)

    def step(self, problem: Problem, state: State) -> State:
        p, M = state.rank, problem.matrix
        numbers, Lam, Pi = state.numbers, state.arrays["Lam"], state.arrays["Pi"]
        W, Z = self._free_buffers(state)
        Xt, Ut, Y, V = W[:p], W[p:], Z[:p], Z[p:]
        YYt = state.scratch.get("YYt")
        if YYt is None:
            YYt = state.Y @ state.Y.T
        if self.penalty == "scale":
            numbers["alpha"] = self.scale * max(float(YYt.trace()) / p, np.finfo(W.dtype).tiny)
        alpha = W.dtype.type(numbers["alpha"])

        right = M.right(state.Y, state.W[:p])
        np.multiply(state.W[p:], alpha, out=Xt)
        Xt += right
        Xt -= Lam
        solve_shifted(YYt, alpha, Xt)  # (8a)
        spare_x, spare_y = self._spare_buffers(state)
        np.divide(Lam, alpha, out=spare_x)
        spare_x += Xt
        Ut[:] = problem.x_set.project(spare_x.T).T  # (7c), which needs X alone

        left = M.left(W, Xt, state.Y)
        XtX = Xt @ Xt.T
        if self.penalty == "scale":
            numbers["beta"] = self.scale * max(float(XtX.trace()) / p, np.finfo(W.dtype).tiny)
        beta = W.dtype.type(numbers["beta"])
        np.multiply(state.Z[p:], beta, out=Y)
        Y += left[:p]
        Y -= Pi
        solve_shifted(XtX, beta, Y)  # (8b)
        np.divide(Pi, beta, out=spare_y)
        spare_y += Y
        V[:] = problem.y_set.project(spare_y)  # (7d)

        gap_x = _ascend(Lam, Xt, Ut, self.gamma * alpha, spare_x)  # (7e)
        gap_y = _ascend(Pi, Y, V, self.gamma * beta, spare_y)  # (7f)
        YYt = Y @ Y.T
        change = max(_relative_change(Xt, state.W[:p], spare_x), _relative_change(Y, state.Z[:p], spare_y))
        residual_xy = M.residual_from(Xt, Y, left[:p], XtX, YYt)
        residual_uv = M.residual_from(Ut, V, left[p:], Ut @ Ut.T, V @ V.T)

        state.W, state.Z = W, Z
        state.scratch["YYt"] = YYt
        numbers.update(
            residual_xy=residual_xy,
            residual_uv=residual_uv,
            gap_x=gap_x,
            gap_y=gap_y,
            change=change,
            used_alpha=alpha,
            used_beta=beta,
        )
        self._adapt(state)
        return state

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
    def _spare_buffers(state: State) -> tuple[Array, Array]:
        """Working memory of the size of X and of Y, the same at every iteration."""
        if "spare" not in state.scratch:
            state.scratch["spare"] = (np.empty_like(state.arrays["Lam"]), np.empty_like(state.arrays["Pi"]))
        return state.scratch["spare"]

    @staticmethod
    def _free_buffers(state: State) -> tuple[Array, Array]:
        """Buffers that hold neither the current factors nor those kept as the best."""
        pool = state.scratch.setdefault("pool", [])
        kept = state.scratch.get("kept")
        for W, Z in pool:
            if W is not state.W and (kept is None or W is not kept[0]):
                return W, Z
        pool.append((np.empty_like(state.W), np.empty_like(state.Z)))
        return pool[-1]


def solve_shifted(gram: Array, shift: float, rows: Array) -> None:
    """rows ← (gram + shift·I)⁻¹ rows in place, by Cholesky; `rows` is p×N in C order."""
    shifted = gram.copy()
    shifted.flat[:: len(gram) + 1] += shift
    (potrf,) = get_lapack_funcs(("potrf",), (shifted,))
    (trsm,) = get_blas_funcs(("trsm",), (shifted,))
    factor, info = potrf(shifted, lower=1)
    if info != 0:
        raise np.linalg.LinAlgError("the normal equations are not positive definite; raise the starting penalties")
    # rows.T is N×p in Fortran order: solve Z L Lᵀ = rows.T from the right without a copy.
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=1, overwrite_b=1)
    trsm(1.0, factor, rows.T, side=1, lower=1, trans_a=0, overwrite_b=1)


def _ascend(multiplier: Array, free: Array, projected: Array, step: float, spare: Array) -> float:
    """multiplier += step·(free − projected); returns ‖free − projected‖."""
    gap = np.subtract(free, projected, out=spare)
    norm = float(np.sqrt(np.vdot(gap, gap)))
    gap *= step
    multiplier += gap
    return norm


def _relative_change(new: Array, old: Array, spare: Array) -> float:
    difference = np.subtract(new, old, out=spare)
    size = float(np.vdot(old, old))
    return float(np.sqrt(np.vdot(difference, difference) / size)) if size > 0 else np.inf
