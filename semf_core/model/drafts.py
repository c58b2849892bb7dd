"""A first version of a structure set for a factor of given shape, to be edited from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from semf_core.common.notation import equal_blocks
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.sets import StructureSet, combine

Shape = tuple[int, int]
Groups = Sequence[Sequence[int]]


def draft_set(cls: type[StructureSet], shape: Shape, known_groups: Groups | None = None) -> StructureSet:
    """The example of the class, enlarged to the shape where its parameters depend on it.

    The first candidate that fits is taken; if none does, the first that exists at all, so that there
    is something to correct.
    """
    possible: list[StructureSet] = []
    for values in _candidates(cls, shape, known_groups):
        try:
            candidate = cls.from_params(values)
        except InvalidInput:
            continue
        if misfit((candidate,), shape) is None:
            return candidate
        possible.append(candidate)
    return possible[0] if possible else cls.from_params(dict(cls.example))


def misfit(sets: Sequence[StructureSet], shape: Shape) -> InvalidInput | None:
    """Why no matrix of this shape can be in all the sets, or None."""
    try:
        combine(tuple(sets)).check_shape(shape)
    except InvalidInput as error:
        return error
    return None


def vector_length(s: StructureSet, shape: Shape) -> int:
    """Length of the vectors that a set binds; of the columns where it has no scope of its own."""
    try:
        return int(s.vector_shape(shape)[0])  # type: ignore[attr-defined]
    except (AttributeError, InvalidInput):
        return shape[1] if getattr(s, "axis", "column") == "row" else shape[0]


def _candidates(cls: type[StructureSet], shape: Shape, known: Groups | None) -> Iterator[dict[str, Any]]:
    example = dict(cls.example)
    shaped = [p for p in params_of(cls) if p.kind in {"groups", "matrix", "mask"} and (p.required or p.name in example)]
    if shaped:
        for length, choice in ((n, c) for n in (shape[0], shape[1]) for c in (known, None)):
            yield example | {p.name: _shaped_value(p, shape, length, choice, example) for p in shaped}
    elif "k" in example:  # nonzeros of a column: the example's two would wipe a picture out
        yield example | {"k": max(1, shape[0] // 4)}
    yield example
    for p in params_of(cls):
        if p.kind == "choice":
            yield from (example | {p.name: choice} for choice in p.choices)


def _shaped_value(p: Param, shape: Shape, length: int, known: Groups | None, example: dict[str, Any]) -> Any:
    if p.kind == "mask":
        return np.ones(shape)
    if p.kind == "matrix":
        return np.zeros((length, np.asarray(example.get(p.name, [[0]])).shape[1]))
    if known is not None:
        return known
    count = len(example.get(p.name, ())) or 4  # other parameters of the example may count the groups
    return equal_blocks(length, -(-length // count))
