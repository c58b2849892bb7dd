"""The mathematics of the drawings in lessons: projections of points and vectors, and tangent planes in two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from semf_core.sets import (
    EqualNonzeros,
    Intersection,
    L1Ball,
    Monotone,
    Nonnegative,
    NormBall,
    Simplex,
    Sparse,
    Sparseness,
    StructureSet,
    UnitNorm,
    combine,
)

Array = np.ndarray
FIGURES = {
    "plane": "points of the plane and their projections onto a set",
    "vector": "a vector that the reader draws, and its projection",
    "tangent-plane": "the tangent-plane method for a least sparseness, in the plane of a triangle",
}
"""Drawings that a stage can show, with the interactive part that the page adds."""
KEPT = 3
LARGEST_ENTRY = 2.0
"""Of a vector that a reader draws."""
WRONG_ORDER, APPROXIMATE = "3 largest, then x ≥ 0: the wrong order", "increasing, at most 3 nonzeros"
PLANE: dict[str, tuple[StructureSet, ...]] = {
    "x ≥ 0": (Nonnegative(),),
    "at most 1 nonzero": (Sparse(k=1),),
    "x ≥ 0, then at most 1 nonzero": (Nonnegative(), Sparse(k=1)),
    "length 1": (UnitNorm(),),
    "length at most 1": (NormBall(radius=1.0),),
    "‖x‖₁ at most 1": (L1Ball(radius=1.0),),
    "x ≥ 0 with sum 1": (Simplex(),),
    "equal nonzeros": (EqualNonzeros(k=2),),
    "sparseness at least 0.6": (Nonnegative(), Sparseness(low=0.6, high=1.0)),
}
"""Sets of points of the plane."""
VECTOR: dict[str, tuple[StructureSet, ...]] = {
    "x ≥ 0": (Nonnegative(),),
    "3 largest": (Sparse(k=KEPT),),
    "x ≥ 0, 3 largest": (Nonnegative(), Sparse(k=KEPT)),
    "3 equal nonzeros": (EqualNonzeros(k=KEPT),),
    "length 1": (UnitNorm(),),
    "x ≥ 0 with sum 1": (Simplex(),),
    "increasing": (Monotone(),),
    "x ≥ 0, sparseness at least 0.7": (Nonnegative(), Sparseness(low=0.7, high=1.0)),
    WRONG_ORDER: (Intersection((Sparse(k=KEPT), Nonnegative()), method="successive"),),
    APPROXIMATE: (Sparse(k=KEPT), Monotone()),
}
"""Sets of vectors with eight entries."""
FIRST = (0.9, -1.4, 0.3, 1.6, -0.2, 1.1, 0.0, -0.7)
STARTS = {
    "towards the first corner": (0.5, 0.3, 0.2),
    "towards the second": (0.3, 0.45, 0.25),
    "near the middle": (0.36, 0.34, 0.3),
}


# -- projections -------------------------------------------------------------------------------


def projected(points: Array, sets: tuple[StructureSet, ...]) -> Array:
    """Each row of `points` projected by the library's own code, as one column of a factor."""
    return np.asarray(combine(sets).project(np.asarray(points, float).T)).T


def field(sets: tuple[StructureSet, ...], reach: float = 2.0, count: int = 9) -> tuple[Array, Array]:
    """A grid of points of the plane and where the projection takes them."""
    axis = np.linspace(-reach, reach, count)
    points = np.array([(x, y) for x in axis for y in axis if abs(x) + abs(y) > 1e-9])
    return points, projected(points, sets)


def order_ratio(vector: Array) -> float:
    """How much farther three nonzeros, then x ≥ 0, lead than the nearest point of both, which the other order finds."""
    return _ratio(vector, WRONG_ORDER)


def approximation_ratio(vector: Array) -> float:
    """How much farther projections in turn lead than the nearest increasing vector with at most three nonzeros."""
    return _ratio(vector, APPROXIMATE)


def _ratio(vector: Array, name: str) -> float:
    """The distance to what the projection finds, in distances to the nearest member; 1 where both are none."""
    least = float(np.linalg.norm(vector - NEAREST[name](vector)))
    reached = float(np.linalg.norm(vector - projected(vector[None], VECTOR[name])[0]))
    return reached / least if least > 1e-12 else 1.0 if reached <= 1e-12 else np.inf


def nearest_increasing(vector: Array, k: int) -> Array:
    """The nearest increasing vector with at most k nonzeros, found by trying all of them.

    In an increasing vector the zeros stand together: negative entries before them, positive ones behind.
    """
    n, best, least = len(vector), np.zeros(len(vector)), np.inf
    for front in range(k + 1):
        for back in range(min(k, n) - front + 1):
            tried = np.zeros(n)
            if front:
                tried[:front] = np.minimum(projected(vector[None, :front], (Monotone(),))[0], 0)
            if back:
                tried[n - back :] = np.maximum(projected(vector[None, n - back :], (Monotone(),))[0], 0)
            distance = float(np.linalg.norm(vector - tried))
            if distance < least:
                best, least = tried, distance
    return best


NEAREST: dict[str, Callable[[Array], Array]] = {
    WRONG_ORDER: lambda vector: projected(vector[None], (Nonnegative(), Sparse(k=KEPT)))[0],
    APPROXIMATE: lambda vector: nearest_increasing(vector, KEPT),
}
"""The nearest members of those sets whose projection need not find them."""


# -- tangent planes ----------------------------------------------------------------------------

CENTRE = np.full(3, 1 / 3)
ACROSS, UP = np.array([1, -1, 0]) / np.sqrt(2), np.array([-1, -1, 2]) / np.sqrt(6)
"""Orthonormal directions in the plane x₁ + x₂ + x₃ = 1."""


@dataclass(frozen=True)
class TangentStep:
    """One step: the point, its projection onto the circle, the normal there, and the next point."""

    point: Array
    touching: Array
    normal: Array
    following: Array
    value: float
    """Of the objective at the next point."""


@dataclass(frozen=True)
class TangentFigure:
    """Everything to draw: the triangle of x ≥ 0, the circle of sparseness s, the goal and the steps."""

    triangle: Array
    radius: float
    goal: Array
    shape: Array
    steps: tuple[TangentStep, ...]


def in_plane(x: Array) -> Array:
    """Coordinates of points with entries that sum to 1."""
    return np.stack([(np.asarray(x) - CENTRE) @ ACROSS, (np.asarray(x) - CENTRE) @ UP], axis=-1)


def sparseness_radius(s: float) -> float:
    """The circle of vectors with sparseness s: on the plane, C(s) of (9) is the disc ‖x‖ ≤ 1/c with c = √3 − (√3−1)s."""
    c = np.sqrt(3) - (np.sqrt(3) - 1) * s
    return float(np.sqrt(1 / c**2 - 1 / 3))


def tangent_steps(s: float, goal: Array, squeeze: float = 3.0, most: int = 30) -> TangentFigure:
    """Minimise an elliptic distance to `goal` over the triangle outside the disc of sparseness s, by tangent lines.

    The method of the paper's Table 1 for one vector: without the reverse-convex constraint first, then again and again
    with the half plane beyond the tangent at the projection of the last point, until nothing changes.
    """
    triangle, radius = in_plane(np.eye(3)), sparseness_radius(s)
    shape = np.diag([1.0, squeeze])
    point = least(triangle, shape, goal)
    steps: list[TangentStep] = []
    while np.linalg.norm(point) < radius - 1e-12 or steps:
        size = np.linalg.norm(point)
        normal = point / size if size > 1e-12 else np.array([1.0, 0.0])
        if not len(clipped(triangle, normal, radius * normal)):  # nothing there is nonnegative: towards the best corner
            corner = min(triangle, key=lambda z: objective(z, shape, goal))
            normal = corner / np.linalg.norm(corner)
        touching = radius * normal
        following = least(clipped(triangle, normal, touching), shape, goal)
        steps.append(TangentStep(point, touching, normal, following, objective(following, shape, goal)))
        if np.linalg.norm(following - point) < 1e-9 or len(steps) >= most:
            break
        point = following
    return TangentFigure(triangle, radius, goal, shape, tuple(steps))


def objective(z: Array, shape: Array, goal: Array) -> float:
    return float((z - goal) @ shape @ (z - goal))


def clipped(polygon: Array, normal: Array, through: Array) -> Array:
    """The part of a convex polygon on the side of a line to which its normal points."""
    height = (polygon - through) @ normal
    corners: list[Array] = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if height[i] >= 0:
            corners.append(polygon[i])
        if height[i] * height[j] < 0:
            corners.append(polygon[i] + (polygon[j] - polygon[i]) * height[i] / (height[i] - height[j]))
    return np.array(corners)


def least(polygon: Array, shape: Array, goal: Array) -> Array:
    """The point of a convex polygon with the least objective: the goal, or the best point of an edge."""
    ends = np.roll(polygon, -1, axis=0) - polygon
    turn = ends[:, 0] * (goal - polygon)[:, 1] - ends[:, 1] * (goal - polygon)[:, 0]
    if (turn >= 0).all() or (turn <= 0).all():
        return goal
    size = np.einsum("ij,jk,ik->i", ends, shape, ends)
    along = np.einsum("ij,jk,ik->i", ends, shape, goal - polygon) / np.where(size > 0, size, 1)
    points = polygon + np.clip(along, 0, 1)[:, None] * ends
    return min(points, key=lambda z: objective(z, shape, goal))
