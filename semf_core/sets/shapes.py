"""Sets of curves: monotone, unimodal and smooth vectors."""

from __future__ import annotations

from typing import Any, ClassVar

from semf_core.common.parameters import param
from semf_core.sets.base import SETS, Array, VectorSet, latex_number
from semf_core.sets.curves import monotone, smooth, unimodal


@SETS.register
class Monotone(VectorSet):
    """x₁ ≤ x₂ ≤ … ≤ x_d, or the reverse.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Monotone
    >>> Monotone().project(np.array([[1.0], [3.0], [2.0], [4.0]])).ravel()
    array([1. , 2.5, 2.5, 4. ])
    """

    name: ClassVar[str] = "monotone"
    title: ClassVar[str] = "Monotone"
    summary: ClassVar[str] = "the entries of a vector never fall, or never rise"
    cost: ClassVar[str] = "O(N)"
    workspace: ClassVar[float] = 6

    direction: str = param("choice", "increasing", choices=("increasing", "decreasing"), help="which way the entries go")

    @property
    def convex(self) -> bool:
        return True

    @property
    def increasing(self) -> bool:
        return self.direction == "increasing"

    @property
    def reason(self) -> str:
        return "isotonic regression"

    def project_vectors(self, B: Array) -> Array:
        return monotone(B, self.increasing)

    def vector_condition(self, x: str) -> str:
        sign = r"\le" if self.increasing else r"\ge"
        return rf"({x})_{{i}} {sign} ({x})_{{i+1}}"


@SETS.register
class Unimodal(VectorSet):
    """x₁ ≤ … ≤ x_m ≥ … ≥ x_d for some m.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Unimodal
    >>> Unimodal().project(np.array([[1.0], [4.0], [2.0], [3.0]])).ravel()
    array([1. , 4. , 2.5, 2.5])
    """

    name: ClassVar[str] = "unimodal"
    title: ClassVar[str] = "Unimodal"
    summary: ClassVar[str] = "the entries of a vector rise to one peak and then fall"
    cost: ClassVar[str] = "O(N)"
    workspace: ClassVar[float] = 10

    @property
    def reason(self) -> str:
        return "isotonic regression on both sides of the best of all peaks"

    def project_vectors(self, B: Array) -> Array:
        return unimodal(B, nonnegative=False)

    def vector_condition(self, x: str) -> str:
        return rf"({x})_{{1}} \le \dots \le ({x})_{{m}} \ge \dots \ge ({x})_{{d}}"


@SETS.register
class Smooth(VectorSet):
    """Σ_i (x_{i+1} − x_i)² ≤ bound.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Smooth
    >>> Smooth(1.0).project(np.array([[0.0], [4.0], [0.0]])).ravel().round(3)
    array([1.098, 1.805, 1.098])
    """

    name: ClassVar[str] = "smooth"
    title: ClassVar[str] = "Smooth"
    summary: ClassVar[str] = "neighbouring entries of a vector differ little: the squares of the differences are bounded"
    cost: ClassVar[str] = "O(N log d)"
    example: ClassVar[dict[str, Any]] = {"bound": 0.5}
    size: ClassVar[str] = "ball"
    workspace: ClassVar[float] = 5

    bound: float = param("number", low=0, symbol="b", help="largest sum of squared differences")

    @property
    def convex(self) -> bool:
        return True

    @property
    def reason(self) -> str:
        return "one multiplier, from a scalar equation in the cosine basis, solved to rounding"

    def project_vectors(self, B: Array) -> Array:
        return smooth(B, self.bound)

    def vector_condition(self, x: str) -> str:
        return rf"\sum_i (({x})_{{i+1}} - ({x})_{{i}})^2 \le {latex_number(self.bound)}"
