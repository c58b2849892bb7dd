"""What algorithms share that change the factors themselves: X is U and Y is V throughout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semf_core.solvers.base import Array, Frame, HalfStep, Problem, Solver, State

HALS_U = r"u_k \leftarrow \bigl[u_k + (M-UV)v_{k:}^\top/\|v_{k:}\|^2\bigr]_+"
HALS_V = r"v_{k:} \leftarrow \bigl[v_{k:} + u_k^\top(M-U_+V)/\|u_k\|^2\bigr]_+"
"""Half steps that several algorithms take: a component after the other, exactly."""
SAME = "the same for V, with the new U"
LEFT = "; R is what the other components leave of M"
CLOSED = "known when the run began; an iteration changes nothing"


class Factors(NamedTuple):
    """What an update gives: Xᵀ (p×m) and Y (p×n) as new arrays, and ‖M−XY‖ where it is known anyway."""

    Xt: Array
    Y: Array
    residual: float | None = None


class Direct(Solver):
    """A solver without splitting. A subclass says how it begins and how it goes on; the rest is here.

    `update` never writes into the state's factors: the best ones seen so far are kept by reference.
    What else it carries from one iteration to the next goes into `state.arrays` and `state.numbers`,
    which are stored; `state.scratch` is not. Randomness comes from `generator(state)`.
    """

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """The first factors, from `problem.start` where that is given."""
        raise NotImplementedError

    def update(self, problem: Problem, state: State) -> Factors:
        """One iteration from state.W[:p] (Xᵀ) and state.Z[:p] (Y)."""
        raise NotImplementedError

    def init(self, problem: Problem, rng: np.random.Generator) -> State:
        empty = np.empty((0, 0), problem.matrix.dtype)
        state = State(empty, empty, {"steps": 0.0}, {"entropy": rng.integers(0, 2**32, 4)})
        return self._placed(problem, state, self.begin(problem, rng, state))

    def step(self, problem: Problem, state: State) -> State:
        W, Z, p = state.W, state.Z, state.rank
        state = self._placed(problem, state, self.update(problem, state))
        state.numbers["change"] = max(_relative_change(state.W[:p], W[:p]), _relative_change(state.Z[:p], Z[:p]))
        state.numbers["steps"] += 1
        return state

    def frame(self, problem: Problem, state: State) -> Frame:
        residual = state.numbers["residual"]
        return Frame(residual, residual, 0.0, 0.0, 0.0, 0.0, state.numbers.get("change", np.inf))

    @staticmethod
    def _placed(problem: Problem, state: State, new: Factors) -> State:
        dtype, p = problem.matrix.dtype, len(new.Xt)
        W, Z = state.free_buffers(lambda: (np.empty((2 * p, new.Xt.shape[1]), dtype), np.empty((2 * p, new.Y.shape[1]), dtype)))
        for buffer, factor in ((W, new.Xt), (Z, new.Y)):
            buffer[:p] = buffer[p:] = factor
        state.W, state.Z = W, Z
        state.numbers["residual"] = fit(problem, W[:p], Z[:p]) if new.residual is None else new.residual
        return state


def hals_steps(words: str) -> tuple[HalfStep, ...]:
    """Coordinate descent over the columns of U, then over the rows of V."""
    return HalfStep("U", HALS_U, words), HalfStep("V", HALS_V, SAME)


def nnls_steps(words: str) -> tuple[HalfStep, ...]:
    """Nonnegative least squares for U, then for V."""
    return HalfStep("U", r"U_+ = \arg\min_{U\ge 0}\|M-UV\|_F", words), HalfStep("V", r"V_+ = \arg\min_{V\ge 0}\|M-U_+V\|_F", SAME)


def generator(state: State) -> np.random.Generator:
    """Random numbers for the current iteration: the same ones whether the run was interrupted or not."""
    return np.random.default_rng([*state.arrays["entropy"].tolist(), int(state.numbers["steps"])])


def fit(problem: Problem, Xt: Array, Y: Array) -> float:
    """‖M − XY‖ at the price of one product with M."""
    M = problem.matrix
    return M.residual_from(Xt, Y, M.left(Xt, Xt, Y), Xt @ Xt.T, Y @ Y.T)


def given_or_random(problem: Problem, rng: np.random.Generator) -> tuple[Array, Array]:
    """(Xᵀ, Y) to start from: what was given, made feasible, or uniform random entries with the scale of M."""
    (m, n), p, (X0, Y0) = problem.matrix.shape, problem.rank, problem.start
    Xt = rng.random((p, m)) if X0 is None else problem.x_set.project(X0).T
    Y = rng.random((p, n)) if Y0 is None else problem.y_set.project(Y0)
    if X0 is None:
        product = float(np.vdot(Xt @ Xt.T, Y @ Y.T))
        along = float(np.vdot(problem.matrix.left(Xt.astype(problem.matrix.dtype), Xt, Y), Y))
        share = along / product if product > 0 and along > 0 else 1.0
        Xt = Xt * (np.sqrt(share) if Y0 is None else share)
        Y = Y * np.sqrt(share) if Y0 is None else Y
    return Xt, Y


def balanced(Xt: Array, Y: Array) -> tuple[Array, Array]:
    """The same product with rows of Y of unit length: components stay comparable and none drifts away."""
    length = np.linalg.norm(Y, axis=1, keepdims=True)
    length[length == 0] = 1
    return Xt * length, Y / length


def _relative_change(new: Array, old: Array) -> float:
    size = float(np.linalg.norm(old))
    return float(np.linalg.norm(new - old)) / size if size > 0 else np.inf
