"""Codes over a dictionary that stays as it is: cosines, Haar, Gabor, wavelets, or one that was learned before."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Sparse, UnitNorm
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.bases import BASES, fixed_atoms
from semf_core.solvers.direct import CLOSED, Direct, Factors
from semf_core.solvers.ksvd import NONZEROS, PENALTY, first_atoms, nonzeros_for, signals_of
from semf_core.solvers.omp import batch_omp
from semf_core.solvers.pixels import image_sides
from semf_core.solvers.pursuits import NOISE, POWER, focuss, focuss_step, lasso, matching_pursuit, mean_length


@SOLVERS.register
class SparseCoding(Direct):
    """Sparse coding in a given dictionary B: min ‖x − Bc‖² over sparse c, for every column x of M.

    Pursuits count nonzeros; basis pursuit with noise weighs ‖c‖₁; FOCUSS minimises a power sum of |c| by least squares that
    are weighted anew each iteration. All but FOCUSS are done when the run begins.
    """

    own_start: ClassVar[str] = "the dictionary that is chosen"
    name: ClassVar[str] = "sparse-coding"
    title: ClassVar[str] = "Sparse coding"
    summary: ClassVar[str] = "codes over a dictionary that is given (cosines, Haar, Gabor, wavelets, a learned one), four ways"
    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "the given atoms, of unit length; with a pursuit at most k nonzeros in each code"
    encourages: ClassVar[str] = "few nonzeros, where they are not counted"
    reference: ClassVar[tuple[str, ...]] = ("matching-pursuit", "omp", "basis-pursuit", "focuss")
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 4.5

    dictionary: str = param(
        "choice",
        "cosines",
        choices=(*BASES, "given", "signals"),
        help="given: the components of the run that this one goes on from, or of the start; signals: random columns of M",
    )
    coding: str = param(
        "choice",
        "omp",
        choices=("omp", "mp", "lasso", "focuss"),
        help="orthogonal or plain pursuit, basis pursuit by the lasso, FOCUSS",
    )
    k: int | None = param("integer", None, **NONZEROS)
    penalty: float = param("number", 0.1, **PENALTY)
    power: float = param("number", 0.5, **POWER)
    noise: float = param("number", 0.1, **NOISE)

    def objective(self) -> str:
        if self.coding == "lasso":
            return r"\min_{V}\ \tfrac12\|M-UV\|_F^2+\lambda\sum_{ij}|V_{ij}|"
        if self.coding == "focuss":
            near = rf"\|m_j-Uv_j\|\approx {self.noise:g}\,\|m_j\|"
            return rf"\min_{{V}}\ \sum_{{ij}}|V_{{ij}}|^{{{self.power:g}}} \quad\text{{s.t.}}\quad {near}"
        return rf"\min_{{V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad \|V_i\|_0\le {'k' if self.k is None else self.k}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (UnitNorm(),), (Sparse(nonzeros_for(self.k, rank)),) if self.coding in {"omp", "mp"} else ()

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.dictionary == "given" and problem.start[0] is None:
            raise InvalidInput(
                "dictionary", "is to be given, but the run has no start", "go on from another run, or choose a kind"
            )

    def half_steps(self) -> tuple[HalfStep, ...]:
        k = "k" if self.k is None else str(self.k)
        formula = {
            "omp": rf"V = \mathrm{{OMP}}_{{{k}}}(M;U)",
            "mp": rf"V = \mathrm{{MP}}_{{{k}}}(M;U)",
            "lasso": r"V = \arg\min_V \tfrac12\|M-UV\|_F^2+\lambda\|V\|_1",
            "focuss": focuss_step(self.power, self.noise),
        }[self.coding]
        words = "least squares, weighted by the last code" if self.coding == "focuss" else CLOSED
        return (HalfStep("V", formula, f"{words}; the dictionary stays as it is"),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        signals = signals_of(problem, state)
        if self.dictionary in {"given", "signals"}:
            Dt = first_atoms(problem, signals, rng)
        else:
            Dt = fixed_atoms(self.dictionary, image_sides(problem), problem.rank).astype(signals.dtype)
        return Factors(Dt, np.ascontiguousarray(self._codes(Dt, signals).T))

    def _codes(self, Dt: Array, signals: Array) -> Array:
        k = nonzeros_for(self.k, len(Dt))
        if self.coding == "omp":
            return batch_omp(Dt, signals, k).dense(len(Dt)).T
        if self.coding == "mp":
            return matching_pursuit(Dt, signals, k)
        if self.coding == "lasso":
            return lasso(Dt, signals, self.penalty * mean_length(signals))
        return focuss(Dt, signals, None, self.power, self.noise)

    def update(self, problem: Problem, state: State) -> Factors:
        p = state.rank
        Dt, Y = state.W[:p], state.Z[:p]
        if self.coding != "focuss":
            return Factors(Dt, Y, state.numbers["residual"])
        return Factors(Dt, np.ascontiguousarray(focuss(Dt, signals_of(problem, state), Y.T, self.power, self.noise).T))

    def retuned(self, problem: Problem, state: State, before: object) -> State:
        """Other options, other codes; the dictionary stays."""
        Dt = state.W[: state.rank]
        return self._placed(problem, state, Factors(Dt, np.ascontiguousarray(self._codes(Dt, signals_of(problem, state)).T)))

    @property
    def penalised(self) -> bool:
        return self.coding in {"lasso", "focuss"}

    def cost(self, problem: Problem, state: State) -> float:
        """½‖M−UV‖² + λΣ|V|; for FOCUSS Σ|V|^q, signals measured in their mean length."""
        if not self.penalised:
            return super().cost(problem, state)
        size = mean_length(signals_of(problem, state))
        if self.coding == "lasso":
            return self.frame(problem, state).residual_uv ** 2 / 2 + self.penalty * size * float(np.abs(state.V).sum())
        return float(((np.abs(state.V) / size) ** self.power).sum())
