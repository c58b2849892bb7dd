"""Sets that fix Hoyer's sparseness, the measure between 0 (all entries equal) and 1 (a single nonzero)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, Shape, StructureSet, VectorSet, as_matrix, check_indices, latex_indices, latex_number
from semf_core.sets.hoyer import ratio_of, within_ratios
from semf_core.sets.hoyer_groups import share_ratios


@SETS.register
class Sparseness(VectorSet):
    """low ≤ (√d − ‖x‖₁/‖x‖₂)/(√d − 1) ≤ high, or x = 0 (Potluru et al. 2013 eq. 1, per vector as in its eq. 2).

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Sparseness
    >>> Sparseness(0.8).project(np.array([[3.0], [2.0], [1.0], [1.0]])).ravel().round(3)
    array([3.287, 0.762, 0.   , 0.   ])
    """

    name: ClassVar[str] = "sparseness"
    title: ClassVar[str] = "Sparseness"
    summary: ClassVar[str] = "Hoyer's L1/L2 sparseness has a given value, or lies between two"
    cost: ClassVar[str] = "O(N log d), O(N) for long vectors"
    example: ClassVar[dict[str, Any]] = {"low": 0.75}
    reference: ClassVar[str] = "nmfsc"

    low: float = param("number", low=0, high=1, symbol="s", help="sparseness, or the least sparseness allowed")
    high: float | None = param(
        "number", None, low=0, high=1, optional=True, symbol="s_{max}", help="largest sparseness; empty asks for exactly low"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.high is not None and self.high < self.low:
            raise InvalidInput("high", f"{self.high:g} is below low = {self.low:g}", "exchange them", whole=True)

    @property
    def highest(self) -> float:
        return self.low if self.high is None else self.high

    @property
    def reason(self) -> str:
        return "Sparse-opt: the set is a cone, and the best direction of the wanted L1/L2 ratio is a soft threshold"

    def bounds(self, length: int) -> tuple[float, float]:
        """The least and the largest ratio ‖x‖₁/‖x‖₂ allowed."""
        return ratio_of(self.highest, length), ratio_of(self.low, length)

    def project_vectors(self, B: Array) -> Array:
        least, most = self.bounds(len(B))
        return within_ratios(B, least, most, nonnegative=False)

    def check_length(self, length: int) -> None:
        if length < 2:
            raise InvalidInput(
                "low", "the sparseness of a vector with one entry is not defined", "bind longer vectors", whole=True
            )

    def vector_condition(self, x: str) -> str:
        measure = rf"\frac{{\sqrt{{d}} - \|{x}\|_1 / \|{x}\|_2}}{{\sqrt{{d}} - 1}}"
        if self.highest == self.low:
            return rf"{measure} = {latex_number(self.low)}"
        return rf"{latex_number(self.low)} \le {measure} \le {latex_number(self.highest)}"


@SETS.register
class GroupSparseness(StructureSet):
    """The mean sparseness over the columns of group g is s_g (Potluru et al. 2013, eq. 2, with free column norms).

    A zero column counts as having whatever sparseness its group needs: it is the limit of such columns.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import GroupSparseness
    >>> A = np.array([[4.0, 2.0], [1.0, 2.0], [0.5, 1.0], [0.5, 1.0]])
    >>> P = GroupSparseness([[0, 1]], 0.6).project(A)
    >>> from semf_core.mathematics.metrics import hoyer_sparseness
    >>> round(float(hoyer_sparseness(P).mean()), 3)
    0.6
    """

    name: ClassVar[str] = "group_sparseness"
    title: ClassVar[str] = "Mean sparseness"
    summary: ClassVar[str] = "each group of columns has a given mean sparseness, shared out as suits the data"
    cost: ClassVar[str] = "O(N log d), and a small dynamic program for each group"
    reference: ClassVar[str] = "mixed-norm"
    example: ClassVar[dict[str, Any]] = {"groups": [[0, 2], [3]], "values": [0.4, 0.7]}

    groups: Sequence[Sequence[int]] = param("groups", symbol="I_g", help="groups of columns (or rows); others are free")
    values: float | Sequence[float] = param("numbers", low=0, high=1, symbol="s_g", help="mean sparseness, one or per group")
    axis: str = param("choice", "column", choices=("column", "row"), help="the groups hold columns or rows")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.values, Sequence) and len(self.values) != len(self.groups):
            raise InvalidInput(
                "values", f"holds {len(self.values)} numbers for {len(self.groups)} groups", "give one number or one per group"
            )

    @property
    def targets(self) -> tuple[float, ...]:
        return tuple(self.values) if isinstance(self.values, Sequence) else (self.values,) * len(self.groups)

    @property
    def exact(self) -> bool:
        return all(len(group) == 1 for group in self.groups)

    @property
    def reason(self) -> str:
        if self.exact:
            return "Sparse-opt: every group is a single vector"
        return "the sparseness of a group is shared out on a grid that is then refined: near, without a proof that it is nearest"

    def project(self, A: Array) -> Array:
        return self.project_groups(A, share_ratios, nonnegative=False)

    def project_groups(self, A: Array, kernel: Callable[[Array, float, bool], Array], nonnegative: bool) -> Array:
        """A with the columns of each group replaced by what the kernel makes of them."""
        out = as_matrix(A).copy()
        B = out.T if self.axis == "row" else out
        if len(B) > 1:
            for group, target in zip(self.groups, self.targets, strict=True):
                chosen = list(group)
                B[:, chosen] = kernel(B[:, chosen], len(group) * ratio_of(target, len(B)), nonnegative)
        return out

    def check_shape(self, shape: Shape) -> None:
        length, count = shape[::-1] if self.axis == "row" else shape
        check_indices("groups", (i for group in self.groups for i in group), count, self.axis)
        if length < 2:
            raise InvalidInput(
                "groups", "the sparseness of a vector with one entry is not defined", "bind longer vectors", whole=True
            )

    def condition(self, symbol: str) -> str:
        x = f"{symbol}_{{j}}" if self.axis == "column" else f"{symbol}_{{j,:}}"
        measure = rf"\frac{{\sqrt{{d}} - \|{x}\|_1 / \|{x}\|_2}}{{\sqrt{{d}} - 1}}"
        means = rf"\frac{{1}}{{|I_g|}} \sum_{{j \in I_g}} {measure} = s_g"
        groups = (
            rf"I_{{{g + 1}}}=\{{{latex_indices(group)}\}},\; s_{{{g + 1}}}={latex_number(target)}"
            for g, (group, target) in enumerate(zip(self.groups, self.targets, strict=True))
        )
        return means + r",\; " + r",\; ".join(groups)
