"""Closed-form projections onto intersections of sets that bind the same vectors.

A rule is keyed by the names of the sets it joins. It takes the vectors as columns and the sets by
name, and returns a nearest point of the intersection; `because` is the reason shown to the user.
Every rule here is exact; what has no proof is left to the plans of `planning`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.sets import curves, hoyer, kernels
from semf_core.sets.base import Array

Members = Mapping[str, Any]
Kernel = Callable[[Array, Members], Array]


@dataclass(frozen=True)
class Rule:
    project: Kernel
    because: str


RULES: dict[frozenset[str], Rule] = {}
_SIGNS: tuple[tuple[str, ...], ...] = ((), ("nonnegative",))
"""For rules that hold with and without nonnegativity."""


def rule(*names: str, because: str) -> Callable[[Kernel], Kernel]:
    """Register a closed form for the intersection of the named sets."""

    def add(project: Kernel) -> Kernel:
        RULES[frozenset(names)] = Rule(project, because)
        return project

    return add


def cone(*names: str, fallback: Kernel, because: str = "") -> Callable[[Kernel], Kernel]:
    """Register a cone, and with it its intersections with the unit sphere and the norm ball.

    For a closed cone K the nearest point of K ∩ ball is P_K(b) shrunk, that of K ∩ sphere is P_K(b)
    normalised; `fallback` gives the best unit vector of K where P_K(b) = 0.
    """

    def add(project: Kernel) -> Kernel:
        if len(names) > 1:
            RULES[frozenset(names)] = Rule(project, because)

        def in_ball(B: Array, s: Members) -> Array:
            return kernels.shrink_to_ball(project(B, s), s["norm_ball"].radius)

        def on_sphere(B: Array, s: Members) -> Array:
            return kernels.on_sphere(project(B, s), B, lambda empty: fallback(empty, s))

        RULES[frozenset((*names, "norm_ball"))] = Rule(in_ball, "a cone, then its ball: project, then shrink")
        RULES[frozenset((*names, "unit_norm"))] = Rule(on_sphere, "a cone, then its sphere: project, then normalise")
        return project

    return add


def _largest(B: Array, s: Members) -> Array:
    """The best where no entry is positive: u ≥ 0 has uᵀb ≤ max(b)·1ᵀu ≤ max(b), as 1ᵀu ≥ 1."""
    return kernels.one_hot_at_largest(B)


@cone("nonnegative", fallback=_largest)
def _nonnegative(B: Array, s: Members) -> Array:
    return kernels.clip_nonnegative(B)


@cone("sparse", fallback=_largest)
def _sparse(B: Array, s: Members) -> Array:
    return kernels.keep_largest(B, s["sparse"].k)


@cone("group_sparse", fallback=_largest)
def _group_sparse(B: Array, s: Members) -> Array:
    return s["group_sparse"].keep_largest(B)


@cone("nonnegative", "sparse", because="clip, then keep the k largest (Proposition 1 of the SeMF paper)", fallback=_largest)
def _nonnegative_sparse(B: Array, s: Members) -> Array:
    return kernels.keep_largest_nonnegative(B, s["sparse"].k)


@cone(
    "nonnegative",
    "group_sparse",
    because="clip, then keep the largest of each group (after Proposition 1 of the SeMF paper)",
    fallback=_largest,
)
def _nonnegative_group_sparse(B: Array, s: Members) -> Array:
    return s["group_sparse"].keep_largest(B, clip=True)


def _sparse_group_sparse(B: Array, s: Members) -> Array:
    """Counts within groups and in all form a matroid, for which taking the largest first is best."""
    P = _nonnegative_group_sparse(B, s) if "nonnegative" in s else _group_sparse(B, s)
    return kernels.keep_largest(P, s["sparse"].k)


for _extra in _SIGNS:
    cone("sparse", "group_sparse", *_extra, because="the largest of each group, and of these the k largest", fallback=_largest)(
        _sparse_group_sparse
    )


def _equal(B: Array, s: Members) -> Array:
    """Prop. 2 with the support limited by a count and by groups: the best entries of each group compete."""
    limit = s["equal_nonzeros"].k
    allowed = s["group_sparse"].mask(B) if "group_sparse" in s else None
    if "sparse" in s and limit is None:
        sparse_allowed = kernels.top_mask(B if allowed is None else np.where(allowed, B, -np.inf), s["sparse"].k)
        allowed = sparse_allowed if allowed is None else allowed & sparse_allowed
    return kernels.equal_on_top(B, allowed, limit)


def _equal_direction(B: Array, s: Members) -> Array:
    """The best unit vector of equal nonzeros where no support has a positive mean: the largest entries."""
    if s["equal_nonzeros"].k is None:
        return _largest(B, s)
    # Ranks have the order of the entries and are positive, so their best support is not clipped away.
    ranks = np.argsort(np.argsort(-B, axis=0, kind="stable"), axis=0)
    return kernels.normalise(_equal((len(B) - ranks).astype(B.dtype), s))


for _extra in ((), ("nonnegative",), ("sparse",), ("group_sparse",), ("nonnegative", "sparse"), ("nonnegative", "group_sparse")):
    cone(
        "equal_nonzeros",
        *_extra,
        because="Prop. 2: the largest entries that the support allows, at their mean",
        fallback=_equal_direction,
    )(_equal)


def _sparsest(B: Array, s: Members) -> Array:
    return hoyer.sparsest_direction(B, s["sparseness"].bounds(len(B))[0])


@cone("sparseness", fallback=_sparsest)
def _sparseness(B: Array, s: Members) -> Array:
    return s["sparseness"].project_vectors(B)


@cone("nonnegative", "sparseness", because="Sparse-opt, on the entries with their signs", fallback=_sparsest)
def _nonnegative_sparseness(B: Array, s: Members) -> Array:
    least, most = s["sparseness"].bounds(len(B))
    return hoyer.within_ratios(B, least, most, nonnegative=True)


def _on_largest(B: Array, s: Members, kernel: Callable[[Array], Array]) -> Array:
    """What the kernel makes of the k largest entries (in size, unless signs are bound); zero elsewhere.

    Exact for sets that do not care in which order entries come: their nonzeros are best put there.
    """
    key = B if "nonnegative" in s else np.abs(B)
    chosen = np.argsort(-key, axis=0, kind="stable")[: s["sparse"].k]
    out = np.zeros_like(B)
    np.put_along_axis(out, chosen, kernel(np.take_along_axis(B, chosen, axis=0)), axis=0)
    return out


def _sparse_sparseness(B: Array, s: Members) -> Array:
    least, most = s["sparseness"].bounds(len(B))
    most = min(most, np.sqrt(s["sparse"].k))
    return _on_largest(B, s, lambda part: hoyer.within_ratios(part, least, most, "nonnegative" in s))


def _sparsest_of_largest(B: Array, s: Members) -> Array:
    least, _ = s["sparseness"].bounds(len(B))
    return _on_largest(B, s, lambda part: hoyer.sparsest_direction(part, least))


for _extra in _SIGNS:
    cone("sparse", "sparseness", *_extra, because="Sparse-opt on the k largest entries", fallback=_sparsest_of_largest)(
        _sparse_sparseness
    )


def _constant(B: Array, s: Members) -> Array:
    """A cone that holds all constants ±1/√d projects b to 0 only if uᵀb = 0 there, the most there is."""
    return np.full_like(B, 1 / np.sqrt(len(B)))


@cone("monotone", fallback=_constant)
def _monotone(B: Array, s: Members) -> Array:
    return s["monotone"].project_vectors(B)


def _best_step(B: Array, s: Members) -> Array:
    """The cone of nonnegative monotone vectors is spanned by steps; if none has uᵀb > 0 the best step is best."""
    rising = s["monotone"].increasing
    ranked = (B[::-1] if rising else B) / kernels.binary_scale(B)
    widths = np.arange(1, len(B) + 1)[:, None]
    best = (np.cumsum(ranked, axis=0) / np.sqrt(widths)).argmax(axis=0) + 1
    steps = (widths <= best) / np.sqrt(best)
    return (steps[::-1] if rising else steps).astype(B.dtype)


@cone("nonnegative", "monotone", because="isotonic regression, then clip", fallback=_best_step)
def _nonnegative_monotone(B: Array, s: Members) -> Array:
    return kernels.clip_nonnegative(_monotone(B, s))


@cone("unimodal", fallback=_constant)
def _unimodal(B: Array, s: Members) -> Array:
    return s["unimodal"].project_vectors(B)


@cone("nonnegative", "unimodal", because="the best of all peaks, both sides isotonic and clipped", fallback=_largest)
def _nonnegative_unimodal(B: Array, s: Members) -> Array:
    return curves.unimodal(B, nonnegative=True)


@rule("nonnegative", "box", because="bounds entry by entry")
def _nonnegative_box(B: Array, s: Members) -> Array:
    return np.clip(B, max(s["box"].low, 0), s["box"].high).astype(B.dtype)


def _box_monotone(B: Array, s: Members) -> Array:
    fitted = _monotone(B, s)
    return _nonnegative_box(fitted, s) if "nonnegative" in s else s["box"].project_vectors(fitted)


for _extra in _SIGNS:
    rule("box", "monotone", *_extra, because="isotonic regression, then clip to the bounds")(_box_monotone)


def _sparse_box(B: Array, s: Members) -> Array:
    """Each kept entry gains b² − (b − clip b)²; the k largest gains are kept."""
    clipped = _nonnegative_box(B, s) if "nonnegative" in s else s["box"].project_vectors(B)
    return clipped * kernels.top_mask(clipped * (2 * B - clipped), s["sparse"].k)


for _extra in _SIGNS:
    rule("sparse", "box", *_extra, because="the k entries that gain most from being kept, clipped")(_sparse_box)


@rule("nonnegative", "l1_ball", because="clip, then the L1 ball: soft thresholding keeps signs")
def _nonnegative_l1(B: Array, s: Members) -> Array:
    return kernels.l1_ball(kernels.clip_nonnegative(B), s["l1_ball"].radius)


@rule("sparse", "l1_ball", because="the ball is symmetric: keep the k largest, then the ball")
def _sparse_l1(B: Array, s: Members) -> Array:
    return kernels.l1_ball(_sparse(B, s), s["l1_ball"].radius)


@rule("nonnegative", "sparse", "l1_ball", because="clip, keep the k largest, then the ball")
def _nonnegative_sparse_l1(B: Array, s: Members) -> Array:
    return kernels.l1_ball(_nonnegative_sparse(B, s), s["l1_ball"].radius)


@rule("nonnegative", "simplex", because="the simplex is nonnegative already")
def _nonnegative_simplex(B: Array, s: Members) -> Array:
    return kernels.simplex(B, s["simplex"].total)


def _sparse_simplex(B: Array, s: Members) -> Array:
    """The k largest entries (signed) go to the simplex; the others vanish."""
    mask = kernels.top_mask(B, s["sparse"].k)
    return kernels.simplex(np.where(mask, B, -np.inf), s["simplex"].total).astype(B.dtype)


for _extra in _SIGNS:
    rule("sparse", "simplex", *_extra, because="keep the k largest, then the simplex on them")(_sparse_simplex)


@rule("nonnegative", "smooth", because="one multiplier for the bound, and the entries held at zero, found together")
def _nonnegative_smooth(B: Array, s: Members) -> Array:
    return curves.smooth_nonnegative(B, s["smooth"].bound)
