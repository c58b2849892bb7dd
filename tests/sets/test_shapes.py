"""Monotone, unimodal and smooth vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import isotonic_regression

from semf_core.sets import Intersection, Monotone, Nonnegative, Smooth, Unimodal, UnitNorm
from semf_core.sets.curves import prefix_gains

Array = np.ndarray
vectors = arrays(float, st.integers(1, 9), elements=st.integers(-4, 4).map(float))


@pytest.mark.parametrize("shape", [(1, 3), (5, 200), (300, 3)])
def test_many_vectors_at_once_are_fitted_one_by_one(shape: tuple[int, int]) -> None:
    """Stretches solved in one call do not touch each other, even at very different scales."""
    A = np.random.default_rng(0).normal(size=shape) * 10.0 ** np.linspace(-120, 120, shape[1])
    fits = np.stack([isotonic_regression(b).x for b in A.T], axis=1)
    np.testing.assert_allclose(Monotone().project(A), fits, rtol=1e-12)
    np.testing.assert_allclose(Monotone("decreasing").project(A[::-1]), fits[::-1], rtol=1e-12)


@given(vectors, st.booleans())
@settings(max_examples=80, deadline=None)
def test_prefix_gains_are_those_of_the_prefix_fits(b: Array, nonnegative: bool) -> None:
    for m, gain in enumerate(prefix_gains(b, nonnegative)):
        fit = isotonic_regression(b[:m]).x if m else b[:0]
        fit = np.maximum(fit, 0) if nonnegative else fit
        assert gain == pytest.approx(b[:m] @ b[:m] - np.sum((b[:m] - fit) ** 2), abs=1e-9)


@given(vectors, st.booleans())
@settings(max_examples=80, deadline=None)
def test_unimodal_is_the_best_of_all_splits(b: Array, nonnegative: bool) -> None:
    s = Intersection((Unimodal(), *([Nonnegative()] if nonnegative else [])))
    x = s.project(b[:, None])[:, 0]
    signs = np.sign(np.diff(x)[np.abs(np.diff(x)) > 1e-12])
    assert (np.diff(signs) <= 0).all()

    def split(m: int) -> float:
        up = isotonic_regression(b[:m]).x if m else b[:0]
        down = isotonic_regression(b[m:], increasing=False).x if m < len(b) else b[:0]
        fit = np.concatenate([up, down])
        return float(np.sum((b - (np.maximum(fit, 0) if nonnegative else fit)) ** 2))

    assert np.sum((b - x) ** 2) == pytest.approx(min(map(split, range(len(b) + 1))), abs=1e-9)


def roughness(X: Array) -> Array:
    return np.sum(np.diff(X, axis=0) ** 2, axis=0)


@pytest.mark.parametrize("d", [2, 3, 50, 2000])
@pytest.mark.parametrize("bound", [1e-12, 1e-3, 1.0, 30.0])
def test_smooth_meets_its_bound_and_the_optimality_condition(d: int, bound: float) -> None:
    """A − P = λ DᵀD P for one λ ≥ 0 a column, with the bound met to rounding."""
    A = 3 * np.random.default_rng(d).normal(size=(d, 4))
    P = Smooth(bound).project(A)
    rough = roughness(A) > bound
    np.testing.assert_allclose(roughness(P)[rough], bound, rtol=1e-9)
    np.testing.assert_array_equal(P[:, ~rough], A[:, ~rough])
    bent = -np.diff(np.pad(np.diff(P, axis=0), ((1, 1), (0, 0))), axis=0)
    weight = np.sum((A - P) * bent, axis=0) / np.maximum(np.sum(bent * bent, axis=0), 1e-300)
    assert (weight >= 0).all()
    np.testing.assert_allclose(A - P, weight * bent, atol=1e-6)


def curves_of_many_kinds(d: int) -> Array:
    """Noise around, above and below zero, waves, walks, a spike, and a slope that crosses zero."""
    rng, t = np.random.default_rng(d), np.linspace(0, 1, d)
    noise = rng.normal(size=(d, 3)) + np.array([0.0, 2.0, -2.0])
    waves = np.sin(20 * t[:, None]) + 0.2 * rng.normal(size=(d, 2)) * np.array([0, 1])
    walks = np.cumsum(rng.normal(size=(d, 2)), axis=0) / np.sqrt(d) - np.array([0.0, 0.5])
    return np.column_stack([noise, waves, walks, np.eye(d)[d // 2] - 0.1, t - 0.5])


@pytest.mark.parametrize("d", [2, 3, 50, 2000])
@pytest.mark.parametrize("bound", [1e-12, 1e-4, 0.01, 1.0, 30.0])
def test_smooth_nonnegative_meets_the_optimality_conditions(d: int, bound: float) -> None:
    """P − A + λ DᵀD P is zero where P is positive and nowhere negative, for one λ ≥ 0 a column."""
    A = curves_of_many_kinds(d)
    s = Intersection((Nonnegative(), Smooth(bound)))
    assert s.exact
    P = s.project(A)
    clipped = np.maximum(A, 0)
    rough = roughness(clipped) > bound
    np.testing.assert_allclose(roughness(P)[rough], bound, rtol=1e-9, atol=1e-15)
    np.testing.assert_array_equal(P[:, ~rough], clipped[:, ~rough])
    bent = -np.diff(np.pad(np.diff(P, axis=0), ((1, 1), (0, 0))), axis=0)
    for a, x, g in zip(A[:, rough].T, P[:, rough].T, bent[:, rough].T, strict=True):
        free = x > 0
        weight = (a - x)[free] @ g[free] / max(g[free] @ g[free], 1e-300)
        force = x - a + weight * g
        assert weight >= 0 and x.min() >= 0
        np.testing.assert_allclose(force[free], 0, atol=1e-6)
        assert force.min() >= -1e-6


def test_smooth_without_slack_is_the_mean() -> None:
    A = np.random.default_rng(1).normal(size=(8, 3))
    np.testing.assert_allclose(Smooth(0).project(A), np.broadcast_to(A.mean(axis=0), A.shape), atol=1e-15)


@pytest.mark.parametrize("s", [Monotone(), Monotone("decreasing"), Unimodal()], ids=lambda s: s.latex())
@pytest.mark.parametrize("signs", [(), (Nonnegative(),)], ids=["free", "nonnegative"])
def test_best_direction_where_the_cone_projects_to_zero(s: Monotone | Unimodal, signs: tuple) -> None:
    """On the sphere no member may have a larger inner product, also for vectors in the polar cone."""
    rng = np.random.default_rng(2)
    whole, cone = Intersection((s, *signs, UnitNorm())), Intersection((s, *signs))
    assert whole.exact
    for _ in range(40):
        b = rng.normal(size=(6, 1))
        b -= cone.project(b)  # Moreau: what is left projects to zero
        u = whole.project(b)
        others = whole.project(b + rng.normal(size=(6, 60)) * rng.random(60))
        assert np.vdot(u, b) >= (others * b).sum(axis=0).max() - 1e-12
