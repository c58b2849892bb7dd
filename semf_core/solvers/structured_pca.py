"""Structured sparse PCA: components with supports of convex shape in the image (Jenatton, Obozinski and Bach)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from semf_core.common.parameters import param
from semf_core.sets import Nonnegative, NormBall, combine
from semf_core.solvers.base import SOLVERS, Array, HalfStep, Problem, Sets, State
from semf_core.solvers.direct import Direct, Factors, given_or_random
from semf_core.solvers.pixels import image_sides, pixel_places

INNER, SWEEPS = 3, 2
"""Proximal steps on U, and rounds over V, in one iteration; rounds over the directions in one proximal step."""
LEAST = 0.01
"""A group counts as at least this share of the scale of U where the penalty's slope is taken: it stays finite at zero."""


class Direction:
    """The half planes on one side: groups G₁ ⊂ G₂ ⊂ … of pixels, each one more line of the image than the one before."""

    def __init__(self, lines: Array, count: int) -> None:
        self.lines, self.count = lines, count
        order = np.argsort(lines, kind="stable")
        present, starts = np.unique(lines[order], return_index=True)
        self._order, self._present, self._starts = order, present, starts

    def norms(self, Xt: Array) -> Array:
        """‖x_G‖ for every row x and group G but the whole image (p × count−1)."""
        return np.sqrt(np.cumsum(self._energies(Xt), axis=1)[:, :-1])

    def prox(self, Xt: Array, weights: Array) -> Array:
        """argmin ½‖z − x‖² + Σ_G w_G‖z_G‖ for every row x, exactly.

        Of nested groups the smallest is shrunk first, then the next with what is left (Jenatton et al. 2011). A group only
        scales what is in it, so the energies of the lines are all that this needs.
        """
        energies = self._energies(Xt)
        kept, factors = np.zeros(len(Xt), Xt.dtype), np.ones_like(energies)
        for g in range(self.count - 1):
            norm = np.sqrt(kept + energies[:, g])
            left = np.maximum(norm - weights[:, g], 0)
            factors[:, g] = np.divide(left, norm, out=np.zeros_like(norm), where=norm > 0)
            kept = left * left
        scale = np.cumprod(factors[:, ::-1], axis=1)[:, ::-1]
        return Xt * scale[:, self.lines]

    def _energies(self, Xt: Array) -> Array:
        out = np.zeros((len(Xt), self.count), Xt.dtype)
        out[:, self._present] = np.add.reduceat(np.square(Xt[:, self._order]), self._starts, axis=1)
        return out


def directions_of(problem: Problem, slanted: bool) -> tuple[Direction, ...]:
    """Half planes from above, below, left and right, and from the four corners where slanted ones count as well."""
    (height, width), (down, across) = image_sides(problem), pixel_places(problem)
    ways = [(down, height), (across, width)]
    if slanted:
        ways += [(down + across, height + width - 1), (down - across + width - 1, height + width - 1)]
    both = [way for lines, count in ways if count > 1 for way in ((lines, count), (count - 1 - lines, count))]
    return tuple(Direction(lines, count) for lines, count in both)


@SOLVERS.register
class StructuredSparsePCA(Direct):
    """min ½‖M − UV‖² + λ Σ_k Ω(u_k) over rows of V of length at most 1, Ω(u) = Σ_G ‖u_G‖^α over half planes G of the image.

    What vanishes is a union of half planes, so what remains is a rectangle, or an octagon with slanted ones. For α < 1 each
    iteration takes the weighted norms that touch Ω from above, and steps on U by their proximal map: the groups
    of one direction are nested, which has a closed form; the directions are joined by Dykstra's scheme, cut after two rounds.
    """

    name: ClassVar[str] = "structured-pca"
    title: ClassVar[str] = "Structured sparse PCA"
    summary: ClassVar[str] = "overlapping groups of pixels are penalised so that components fill convex regions of the image"
    family: ClassVar[str] = "Sparse principal components"
    enforces: ClassVar[str] = "rows of V at most one long; with the option, nonnegative factors"
    encourages: ClassVar[str] = "components that vanish outside a rectangle or an octagon of the image"
    reference: ClassVar[tuple[str, ...]] = ("structured-pca", "hierarchical-prox")
    needs: ClassVar[tuple[str, ...]] = ("complete",)
    drops_zeros: ClassVar[bool] = True
    buffers: ClassVar[float] = 24

    lam: float = param("number", 0.02, low=0, symbol=r"\lambda", help="weight of the penalty, as a share of the longest row of M")
    alpha: float = param(
        "number",
        0.5,
        low=0,
        high=1,
        open_low=True,
        symbol=r"\alpha",
        help="power of the group norms: 1 is convex, less selects harder",
    )
    slanted: bool = param("boolean", True, help="half planes from the corners as well: octagons instead of rectangles")
    nonnegative: bool = param("boolean", False, help="nonnegative components and coefficients")

    def objective(self) -> str:
        extra = r",\; U\ge 0,\; V\ge 0" if self.nonnegative else ""
        return (
            r"\min_{U,V}\ \tfrac12\|M-UV\|_F^2+\lambda\sum_k\sum_{G}\|(u_k)_G\|_2^{\alpha}"
            rf" \quad\text{{s.t.}}\quad \|v_k\|_2\le 1{extra}"
        )

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        sign: Sets = (Nonnegative(),) if self.nonnegative else ()
        return sign, (*sign, NormBall(1.0, axis="row"))

    def half_steps(self) -> tuple[HalfStep, ...]:
        on_u = r"U \leftarrow \operatorname{prox}_{\lambda\Omega/L}\bigl(U - \tfrac1L(UV-M)V^\top\bigr)"
        on_v = r"v_{k:} \leftarrow \frac{r}{\max(1,\|r\|_2)},\quad r = v_{k:} + u_k^\top(M-U_+V)/\|u_k\|^2"
        return (
            HalfStep(
                "U",
                on_u,
                f"{INNER} gradient steps, each followed by shrinking the half planes; L is the largest eigenvalue of VVᵀ",
            ),
            HalfStep("V", on_v, f"{INNER} rounds over the rows of V, each to its best length of at most one"),
        )

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        """Random coefficients of length 1 and the components that fit them, or what was given."""
        M = problem.matrix
        free = replace(problem, y_set=combine((Nonnegative(),) if self.nonnegative else ()))
        Xt, Y = (factor.astype(M.dtype) for factor in given_or_random(free, rng))
        if problem.start[0] is None:
            Y = Y / np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), np.finfo(M.dtype).tiny)
            Xt = self._signed(np.linalg.solve(Y @ Y.T + 1e-3 * np.eye(len(Y), dtype=M.dtype), M.right(Y, Xt)))
        lengths = np.maximum(np.linalg.norm(Y, axis=1, keepdims=True), 1)
        return Factors(Xt * lengths, Y / lengths)

    def update(self, problem: Problem, state: State) -> Factors:
        M, p = problem.matrix, state.rank
        Xt, Y = state.W[:p], state.Z[:p].copy()
        (directions, size), gram, target = self._setting(problem, state), Y @ Y.T, M.right(Y, Xt)
        length = float(np.linalg.eigvalsh(gram)[-1]) or 1.0
        weights = [w / M.dtype.type(length) for w in self._slopes(directions, size, Xt)]
        for _ in range(INNER):
            Xt = proximal(self._signed(Xt - (gram @ Xt - target) / M.dtype.type(length)), directions, weights)
        XtM, XtX = M.left(Xt, Xt, Y), Xt @ Xt.T
        for _ in range(INNER):
            self._sweep(Y, XtM, XtX)
        return Factors(Xt, Y, M.residual_from(Xt, Y, XtM, XtX, Y @ Y.T))

    def _sweep(self, Y: Array, XtM: Array, XtX: Array) -> None:
        """Each row of V in turn to its minimiser in the ball, in place."""
        for k in np.flatnonzero(XtX.diagonal() > 0).tolist():
            row = self._signed(Y[k] + (XtM[k] - XtX[k] @ Y) / XtX[k, k])
            Y[k] = row / max(1.0, float(np.linalg.norm(row)))

    def _signed(self, A: Array) -> Array:
        return np.maximum(A, 0) if self.nonnegative else A

    def _setting(self, problem: Problem, state: State) -> tuple[tuple[Direction, ...], float]:
        """The directions, and the scale of U: M's longest row, since rows of V are one long at most."""
        if "setting" not in state.scratch:
            longest = float(np.sqrt(problem.matrix.squares()[0].max())) or 1.0
            state.scratch["setting"] = directions_of(problem, self.slanted), longest
        found: tuple[tuple[Direction, ...], float] = state.scratch["setting"]
        return found

    def _slopes(self, directions: tuple[Direction, ...], size: float, Xt: Array) -> list[Array]:
        """λ times the slope of the penalty at every group norm; the groups of a direction share its weight."""
        weights = (self.lam * size / (d.count - 1) * (d.norms(Xt) / size + LEAST) ** (self.alpha - 1) for d in directions)
        return [w.astype(Xt.dtype) for w in weights]

    @property
    def penalised(self) -> bool:
        return self.lam > 0

    def retuned(self, problem: Problem, state: State, before: object) -> State:
        state.scratch.pop("setting", None)
        return state

    def cost(self, problem: Problem, state: State) -> float:
        """½‖M−UV‖² + λΩ(U); λΩ has the units of ‖M‖²."""
        if not self.penalised:
            return super().cost(problem, state)
        (directions, size), Xt = self._setting(problem, state), state.U.T
        penalty = sum(
            float(((d.norms(Xt) / size + LEAST) ** self.alpha - LEAST**self.alpha).sum()) / (d.count - 1) for d in directions
        )
        return self.frame(problem, state).residual_uv ** 2 / 2 + self.lam * size**2 * penalty / self.alpha


def proximal(Xt: Array, directions: tuple[Direction, ...], weights: list[Array]) -> Array:
    """Dykstra's rounds towards the proximal map of the sum over all directions, from the exact ones of each."""
    taken: list[Array | float] = [0.0] * len(directions)
    for _ in range(SWEEPS):
        for i, direction in enumerate(directions):
            corrected = Xt + taken[i]
            Xt = direction.prox(corrected, weights[i])
            taken[i] = corrected - Xt
    return Xt
