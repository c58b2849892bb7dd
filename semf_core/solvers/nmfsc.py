"""NMFsc: projected gradients under a fixed sparseness of the columns of U, the rows of V, or both (Hoyer)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Nonnegative, Sparseness
from semf_core.sets.base import latex_number
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import HALS_U, HALS_V, Direct, Factors, balanced, given_or_random
from semf_core.solvers.polish import descend

GROWTH, HALVINGS = 1.2, 60
"""A step that was accepted grows by this factor; a step that would raise the cost is halved at most so often."""
SCALED = "; in the end rows of V have length one again"
LEAST_STEP, ROOM = 1e-200, 1e-9
"""As published: a shorter step is the end, and this is added to a divisor."""


@SOLVERS.register
class SparsenessNMF(Direct):
    """min ‖M − UV‖² over U, V ≥ 0 with the sparseness of each column of U (row of V) given (Heiler and Schnörr 2006, §1).

    A constrained factor follows the gradient and is projected onto the vectors of its sparseness. The
    step is in units of 1/L, L the largest eigenvalue of the other factor's Gram matrix: with a step
    of 1/L an exact projection never raises the cost, and the search goes on from the last step that
    held. A factor without a constraint of its own is improved row by row, exactly.

    "published" is Hoyer's own scheme, for comparison with the times that papers report: the step is in units of the
    data and found by evaluating ‖M − UV‖, a factor without a constraint has one multiplicative update, and the run
    is over when no step above 10⁻²⁰⁰ lowers the cost.
    """

    name: ClassVar[str] = "nmfsc"
    title: ClassVar[str] = "NMFsc"
    summary: ClassVar[str] = "Hoyer's projected gradient: every part, or every code, has exactly the sparseness asked for"
    family: ClassVar[str] = "Sparse nonnegative factorization"
    enforces: ClassVar[str] = "nonnegative factors, and the sparseness of each column of U, each row of V, or both"
    reference: ClassVar[str] = "nmfsc"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")

    sparseness_x: float | None = param(
        "number", 0.6, low=0, high=1, optional=True, symbol="s_U", help="sparseness of each column of U; empty leaves U free"
    )
    sparseness_y: float | None = param(
        "number", None, low=0, high=1, optional=True, symbol="s_V", help="sparseness of each row of V; empty leaves V free"
    )
    steps: int = param("integer", 1, low=1, high=100, help="gradient steps for each factor at each iteration")
    scheme: str = param(
        "choice",
        "gram",
        choices=("gram", "published"),
        help="steps from the Gram matrix and exact updates of a free factor, or Hoyer's own scheme",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sparseness_x is None and self.sparseness_y is None:
            raise InvalidInput(
                "sparseness_x", f"{self.title} needs a sparseness for U or for V", "without any, choose NMF", whole=True
            )

    def objective(self) -> str:
        kept = r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad U\ge 0,\; V\ge 0"
        for value, vector, over in ((self.sparseness_x, "u_j", r"\forall j"), (self.sparseness_y, "v_{i,:}", r"\forall i")):
            if value is not None:
                measure = rf"\frac{{\sqrt{{d}}-\|{vector}\|_1/\|{vector}\|_2}}{{\sqrt{{d}}-1}}"
                kept += rf",\; {measure} = {latex_number(value)}\;{over}"
        return kept

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        on_x: Sets = () if self.sparseness_x is None else (Sparseness(self.sparseness_x),)
        on_y: Sets = () if self.sparseness_y is None else (Sparseness(self.sparseness_y, axis="row"),)
        return (Nonnegative(), *on_x), (Nonnegative(), *on_y)

    def half_steps(self) -> tuple[HalfStep, ...]:
        published = self.scheme == "published"
        first, second = ("V", "U") if published else ("U", "V")
        return self._half_step(first, "", published), self._half_step(second, "_+", published)

    def _half_step(self, factor: str, newer: str, published: bool) -> HalfStep:
        """One factor, with the other one as the half step before has left it."""
        other = {"U": f"V{newer}", "V": f"U{newer}"}[factor]
        slope, free, ratio = {
            "U": (rf"(U{other}-M){other}^\top", HALS_U.replace("V", other), rf"(M{other}^\top)\oslash(U{other}{other}^\top)"),
            "V": (rf"{other}^\top({other}V-M)", HALS_V.replace("U_+", other), rf"({other}^\top M)\oslash({other}^\top {other}V)"),
        }[factor]
        if (self.sparseness_x if factor == "U" else self.sparseness_y) is not None:
            words = "a gradient step and the nearest vectors of the sparseness; t is halved until the error falls"
            return HalfStep(factor, rf"{factor}_+ = \mathcal P_s\bigl({factor} - t\,{slope}\bigr)", words + SCALED)
        if published:
            return HalfStep(factor, rf"{factor}_+ = {factor}\odot {ratio}", "Lee and Seung's update" + SCALED)
        return HalfStep(factor, free, "one row or column after the other, exactly" + SCALED)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        M = problem.matrix
        Xt, Y = given_or_random(problem, rng)
        Xt, Y = problem.x_set.project(Xt.T).T.astype(M.dtype), problem.y_set.project(Y).astype(M.dtype)
        along, product = float(np.vdot(M.left(Xt, Xt, Y), Y)), float(np.vdot(Xt @ Xt.T, Y @ Y.T))
        state.numbers.update({"step_x": 1.0, "step_y": 1.0})
        return Factors(*balanced(Xt * (along / product if along > 0 else 1.0), Y))

    def update(self, problem: Problem, state: State) -> Factors:
        return self._published(problem, state) if self.scheme == "published" else self._by_gram(problem, state)

    def _published(self, problem: Problem, state: State) -> Factors:
        """One iteration of nmfsc.m: V first, then U, each by a projected step or a multiplicative update."""
        M, p, numbers = problem.matrix, state.rank, state.numbers
        Xt, Y = state.W[:p].copy(), state.Z[:p].copy()
        if min(numbers["step_x"], numbers["step_y"]) < LEAST_STEP:
            return Factors(Xt, Y, numbers["residual"])
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        if self.sparseness_y is None:
            Xt, Y = balanced(Xt, Y * XtM / (XtX @ Y + ROOM))
        else:
            slope = XtX @ Y - XtM
            Y, numbers["step_y"] = _searched(
                Y, slope, numbers["step_y"], lambda B: _unit_rows(problem.y_set.project(B)), lambda B: M.residual(Xt, B)
            )
        MYt, YYt = M.right(Y, Xt), Y @ Y.T
        if self.sparseness_x is None:
            Xt = Xt * MYt / (YYt @ Xt + ROOM)
        else:
            slope = YYt @ Xt - MYt
            Xt, numbers["step_x"] = _searched(
                Xt,
                slope,
                numbers["step_x"],
                lambda Bt: _of_lengths(problem.x_set.project(Bt.T).T, Bt),
                lambda Bt: M.residual(Bt, Y),
            )
        return Factors(*balanced(Xt, Y), M.residual(Xt, Y))

    def _by_gram(self, problem: Problem, state: State) -> Factors:
        M, p, numbers = problem.matrix, state.rank, state.numbers
        Xt, Y = state.W[:p].copy(), state.Z[:p].copy()
        project_x = None if self.sparseness_x is None else lambda Bt: problem.x_set.project(Bt.T).T
        project_y = None if self.sparseness_y is None else problem.y_set.project
        Xt, numbers["step_x"] = self._improved(Xt, M.right(Y, Xt), Y @ Y.T, numbers["step_x"], project_x)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        Y, numbers["step_y"] = self._improved(Y, XtM, XtX, numbers["step_y"], project_y)
        residual = M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T)
        return Factors(*balanced(Xt, Y), residual)

    def _improved(
        self, rows: Array, target: Array, gram: Array, step: float, project: Callable[[Array], Array] | None
    ) -> tuple[Array, float]:
        """One factor (as rows) after its steps, and the length to try next; ½⟨gram, RRᵀ⟩ − ⟨target, R⟩ never rises."""
        largest = float(np.linalg.eigvalsh(gram)[-1])
        if largest <= 0:
            return rows, step
        target, gram = target / largest, gram / largest
        if project is None:
            descend(rows, None, target, gram, "nonnegative", self.steps)
            return rows, step
        for _ in range(self.steps):
            rows, step = _stepped(rows, target, gram, step, project)
        return rows, step


def _stepped(rows: Array, target: Array, gram: Array, step: float, project: Callable[[Array], Array]) -> tuple[Array, float]:
    """A projected step that does not raise the cost, by halving; the rows themselves if there is none."""
    product = gram @ rows
    cost = _cost(rows, target, product)
    slope = product - target
    length = step
    for _ in range(HALVINGS):
        new = project(rows - length * slope).astype(rows.dtype, copy=False)
        if _cost(new, target, gram @ new) <= cost:
            return new, length * GROWTH
        length /= 2
    return rows, 1.0


def _searched(
    rows: Array, slope: Array, step: float, project: Callable[[Array], Array], residual: Callable[[Array], float]
) -> tuple[Array, float]:
    """The projected step that does not raise ‖M − UV‖, by halving; the rows themselves once the step has collapsed."""
    before = residual(rows)
    while step >= LEAST_STEP:
        new = project(rows - step * slope).astype(rows.dtype, copy=False)
        if residual(new) <= before:
            return new, GROWTH * step
        step /= 2
    return rows, step


def _unit_rows(rows: Array) -> Array:
    return _of_lengths(rows, np.ones((len(rows), 1)))


def _of_lengths(rows: Array, wanted: Array) -> Array:
    """The same directions with the lengths of other rows: Hoyer projects onto vectors of a given ℓ1 and ℓ2 norm."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * (np.linalg.norm(wanted, axis=1, keepdims=True) / np.where(length > 0, length, 1))


def _cost(rows: Array, target: Array, product: Array) -> float:
    """½⟨rows, gram·rows⟩ − ⟨target, rows⟩."""
    return 0.5 * float(np.vdot(rows, product)) - float(np.vdot(target, rows))
