"""A set given by the user's own projection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.sets.base import SETS, Array, StructureSet, as_matrix
from semf_core.sets.kernels import clip_nonnegative


@SETS.register
class Custom(StructureSet):
    """Whatever `function` projects onto: it takes a matrix and returns a near member of the same shape.

    What is claimed of it (`exact`, `convex`, `multiples`) is the word of whoever wrote it. It is a piece of
    Python, so it has no JSON form and is never made from a file, a link or the command line.

    Examples
    --------
    >>> import numpy as np
    >>> from semf_core.sets import Custom
    >>> even = Custom(lambda A: 2 * np.round(A / 2), label="even numbers", exact=True)
    >>> even.project(np.array([[1.2, 3.1], [0.4, 5.7]]))
    array([[2., 4.],
           [0., 6.]])
    """

    name: ClassVar[str] = "custom"
    title: ClassVar[str] = "Your own projection"
    summary: ClassVar[str] = "a Python function that takes a matrix to a near member of the set"
    cost: ClassVar[str] = "that of the function"
    storable: ClassVar[bool] = False
    example: ClassVar[dict[str, Any]] = {"function": clip_nonnegative, "label": "clip_1", "exact": True, "convex": True}

    function: Callable[[Array], Array] = param("function", help="takes a matrix, returns a near member of the same shape")
    label: str = param("text", "custom", help="what to call the set")
    exact: bool = param("boolean", False, help="the function returns a nearest member")
    convex: bool = param("boolean", False, help="the set is convex")
    multiples: str = param(
        "choice", "fixed", choices=("free", "ball", "fixed"), help="all, only the smaller or no multiples of a member are members"
    )
    measure: Callable[[Array], float] | None = param(
        "function", None, optional=True, help="how far a matrix is from the set; empty: its distance to what the function returns"
    )

    @property
    def size(self) -> str:  # type: ignore[override]
        return self.multiples

    @property
    def reason(self) -> str:
        return f"{self.label}: {'nearest by its author’s word' if self.exact else 'not said to be nearest'}"

    def project(self, A: Array) -> Array:
        A = as_matrix(A)
        found = np.asarray(self.function(A.copy()))
        if found.shape != A.shape:
            raise InvalidInput(
                "function", f"{self.label} returned the shape {found.shape} for a matrix of shape {A.shape}", whole=True
            )
        if found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            raise InvalidInput("function", f"{self.label} returned entries that are not finite real numbers", whole=True)
        return np.array(found, dtype=A.dtype)

    def violation(self, A: Array) -> float:
        if self.measure is None:
            return super().violation(A)
        found = self.measure(as_matrix(A).copy())
        if not isinstance(found, int | float | np.integer | np.floating) or not 0 <= found < np.inf:
            raise InvalidInput(
                "measure", f"{self.label} gave {found!r}", "it must give a finite number that is not negative", whole=True
            )
        return float(found)

    def to_dict(self) -> dict[str, Any]:
        raise InvalidInput(
            "custom", f"{self.label} holds a Python function and cannot be stored", "use one of the named sets", whole=True
        )

    def condition(self, symbol: str) -> str:
        return rf"{symbol} \in \text{{{_escaped(self.label)}}}"


def _escaped(text: str) -> str:
    """Text with the characters that mean something to LaTeX escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, f"\\{c}" if c in "{}$&#_%" else c) for c in text)
