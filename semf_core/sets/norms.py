"""Sets that fix or bound the size of a vector."""

from __future__ import annotations

from typing import Any, ClassVar

from semf_core.common.parameters import param
from semf_core.sets.base import SETS, Array, VectorSet, latex_number
from semf_core.sets.kernels import l1_ball, on_sphere, one_hot_at_largest, shrink_to_ball, simplex


@SETS.register
class UnitNorm(VectorSet):
    """‖x‖₂ = 1 (SeMF eq. 17); a zero vector goes to the first unit vector.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import UnitNorm
    >>> UnitNorm().project(np.array([[3.0, 0.0], [4.0, 2.0]]))
    array([[0.6, 0. ],
           [0.8, 1. ]])
    """

    name: ClassVar[str] = "unit_norm"
    title: ClassVar[str] = "Unit norm"
    summary: ClassVar[str] = "every vector has length one"
    cost: ClassVar[str] = "O(N)"
    size: ClassVar[str] = "fixed"
    keeps_zero: ClassVar[bool] = False

    def project_vectors(self, B: Array) -> Array:
        return on_sphere(B, B, one_hot_at_largest)

    def vector_condition(self, x: str) -> str:
        return rf"\|{x}\|_2 = 1"


@SETS.register
class NormBall(VectorSet):
    """‖x‖₂ ≤ r.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import NormBall
    >>> NormBall(2.5).project(np.array([[3.0, 1.0], [4.0, 0.0]]))
    array([[1.5, 1. ],
           [2. , 0. ]])
    """

    name: ClassVar[str] = "norm_ball"
    title: ClassVar[str] = "Norm ball"
    summary: ClassVar[str] = "every vector is at most so long"
    cost: ClassVar[str] = "O(N)"
    example: ClassVar[dict[str, Any]] = {"radius": 1.5}
    size: ClassVar[str] = "ball"
    ignores_zeros: ClassVar[bool] = True

    radius: float = param("number", low=0, open_low=True, symbol="r", help="largest Euclidean length")

    @property
    def convex(self) -> bool:
        return True

    def project_vectors(self, B: Array) -> Array:
        return shrink_to_ball(B, self.radius)

    def vector_condition(self, x: str) -> str:
        return rf"\|{x}\|_2 \le {latex_number(self.radius)}"


@SETS.register
class L1Ball(VectorSet):
    """‖x‖₁ ≤ r.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import L1Ball
    >>> L1Ball(2).project(np.array([[3.0], [-2.0], [0.5]])).ravel()
    array([ 1.5, -0.5,  0. ])
    """

    name: ClassVar[str] = "l1_ball"
    title: ClassVar[str] = "L1 ball"
    summary: ClassVar[str] = "the absolute values of a vector add up to at most so much"
    cost: ClassVar[str] = "O(N log d)"
    example: ClassVar[dict[str, Any]] = {"radius": 1.5}
    size: ClassVar[str] = "ball"
    ignores_zeros: ClassVar[bool] = True
    workspace: ClassVar[float] = 5

    radius: float = param("number", low=0, open_low=True, symbol="r", help="largest sum of absolute values")

    @property
    def convex(self) -> bool:
        return True

    def project_vectors(self, B: Array) -> Array:
        return l1_ball(B, self.radius)

    def vector_condition(self, x: str) -> str:
        return rf"\|{x}\|_1 \le {latex_number(self.radius)}"


@SETS.register
class Simplex(VectorSet):
    """x ≥ 0, 1ᵀx = total.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Simplex
    >>> Simplex().project(np.array([[0.75], [0.75], [-1.0]])).ravel()
    array([0.5, 0.5, 0. ])
    """

    name: ClassVar[str] = "simplex"
    title: ClassVar[str] = "Simplex"
    summary: ClassVar[str] = "nonnegative entries that add up to a fixed total"
    cost: ClassVar[str] = "O(N log d)"
    size: ClassVar[str] = "fixed"
    keeps_zero: ClassVar[bool] = False
    workspace: ClassVar[float] = 5

    total: float = param("number", 1.0, low=0, open_low=True, symbol="c", help="what each vector adds up to")

    @property
    def convex(self) -> bool:
        return True

    def project_vectors(self, B: Array) -> Array:
        return simplex(B, self.total)

    def vector_condition(self, x: str) -> str:
        return rf"{x} \ge 0,\; \mathbf{{1}}^T {x} = {latex_number(self.total)}"
