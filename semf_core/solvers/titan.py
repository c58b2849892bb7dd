"""TITAN: inertial gradient steps on nonnegative factors with counted nonzeros (Hien, Phan and Gillis)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative, Sparse, StructureSet
from semf_core.solvers.alternating import QUIET, balanced_start, inner_steps, revive, unit
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import SAME, Direct, Factors, fit

SHORTER = 1.0001
"""Steps on a factor with counted nonzeros are shorter than 1/L by this factor κ: its set is not convex."""


@SOLVERS.register
class InertialNMF(Direct):
    """min ‖M − UV‖² over U, V ≥ 0 with at most k nonzeros in each column of U, of V, or of both.

    A step on U (on V likewise) is Û = U + w(U − U₋), U₊ = P(Û − ∇/(κL)): L the largest eigenvalue of VVᵀ, P the exact
    projection, and w Nesterov's (t₋ − 1)/t, at most `inertia`·√(L₋/L). Where nonzeros are counted, the proof of
    convergence asks for w ≤ ½(κ − 1)/κ·√(L₋/L), which is next to nothing and slow; here t starts afresh from 1, and
    with it w from 0, whenever the error has risen.
    """

    name: ClassVar[str] = "nmf-titan"
    title: ClassVar[str] = "TITAN (counted nonzeros)"
    summary: ClassVar[str] = (
        "gradient steps with inertia, projected onto the k largest entries of each part: quick counted sparsity"
    )
    family: ClassVar[str] = "Sparse nonnegative factorization"
    enforces: ClassVar[str] = "nonnegative factors, and at most so many nonzeros in each column of U, of V, or of both"
    reference: ClassVar[str] = "titan"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    drops_zeros: ClassVar[bool] = True

    share: float | None = param(
        "number",
        0.33,
        low=0,
        high=1,
        open_low=True,
        optional=True,
        symbol="k/m",
        help="largest share of nonzeros in a column of U; empty leaves them uncounted",
    )
    most: int | None = param(
        "integer",
        None,
        low=1,
        optional=True,
        symbol="L",
        help="largest number of nonzeros in a column of V; empty leaves them uncounted",
    )
    inner: int = param("integer", 10, low=1, high=1000, help="steps at most on one factor before the other's turn")
    inertia: float = param(
        "number", 0.9999, low=0, high=1, open_high=True, help="largest weight of the last change in the next step; 0 is PALM"
    )

    def objective(self) -> str:
        kept = r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0"
        if self.share is not None:
            kept += rf",\; \|u_j\|_0 \le {100 * self.share:g}\,\%\,m \;\forall j"
        if self.most is not None:
            kept += rf",\; \|v_j\|_0 \le {self.most} \;\forall j"
        return kept

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        on_x: Sets = () if self.share is None else (Sparse(max(1, round(self.share * shape[0]))),)
        on_y: Sets = () if self.most is None else (Sparse(min(self.most, rank)),)
        return (Nonnegative(), *on_x), (Nonnegative(), *on_y)

    def half_steps(self) -> tuple[HalfStep, ...]:
        step = r"U_+ = \mathcal P\bigl(\hat U - \tfrac{1}{\kappa L}(\hat UV-M)V^\top\bigr),\quad \hat U = U + w\,(U-U_-)"
        return (
            HalfStep("U", step, f"at most {self.inner} gradient steps from a point beyond the last one, made feasible; "
                     "L is the largest eigenvalue of VVᵀ"),
            HalfStep("V", r"V_+ = \mathcal P\bigl(\hat V - \tfrac{1}{\kappa L}U_+^\top(U_+\hat V-M)\bigr)", SAME),
        )  # fmt: skip

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        Xt, Y = balanced_start(problem, rng)
        state.arrays.update(change_x=np.zeros_like(Xt), change_y=np.zeros_like(Y))
        state.numbers.update(t_x=1.0, t_y=1.0, L_x=0.0, L_y=0.0)
        return Factors(Xt, Y)

    def update(self, problem: Problem, state: State) -> Factors:
        M, p, before = problem.matrix, state.rank, state.numbers["residual"]
        Xt, Y = state.W[:p], state.Z[:p]
        steps_x, steps_y = inner_steps(M, p, self.inner)
        Xt = self._moved(state, "x", Xt, M.right(Y, Xt), Y @ Y.T, problem.x_set, steps_x)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        square = unit(problem) ** 2  # without units, so that the eigenvalues are rounded alike for every scale of M
        Y = self._moved(state, "y", Y, XtM / square, XtX / square, problem.y_set, steps_y)
        residual = M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T)
        if revive(problem, Xt, Y, XtM, XtX, self.most):
            residual = fit(problem, Xt, Y)
        if residual > before:
            state.numbers.update(t_x=1.0, t_y=1.0)
        return Factors(Xt, Y, residual)

    def _moved(self, state: State, name: str, rows: Array, target: Array, gram: Array, kept: StructureSet, most: int) -> Array:
        """A factor (as rows) after inertial steps on ½⟨gram, RRᵀ⟩ − ⟨target, R⟩; remembers its last change, t and L."""
        largest = float(np.linalg.eigvalsh(gram)[-1])
        if largest <= 0:
            return rows.copy()
        numbers, change, first = state.numbers, state.arrays[f"change_{name}"], 0.0
        length = 1 / (largest if kept.convex else SHORTER * largest)
        target, shrink = target * length, np.eye(len(gram), dtype=gram.dtype) - gram * length
        t, bound = numbers[f"t_{name}"], self.inertia * np.sqrt(numbers[f"L_{name}"] / largest)
        for step in range(most):
            before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
            change *= min((before - 1) / t, bound)
            change += rows
            ahead = shrink @ change
            ahead += target
            new = kept.project(ahead) if name == "y" else np.ascontiguousarray(kept.project(ahead.T).T)
            np.subtract(new, rows, out=change)
            rows, bound, square = new, self.inertia, float(np.vdot(change, change))
            first = square if step == 0 else first
            if square <= QUIET**2 * first:
                break
        numbers.update({f"t_{name}": float(t), f"L_{name}": largest})
        return rows
