"""Many runs of one model: which components come back, and which different solutions fit equally well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from semf_core.mathematics import metrics
from semf_core.studies.store import StudyStore
from semf_core.studies.views import near_best

Array = np.ndarray
ARRAYS = ("errors", "columns", "cosines", "stability")
SAME = 0.95
"""Runs whose components match with this mean cosine are the same solution."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Runs that found the same components up to their order and sign."""

    members: tuple[int, ...]
    """Positions in the list of runs, best error first."""
    error: float
    """The smallest error among them."""
    similar: bool
    """Its error is near the best one."""
    agreement: float
    """Mean cosine of its components with those of the best run."""

    @property
    def representative(self) -> int:
        return self.members[0]


@dataclass(frozen=True, eq=False)
class Atlas:
    """Runs of one model compared component by component with the best of them."""

    runs: tuple[int, ...]
    """Cell numbers, in the order of everything below."""
    errors: Array
    reference: int
    """Position of the run with the smallest error."""
    columns: Array
    """columns[r, j]: the component of run r that is matched to component j of the reference."""
    cosines: Array
    """|cosine| of those pairs."""
    stability: Array
    """For each component of the reference the mean |cosine| over the other runs that fit equally well."""
    solutions: tuple[Solution, ...]
    """Best error first."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON types, to be sent to another process."""
        arrays = {name: getattr(self, name).tolist() for name in ARRAYS}
        return {"runs": self.runs, "reference": self.reference, "solutions": [asdict(s) for s in self.solutions], **arrays}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Atlas:
        """What `to_dict` has made."""
        solutions = tuple(Solution(**{**s, "members": tuple(s["members"])}) for s in form["solutions"])
        arrays = {name: np.array(form[name]) for name in ARRAYS}
        return cls(runs=tuple(form["runs"]), reference=form["reference"], solutions=solutions, **arrays)


def make_atlas(factors: Sequence[Array], errors: Array, runs: Sequence[int] | None = None) -> Atlas:
    """The atlas of the components (columns of U) of several runs with their errors."""
    errors = np.asarray(errors, dtype=float)
    reference = int(np.argmin(errors))
    matchings = [metrics.match_parts(U, factors[reference]) for U in factors]
    columns = np.array([m.columns for m in matchings])
    cosines = np.abs(np.array([m.cosines for m in matchings]))
    near = near_best(errors)
    others = near.copy()
    others[reference] = False
    rank = cosines.shape[1]
    stability = cosines[others].mean(axis=0) if others.any() else np.full(rank, np.nan)
    solutions = _solutions(factors, errors, near, cosines)
    return Atlas(tuple(runs or range(len(factors))), errors, reference, columns, cosines, stability, solutions)


def _solutions(factors: Sequence[Array], errors: Array, near: Array, cosines: Array) -> tuple[Solution, ...]:
    """Average-linkage clusters of the runs at a distance of 1 − agreement."""
    count = len(factors)
    labels = np.ones(count, dtype=int)
    if count > 1:
        distances = np.zeros((count, count))
        for i in range(count):
            for j in range(i):
                distances[i, j] = distances[j, i] = max(0.0, 1 - metrics.agreement(factors[i], factors[j]))
        labels = fcluster(linkage(squareform(distances), "average"), 1 - SAME, "distance")
    found = []
    for label in np.unique(labels):
        members = sorted(np.flatnonzero(labels == label), key=lambda i: errors[i])
        best = members[0]
        solution = Solution(tuple(map(int, members)), float(errors[best]), bool(near[best]), float(cosines[best].mean()))
        found.append(solution)
    return tuple(sorted(found, key=lambda s: s.error))


def names_from(U: Array, named: Array, typed: Sequence[str]) -> list[str]:
    """What the columns of U are called by somebody who has named the columns of another factor: those that are the same part."""
    names = [""] * U.shape[1]
    matching = metrics.match_parts(U, named)
    for k, (column, cosine) in enumerate(zip(matching.columns, matching.cosines, strict=True)):
        if k < len(typed) and column >= 0 and abs(cosine) > metrics.FOUND:
            names[column] = typed[k]
    return names


def atlas_of(store: StudyStore, numbers: Sequence[int] | None = None, key: str = "relative_error") -> Atlas | None:
    """The atlas of the finished cells of a study (or of some of them) that kept their factors; None if there are none."""
    factors = store.components(numbers)
    errors = store.table().columns[key]
    kept = [n for n in factors if not np.isnan(errors[n])]
    return make_atlas([factors[n] for n in kept], errors[kept], kept) if kept else None
