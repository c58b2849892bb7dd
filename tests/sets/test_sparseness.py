"""Sparse-opt and the sets built on it: the wanted sparseness is reached, and the point is nearest."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from semf_core.sets import GroupSparseness, Intersection, Nonnegative, Sparseness, UnitNorm
from semf_core.sets.hoyer import LONG, best_vector, ratio_of, sparse_opt
from semf_core.sets.hoyer_groups import Path, split_by_price, split_by_programming, split_pair
from tests.sets.oracles import best_of_ratio, nearest_of_ratio

Array = np.ndarray
CLIP, UNIT = Nonnegative(), UnitNorm()
vectors = arrays(float, st.integers(2, 6), elements=st.integers(-100, 100).map(lambda i: i / 100))
sparsenesses = st.integers(0, 1000).map(lambda i: i / 1000)


def hoyer(X: Array) -> Array:
    """Hoyer's measure of every column, as printed (Potluru et al. 2013, eq. 1)."""
    root = np.sqrt(len(X))
    return (root - np.abs(X).sum(axis=0) / np.sqrt((X * X).sum(axis=0))) / (root - 1)


@given(vectors, sparsenesses)
@settings(max_examples=150, deadline=None)
def test_sparse_opt_agrees_with_trying_every_support(b: Array, s: float) -> None:
    k = ratio_of(s, len(b))
    y = sparse_opt(b[:, None], k)[:, 0]
    assert (y >= 0).all() and y.sum() == pytest.approx(k, abs=1e-12) and y @ y == pytest.approx(1, abs=1e-12)
    on_ties = k * b.max() if k * k <= np.count_nonzero(b == b.max()) else np.nan
    assert b @ y == pytest.approx(np.nanmax([b @ best_of_ratio(b, k), on_ties]), abs=1e-9)


@given(vectors, sparsenesses)
@settings(max_examples=150, deadline=None)
def test_one_vector_without_a_sort_is_as_good(b: Array, s: float) -> None:
    k = ratio_of(s, len(b))
    y = best_vector(b, k)
    assert (y >= 0).all() and y.sum() == pytest.approx(k, abs=1e-12) and y @ y == pytest.approx(1, abs=1e-12)
    assert b @ y == pytest.approx(b @ sparse_opt(b[:, None], k)[:, 0], abs=1e-9)


@given(arrays(float, (2, 5), elements=st.integers(-100, 100).map(lambda i: i / 100)), sparsenesses, sparsenesses, st.booleans())
@settings(max_examples=100, deadline=None)
def test_two_vectors_split_their_l1_norm_as_well_as_any_grid(b: Array, s: float, t: float, equal: bool) -> None:
    """Sparse-biopt: the exact split beats every grid, a grid never loses what there was, the budget is kept."""
    length = np.array([1.0, 1.0 if equal else 0.3])
    k = np.array([ratio_of(s, 5), ratio_of(t, 5)])

    def value(ratios: Array) -> float:
        return float(length @ Path(b).values(ratios[:, None])[:, 0])

    exact, grid = split_pair(b, length, k, None), split_pair(b, length, k, 37)
    for share in (exact, grid):
        assert length @ share == pytest.approx(length @ k, abs=1e-9) and (share >= 1).all() and (share <= np.sqrt(5)).all()
    assert value(exact) >= value(grid) - 1e-6 and value(grid) >= value(k) - 1e-9


@given(vectors, sparsenesses, st.booleans())
@settings(max_examples=100, deadline=None)
def test_path_gives_the_value_of_sparse_opt(b: Array, s: float, shifted: bool) -> None:
    b = b + shifted * 10
    k = ratio_of(s, len(b))
    assert Path(b[None]).values(np.array([[k]]))[0, 0] == pytest.approx(b @ sparse_opt(b[:, None], k)[:, 0], abs=1e-6)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_nearest_point_agrees_with_trying_supports_and_ratios(nonnegative: bool) -> None:
    rng = np.random.default_rng(0)
    low, high = 0.45, 0.6
    s = Intersection((Sparseness(low, high), *([CLIP] if nonnegative else [])))
    ratios = np.linspace(ratio_of(high, 5), ratio_of(low, 5), 25)
    for b in rng.normal(size=(12, 5)):
        x = s.project(b[:, None])[:, 0]
        brute = np.linalg.norm(b - nearest_of_ratio(b, list(ratios), nonnegative))
        assert np.linalg.norm(b - x) <= brute + 1e-9
        assert np.linalg.norm(b - x) >= brute - 0.03  # the scan of ratios is coarse


@pytest.mark.parametrize("target", [0.0, 1e-9, 0.2, 0.5, 0.77, 0.99, 1 - 1e-9, 1.0])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_target_is_reached(target: float, nonnegative: bool) -> None:
    rng = np.random.default_rng(1)
    s = Intersection((Sparseness(target), *([CLIP] if nonnegative else [])))
    for d in (2, 7, 400, LONG):
        hard = [np.ones(d), np.r_[1.0, np.zeros(d - 1)], 1 + 1e-9 * rng.random(d), rng.integers(1, 4, d), 10.0 ** -np.arange(d)]
        P = s.project(np.stack([*hard, *rng.normal(size=(3, d)), *rng.random((3, d))], axis=1))
        live = np.asarray(P.any(axis=0))
        assert live[:5].all() and np.abs(hoyer(P[:, live]) - target).max() <= 1e-10
        assert s.violation(P) <= 1e-12 * np.linalg.norm(P)


def test_inside_the_bounds_nothing_changes() -> None:
    A = np.random.default_rng(2).normal(size=(50, 6))
    measure = hoyer(A)
    np.testing.assert_array_equal(Sparseness(measure.min(), measure.max()).project(A), A)
    above = hoyer(Sparseness(0.1, measure.mean()).project(A))
    np.testing.assert_allclose(above, np.minimum(measure, measure.mean()), atol=1e-12)


def test_columns_without_a_positive_entry() -> None:
    """Nonnegative: the zero vector; on the sphere: the sparsest direction allowed, at the largest entries."""
    A = -np.random.default_rng(3).random((5, 3)) - 0.1
    assert not Intersection((Sparseness(0.4, 0.8), CLIP)).project(A).any()
    P = Intersection((Sparseness(0.4, 0.8), CLIP, UNIT)).project(A)
    np.testing.assert_allclose(hoyer(P), 0.8, atol=1e-12)
    np.testing.assert_array_equal(P.argmax(axis=0), A.argmax(axis=0))


def test_single_entries_have_no_sparseness_and_stay() -> None:
    A = np.array([[3.0, -2.0, 0.0]])
    np.testing.assert_array_equal(Sparseness(0.7).project(A), A)
    np.testing.assert_array_equal(GroupSparseness([[0, 1]], 0.7).project(A), A)


def split_by_scan(A: Array, budget: float, value: str) -> float:
    """The best Σ f (or Σ f²) over two columns, by scanning the split of the budget."""
    path, most = Path(np.ascontiguousarray(A.T)), np.sqrt(len(A))
    k = np.linspace(max(1, budget - most), min(most, budget - 1), 4001)
    f = path.values(np.stack([k, np.clip(budget - k, 1, most)]))
    return float((f if value == "linear" else np.maximum(f, 0) ** 2).sum(axis=0).max())


@pytest.mark.parametrize("sets", [(), (CLIP,), (UNIT,), (CLIP, UNIT)], ids=str)
def test_groups_reach_their_mean_and_split_it_well(sets: tuple) -> None:
    rng = np.random.default_rng(4)
    for target in (0.0, 0.15, 0.5, 0.9, 1.0):
        s = Intersection((GroupSparseness([[0, 2]], target), *sets))
        for draw in (rng.random, rng.standard_normal):
            A = draw((7, 3)) * [1.0, 1.0, 0.3]
            P = s.project(A)
            columns = P[:, [0, 2]]
            if columns.any(axis=0).all():
                assert hoyer(columns).mean() == pytest.approx(target, abs=1e-10)
            B = A[:, [0, 2]] if CLIP in sets else np.abs(A[:, [0, 2]])
            budget = 2 * ratio_of(target, 7)
            if UNIT in sets:
                assert s.exact and np.vdot(columns, A[:, [0, 2]]) >= split_by_scan(B, budget, "linear") - 1e-9
            else:
                cost = np.sum((A[:, [0, 2]] - columns) ** 2)
                assert cost <= np.sum(A[:, [0, 2]] ** 2) - split_by_scan(B, budget, "square") + 1e-6


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_splits_of_a_total(data: st.DataObject) -> None:
    """Programming finds the best split of all; the price finds one that uses the total and loses at most one column's gain."""
    count, width = data.draw(st.integers(1, 4)), data.draw(st.integers(2, 4))
    gains = np.array(data.draw(arrays(int, (count, width), elements=st.integers(0, 20))), float)
    total = data.draw(st.integers(0, count * (width - 1)))
    best = max(sum(gains[j, i] for j, i in enumerate(c)) for c in product(range(width), repeat=count) if sum(c) == total)
    rows = np.arange(count)
    programmed, priced = split_by_programming(gains, total), split_by_price(gains, total)
    assert programmed.sum() == priced.sum() == total
    assert gains[rows, programmed].sum() == best >= gains[rows, priced].sum() >= best - np.ptp(gains, axis=1).max()


def test_large_groups_are_split_as_well() -> None:
    A = np.random.default_rng(7).random((12, 300))
    s = GroupSparseness([list(range(300))], 0.5) & CLIP
    P = s.project(A)
    assert hoyer(P).mean() == pytest.approx(0.5, abs=1e-10)
    assert np.linalg.norm(A - P) < np.linalg.norm(A - (Sparseness(0.5) & CLIP).project(A))


def test_a_group_of_one_is_sparseness() -> None:
    A = np.random.default_rng(5).normal(size=(9, 2))
    single = GroupSparseness([[1]], 0.6)
    assert single.exact and not GroupSparseness([[0, 1]], 0.6).exact
    np.testing.assert_allclose(single.project(A), Sparseness(0.6, columns=[1]).project(A), atol=1e-14)


def test_ties_in_a_group_take_the_budget_that_the_others_leave() -> None:
    """At the common threshold 1 the first column may have any ratio up to √3; the second is a single entry."""
    s = Intersection((GroupSparseness([[0, 1]], 0.9), UNIT))
    assert hoyer(s.project(np.ones((6, 2)))).mean() == pytest.approx(0.9, abs=1e-10)
    A = np.array([[1, 1, 1, 0, 0, 0], [2, 0.5, 0, 0, 0, 0]], float).T
    P = s.project(A)
    np.testing.assert_array_equal(P[:, 1], np.eye(6)[0])
    assert hoyer(P).mean() == pytest.approx(0.9, abs=1e-10)
    assert np.vdot(P, A) == pytest.approx(split_by_scan(A, 2 * ratio_of(0.9, 6), "linear"), abs=1e-9)


def test_paper_groups() -> None:
    """Figure 1's groups {5, 15, 5} at {0.2, 0.5, 0.8} on a matrix of its kind."""
    A = np.random.default_rng(6).random((500, 25)) ** 3
    groups, means = [range(5), range(5, 20), range(20, 25)], [0.2, 0.5, 0.8]
    P = Intersection((GroupSparseness([list(g) for g in groups], means), CLIP)).project(A)
    np.testing.assert_allclose([hoyer(P[:, list(g)]).mean() for g in groups], means, atol=1e-10)
