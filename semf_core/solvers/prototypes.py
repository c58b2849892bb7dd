"""The ancestors of K-SVD: K-means, and dictionaries of greatest likelihood (Olshausen and Field) or posterior probability."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np

from semf_core.common.extras import optional
from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Box, Sparse, UnitNorm
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, generator
from semf_core.solvers.ksvd import PENALTY, first_atoms, noted, refreshed, signals_of
from semf_core.solvers.omp import Codes
from semf_core.solvers.pursuits import NOISE, POWER, as_codes, focuss, focuss_step, lasso, mean_length

LONGER, SHORTER, TRIALS = 1.5, 0.5, 20
"""After a gradient step that lowers the error the next is longer; one that does not is halved, so many times at most."""
FOCUSS_STEPS, LEAST_WEIGHT = 10, 1e-3
"""Steps of FOCUSS for the codes of an iteration; entries below this share of the signal's length are zero then."""


@SOLVERS.register
class KMeans(Direct):
    """Each column of M by the nearest of p prototypes: min ‖M − UV‖² with a single 1 in each column of V.

    Lloyd's algorithm one round at a time, by scikit-learn: every prototype becomes the mean of the columns that it is nearest to.
    """

    name: ClassVar[str] = "k-means"
    title: ClassVar[str] = "K-means"
    summary: ClassVar[str] = "a code book: every sample is replaced by the nearest of p prototypes"
    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "one nonzero in each code, and that is 1"
    reference: ClassVar[tuple[str, ...]] = ("k-means", "ksvd")
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 4.5

    def objective(self) -> str:
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad V_i\in\{e_1,\dots,e_p\}"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        if rank > shape[1]:
            raise InvalidInput("rank", f"is {rank}, but there are only {shape[1]} samples to make prototypes of", "lower it")
        return (), (Sparse(1), Box(0.0, 1.0))

    def half_steps(self) -> tuple[HalfStep, ...]:
        return (
            HalfStep("U", r"U_+ = MV^\top(VV^\top)^{-1}", "every prototype becomes the mean of the samples that chose it"),
            HalfStep("V", r"v_i = e_k,\quad k = \arg\min_k \|m_i-u_k\|_2", "every sample chooses the nearest of the new ones"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        signals, X0 = signals_of(problem, state), problem.start[0]
        chosen = rng.choice(len(signals), problem.rank, replace=False)
        return self._assigned(signals, signals[chosen] if X0 is None else X0.T.astype(signals.dtype))

    def update(self, problem: Problem, state: State) -> Factors:
        # scikit-learn takes a second or two to import; only those who want it should wait.
        with optional():
            from sklearn.cluster import KMeans as Lloyd
            from sklearn.exceptions import ConvergenceWarning

        signals = signals_of(problem, state)
        found = Lloyd(problem.rank, init=state.W[: state.rank], n_init=1, max_iter=1, tol=0, random_state=0)
        with warnings.catch_warnings():  # one round at a time never converges, and samples may coincide
            warnings.simplefilter("ignore", ConvergenceWarning)
            found.fit(signals)
        return self._assigned(signals, found.cluster_centers_.astype(signals.dtype))

    @staticmethod
    def _assigned(signals: Array, centres: Array) -> Factors:
        nearest = (np.square(centres).sum(axis=1) / 2 - signals @ centres.T).argmin(axis=1)
        Y = np.zeros((len(centres), len(signals)), signals.dtype)
        Y[nearest, np.arange(len(signals))] = 1
        rest = signals - centres[nearest]
        return Factors(centres, Y, float(np.linalg.norm(rest)))


@SOLVERS.register
class LikelihoodDictionary(Direct):
    """Olshausen and Field's: codes by the lasso (a Laplace prior), then a step U + η(M − UV)Vᵀ and unit length again.

    With codes by FOCUSS (a prior exp(−|v|^q)) it is the maximum a posteriori dictionary of Kreutz-Delgado et al. (2003).
    """

    name: ClassVar[str] = "ml-dictionary"
    title: ClassVar[str] = "Maximum-likelihood dictionary"
    summary: ClassVar[str] = "codes under a sparse prior, then a gradient step on all atoms: how dictionary learning began"
    family: ClassVar[str] = "Dictionary learning"
    enforces: ClassVar[str] = "atoms of unit length"
    encourages: ClassVar[str] = "sparse codes, by an ℓ1 penalty or a power below 1 (FOCUSS)"
    reference: ClassVar[tuple[str, ...]] = ("olshausen-field", "map-dictionary", "ksvd")
    needs: ClassVar[tuple[str, ...]] = ("dense",)
    data_buffers: ClassVar[float] = 4.5

    coding: str = param(
        "choice", "lasso", choices=("lasso", "focuss"), help="codes by the lasso, or by FOCUSS (maximum a posteriori)"
    )
    penalty: float = param("number", 0.1, **PENALTY)
    power: float = param("number", 0.5, **POWER | {"open_low": True})
    noise: float = param("number", 0.1, **NOISE)

    def objective(self) -> str:
        price = r"\lambda\sum_{ij}|V_{ij}|"
        if self.coding == "focuss":
            power = f"{self.power:g}"
            price = rf"\frac{{{self.noise:g}^2}}{{{power}}}\sum_{{ij}}\|m_j\|^{{2-{power}}}|V_{{ij}}|^{{{power}}}"
        return rf"\min_{{U,V}}\ \tfrac12\|M-UV\|_F^2+{price} \quad\text{{s.t.}}\quad \|U_j\|_2=1"

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        return (UnitNorm(),), ()

    def half_steps(self) -> tuple[HalfStep, ...]:
        coded = HalfStep(
            "V", r"V_+ = \arg\min_V \tfrac12\|M-U_+V\|_F^2+\lambda\|V\|_1", "all samples are coded with the new atoms"
        )
        if self.coding == "focuss":
            words = f"all samples are coded with the new atoms, by {FOCUSS_STEPS} steps from the shortest least squares solution"
            coded = HalfStep("V", focuss_step(self.power, self.noise), words)
        return (
            HalfStep("U", r"U_+ = \bigl(U + \eta\,(M-UV)V^\top\bigr)D^{-1}", "a gradient step on all atoms, then unit length"),
            coded,
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        signals = signals_of(problem, state)
        state.numbers["length"] = 0.0
        Dt = first_atoms(problem, signals, rng)
        return noted(state, Dt, self._codes(Dt, signals))

    def update(self, problem: Problem, state: State) -> Factors:
        p, signals = problem.rank, signals_of(problem, state)
        Y = state.Z[:p]
        gram, target = Y @ Y.T, Y @ signals
        Dt = refreshed(
            self._stepped(state, state.W[:p], gram, target),
            state.arrays["uses"] == 0,
            signals,
            state.arrays["worst"],
            generator(state),
        )
        return noted(state, Dt, self._codes(Dt, signals))

    @staticmethod
    def _stepped(state: State, Dt: Array, gram: Array, target: Array) -> Array:
        """The first of ever shorter gradient steps that lowers ‖M−UV‖²; the atoms themselves if there is none."""
        gradient, now = target - gram @ Dt, _quadratic(Dt, gram, target)
        length = state.numbers["length"] or 1 / max(float(np.trace(gram)) / len(gram), 1e-300)
        for _ in range(TRIALS):
            new = Dt + Dt.dtype.type(length) * gradient
            new /= np.linalg.norm(new, axis=1, keepdims=True)
            if _quadratic(new, gram, target) < now:
                state.numbers["length"] = LONGER * length
                return new
            length *= SHORTER
        return Dt

    def _codes(self, Dt: Array, signals: Array) -> Codes:
        if self.coding == "lasso":
            return as_codes(lasso(Dt, signals, self.penalty * mean_length(signals)), Dt, signals)
        codes = None
        for _ in range(FOCUSS_STEPS):
            codes = focuss(Dt, signals, codes, self.power, self.noise)
        assert codes is not None
        least = LEAST_WEIGHT * np.linalg.norm(signals, axis=1, keepdims=True)
        return as_codes(np.where(np.abs(codes) > least, codes, 0), Dt, signals)

    @property
    def penalised(self) -> bool:
        return True

    def cost(self, problem: Problem, state: State) -> float:
        signals, fit = signals_of(problem, state), super().cost(problem, state) / 2
        if self.coding == "lasso":
            return fit + self.penalty * mean_length(signals) * float(np.abs(state.V).sum())
        sums = (np.abs(state.V) ** self.power).sum(axis=0)
        return fit + self.noise**2 / self.power * float((np.linalg.norm(signals, axis=1) ** (2 - self.power)) @ sums)


def _quadratic(Dt: Array, gram: Array, target: Array) -> float:
    """½‖M−UV‖² up to a constant."""
    return float(np.vdot(gram, Dt @ Dt.T)) / 2 - float(np.vdot(target, Dt))
