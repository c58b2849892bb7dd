"""One iteration taken apart: X, Y, U, V, Λ, Π and Algorithm 2's decision, each before and after, with its formula.

The run is computed again up to the iteration before; its next step is then made once more, and what each factor was
and became is read from the two states. Algorithms without splitting have half steps, whose formulas they state themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets import Dataset
from semf_core.runs.folder import RunFolder
from semf_core.runs.recompute import made_again, replayed_before
from semf_core.solvers import Run, descent
from semf_core.solvers.base import HalfStep
from semf_core.solvers.penalties import CASE_WORDS

Array = np.ndarray
MOST_SECONDS = 20.0
"""Until an iteration is given up: a page waits for it."""
QUANTITIES = ("‖M−UV‖", "‖M−XY‖", "gap of X", "gap of Y")
"""In the order in which Algorithm 2 averages them; an engine may take the gaps relative to the factors."""


@dataclass(frozen=True)
class Substep:
    """One matrix before and after; the decision at the end has a table instead."""

    name: str
    """In the glossary."""
    formula: str
    """LaTeX, with the penalty filled in."""
    words: str
    before: Array | None = None
    """m×p for X, U and Λ, p×n for Y, V and Π."""
    after: Array | None = None
    table: tuple[tuple[str, float, float], ...] = ()
    """Quantity, mean of the last q iterations, mean of the q before."""
    filled: Callable[[int, int], str] | None = None
    """LaTeX of the formula for one entry, with all its numbers."""

    @property
    def of_parts(self) -> bool:
        """Whether its columns are components, not samples."""
        return self.name in ("X", "U", "Lambda")


@dataclass(frozen=True)
class _Now:
    """A copy of everything that an iteration changes, of the whole M."""

    X: Array
    Y: Array
    U: Array
    V: Array
    Lam: Array
    Pi: Array
    window: Array
    numbers: dict[str, float]


def substeps(folder: RunFolder, dataset: Dataset, iteration: int) -> list[Substep]:
    """The sub-steps of this iteration, in their order."""
    if not 1 <= iteration <= folder.iterations():
        raise InvalidInput("iteration", "is not one of this run")
    until = time.monotonic() + MOST_SECONDS

    def watch(run: Run) -> None:
        if time.monotonic() > until:
            told = f"{iteration:,} takes more than {MOST_SECONDS:g} s to compute again from the nearest kept state"
            raise InvalidInput("iteration", told, "choose an earlier one")

    run = replayed_before(folder, dataset, iteration, watch)
    before = _copy(run)
    made_again(run)
    after = _copy(run)
    if not run.solver.splits:
        return _halves(before, after, run.solver.half_steps())
    if before.numbers.get("descending"):
        return _halves(before, after, descent.LOOSE_STEPS if before.numbers.get("loose") else descent.HALF_STEPS)
    steps = _splitting(before, after, float(getattr(run.solver, "gamma", 1.0)))
    inner = getattr(run.solver, "inner", 0)
    if inner:
        words = f"{inner} conjugate gradient step{'s' if inner > 1 else ''} towards the solution of these equations"
        steps[:2] = [replace(step, words=words, filled=None) for step in steps[:2]]
    return [*steps, _decision(run, before, after)]


def _copy(run: Run) -> _Now:
    U, V, X, Y = run.factors(best=False)
    arrays = run.state.arrays
    zero = np.zeros_like(run.state.W[: run.state.rank]), np.zeros_like(run.state.Z[: run.state.rank])
    Lam, Pi = run.problem.expand(arrays.get("Lam", zero[0]), arrays.get("Pi", zero[1]))
    return _Now(X, Y, U, V, Lam, Pi, arrays.get("window", np.zeros((2, 4))).copy(), dict(run.state.numbers))


def _halves(b: _Now, a: _Now, steps: tuple[HalfStep, ...]) -> list[Substep]:
    pairs = {"X": (b.X, a.X), "Y": (b.Y, a.Y), "U": (b.U, a.U), "V": (b.V, a.V)}
    return [
        Substep(s.factor, s.formula, s.words, *pairs[s.factor], filled=_changed(s.factor.lower(), *pairs[s.factor]))
        for s in steps
    ]


def _changed(sign: str, old: Array, new: Array) -> Callable[[int, int], str]:
    """What an entry was and became: the formulas of half steps are those of whole vectors or matrices."""
    return lambda i, j: rf"{sign}_{{{i + 1},{j + 1}}}: {number(float(old[i, j]))} \to {number(float(new[i, j]))}"


def _splitting(b: _Now, a: _Now, gamma: float) -> list[Substep]:
    alpha, beta = float(a.numbers["used_alpha"]), float(a.numbers["used_beta"])
    A, B = number(alpha), number(beta)
    up_x, up_y = gamma * alpha, gamma * beta
    return [
        Substep("X", rf"X_+ = (MY^\top + {A}\,U - \Lambda)(YY^\top + {A}\,I)^{{-1}} \tag{{8a}}",
                "least squares with the pull of U", b.X, a.X, filled=_solved_x(b, a, alpha)),
        Substep("Y", rf"Y_+ = (X_+^\top X_+ + {B}\,I)^{{-1}}(X_+^\top M + {B}\,V - \Pi) \tag{{8b}}",
                "the same for Y, with the new X", b.Y, a.Y, filled=_solved_y(b, a, beta)),
        Substep("U", rf"U_+ = \mathcal{{P}}_{{\mathcal{{X}}}}(X_+ + \Lambda/{A}) \tag{{7c}}",
                "the nearest point of 𝒳", b.U, a.U, filled=_projected("u", a.X, b.Lam, alpha, a.U)),
        Substep("V", rf"V_+ = \mathcal{{P}}_{{\mathcal{{Y}}}}(Y_+ + \Pi/{B}) \tag{{7d}}",
                "the nearest point of 𝒴", b.V, a.V, filled=_projected("v", a.Y, b.Pi, beta, a.V)),
        Substep("Lambda", rf"\Lambda_+ = \Lambda + {number(up_x)}\,(X_+ - U_+) \tag{{7e}}",
                "the gap is remembered", b.Lam, a.Lam, filled=_grown(r"\lambda", b.Lam, up_x, (a.X, a.U), a.Lam)),
        Substep("Pi", rf"\Pi_+ = \Pi + {number(up_y)}\,(Y_+ - V_+) \tag{{7f}}",
                "the gap is remembered", b.Pi, a.Pi, filled=_grown(r"\pi", b.Pi, up_y, (a.Y, a.V), a.Pi)),
    ]  # fmt: skip


def _solved_x(b: _Now, a: _Now, alpha: float) -> Callable[[int, int], str]:
    """An entry of the right side of (8a): the data, the pull of U and the multiplier; and what X becomes by it."""

    def filled(i: int, j: int) -> str:
        right = float(a.X[i] @ (b.Y @ b.Y[j]) + alpha * a.X[i, j])  # X₊(YYᵀ + αI), which is that side
        return _right_side((r"MY^\top", "x"), (i, j), right, alpha, (b.U, b.Lam, a.X))

    return filled


def _solved_y(b: _Now, a: _Now, beta: float) -> Callable[[int, int], str]:
    """The same for (8b)."""

    def filled(i: int, j: int) -> str:
        right = float(a.X[:, i] @ (a.X @ a.Y[:, j]) + beta * a.Y[i, j])
        return _right_side((r"X_+^\top M", "y"), (i, j), right, beta, (b.V, b.Pi, a.Y))

    return filled


def _right_side(
    signs: tuple[str, str], place: tuple[int, int], right: float, penalty: float, matrices: tuple[Array, Array, Array]
) -> str:
    """The product with the data is what is left of the right side without the pull of the copy and the multiplier."""
    (product, entry), (i, j) = signs, place
    copy, multiplier, new = (float(A[i, j]) for A in matrices)
    data = number(right - penalty * copy + multiplier)
    sums = rf"{data} + {number(penalty)} \cdot {_signed(copy)} - {_signed(multiplier)} = {number(right)}"
    at = f"{i + 1},{j + 1}"
    return rf"({product})_{{{at}}} + \ldots = {sums} \;\longrightarrow\; {entry}_{{{at}}} = {number(new)}"


def _projected(sign: str, free: Array, multiplier: Array, penalty: float, result: Array) -> Callable[[int, int], str]:
    def filled(i: int, j: int) -> str:
        given, pushed = float(free[i, j]), float(multiplier[i, j])
        moved = number(given + pushed / penalty)
        left = rf"{number(given)} + {_signed(pushed)} / {number(penalty)} = {moved}"
        return rf"{left} \;\longrightarrow\; {sign}_{{{i + 1},{j + 1}}} = {number(float(result[i, j]))}"

    return filled


def _grown(sign: str, old: Array, penalty: float, pair: tuple[Array, Array], new: Array) -> Callable[[int, int], str]:
    def filled(i: int, j: int) -> str:
        gap = rf"({number(float(pair[0][i, j]))} - {_signed(float(pair[1][i, j]))})"
        step = rf"{number(float(old[i, j]))} + {number(penalty)} \cdot {gap}"
        return rf"{sign}_{{{i + 1},{j + 1}}} = {step} = {number(float(new[i, j]))}"

    return filled


def _decision(run: Run, before: _Now, after: _Now) -> Substep:
    """What Algorithm 2 saw, and what it did."""
    q, since, case = int(getattr(run.solver, "q", 0)), int(after.numbers["since_start"]), int(after.numbers["case"])
    formula = rf"\alpha: {number(float(after.numbers['used_alpha']))} \to {number(float(after.numbers['alpha']))},\quad"
    formula += rf"\beta: {number(float(after.numbers['used_beta']))} \to {number(float(after.numbers['beta']))}"
    if not case:
        wait = "the penalties are fixed" if not getattr(run.solver, "adapts", True) else f"it looks every {q} iterations"
        if getattr(run.solver, "adapts", True) and since == q:
            wait = f"these are the first {q} iterations: there is nothing to compare them with"
        return Substep("case_1", formula, f"Algorithm 2 decides nothing here: {wait}")
    means = zip(QUANTITIES, after.window[0] / q, before.window[0] / q, strict=True)
    return Substep(f"case_{case}", formula, CASE_WORDS[case], table=tuple((name, float(x), float(y)) for name, x, y in means))


def number(value: float) -> str:
    """Four digits, in LaTeX."""
    text = f"{value:.4g}"
    mantissa, _, power = text.partition("e")
    return rf"{mantissa}\cdot 10^{{{int(power)}}}" if power else mantissa


def _signed(value: float) -> str:
    return f"({number(value)})" if value < 0 else number(value)
