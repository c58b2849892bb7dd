"""Dictionary learning from small batches of signals (Mairal, Bach, Ponce and Sapiro)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from semf_core.common.parameters import param
from semf_core.sets import Sparse, UnitNorm
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, generator
from semf_core.solvers.ksvd import NONZEROS, first_atoms, nonzeros_for, noted, rank_one_sweep, refreshed, signals_of
from semf_core.solvers.omp import batch_omp
from semf_core.solvers.pursuits import lasso, mean_length


@SOLVERS.register
class OnlineDictionary(Direct):
    """One iteration is one pass over the signals in random order, a batch at a time.

    Each batch is coded with the current atoms; then the atoms descend on the fit of all batches so far,
    of which only A = Σ vvᵀ and B = Σ vmᵀ are kept, older ones fading by (1 − 1/t)^ρ at batch t. After the
    pass all signals are coded once more, so that U and V belong together; where nonzeros are counted, a
    sweep of K-SVD then fits atoms and weights to each other on these supports.
    """

    name: ClassVar[str] = "online-dictionary"
    title: ClassVar[str] = "Online dictionary learning"
    summary: ClassVar[str] = "the dictionary improves after every small batch of signals: the fastest on large data"
    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "atoms of unit length; where codes are found by pursuit, at most k nonzeros in each"
    encourages: ClassVar[str] = "sparse codes by an ℓ1 penalty, where they are found by lasso"
    reference: ClassVar[str] = "online-dictionary"
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    buffers: ClassVar[float] = 16
    data_buffers: ClassVar[float] = 4

    coding: str = param("choice", "lasso", choices=("lasso", "pursuit"), help="ℓ1 penalty (scikit-learn), or k counted nonzeros")
    penalty: float = param(
        "number", 0.1, low=0, high=10, open_low=True, symbol=r"\lambda", help="weight of the ℓ1 norm, in mean lengths of a signal"
    )
    k: int | None = param("integer", None, **NONZEROS)
    batch: int = param("integer", 250, low=1, high=1_000_000, help="signals in a batch")
    rho: float = param("number", 16.0, low=0, high=1000, symbol=r"\rho", help="how fast older batches fade; 0: never")

    def objective(self) -> str:
        if self.coding == "lasso":
            return r"\min_{U,V}\ \tfrac12\|M-UV\|_F^2+\lambda\sum_{ij}|V_{ij}| \quad\text{s.t.}\quad \|U_j\|_2=1"
        k = "k" if self.k is None else str(self.k)
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad \|U_j\|_2=1,\; \|V_i\|_0\le {k}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        k = nonzeros_for(self.k, rank)
        return (UnitNorm(),), (Sparse(k),) if self.coding == "pursuit" else ()

    def half_steps(self) -> tuple[HalfStep, ...]:
        atoms = (
            r"u_j \leftarrow \frac{u_j + (b_j-Ua_j)/A_{jj}}{\|\cdot\|_2},\quad A=\sum\varphi\,vv^\top,\ B=\sum\varphi\,mv^\top"
        )
        coded = r"V_+ = \arg\min_V \tfrac12\|M-U_+V\|_F^2+\lambda\|V\|_1"
        if self.coding == "pursuit":
            coded = rf"V_+ = \mathrm{{OMP}}_{{{'k' if self.k is None else self.k}}}(M;U_+)"
        after = "; a sweep of K-SVD then fits both" if self.coding == "pursuit" else ""
        return (
            HalfStep("U", atoms, f"once over the atoms after every batch of {self.batch} samples; older batches fade by φ"),
            HalfStep("V", coded, f"all samples are coded with the new atoms{after}"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        signals, p = signals_of(problem, state), problem.rank
        Dt = first_atoms(problem, signals, rng)
        state.arrays |= {"A": np.zeros((p, p), Dt.dtype), "B": np.zeros_like(Dt)}
        state.numbers["batches"] = 0.0
        if problem.start[0] is None:  # nothing is coded before the first pass
            state.arrays |= {"uses": np.ones(p, np.intp), "worst": np.zeros(0, np.intp)}
            return Factors(Dt, np.zeros((p, len(signals)), Dt.dtype), problem.matrix.norm)
        return self._finished(state, Dt, signals)

    def update(self, problem: Problem, state: State) -> Factors:
        p, signals, rng = problem.rank, signals_of(problem, state), generator(state)
        unused = state.arrays["uses"] == 0
        Dt = refreshed(state.W[:p], unused, signals, state.arrays["worst"], rng)
        A, B, t = state.arrays["A"].copy(), state.arrays["B"].copy(), state.numbers["batches"]
        A[unused], A[:, unused], B[unused] = 0, 0, 0
        order, weight = rng.permutation(len(signals)), self._weight(signals)
        for first in range(0, len(order), self.batch):
            some = signals[order[first : first + self.batch]]
            V = self._codes(Dt, some, weight)
            t += 1
            fade = (1 - 1 / t) ** self.rho
            A = fade * A + (V.T @ V).toarray()
            B = fade * B + V.T @ some
            descend(Dt, A, B)
        state.arrays |= {"A": A, "B": B}
        state.numbers["batches"] = t
        return self._finished(state, Dt, signals)

    def _finished(self, state: State, Dt: Array, signals: Array) -> Factors:
        """All signals coded; what the next pass needs to know is noted."""
        if self.coding == "pursuit":
            return noted(state, *rank_one_sweep(Dt, signals, batch_omp(Dt, signals, nonzeros_for(self.k, len(Dt))), 1))
        V = self._codes(Dt, signals, self._weight(signals))
        rest = signals - V @ Dt
        errors = np.einsum("ij,ij->i", rest, rest)
        state.arrays["uses"] = np.bincount(V.indices[V.data != 0], minlength=len(Dt))
        state.arrays["worst"] = np.argsort(-errors, kind="stable")[: len(Dt)]
        return Factors(Dt, V.T.toarray(), float(np.sqrt(errors.sum())))

    def _codes(self, Dt: Array, some: Array, weight: float) -> Any:
        """Codes of some signals, as rows of a CSR matrix."""
        p = len(Dt)
        if self.coding == "pursuit":
            return batch_omp(Dt, some, nonzeros_for(self.k, p)).sparse(p)
        return sp.csr_array(lasso(Dt, some, weight))

    def _weight(self, signals: Array) -> float:
        """λ in the units of M."""
        return self.penalty * mean_length(signals)

    @property
    def penalised(self) -> bool:
        return self.coding == "lasso"

    def cost(self, problem: Problem, state: State) -> float:
        if not self.penalised:
            return super().cost(problem, state)
        weight = self._weight(signals_of(problem, state))
        return float(0.5 * state.numbers["residual"] ** 2 + weight * np.abs(state.Y).sum())


def descend(Dt: Array, A: Array, B: Array) -> None:
    """One round of block coordinate descent on tr(DᵀDA) − 2 tr(DᵀB) over unit atoms (rows of Dt, changed in place)."""
    diagonal = np.diagonal(A)
    least = 1e-6 * diagonal.max(initial=0.0)
    for j in np.flatnonzero(diagonal > least).tolist():
        atom = Dt[j] + (B[j] - A[j] @ Dt) / diagonal[j]
        length = np.linalg.norm(atom)
        if length > 0:
            Dt[j] = atom / length
