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
