"""The half steps of Algorithm 1, which X and Y share, and what Y and the diagnostics need of X and U.

Wherever the rows of M are, in this process or in blocks on the workers of a cluster, X and U are advanced
by the functions here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol, TypeGuard

import numpy as np

from semf_core.mathematics.cholesky import inverse, shifted_factor, solve_factored
from semf_core.mathematics.compiled import loops
from semf_core.mathematics.matrix import DataMatrix, DenseMatrix, SparseFit
from semf_core.sets import Nonnegative, Sparse, StructureSet, members_of

Array = np.ndarray
Left = Literal["both", "different", "first", "none"]
PART_ENTRIES = 1 << 16
"""Entries of Y that are advanced at a time: the arrays of such a part stay in cache from the solve to the multiplier."""
FEW, MOST = 8, 16
"""‖M−UV‖ is found from the nonzeros of V where they are fewer than one in so many; and so many of them in a column at most
are selected by the pass that updates Π."""
WELL = {"f": 1e3, "d": 1e4}
"""Up to this condition, in each precision, equations with many right-hand sides are solved by their inverse: the product
with it takes a third of the time of two triangular solves, and loses no digits that matter to an iteration."""
MANY = 2
"""Many: so many for each unknown."""


class Sent(NamedTuple):
    """What an update of X and U needs beside the rows: Y, YYᵀ, the penalty α and the step length γ.

    `steps` is the number of conjugate gradient steps that (7a) takes; 0 solves (8a).
    """

    Y: Array
    YYt: Array
    alpha: np.floating
    gamma: float
    steps: int = 0


class Rows(NamedTuple):
    """Some rows of M with their part of the iterates: X above U, transposed, before and after; Λ; working memory."""

    matrix: DataMatrix
    old: Array
    new: Array
    Lam: Array
    spare: Array


class RowSums(NamedTuple):
    """All that leaves the rows: sums over them, of the size of Y or smaller."""

    left: Array | None
    """XᵀM above UᵀM, or XᵀM alone where U = X or no more is wanted; None if nothing is."""
    XtX: Array
    UtU: Array
    gap: float
    """‖X−U‖²."""
    moved: float
    size: float
    """‖X₊−X‖² and ‖X‖²."""

    @staticmethod
    def total(parts: Iterable[RowSums]) -> RowSums:
        """The sums over all rows from those over parts of them."""
        return RowSums(*(sum(terms[1:], start=terms[0]) for terms in zip(*parts, strict=True)))


def free_rows(rows: Rows, sent: Sent, YMt: Array | None = None) -> None:
    """X by (8a) into the new rows, and X + Λ/α, which (7c) projects, into the working memory; YMᵀ where it is known already."""
    p, M = len(sent.Y), rows.matrix
    system: System
    if not sent.steps and in_memory(M) and M.shape[1] < min(p, M.shape[0]):
        system = SmallSystem(M.array.T, sent.Y, sent.alpha)
    else:
        right = M.right(sent.Y, rows.old[:p]) if YMt is None else YMt
        system = equations(right, sent.YYt, sent.alpha, rows.old, sent.steps)
    system.find(rows.new, rows.old[p:], rows.Lam, rows.spare, 0)


class Carrying(Protocol):
    """What has the products of a factor above its projection with M."""

    def follow(self, new: Array, other: Array, gram: Array, penalty: np.floating, gamma: float, same: bool) -> Array:
        """The products after an iteration that led to `new`; `same`: both halves of it are the same.

        The equations (8) of the factor had the other factor, its Gram matrix and the penalty in them.
        """


def settle_rows(rows: Rows, sent: Sent, projected: Array, left: Left = "both", carried: Carrying | None = None) -> RowSums:
    """U by (7c) from what was projected, Λ by (7e), and the sums; the working memory is free afterwards.

    `left` says which products with M are wanted: "both", "different" ones (UᵀM only where U ≠ X), the "first" alone, or
    "none". What is carried need not be formed.
    """
    p, M = len(sent.Y), rows.matrix
    gap, moved = settle(rows.new, rows.old, projected, rows.Lam, sent.gamma * sent.alpha, 0)
    Xt, Ut = rows.new[:p], rows.new[p:]
    same = left in ("different", "first") and gap == 0 and np.array_equal(Xt, Ut)  # a factor without constraints
    products: Array | None = None
    if carried is not None:
        products = carried.follow(rows.new, sent.Y, sent.YYt, sent.alpha, sent.gamma, same)
    elif left != "none":
        products = M.left(Xt if same or left == "first" else rows.new, Xt, sent.Y)
    XtX = Xt @ Xt.T
    return RowSums(products, XtX, XtX if same else Ut @ Ut.T, gap, moved, _square(rows.old[:p]))


class Columns(NamedTuple):
    """M, X above U, Y above V before and after, Π, working memory of the size of Y, and the set on V."""

    matrix: DataMatrix
    W: Array
    old: Array
    new: Array
    Pi: Array
    spare: Array
    y_set: StructureSet


class ColumnSums(NamedTuple):
    """What is known once V is: YYᵀ, ‖Y−V‖², ‖Y₊−Y‖² and ‖Y‖², both residuals, and Y Mᵀ where it came with them."""

    YYt: Array
    gap: float
    moved: float
    size: float
    residual_xy: float
    residual_uv: float
    YMt: Array | None = None


def advance_columns(
    columns: Columns, rows: RowSums, beta: np.floating, gamma: float, steps: int = 0, carried: Carrying | None = None
) -> ColumnSums:
    """Y by (8b), or by steps of (7b), V by (7d) and Π by (7f), and what the iteration has come to."""
    M, W, p, left = columns.matrix, columns.W, len(columns.Pi), rows.left
    Xt, Ut, Y, V = W[:p], W[p:], columns.new[:p], columns.new[p:]
    if left is not None:
        gap, moved = _advance_parts(columns, equations(left[:p], rows.XtX, beta, columns.old, steps), gamma)
        YYt, YMt, along = Y @ Y.T, None, float(np.vdot(left[-p:], V))
        if carried is not None:
            right = carried.follow(columns.new, Xt, rows.XtX, beta, gamma, gap == 0 and np.array_equal(Y, V))
            YMt, along = right[:p], float(np.vdot(right[p:], Ut))
        xy = M.residual_from(Xt, Y, left[:p], rows.XtX, YYt)
        uv = M.residual_along(Ut, V, along, rows.UtU, V @ V.T)
    else:
        assert in_memory(M)
        few = columns.y_set.nonzeros(p)
        fit = SparseFit(M, Ut, few) if FEW * few <= p else None
        gap, moved = _advance_parts(columns, SmallSystem(M.array, Xt, beta), gamma, fit)
        YYt, YMt = Y @ Y.T, M.right(Y, Xt)
        xy = M.residual_along(Xt, Y, float(np.vdot(YMt, Xt)), rows.XtX, YYt)
        uv = fit.residual() if fit else M.residual_from(Ut, V, M.left(Ut, Xt, Y), rows.UtU, V @ V.T)
    return ColumnSums(YYt, gap, moved, _square(columns.old[:p]), xy, uv, YMt)


def _advance_parts(columns: Columns, system: System, gamma: float, fit: SparseFit | None = None) -> tuple[float, float]:
    """Y, V and Π part by part, where every column of V is projected by itself; ‖Y−V‖² and ‖Y₊−Y‖²."""
    p, n = columns.Pi.shape
    gap = moved = 0.0
    largest = _largest_kept(columns.y_set) if fit is not None else None
    for part in _parts(p, n) if columns.y_set.columnwise else [slice(0, n)]:
        spare = columns.spare.reshape(-1)[: p * (part.stop - part.start)].reshape(p, -1)
        if largest and isinstance(system, SmallSystem) and (compiled := loops(spare.size)):
            system.correct(columns.old[p:], columns.Pi, spare, part.start)
            scales, sums = np.array((1 / system.penalty, gamma * system.penalty), spare.dtype), np.empty((2, spare.shape[1]))
            compiled.settle_largest(columns.new, columns.old, spare, columns.Pi, scales, *largest, part.start, sums)
            found = np.add.reduce(sums, axis=1).tolist()
        else:
            system.find(columns.new, columns.old[p:], columns.Pi, spare, part.start)
            projected = columns.y_set.project(spare)
            found = settle(columns.new, columns.old, projected, columns.Pi, gamma * system.penalty, part.start)
        gap, moved = gap + found[0], moved + found[1]
        if fit is not None:
            fit.add(columns.new[p:], part)
    return gap, moved


def _largest_kept(y_set: StructureSet) -> tuple[int, bool] | None:
    """Where V has the k largest entries of each column, or the k largest positive ones: k, and whether it is the latter."""
    members = members_of(y_set)
    others = [s for s in members if not (isinstance(s, Nonnegative) and s.binds_all_entries)]
    match others:
        case [Sparse(k=k, axis="column") as s] if type(s) is Sparse and s.binds_all_entries and k <= MOST and y_set.exact:
            return k, len(others) < len(members)
    return None


@lru_cache(maxsize=64)
def _parts(p: int, n: int) -> list[slice]:
    """Parts of nearly equal width with about PART_ENTRIES entries each."""
    count = max(1, round(p * n / PART_ENTRIES))
    edges = [n * i // count for i in range(count + 1)]
    return list(map(slice, edges[:-1], edges[1:]))


def in_memory(M: DataMatrix) -> TypeGuard[DenseMatrix]:
    """M is a dense array in the working precision."""
    return isinstance(M, DenseMatrix) and not M.mapped


def has_small_columns(M: DataMatrix, p: int) -> TypeGuard[DenseMatrix]:
    """The columns of Y are longer than those of M: they are found from m×m systems."""
    return in_memory(M) and M.shape[0] < p and M.shape[0] <= M.shape[1]


class System(Protocol):
    """The equations (8) of a factor F (p×N), N long."""

    penalty: np.floating

    def find(self, new: Array, projected: Array, multiplier: Array, work: Array, first: int) -> None:
        """F into the upper half of `new`, F + multiplier/penalty into `work`; both from column `first` on, as wide as `work`."""


class NormalEquations:
    """(gram + penalty·I) F = product + penalty·projected − multiplier, by Cholesky or, where that is safe, by the inverse."""

    def __init__(self, product: Array, gram: Array, penalty: np.floating) -> None:
        self.product, self.penalty = product, penalty
        self._factor = shifted_factor(gram, penalty)
        many = product.shape[1] >= MANY * len(gram)
        self._inverse = inverse(self._factor) if many and gram.trace() <= WELL[gram.dtype.char] * penalty else None

    def find(self, new: Array, projected: Array, multiplier: Array, work: Array, first: int) -> None:
        if self._inverse is None:
            free(work, self.product, projected, multiplier, self.penalty, first)
            solve_factored(self._factor, work)
        else:
            whole = work.shape == self.product.shape
            sides = new[: len(work)] if whole else np.empty_like(work)  # what is to become F has room for them
            free(sides, self.product, projected, multiplier, self.penalty, first)
            np.matmul(self._inverse, sides, out=work)
        place(new, work, work[:0], multiplier, self.penalty, first)


class ConjugateGradients:
    """The same equations, not solved but improved by some steps from the factor before: one step is that of steepest descent.

    Every column has its own step lengths, so that a part of the columns comes out as in the whole.
    """

    def __init__(self, product: Array, gram: Array, penalty: np.floating, old: Array, steps: int) -> None:
        self.product, self.penalty, self.steps = product, penalty, steps
        self._old, self._gram = old[: len(gram)], gram.copy()
        self._gram.flat[:: len(gram) + 1] += penalty

    def find(self, new: Array, projected: Array, multiplier: Array, work: Array, first: int) -> None:
        F = self._old[:, first : first + work.shape[1]].copy()
        free(work, self.product, projected, multiplier, self.penalty, first)
        rest = work - self._gram @ F
        direction, squares = rest.copy(), _column_squares(rest)
        for _ in range(self.steps):
            image = self._gram @ direction
            along = np.einsum("ij,ij->j", direction, image)
            length = np.divide(squares, along, out=np.zeros_like(squares), where=along > 0)
            F += length * direction
            rest -= length * image
            before, squares = squares, _column_squares(rest)
            direction *= np.divide(squares, before, out=np.zeros_like(squares), where=before > 0)
            direction += rest
        work[:] = F
        place(new, work, work[:0], multiplier, self.penalty, first)


def equations(product: Array, gram: Array, penalty: np.floating, old: Array, steps: int) -> System:
    """(8) to be solved, or (7a) and (7b) to be improved from the factor in the upper half of `old`."""
    return ConjugateGradients(product, gram, penalty, old, steps) if steps else NormalEquations(product, gram, penalty)


class SmallSystem:
    """The same by d×d systems, for CᵀF ≈ A with d < p: F = T + G (A − CᵀT).

    T = projected − multiplier/penalty and G = C (CᵀC + penalty·I)⁻¹ (Woodbury); no product CA is needed.
    """

    def __init__(self, A: Array, C: Array, penalty: np.floating) -> None:
        self.penalty = penalty
        self._A, self._Ct = A, np.ascontiguousarray(C.T)
        gain = self._Ct.copy()
        solve_factored(shifted_factor(self._Ct @ C, penalty), gain)
        self._gain = gain.T

    def find(self, new: Array, projected: Array, multiplier: Array, work: Array, first: int) -> None:
        T = self.correct(projected, multiplier, work, first)
        place(new, work, T, multiplier, self.penalty, first)

    def correct(self, projected: Array, multiplier: Array, work: Array, first: int) -> Array:
        """G (A − CᵀT) into `work`; T."""
        T = np.empty_like(work)
        target(T, projected, multiplier, self.penalty, first)
        rest = self._Ct @ T
        np.subtract(self._A[:, first : first + work.shape[1]], rest, out=rest)
        np.matmul(self._gain, rest, out=work)
        return T


# ---------------------------------------------------------------------------------------------
# Single passes over a factor, compiled or by NumPy. `first` is the column at which a part of it begins.


def free(out: Array, product: Array, projected: Array, multiplier: Array, penalty: np.floating, first: int = 0) -> None:
    """out ← product + penalty·projected − multiplier, the right-hand side of (8)."""
    compiled = loops(out.size)
    if compiled:
        compiled.free(out, product, projected, multiplier, penalty, first)
        return
    part = slice(first, first + out.shape[1])
    np.multiply(projected[:, part], penalty, out=out)
    out += product[:, part]
    out -= multiplier[:, part]


def target(out: Array, projected: Array, multiplier: Array, penalty: np.floating, first: int) -> None:
    """out ← projected − multiplier/penalty, to which (8) would draw a factor if M were not there."""
    compiled, inverse = loops(out.size), 1 / penalty
    if compiled:
        compiled.target(out, projected, multiplier, inverse, first)
        return
    part = slice(first, first + out.shape[1])
    np.multiply(multiplier[:, part], inverse, out=out)
    np.subtract(projected[:, part], out, out=out)


def place(new: Array, work: Array, addend: Array, multiplier: Array, penalty: np.floating, first: int) -> None:
    """The factor ← work (+ addend, if there is one); work ← the factor + multiplier/penalty, which (7c) and (7d) project."""
    compiled, inverse = loops(work.size), 1 / penalty
    if compiled:
        compiled.place(new, work, addend, multiplier, inverse, first)
        return
    part = slice(first, first + work.shape[1])
    if len(addend):
        work += addend
    new[: len(work), part] = work
    work += multiplier[:, part] * inverse


def settle(
    new: Array, old: Array, projected: Array, multiplier: Array, step: float | np.floating, first: int
) -> tuple[float, float]:
    """The lower half of new ← projected, multiplier += step·(upper half − projected), (7e) and (7f).

    Returns ‖upper half − projected‖² and ‖upper half of new − that of old‖² over these columns.
    """
    p, width = projected.shape
    part, step = slice(first, first + width), new.dtype.type(step)
    compiled = loops(projected.size)
    sums = np.empty((2, width))
    if compiled:
        compiled.settle(new, old, np.ascontiguousarray(projected), multiplier, step, first, sums)
    else:
        found = new[:p, part]
        new[p:, part] = projected
        gap = found - projected
        for out, difference in zip(sums, (gap, found - old[:p, part]), strict=True):
            np.add.reduce(np.square(difference, dtype=np.float64), axis=0, out=out)
        gap *= step
        multiplier[:, part] += gap
    gap_square, moved_square = np.add.reduce(sums, axis=1).tolist()
    return gap_square, moved_square


# ---------------------------------------------------------------------------------------------


def moved(new: Array, old: Array, spare: Array) -> tuple[float, float]:
    """‖new − old‖² and ‖old‖²."""
    return _square(np.subtract(new, old, out=spare)), _square(old)


def relative_change(moved: float, size: float) -> float:
    """‖new − old‖/‖old‖ from the squares."""
    return math.sqrt(moved / size) if size > 0 else math.inf


def _column_squares(A: Array) -> Array:
    return np.einsum("ij,ij->j", A, A)


def _square(A: Array) -> float:
    return float(np.vdot(A, A))
