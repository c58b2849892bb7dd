"""Sparse PCA by sign and magnitude (§5.2): factors of any sign under bounds on, or rewards for, sparseness."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets.base import latex_number
from semf_core.solvers.base import SOLVERS, Problem, State
from semf_core.solvers.direct import Factors
from semf_core.solvers.reverse_convex.common import Banded
from semf_core.solvers.reverse_convex.conic import Array, Entries, Part, Program
from semf_core.solvers.reverse_convex.half import Quadratic, quadratic_for
from semf_core.solvers.reverse_convex.relaxed import Rewarding


@SOLVERS.register
class SparsePCA(Rewarding, Banded):
    """sp(x) does not see signs (28): magnitudes as in the nonnegative case (29), signs of small entries by (31).

    Without signs fixed, (6) has no solution: ever larger components with nearly the same few nonzeros
    cancel one another and leave whatever the data needs. The price ρ Σ‖X_k‖²‖Y_k‖², which no exchange of
    scale between the factors changes, rules that out.
    """

    name: ClassVar[str] = "sparse-pca"
    title: ClassVar[str] = "Sparse PCA"
    summary: ClassVar[str] = "Components of any sign with bounds on their sparseness, or a price for it"
    enforces: ClassVar[str] = "sparseness of each column of X and row of Y between its bounds"
    encourages: ClassVar[str] = "sparser columns of X and rows of Y at the stated price; components that do not cancel out"
    needs: ClassVar[tuple[str, ...]] = ("complete",)
    signed: ClassVar[bool] = True

    small: float = param(
        "number", 0.05, low=0, high=1, symbol=r"\epsilon", help="entries up to this share of the largest in their row may flip"
    )

    ridge: float = param(
        "number", 1e-3, low=0, high=1e6, symbol=r"\rho", help="price of large components that cancel one another, against ‖M−UV‖²"
    )

    def objective(self) -> str:
        size = rf" + {latex_number(self.ridge)} \sum_k \|U_k\|^2 \|V_{{k,:}}\|^2" if self.ridge else ""
        bounds = r",\; ".join([*self.bounds_latex(), *self.bound_latex()])
        return rf"\min_{{U,V}}\ \|M-UV\|_F^2{self.rewards_latex()}{size}" + (
            rf" \quad\text{{s.t.}}\quad {bounds}" if bounds else ""
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Given factors, or a random Y and the X and Y that fit best in turn: their signs suit the data."""
        X0, Y0 = problem.start
        Y = rng.standard_normal((problem.rank, problem.matrix.shape[1])) if Y0 is None else Y0
        Xt = _best_fit(quadratic_for(problem, Y, 0)) if X0 is None else X0.T
        Y = _best_fit(quadratic_for(problem, Xt, 1)) if Y0 is None else Y
        return Factors(self.rectified(problem, Xt, 0), self.rectified(problem, Y, 1))

    def oriented(self, f: Quadratic, H: Array) -> Quadratic:
        f = replace(f, ridge=self.ridge)
        signs = np.where(H < 0, -1.0, 1.0)
        size = self.small * np.abs(H).max(axis=1, keepdims=True)
        small = np.abs(H) <= size
        turned = np.where(small, best_signs(f, H, small, size), signs)
        if f.value(turned * np.abs(H)) > f.value(H):  # entries of some size stay; zeros may turn at no cost
            turned = np.where(H == 0, turned, signs)
        return replace(f, signs=turned)

    def cost(self, problem: Problem, state: State) -> float:
        p = state.rank
        sizes = np.square(state.W[:p]).sum(axis=1) * np.square(state.Z[:p]).sum(axis=1)
        return super().cost(problem, state) + self.ridge * float(sizes.sum())


def _best_fit(f: Quadratic) -> Array:
    """argmin f without any constraint, in the units of the data."""
    best: Array = np.linalg.lstsq(f.R, f.T)[0] * f.units[:, None]
    return best


def best_signs(f: Quadratic, H: Array, small: Array, size: Array) -> Array:
    """Signs of a minimiser of f over the small entries, each between −size and size, (31); the others stay.

    An entry of magnitude zero would leave its sign open, so all of them get the same small magnitude.
    """
    if not small.any():
        return np.ones(H.shape)
    place = np.full(H.shape, -1)
    place[small] = np.arange(np.count_nonzero(small))
    count = int(place.max()) + 1
    G = f.gram()
    k, j = np.triu_indices(len(H))
    pair, column = np.nonzero(small[k] & small[j])
    P = Entries(place[k[pair], column], place[j[pair], column], 2 * G[k, j][pair])
    q = 2 * (f.R.T @ (f.R @ np.where(small, 0, H) - f.T))[small]
    rows, every = np.arange(2 * count), np.tile(np.arange(count), 2)
    limits = np.maximum(np.broadcast_to(size, H.shape)[small], np.finfo(float).tiny)
    box = Part(Entries(rows, every, np.repeat([1.0, -1.0], count)), np.tile(limits, 2), (("nonnegative", 2 * count),))
    signs = np.ones(H.shape)
    signs[small] = np.where(Program().solve(P, q, [box]) < 0, -1.0, 1.0)
    return signs
