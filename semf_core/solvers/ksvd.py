"""Dictionaries with counted nonzeros: K-SVD and the method of optimal directions, coded by batch OMP."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from semf_core.common.parameters import InvalidInput, param
from semf_core.mathematics.matrix import DenseMatrix
from semf_core.sets import Sparse, UnitNorm
from semf_core.sets.kernels import normalise
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import LEFT, Direct, Factors, generator
from semf_core.solvers.omp import Codes, batch_omp
from semf_core.solvers.pursuits import as_codes, lasso, mean_length

USUAL_NONZEROS = 3
NONZEROS: dict[str, Any] = {
    "low": 1,
    "high": 4096,
    "optional": True,
    "symbol": "k",
    "help": f"nonzeros in each code; empty: {USUAL_NONZEROS}, or the rank if that is smaller",
}
PENALTY: dict[str, Any] = {
    "low": 0,
    "high": 10,
    "open_low": True,
    "symbol": r"\lambda",
    "help": "lasso: weight of the ℓ1 norm, in mean lengths of a signal",
}
ALIKE = 0.99
"""|cosine| above which two atoms count as one, as in Aharon, Elad and Bruckstein's program."""


def nonzeros_for(k: int | None, rank: int) -> int:
    """The number of nonzeros in a code over `rank` atoms; more than there are atoms is rejected."""
    if k is None:
        return min(USUAL_NONZEROS, rank)
    if k > rank:
        raise InvalidInput("k", f"is {k}, but a code over {rank} atoms has at most {rank} nonzeros", "lower it or raise the rank")
    return k


def signals_of(problem: Problem, state: State) -> Array:
    """The columns of M as contiguous rows (n×m)."""
    if "signals" not in state.scratch:
        matrix = problem.matrix
        assert isinstance(matrix, DenseMatrix)  # `needs` has seen to it
        state.scratch["signals"] = np.ascontiguousarray(matrix.array.T, dtype=matrix.dtype)
    signals: Array = state.scratch["signals"]
    return signals


def first_atoms(problem: Problem, signals: Array, rng: np.random.Generator) -> Array:
    """Unit atoms as rows: given ones, else different random signals, else (too few signals) random directions."""
    X0 = problem.start[0]
    if X0 is not None:
        return problem.x_set.project(X0).T.astype(signals.dtype)
    p = problem.rank
    taken = rng.permutation(np.flatnonzero(signals.any(axis=1)))[:p]
    atoms = rng.standard_normal((p, signals.shape[1])).astype(signals.dtype)
    atoms[: len(taken)] = signals[taken]
    return normalise(atoms.T).T


class CodedDictionary(Direct):
    """min ‖M − UV‖² over dictionaries U with unit columns and k-sparse codes V.

    Codes are found atom by atom; subclasses differ in how they refit the atoms.

    An iteration codes all signals afresh, so given codes V have no part in the start. Coding by pursuit
    may raise the residual, which lets the method leave poor dictionaries; refitting never does.
    """

    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "atoms of unit length; at most k nonzeros in each code"
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 4.5

    k: int | None = param("integer", None, **NONZEROS)
    rare: float = param(
        "number", 0.05, low=0, high=1, help="an atom used less than this share of the average is replaced; 0: only an unused one"
    )

    def objective(self) -> str:
        k = "k" if self.k is None else str(self.k)
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad \|U_j\|_2=1,\; \|V_i\|_0\le {k}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (UnitNorm(),), (Sparse(nonzeros_for(self.k, rank)),)

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        signals = signals_of(problem, state)
        Dt = first_atoms(problem, signals, rng)
        return noted(state, Dt, self.code(Dt, signals))

    def update(self, problem: Problem, state: State) -> Factors:
        p, signals = problem.rank, signals_of(problem, state)
        uses = state.arrays["uses"]
        least = max(1.0, self.rare * float(uses.mean()))
        Dt = refreshed(state.W[:p], uses < least, signals, state.arrays["worst"], generator(state))
        return noted(state, *self.refit(Dt, signals, self.code(Dt, signals)))

    def code(self, Dt: Array, signals: Array) -> Codes:
        """Codes of all signals over these atoms."""
        return batch_omp(Dt, signals, nonzeros_for(self.k, len(Dt)))

    def refit(self, Dt: Array, signals: Array, codes: Codes) -> tuple[Array, Codes]:
        """Better atoms (p×m) for the supports of these codes, and the weights that go with them; Dt may be overwritten."""
        raise NotImplementedError


def noted(state: State, Dt: Array, codes: Codes) -> Factors:
    """The factors; how often each atom is used and which signals fit worst are kept for the next iteration."""
    p = len(Dt)
    state.arrays["uses"] = np.bincount(codes.atoms[codes.weights != 0], minlength=p)
    worst = min(p, len(codes.errors))
    state.arrays["worst"] = np.argsort(-codes.errors, kind="stable")[:worst]
    return Factors(Dt, codes.dense(p), float(np.sqrt(codes.errors.sum())))


def refreshed(Dt: Array, rare: Array, signals: Array, worst: Array, rng: np.random.Generator) -> Array:
    """A copy of the dictionary where rare atoms, and all but one of those alike, give way to the worst fitted signals.

    Where the signals do not suffice a random direction comes in.
    """
    Dt = Dt.copy()
    cosines = np.abs(Dt @ Dt.T)
    alike = np.tril(cosines > ALIKE, -1).any(axis=1)
    candidates = iter(worst.tolist())
    for j in np.flatnonzero(rare | alike):
        signal = next(candidates, None)
        fresh = None if signal is None or not signals[signal].any() else signals[signal]
        atom = rng.standard_normal(Dt.shape[1]) if fresh is None else fresh
        Dt[j] = atom / np.linalg.norm(atom)
    return Dt


@SOLVERS.register
class KSVD(CodedDictionary):
    """Atom after atom: the best rank-one fit of what the others leave of the signals that use it."""

    name: ClassVar[str] = "ksvd"
    title: ClassVar[str] = "K-SVD"
    summary: ClassVar[str] = "codes by matching pursuit, then one atom after the other together with its weights"
    reference: ClassVar[str] = "ksvd"

    coding: str = param(
        "choice", "pursuit", choices=("pursuit", "lasso"), help="k counted nonzeros by OMP, or an ℓ1 penalty (scikit-learn)"
    )
    penalty: float = param("number", 0.1, **PENALTY)
    power: int = param(
        "integer", 1, low=1, high=1000, help="power steps for each atom: 1 is approximate K-SVD, many give the singular vectors"
    )

    def half_steps(self) -> tuple[HalfStep, ...]:
        v = r"v_{j:} \leftarrow u_j^\top R_j \text{ on the support of } " + self._coded
        return (
            HalfStep("V", v, "all samples are coded afresh; each row is fitted once more together with its atom"),
            HalfStep(
                "U", r"u_j \leftarrow R_jv_{j:}^\top/\|R_jv_{j:}^\top\|_2", "atom after atom, from the samples that use it" + LEFT
            ),
        )

    @property
    def _coded(self) -> str:
        if self.coding == "pursuit":
            return rf"\mathrm{{OMP}}_{{{'k' if self.k is None else self.k}}}(M;U)"
        return r"\arg\min_V \tfrac12\|M-UV\|_F^2+\lambda\|V\|_1"

    def objective(self) -> str:
        if self.coding == "pursuit":
            return super().objective()
        chosen = r"\operatorname{supp}V_i=\operatorname{supp}\arg\min_c \tfrac12\|m_i-Uc\|_2^2+\lambda\|c\|_1"
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2 \quad\text{{s.t.}}\quad \|U_j\|_2=1,\; {chosen}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return super().structure(shape, rank) if self.coding == "pursuit" else ((UnitNorm(),), ())

    def code(self, Dt: Array, signals: Array) -> Codes:
        if self.coding == "pursuit":
            return super().code(Dt, signals)
        return as_codes(lasso(Dt, signals, self.penalty * mean_length(signals)), Dt, signals)

    def refit(self, Dt: Array, signals: Array, codes: Codes) -> tuple[Array, Codes]:
        return rank_one_sweep(Dt, signals, codes, self.power)


def rank_one_sweep(Dt: Array, signals: Array, codes: Codes, power: int) -> tuple[Array, Codes]:
    """min ‖E_j − g dᵀ‖ over ‖d‖ = 1 and g for each atom j in turn, E_j the rest of the signals that use it.

    A power step d = E_jᵀg/‖E_jᵀg‖, g = E_j d never raises the residual. The rest of all signals is kept
    current, so an atom costs only the rows that it touches. Dt is overwritten.
    """
    n, k = codes.atoms.shape
    weights = codes.weights.ravel()
    used = np.flatnonzero(weights)
    owners = codes.atoms.ravel()[used]
    places = used[np.argsort(owners, kind="stable")]
    rows, values = places // k, weights[places]
    rest = signals - codes.sparse(len(Dt)) @ Dt
    first = 0
    for j, last in enumerate(np.cumsum(np.bincount(owners, minlength=len(Dt))).tolist()):
        if last == first:
            continue
        mine, g, d = rows[first:last], values[first:last], Dt[j]
        E = rest[mine]
        E += g[:, None] * d
        for _ in range(power):
            direction = g @ E
            length = np.linalg.norm(direction)
            if length > 0:
                d = direction / length
            g = E @ d
        E -= g[:, None] * d
        rest[mine], values[first:last], Dt[j] = E, g, d
        first = last
    weights = weights.copy()
    weights[places] = values
    return Dt, Codes(codes.atoms, weights.reshape(n, k), np.einsum("ij,ij->i", rest, rest))


@SOLVERS.register
class OptimalDirections(CodedDictionary):
    """All atoms at once by least squares, U = MVᵀ(VVᵀ)⁺, then scaled to unit length (Engan, Aase and Husøy)."""

    name: ClassVar[str] = "mod"
    title: ClassVar[str] = "MOD"
    summary: ClassVar[str] = "method of optimal directions: codes by matching pursuit, then all atoms together by least squares"
    reference: ClassVar[str] = "mod"

    def half_steps(self) -> tuple[HalfStep, ...]:
        k = "k" if self.k is None else str(self.k)
        return (
            HalfStep(
                "V",
                rf"V_+ = D\,V',\quad V' = \mathrm{{OMP}}_{{{k}}}(M;U)",
                "all samples are coded afresh; then the atoms' lengths D",
            ),
            HalfStep("U", r"U_+ = MV'^\top(V'V'^\top)^{+}D^{-1}", "least squares for all atoms together, then unit length"),
        )

    def refit(self, Dt: Array, signals: Array, codes: Codes) -> tuple[Array, Codes]:
        return least_squares_atoms(Dt, signals, codes)


def least_squares_atoms(Dt: Array, signals: Array, codes: Codes) -> tuple[Array, Codes]:
    """min ‖M − UV‖ over U for these V; the length of each atom goes into its weights. An unused atom stays."""
    p = len(Dt)
    V = codes.sparse(p)
    fitted = scipy.linalg.lstsq((V.T @ V).toarray(), V.T @ signals)[0].astype(Dt.dtype)
    lengths = np.linalg.norm(fitted, axis=1)
    kept = lengths > 0
    Dt[kept] = fitted[kept] / lengths[kept, None]
    weights = codes.weights * lengths[codes.atoms]
    scaled = Codes(codes.atoms, weights, codes.errors)
    rest = signals - scaled.sparse(p) @ Dt
    return Dt, Codes(codes.atoms, weights, np.einsum("ij,ij->i", rest, rest))
