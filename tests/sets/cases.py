"""The sets that the generic tests walk: every registered one, its scopes, every rule, and other compositions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from semf_core.sets import (
    SETS,
    Box,
    Custom,
    DisjointSupports,
    EqualNonzeros,
    FixedColumns,
    GroupSparse,
    GroupSparseness,
    Intersection,
    L1Ball,
    Monotone,
    Nonnegative,
    NormBall,
    OrthogonalTo,
    Orthonormal,
    Simplex,
    Smooth,
    Sparse,
    Sparseness,
    StructureSet,
    Support,
    UnitNorm,
    VectorSet,
)
from semf_core.sets.rules import RULES

SHAPE = (6, 4)
MASK = Support.example["mask"]
SCOPES: tuple[dict[str, Any], ...] = (
    {"axis": "row"},
    {"axis": "all"},
    {"columns": [0, 2]},
    {"entries": [1, 3, 4]},
    {"axis": "row", "columns": [1, 4], "entries": [0, 2, 3]},
    {"axis": "all", "columns": [1, 3], "entries": [0, 2, 3, 7, 11]},
)


def example(cls: type[StructureSet], length: int = SHAPE[0], **scope: Any) -> StructureSet:
    """The set's own example, its groups fitted to vectors of this length."""
    values = {**cls.example, **scope}
    if cls is GroupSparse:
        values["groups"] = [list(range(length // 2)), list(range(length // 2, length))]
    return cls(**values)


def scoped_examples() -> Iterator[StructureSet]:
    for cls in SETS:
        if issubclass(cls, VectorSet):
            for scope in SCOPES:
                full = {"column": SHAPE[0], "row": SHAPE[1], "all": SHAPE[0] * SHAPE[1]}[scope.get("axis", "column")]
                yield example(cls, len(scope.get("entries", range(full))), **scope)
    yield DisjointSupports(axis="row")
    yield DisjointSupports(columns=[0, 3])
    yield OrthogonalTo(1, hold=False)
    yield OrthogonalTo(1, columns=[0, 3])
    yield OrthogonalTo(4, axis="row")
    yield OrthogonalTo(4, hold=False, axis="row", columns=[0, 4, 5])
    yield EqualNonzeros()
    yield GroupSparse([[0, 5, 2], [1, 3, 4]], k=[2, 1])
    yield FixedColumns([2], np.arange(1.0, 5.0)[:, None], axis="row")
    yield GroupSparseness([[0, 1, 3]], 0.6)
    yield GroupSparseness([[0, 3], [2, 5]], [0.3, 0.6], axis="row")
    yield Monotone("decreasing")
    yield Sparseness(0.3, 0.6)
    yield Sparseness(0)
    yield Sparseness(1)
    yield Smooth(0)
    yield Custom(np.sign, measure=lambda A: float(np.abs(np.abs(A) - 1).max() if A.all() else 0))


def rule_examples() -> Iterator[Intersection]:
    by_name = {cls.name: cls for cls in SETS}
    for names in RULES:
        yield Intersection(tuple(by_name[name](**by_name[name].example) for name in sorted(names)))


def compositions() -> Iterator[Intersection]:
    """Each way of planning an intersection, exact or not."""
    clip, unit, mask, ortho = Nonnegative(), UnitNorm(), Support(MASK), OrthogonalTo(2)
    known = FixedColumns([1, 3], FixedColumns.example["values"])
    corner = np.eye(6)[:, :2]
    sets: tuple[tuple[StructureSet, ...], ...] = (
        (),
        (clip, Box(-1, 0.5, columns=[1])),
        (Box(0, 1, axis="row", columns=[2]), Nonnegative(columns=[0, 1])),
        (known, clip),
        (known, clip, Sparse(4)),
        (known, clip, DisjointSupports(columns=[0, 1, 2])),
        (FixedColumns([0, 2], corner), Orthonormal()),
        (FixedColumns([2], np.array([[0], [1], [0], [2], [0], [0]])), ortho),
        (FixedColumns([2], np.array([[0], [1], [0], [2], [0], [0]])), ortho, clip),
        (FixedColumns([0], np.array([[1], [0], [0], [1]]), axis="row"), Sparse(2, axis="row")),
        (FixedColumns([0], np.array([[1], [0], [0], [1]]), axis="row"), Sparse(2), clip),
        (FixedColumns([1], np.array([[1], [2], [0], [0], [3], [0]])), Sparse(7, axis="all"), clip),
        (FixedColumns([0], np.array([[0], [1], [0], [2], [0], [0]])), ortho),
        (FixedColumns([0], np.array([[0], [1], [0], [2], [0], [0]])), ortho, clip),
        (FixedColumns([0], np.array([[0], [1], [0], [2], [0], [0]])), OrthogonalTo(2, hold=False), clip),
        (mask, clip, Sparse(2)),
        (mask, clip, GroupSparse([[0, 1, 2], [3, 4, 5]])),
        (mask, DisjointSupports()),
        (mask, EqualNonzeros()),
        (mask, EqualNonzeros(2)),
        (mask, unit),
        (mask, clip, unit),
        (mask, Simplex()),
        (mask, Simplex(axis="row"), Sparse(2, axis="row")),
        (mask, Support(np.triu(np.ones(SHAPE)))),
        (clip, DisjointSupports()),
        (ortho, clip),
        (ortho, clip, Sparse(3, columns=[2])),
        (OrthogonalTo(2, hold=False), clip),
        (OrthogonalTo(0, hold=False), clip, Sparse(2, columns=[0])),
        (OrthogonalTo(4, hold=False, axis="row", columns=[0, 1, 5]), clip, Sparse(2, axis="row", columns=[4])),
        (FixedColumns([2], np.array([[0], [1], [0], [2], [0], [0]])), OrthogonalTo(2, columns=[0, 1]), clip),
        (FixedColumns([1], np.array([[0], [1], [0], [2]]), axis="row"), OrthogonalTo(3, axis="row", columns=[0, 1])),
        (GroupSparseness([[0, 2], [3]], [0.4, 0.7]), clip),
        (GroupSparseness([[0, 2], [3]], [0.4, 0.7]), unit),
        (GroupSparseness([[0, 1, 2]], 0.5), clip, unit),
        (GroupSparseness([[1, 3]], 0.5, axis="row"), UnitNorm(axis="row")),
        (clip, Sparse(2), Sparse(1, columns=[3])),
        (clip, Sparse(3, columns=[0, 1]), unit),
        (clip, Sparse(2, entries=[0, 1, 2]), Sparse(1, entries=[3, 5])),
        (clip, Sparse(4, axis="all", columns=[0, 1]), Sparse(3, axis="all", columns=[2])),
        (Sparseness(0.2, 0.6), Sparseness(0.4, 0.9), clip),
        (clip, Simplex(columns=[0]), L1Ball(2, columns=[1]), NormBall(1, columns=[2])),
        (clip, Monotone(axis="row"), Box(0, 1)),
        # No closed form: Dykstra where convex, otherwise rounds.
        (Monotone(), Smooth(0.2)),
        (Box(-0.3, 0.8), NormBall(1), L1Ball(1.5)),
        (Monotone("increasing"), Monotone("decreasing", columns=[1])),
        (Simplex(), Simplex(1.5, axis="row", columns=[0])),
        (FixedColumns([0], np.full((6, 1), 0.1)), Simplex(axis="row")),
    )
    yield from map(Intersection, sets)
    yield Intersection((clip, Sparse(2)), "successive")
    yield Intersection((clip, Sparse(2)), "successive", 3)


def thin_examples(shape: tuple[int, int]) -> Iterator[StructureSet]:
    """Every registered set, with parameters that fit a matrix of one row or one column."""
    m = shape[0]
    values: dict[str, dict[str, Any]] = {
        "sparse": {"k": 1},
        "group_sparse": {"groups": [list(range(m))]},
        "equal_nonzeros": {"k": 1},
        "orthogonal_to": {"column": 0},
        "support": {"mask": np.ones(shape)},
        "fixed_columns": {"columns": [0], "values": np.ones((m, 1))},
        "group_sparseness": {"groups": [[0]], "values": 0.5},
    }
    for cls in SETS.everything():
        s = cls(**values.get(cls.name, cls.example))
        yield s
        yield Intersection((Nonnegative(), s))
        if isinstance(s, VectorSet):
            groups = {"groups": [[0]]} if cls is GroupSparse else {}
            yield cls(**{**values.get(cls.name, cls.example), **groups, "entries": [0]})


SINGLE = [example(cls) for cls in SETS.everything()]
SCOPED = list(scoped_examples())
RULED = list(rule_examples())
COMPOSED = list(compositions())
EVERY = [*SINGLE, *SCOPED, *RULED, *COMPOSED]


def settles(s: StructureSet) -> bool:
    """Whether a projection ends inside the set: one round of §4.4.3 need not."""
    return not (isinstance(s, Intersection) and s.method == "successive")


def name_of(s: StructureSet) -> str:
    if isinstance(s, Intersection):
        return "&".join(map(name_of, s.sets)) + ("" if s.method == "auto" else f"~{s.rounds}") or "free"
    shown = {"axis": "", "columns": "c", "entries": "e"}
    scope = "".join(f"-{p}{getattr(s, field)}" for field, p in shown.items() if getattr(s, field, None) not in (None, "column"))
    return s.name + scope.replace(" ", "")


def matrices(count: int = 4) -> list[np.ndarray]:
    """Matrices that differ in kind: signed, mostly positive, all negative, with ties and zeros."""
    rng = np.random.default_rng(5)
    kinds = [
        rng.normal(size=SHAPE),
        rng.random(SHAPE) * 2 - 0.3,
        -rng.random(SHAPE),
        rng.integers(-2, 3, SHAPE).astype(float),
        rng.normal(size=SHAPE) * 10.0 ** rng.integers(-3, 3, SHAPE),
    ]
    return kinds[:count]
