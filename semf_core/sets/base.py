"""What a structure set is: something that can be projected onto, checked, typeset and stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from semf_core.common.parameters import InvalidInput, Parametrized, param
from semf_core.common.registry import Registry

Array = np.ndarray
Shape = tuple[int, int]


class StructureSet(Parametrized):
    r"""A set of matrices with a projection. Subclasses define `project` and `condition`, and say whether they are `convex`.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import SETS, Sparse
    >>> two = Sparse(2)
    >>> A = np.array([[3.0], [-4.0], [1.0]])
    >>> two.project(A).ravel(), two.violation(A), two.exact, two.convex
    (array([ 3., -4.,  0.]), 1.0, True, False)
    >>> two.condition("X")
    '\\|X_{j}\\|_0 \\le 2\\;\\forall j'
    >>> SETS.parse("sparse:k=2,columns=0-3") == Sparse(2, columns=[0, 1, 2, 3])
    True
    """

    title: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    cost: ClassVar[str] = ""
    """Order of the work of a projection: N entries in vectors of length d."""
    example: ClassVar[dict[str, Any]] = {}
    """Parameters that make sense for a 6×4 matrix: generic tests and listings use them."""
    size: ClassVar[str] = "free"
    """"free" if every positive multiple of a member is one, "ball" if only the smaller ones, else "fixed"."""
    polish_sign: ClassVar[str | None] = None
    """What remains of the set once the support is fixed: "free" or "nonnegative" entries, None if more."""
    binds_support: ClassVar[bool] = True
    """Whether zero entries of a member may have to stay zero."""
    workspace: ClassVar[float] = 2
    """Arrays of the size of the matrix that a projection makes on its way (measured, like the buffers of a solver)."""

    @property
    def convex(self) -> bool:
        return False

    @property
    def exact(self) -> bool:
        """True only if `project` provably returns a nearest point."""
        return True

    @property
    def reason(self) -> str:
        """Why the projection is exact or approximate, in a sentence."""
        return "closed form"

    @property
    def columnwise(self) -> bool:
        """Every column of a matrix is projected by itself, and all of them alike."""
        return False

    def nonzeros(self, length: int) -> int:
        """At most so many nonzeros are in a column of this length."""
        return length

    def project(self, A: Array) -> Array:
        """A nearest (or, if not `exact`, near) member.

        Parameters
        ----------
        A : array
            Any matrix; it is left alone.

        Returns
        -------
        array
            A new array of the same shape and precision.
        """
        raise NotImplementedError

    def violation(self, A: Array) -> float:
        """Distance from a matrix to its projection.

        Parameters
        ----------
        A : array
            Any matrix.

        Returns
        -------
        float
            Frobenius norm of the difference, in the units of A; 0 for a member.
        """
        A = as_matrix(A)
        return frobenius(A - self.project(A))

    def condition(self, symbol: str) -> str:
        """LaTeX of what a member of the set satisfies."""
        raise NotImplementedError

    def latex(self, symbol: str = "X") -> str:
        return rf"\left\{{ {symbol} : {self.condition(symbol)} \right\}}"

    def check_shape(self, shape: Shape) -> None:
        """Raise InvalidInput if no matrix of this shape can be a member, or the scope is outside it."""

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        """The same set on the rows (axis 0) or columns (axis 1) that `keep` numbers, the others being zero.

        None where leaving out all-zero rows or columns would change the projection of the rest or
        where the projection could make them nonzero.
        """
        return None

    def looser(self, shape: Shape, share: float) -> StructureSet:
        """A set that holds this one, for searching through factors that are not members; the same where none is known.

        `share`, from 0 to 1, says how much looser: what is counted may be more by this share.
        """
        return self

    def __and__(self, other: StructureSet) -> StructureSet:
        return _INTERSECTIONS[0]((self, other))


SETS: Registry[StructureSet] = Registry("set")


_INTERSECTIONS: list[Callable[[tuple[StructureSet, ...]], StructureSet]] = []


def enter_intersection(make: Callable[[tuple[StructureSet, ...]], StructureSet]) -> None:
    """Say what A & B makes: the class for it needs all the sets, and they need this module."""
    _INTERSECTIONS[:] = [make]


@dataclass(frozen=True)
class Scope:
    """Which vectors of a matrix, and which of their entries, are bound."""

    axis: str = "column"
    columns: Sequence[int] | None = None
    entries: Sequence[int] | None = None
    inverted: bool = False
    """The vectors bound are those that `columns` does not name."""

    @property
    def whole(self) -> bool:
        """Every column, or every row, from end to end."""
        return self.axis != "all" and self.columns is None and self.entries is None

    def take(self, A: Array) -> Array:
        """The bound vectors, as columns."""
        B = A.T if self.axis == "row" else A
        if self.columns is not None:
            B = B[:, self._chosen(B.shape[1])]
        if self.axis == "all":
            B = B.reshape(-1, 1)
        return B if self.entries is None else B[list(self.entries)]

    def write(self, out: Array, part: Array) -> None:
        """Put vectors back where `take` found them; `out` is changed."""
        B = out.T if self.axis == "row" else out
        chosen: Any = slice(None) if self.columns is None else self._chosen(B.shape[1])
        if self.axis == "all":
            block = B[:, chosen]
            vector = block.reshape(-1, 1).copy()
            vector[slice(None) if self.entries is None else list(self.entries)] = part
            B[:, chosen] = vector.reshape(block.shape)
        elif self.entries is None:
            B[:, chosen] = part
        elif self.columns is None:
            B[list(self.entries)] = part
        else:
            B[np.ix_(self.entries, chosen)] = part

    def apply(self, A: Array, kernel: Callable[[Array], Array]) -> Array:
        """A new matrix: A with its bound vectors replaced by what the kernel makes of them."""
        if self.whole:
            return kernel(A.T).T if self.axis == "row" else kernel(A)
        out = A.copy()
        self.write(out, kernel(self.take(A)))
        return out

    def _chosen(self, count: int) -> list[int] | Array:
        named = list(self.columns or ())
        return np.setdiff1d(np.arange(count), named) if self.inverted else named


class VectorSet(StructureSet, kw_only=True):
    """A set that constrains each column, each row, or the whole matrix as one vector: its scope.

    Subclasses define `project_vectors`, which gets the bound vectors as columns, and `vector_condition`.

    Parameters
    ----------
    axis : {'column', 'row', 'all'}
        Whether each column is bound, each row, or all entries at once.
    columns : sequence of int, optional
        Which columns (or rows) are bound, from 0; by default all.
    entries : sequence of int, optional
        Which entries of each of these vectors are bound, from 0; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Sparse
    >>> A = np.array([[3.0, 1.0], [2.0, 4.0]])
    >>> Sparse(1, axis="row").project(A)
    array([[3., 0.],
           [0., 4.]])
    >>> Sparse(1, columns=[0]).project(A)
    array([[3., 1.],
           [0., 4.]])
    """

    keeps_zero: ClassVar[bool] = True
    """The zero vector projects to zero, so all-zero vectors may be left out of a computation."""
    ignores_zeros: ClassVar[bool] = False
    """Any entries of a member may be set to zero, and zero entries do not change what becomes of the
    others; so zero entries stay zero and may be left out."""

    axis: str = param(
        "choice", "column", choices=("column", "row", "all"), help="binds each column, each row, or all entries at once"
    )
    columns: Sequence[int] | None = param(
        "indices", None, optional=True, help="which columns (rows, if it binds rows) it binds; empty binds all"
    )
    entries: Sequence[int] | None = param(
        "indices", None, optional=True, help="which entries of each of these vectors it binds; empty binds all"
    )

    @cached_property
    def scope(self) -> Scope:
        return Scope(self.axis, self.columns, self.entries)

    @property
    def binds_all_entries(self) -> bool:
        """No entry of the matrix is left free."""
        return self.columns is None and self.entries is None

    @property
    def columnwise(self) -> bool:
        return self.axis == "column" and self.columns is None

    def nonzeros(self, length: int) -> int:
        return self.vector_nonzeros(length) if self.axis == "column" and self.binds_all_entries else length

    def vector_nonzeros(self, length: int) -> int:
        """At most so many nonzeros are in a bound vector of this length."""
        return length

    def project_vectors(self, B: Array) -> Array:
        """The projection of every column of B, as a new array."""
        raise NotImplementedError

    def check_length(self, length: int) -> None:
        """Raise InvalidInput if no vector of this length can be a member."""

    def vector_condition(self, x: str) -> str:
        """LaTeX of what one vector x satisfies."""
        raise NotImplementedError

    def project(self, A: Array) -> Array:
        return self.scope.apply(as_matrix(A), self.project_vectors)

    def vector_shape(self, shape: Shape) -> Shape:
        """Length and number of the bound vectors in a matrix of this shape, after checking the scope."""
        length, count = shape[::-1] if self.axis == "row" else shape
        what = "row" if self.axis == "row" else "column"
        if self.columns is not None:
            check_indices("columns", self.columns, count, what)
            count = len(self.columns)
        if self.axis == "all":
            length, count = length * count, 1
        if self.entries is not None:
            check_indices("entries", self.entries, length, "entry")
            length = len(self.entries)
        return length, count

    def check_shape(self, shape: Shape) -> None:
        self.check_length(self.vector_shape(shape)[0])

    def restricted(self, keep: Array, axis: int, shape: Shape) -> StructureSet | None:
        drops_vectors = axis == (0 if self.axis == "row" else 1)
        if self.axis == "all":
            if not self.ignores_zeros or self.entries is not None:
                return None
            return self.renumbered("columns", keep) if drops_vectors else self
        if drops_vectors:
            return self.renumbered("columns", keep) if self.keeps_zero else None
        return self.renumbered("entries", keep) if self.ignores_zeros else None

    def renumbered(self, field: str, keep: Array) -> Self | None:
        """The same scope counted among the kept indices; None if nothing of it is left."""
        indices = getattr(self, field)
        if indices is None:
            return self
        left = renumber(indices, keep)
        change: dict[str, Any] = {field: left}
        return dataclasses.replace(self, **change) if left else None

    def condition(self, symbol: str) -> str:
        x, over = scope_symbols(symbol, self)
        return self.vector_condition(x) + over


def renumber(indices: Iterable[int], keep: Array) -> tuple[int, ...]:
    """Where the indices stand among those that are kept; the others are left out."""
    position = {int(old): new for new, old in enumerate(keep)}
    return tuple(position[i] for i in indices if i in position)


def scope_symbols(symbol: str, s: VectorSet) -> tuple[str, str]:
    """LaTeX for one bound vector and for the range it runs over."""
    if s.axis == "all":
        base, over = symbol if s.columns is None else f"{symbol}_{{:,{latex_indices(s.columns)}}}", ""
    else:
        index = "j" if s.axis == "column" else "i"
        base = f"{symbol}_{{{index}}}" if s.axis == "column" else f"{symbol}_{{{index},:}}"
        over = rf"\;\forall {index}" if s.columns is None else rf",\; {index}\in\{{{latex_indices(s.columns)}\}}"
    if s.entries is not None:
        base = rf"({base})_{{{latex_indices(s.entries)}}}"
    return base, over


def latex_indices(indices: Sequence[int]) -> str:
    """Indices as the papers count them, from one: 1,\\dots,16."""
    runs: list[list[int]] = []
    for i in sorted(indices):
        if runs and i == runs[-1][1] + 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    words = []
    for first, last in runs:
        middle = "" if last == first else ("," if last == first + 1 else r",\dots,")
        words.append(f"{first + 1}" + (f"{middle}{last + 1}" if last > first else ""))
    return ",".join(words)


def latex_number(value: float) -> str:
    r"""A number in at most six digits: 0.25, 1.5\cdot 10^{-5}."""
    digits, _, exponent = f"{value:g}".partition("e")
    return rf"{digits}\cdot 10^{{{int(exponent)}}}" if exponent else digits


def check_indices(field: str, indices: Iterable[int], limit: int, what: str) -> None:
    worst = max(indices)
    if worst >= limit:
        raise InvalidInput(field, f"names {what} {{worst}}, but there are only {limit} (counted from {{origin}})", worst=worst)


def as_matrix(A: Any) -> Array:
    """A as a two-dimensional floating-point array, without a copy where it is one already."""
    array = np.asarray(A)
    if array.ndim != 2:
        raise InvalidInput("A", f"a structure set takes a matrix, not an array of shape {array.shape}", whole=True)
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind not in "biuf":
        raise InvalidInput("A", f"a structure set takes a matrix of real numbers, not of {array.dtype}", whole=True)
    return array.astype(np.float64)


def frobenius(D: Array) -> float:
    """‖D‖_F in double precision, also where its square leaves the range of floating point."""
    largest = float(np.abs(D).max(initial=0))
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.linalg.norm((D / largest).ravel().astype(np.float64, copy=False)))
