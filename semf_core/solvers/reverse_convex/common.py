"""What the reverse-convex algorithms share: bounds on sparseness, and the alternation between the factors."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets import Nonnegative, Sparseness, StructureSet
from semf_core.sets.base import latex_number
from semf_core.solvers.base import NEEDS, Array, HalfStep, Problem, Sets, Solver, State
from semf_core.solvers.direct import Direct, Factors, balanced, given_or_random
from semf_core.solvers.reverse_convex.geometry import Band
from semf_core.solvers.reverse_convex.half import Half, Labels, Quadratic, quadratic_for

NARROWEST = 1e-3
"""The bounds must be this far apart: the programs need room between them."""

LARGEST = 4_000_000
"""Nonzeros of the quadratic part of a program: about a gigabyte is needed to factorize it with its cones."""

LEAST_UNIT = 1e-3
"""Of a row of Y beside the others, where all of them enter the same cones."""


class Alternating(Direct):
    """X and Y in turn, each by conic programs, with the rows of Xᵀ and of Y in bands of sparseness."""

    family: ClassVar[str] = "Reverse-convex programming"
    reference: ClassVar[str] = "reverse-convex"
    needs: ClassVar[tuple[str, ...]] = ("nonnegative", "complete")
    signed: ClassVar[bool] = False
    programs: ClassVar[str] = ""
    """What the convex programs of a half step are, in words."""
    boundary: ClassVar[str] = ""
    """LaTeX of what takes the place of a bound below on the sparseness of a vector."""
    program_bytes: ClassVar[tuple[int, int]] = (1200, 250)
    """Memory of the solver of conic programs for each entry and for each nonzero of one."""

    def workspace(self, shape: tuple[int, int], rank: int, item: int, is_sparse: bool) -> float:
        entries = max(shape) * rank
        of_entry, of_nonzero = self.program_bytes
        programs = of_entry * entries + of_nonzero * entries * (rank + 1) // 2
        return super().workspace(shape, rank, item, is_sparse) + programs

    def bands(self, shape: tuple[int, int]) -> tuple[Band, Band]:
        """What the columns of X and the rows of Y satisfy, for an M of this shape."""
        return Band(0, 1, shape[0]), Band(0, 1, shape[1])

    def descend(self, half: Half, f: Quadratic, H: Array) -> Array:
        """Better magnitudes of one factor, all of them within the band of `half`."""
        raise NotImplementedError

    def structure(self, shape: tuple[int, int], rank: int) -> tuple[Sets, Sets]:
        found = []
        for band, axis in zip(self.bands(shape), ("column", "row"), strict=True):
            sets: list[StructureSet] = [] if self.signed else [Nonnegative()]
            if band.low > 0 or band.high < 1:
                sets.append(Sparseness(band.low, band.high, axis=axis))
            found.append(tuple(sets))
        return found[0], found[1]

    def half_steps(self) -> tuple[HalfStep, ...]:
        after = "" if self.uses_labels else "; in the end rows of V have length one"
        return (
            HalfStep("V", self._program(1, "V", r"\|M-UV\|_F^2"), f"V comes first: {self.programs}"),
            HalfStep("U", self._program(0, "U", r"\|M-UV_+\|_F^2"), f"the same for U, with the new V{after}"),
        )

    def _program(self, axis: int, factor: str, fit: str) -> str:
        """LaTeX of the program for one factor."""
        vector, weight = ("U_{j}", "V_{i,:}")[axis], self.weights()[axis]
        price = rf" - {latex_number(weight)}\,\|M\|_F^2\,\langle\nabla\mathrm{{sp}}, {factor}\rangle" if weight else ""
        kept = [] if self.signed else [rf"{factor}\ge 0"]
        kept += [self.boundary % vector] if self.least[axis] > 0 else []
        given = r" \quad\text{s.t.}\quad " + r",\ ".join(kept) if kept else ""
        return rf"{factor}_+ = \arg\min_{{{factor}}}\ {fit}{price}{given}"

    @property
    def least(self) -> tuple[float, float]:
        """The sparseness that columns of X and rows of Y must have."""
        return 0.0, 0.0

    def begin(self, problem: Problem, rng: np.random.Generator, state: State) -> Factors:
        Xt, Y = given_or_random(problem, rng)
        return Factors(self.rectified(problem, Xt, 0), self.rectified(problem, Y, 1))

    def update(self, problem: Problem, state: State) -> Factors:
        p = state.rank
        Xt, Y = state.W[:p].astype(float), state.Z[:p].astype(float)
        Y = self.renewed(problem, state, Xt, Y, 1)
        Xt = self.renewed(problem, state, Y, Xt, 0)
        return Factors(Xt, Y) if self.uses_labels else Factors(*balanced(Xt, Y))

    def renewed(self, problem: Problem, state: State, other: Array, own: Array, axis: int) -> Array:
        """One factor after its half-step; axis 0 is Xᵀ, axis 1 is Y."""
        f = self.quadratic(problem, other, axis)
        H = own / f.units[:, None]
        f = self.oriented(f, H)
        new = f.signs * self.descend(self.half(problem, state, axis), f, np.abs(H)) * f.units[:, None]
        return np.where(f.alive[:, None], new, own)

    def quadratic(self, problem: Problem, other: Array, axis: int) -> Quadratic:
        """f of one factor; labels tie the rows of Y together."""
        return quadratic_for(problem, other, axis, LEAST_UNIT if axis == 1 and self.uses_labels else 0.0)

    def oriented(self, f: Quadratic, H: Array) -> Quadratic:
        """f with the signs that the entries of the factor are to have."""
        return f

    def rectified(self, problem: Problem, own: Array, axis: int) -> Array:
        """The nearest factor within the band, signs as they are."""
        band = self.bands(problem.matrix.shape)[axis]
        return np.where(own < 0, -1.0, 1.0) * band.rectified(np.abs(own) if self.signed else own)

    def half(self, problem: Problem, state: State, axis: int) -> Half:
        """The programs of one factor, with what they keep from the iteration before."""
        kept: dict[int, Half] = state.scratch.setdefault("halves", {})
        if axis not in kept:
            shape = (problem.rank, problem.matrix.shape[axis])
            labels = self.labels(problem) if axis == 1 else None
            weight = self.weights()[axis] * problem.matrix.norm**2
            kept[axis] = Half(shape, self.bands(problem.matrix.shape)[axis], labels, weight)
            kept[axis].norm, kept[axis].admissible = problem.matrix.norm, self.admissible
        return kept[axis]

    @property
    def admissible(self) -> float | None:
        """The largest ‖M−UV‖/‖M‖ that may be paid for sparseness, where it has a price and a bound."""
        return None

    def weights(self) -> tuple[float, float]:
        """What the sparseness of a column of X and of a row of Y is worth, in ‖M‖²."""
        return 0.0, 0.0

    def check(self, problem: Problem) -> None:
        super().check(problem)
        size = max(problem.matrix.shape) * problem.rank * (problem.rank + 1) // 2
        if size > LARGEST:
            raise InvalidInput(
                "rank",
                f"{self.title} would have to solve cone programs with {size:,} nonzeros, and {LARGEST:,} is the limit",
                "ask for fewer components, take fewer rows and columns, or use NMFsc",
                whole=True,
            )

    def retuned(self, problem: Problem, state: State, before: Solver) -> State:
        """The programs are made anew: they hold bounds and weights."""
        state.scratch.pop("halves", None)
        return state

    def labels(self, problem: Problem) -> Labels | None:
        """The classes and how near their samples must stay, where that is asked for."""
        return None


class Banded(Alternating):
    """(3): sparseness between two bounds, in X and in Y."""

    x_low: float = param("number", 0.5, low=0, high=1, symbol=r"s_x^{\min}", help="least sparseness of every column of X")
    x_high: float = param("number", 1.0, low=0, high=1, symbol=r"s_x^{\max}", help="largest sparseness of every column of X")
    y_low: float = param("number", 0.0, low=0, high=1, symbol=r"s_y^{\min}", help="least sparseness of every row of Y")
    y_high: float = param("number", 1.0, low=0, high=1, symbol=r"s_y^{\max}", help="largest sparseness of every row of Y")

    def __post_init__(self) -> None:
        super().__post_init__()
        for factor, low, high in (("x", self.x_low, self.x_high), ("y", self.y_low, self.y_high)):
            if high - low < NARROWEST * (1 - 1e-9):
                raise InvalidInput(
                    f"{factor}_low",
                    f"must be at least {NARROWEST:g} below {factor}_high = {high:g}, not {low:g}",
                    "widen the bounds",
                )

    def bands(self, shape: tuple[int, int]) -> tuple[Band, Band]:
        return Band(self.x_low, self.x_high, shape[0]), Band(self.y_low, self.y_high, shape[1])

    @property
    def least(self) -> tuple[float, float]:
        return self.x_low, self.y_low

    def bounds_latex(self) -> list[str]:
        """The bounds that say something, on the columns of U and on the rows of V."""
        vectors = (("U_{j}", self.x_low, self.x_high), ("V_{i,:}", self.y_low, self.y_high))
        return [
            rf"{latex_number(low)} \le \mathrm{{sp}}({vector}) \le {latex_number(high)}"
            for vector, low, high in vectors
            if low > 0 or high < 1
        ]


class Supervised(Banded):
    """(3) with nonnegative factors, and (5b) where the samples' classes are to be used."""

    enforces: ClassVar[str] = (
        "nonnegative factors; sparseness of each column of X and row of Y between its bounds; "
        "with a label radius, codes of a class near their mean"
    )

    label_radius: float | None = param(
        "number", None, low=0, open_low=True, optional=True, symbol=r"\lambda",
        help="codes stay within this share of ‖μ‖₁ of their class mean μ; empty ignores the labels",
    )  # fmt: skip

    def objective(self) -> str:
        conditions = [r"U\ge 0,\; V\ge 0", *self.bounds_latex()]
        if self.label_radius is not None:
            conditions.append(rf"\|\mu_c - V_{{:,i}}\|_2 \le {latex_number(self.label_radius)}\,\|\mu_c\|_1 \;\forall i\in c")
        return r"\min_{U,V}\ \|M-UV\|_F^2 \quad\text{s.t.}\quad " + r",\; ".join(conditions)

    @property
    def uses_labels(self) -> bool:
        return self.label_radius is not None

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.uses_labels:
            NEEDS["labels"](problem, f"{self.title} with a label radius")

    def labels(self, problem: Problem) -> Labels | None:
        if self.label_radius is None or problem.labels is None:
            return None
        return Labels(np.unique(problem.labels, return_inverse=True)[1], self.label_radius)
