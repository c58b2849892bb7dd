"""From data and constraints to a problem that a solver can run, checked before the first iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.datasets.base import as_labels
from semf_core.mathematics.matrix import DataMatrix, as_data_matrix
from semf_core.sets import StructureSet, combine, members_of
from semf_core.solvers.base import Array, Problem, Solver

MAX_RANK = 4096
"""The p×p systems are solved densely at every iteration."""


WORTHWHILE = 0.8
"""Zero rows and columns are left out if at most this fraction of M remains: the rest has to be copied."""


class ScaleAmbiguityWarning(UserWarning):
    """A bound on the size of one factor alone has no effect."""


def make_problem(
    M: Any,
    rank: int,
    X: Sequence[StructureSet] | StructureSet = (),
    Y: Sequence[StructureSet] | StructureSet = (),
    *,
    mask: Any = None,
    dtype: str | None = None,
    start: tuple[Any, Any] | None = None,
    labels: Any = None,
    solver: Solver | None = None,
) -> Problem:
    """The problem M ≈ UV, U ∈ 𝒳, V ∈ 𝒴, without the rows and columns that stay zero anyway.

    A solver with constraints of its own takes no sets; 𝒳 and 𝒴 are then what it enforces by itself.
    """
    matrix = M if isinstance(M, DataMatrix) else as_data_matrix(M, mask, dtype)
    m, n = matrix.shape
    rank = checked_rank(rank)
    x_set, y_set = combine(_as_sets("X", X)), combine(_as_sets("Y", Y))
    if solver is not None and not solver.takes_sets:
        _check_sets(solver, x_set, y_set)
        x_set, y_set = (combine(sets) for sets in solver.structure((m, n), rank))
    _check_shape("X", x_set, (m, rank))
    _check_shape("Y", y_set, (rank, n))
    given = tuple(
        _checked_factor(name, factor, shape)
        for name, factor, shape in zip(("X", "Y"), start or (None, None), ((m, rank), (rank, n)), strict=True)
    )
    problem = Problem(matrix, rank, x_set, y_set, (given[0], given[1]), shape=(m, n), labels=as_labels(labels, n))
    return _without_zeros(problem) if solver is None or solver.drops_zeros else problem


def checked_rank(rank: Any) -> int:
    if isinstance(rank, bool) or not isinstance(rank, int | np.integer):
        raise InvalidInput("rank", f"must be a whole number, not {rank!r}")
    if not 1 <= rank <= MAX_RANK:
        raise InvalidInput("rank", f"must be between 1 and {MAX_RANK}, not {rank}")
    return int(rank)


def scale_warning(x_set: StructureSet, y_set: StructureSet) -> str | None:
    """A sentence if a bound on one factor can be evaded by rescaling against the other."""
    for bounded, free, name, other in ((x_set, y_set, "X", "Y"), (y_set, x_set, "Y", "X")):
        if bounded.size == "ball" and free.size == "free":
            vectors = "columns" if name == "X" else "rows"
            return (
                f"the bound on the size of {name} has no effect while {other} is free: {name} can shrink and {other} grow "
                f"with the same product; fix the scale with unit norm on the {vectors} of {name} (UnitNorm)"
            )
    return None


def _as_sets(factor: str, sets: Any) -> tuple[StructureSet, ...]:
    if isinstance(sets, StructureSet):
        return (sets,)
    found = tuple(sets)
    for s in found:
        if not isinstance(s, StructureSet):
            raise InvalidInput(factor, f"takes structure sets such as Nonnegative(), not {s!r}")
    return found


def _check_shape(factor: str, s: StructureSet, shape: tuple[int, int]) -> None:
    try:
        s.check_shape(shape)
    except InvalidInput as error:
        raise error.about(f"{factor} {error.field}") from None


def _checked_factor(name: str, factor: Any, shape: tuple[int, int]) -> Array | None:
    if factor is None:
        return None
    array = np.asarray(factor, dtype=float)
    if array.shape != shape:
        raise InvalidInput("start", f"{name} must be {shape[0]}×{shape[1]}, not of shape {array.shape}", whole=True)
    if not np.isfinite(array).all():
        raise InvalidInput("start", f"{name} holds an entry that is not finite", whole=True)
    return array


def _check_sets(solver: Solver, *sets: StructureSet) -> None:
    for factor, given in zip("XY", sets, strict=True):
        if members_of(given):
            raise InvalidInput(
                factor, f"{solver.title} has constraints of its own and takes no sets", "remove them, or use SeMF", whole=True
            )


def _without_zeros(problem: Problem) -> Problem:
    """Leave out all-zero rows (columns) of M where the set on X (Y) keeps them at zero."""
    matrix, (m, n), p, (X0, Y0) = problem.matrix, problem.shape, problem.rank, problem.start
    rows, columns = matrix.live()
    restricted_x = problem.x_set.restricted(rows, 0, (m, p)) if 0 < len(rows) < m else None
    restricted_y = problem.y_set.restricted(columns, 1, (p, n)) if 0 < len(columns) < n else None
    if len(rows) * len(columns) > WORTHWHILE * m * n or (restricted_x is None and restricted_y is None):
        return problem
    kept_rows = rows if restricted_x is not None else None
    kept_columns = columns if restricted_y is not None else None
    return replace(
        problem,
        matrix=matrix.subset(
            np.arange(m) if kept_rows is None else kept_rows, np.arange(n) if kept_columns is None else kept_columns
        ),
        x_set=restricted_x or problem.x_set,
        y_set=restricted_y or problem.y_set,
        start=(
            X0 if X0 is None or kept_rows is None else X0[kept_rows],
            Y0 if Y0 is None or kept_columns is None else Y0[:, kept_columns],
        ),
        rows=kept_rows,
        columns=kept_columns,
        labels=problem.labels if kept_columns is None or problem.labels is None else problem.labels[kept_columns],
        sets=(problem.x_set, problem.y_set),
    )
