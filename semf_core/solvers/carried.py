"""Products with M that follow from those of the iteration before.

Multiplied by M, (8a) reads (YYᵀ + αI) XᵀM = Y MᵀM + α UᵀM − ΛᵀM, and (7e) takes ΛᵀM along. Where M has few columns,
so that MᵀM is small, UᵀM is all that is left to be formed: an iteration with both its residuals takes two products with
M instead of three. Where M has few rows, YMᵀ follows in the same way from MMᵀ, VMᵀ and ΠMᵀ by (8b) and (7f).
Rounding errors do not add up: one in ΛᵀM shrinks by I − γα (YYᵀ + αI)⁻¹ at every iteration.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from semf_core.mathematics.cholesky import inverse, shifted_factor
from semf_core.mathematics.matrix import SMALL, DataMatrix, DenseMatrix
from semf_core.solvers.base import Array, State
from semf_core.solvers.half_steps import WELL, Carrying, in_memory, settle, target

Side = Literal["left", "right"]
SHORT, PAID_BACK = 2, 32
"""M must be so many times longer than wide, and its short side at most so many times the rank: MᵀM is formed in the time
that it saves in about as many iterations."""
CLOSE = 1e-3
"""Below this ‖M−XY‖/‖M‖ all products are formed: an exact factorization needs every digit of them."""


def carried_side(M: DataMatrix, p: int) -> Side | None:
    """The products that are carried: "left" XᵀM, "right" YMᵀ, or none."""
    if not in_memory(M) or M.array.size <= SMALL:
        return None
    short, long = sorted(M.shape)
    if not (p <= short <= PAID_BACK * p and SHORT * short <= long):
        return None
    return "left" if M.shape[1] == short else "right"


def forget(state: State) -> None:
    """The factors have been changed otherwise than by an iteration."""
    for name in ("left", "left_multiplier", "right", "right_multiplier"):
        state.arrays.pop(name, None)


class Carried(Carrying):
    """The products of a factor above its projection with M, and those of its multiplier; they are part of the state.

    The latter are with M divided by a power of two near ‖M‖: otherwise they would leave the range of single precision
    long before anything else does.
    """

    def __init__(self, matrix: DenseMatrix, state: State, side: Side) -> None:
        arrays, others = state.arrays, f"{side}_multiplier"
        self._matrix, self._side = matrix, side
        self._unit = matrix.dtype.type(2.0 ** -math.frexp(matrix.norm)[1])
        if side not in arrays:
            pair, multiplier = (state.W, arrays["Lam"]) if side == "left" else (state.Z, arrays["Pi"])
            arrays[side], arrays[others] = self._formed(pair), self._formed(multiplier * self._unit)
        self._products, self._multiplier = arrays[side], arrays[others]
        self._far = state.numbers.get("residual_xy", np.inf) > CLOSE * matrix.norm

    def _formed(self, factor: Array) -> Array:
        return self._matrix.left(factor, factor, factor) if self._side == "left" else self._matrix.right(factor, factor)

    def follow(self, new: Array, other: Array, gram: Array, penalty: np.floating, gamma: float, same: bool) -> Array:
        products, multiplier, p = self._products, self._multiplier, len(other)
        scaled = penalty * self._unit
        if same:
            products[:p] = projected = self._formed(new[:p])
        elif self._far and gram.trace() <= WELL[gram.dtype.char] * penalty:
            solution, work = inverse(shifted_factor(gram, penalty)), np.empty_like(multiplier)
            target(work, products[p:], multiplier, scaled, 0)
            np.matmul(penalty * solution, work, out=products[:p])
            products[:p] += (solution @ other) @ self._matrix.gram(self._side == "left")
            projected = self._formed(new[p:])
        else:
            both = self._formed(new)
            products[:p], projected = both[:p], both[p:]
        settle(products, products, projected, multiplier, gamma * scaled, 0)
        return products
