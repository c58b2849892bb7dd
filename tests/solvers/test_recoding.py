"""Coding anew: never worse, always in the set, and right where the answer is known."""

import itertools

import numpy as np
import pytest

from semf_core.sets import DisjointSupports, GroupSparse, Nonnegative, Sparse, UnitNorm, combine
from semf_core.solvers.recoding import Counts, counts_of, recoded
from tests.helpers import present

GROUPS = ((0, 3), (1, 2, 4), (5, 6, 7))
SETS = {
    "sparse": (Sparse(3),),
    "nonnegative": (Nonnegative(), Sparse(3)),
    "groups": (Nonnegative(), GroupSparse(GROUPS, k=(1, 2, 1))),
    "one": (GroupSparse(GROUPS),),
}


def quadratic(seed, rank=8, samples=40):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, rank))
    A /= np.linalg.norm(A, axis=0)
    return A, A.T @ A, rng


def values(F, target, gram):
    return 0.5 * np.einsum("ij,ij->j", F, gram @ F) - np.einsum("ij,ij->j", F, target)


@pytest.mark.parametrize("name", SETS)
def test_codes_are_members_and_never_worse(name):
    A, gram, rng = quadratic(0)
    whole = combine(SETS[name])
    counts = present(counts_of(whole, False, 8))
    target = A.T @ rng.standard_normal((12, 40))
    before = whole.project(rng.standard_normal((8, 40)))
    after = recoded(before, target, gram, counts)
    assert whole.violation(after) == 0
    assert (values(after, target, gram) <= values(before, target, gram) + 1e-12).all()
    again = recoded(after, target, gram, counts)
    assert (values(again, target, gram) <= values(after, target, gram) + 1e-12).all()


@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_best_pair_is_found_for_most_samples(nonnegative):
    A, gram, rng = quadratic(1)
    target = A.T @ rng.standard_normal((12, 60))
    found = recoded(np.zeros((8, 60)), target, gram, Counts((np.arange(8),), (2,), nonnegative))
    best = np.zeros(60)
    for pair in itertools.combinations(range(8), 2):
        small = np.linalg.solve(gram[np.ix_(pair, pair)], target[list(pair)])
        ok = (small >= 0).all(axis=0) if nonnegative else np.ones(60, bool)
        best = np.where(ok, np.minimum(best, -0.5 * (small * target[list(pair)]).sum(axis=0)), best)
    if nonnegative:
        best = np.minimum(best, (-0.5 * np.maximum(target, 0) ** 2 / gram.diagonal()[:, None]).min(axis=0))
    excess = values(found, target, gram) - best
    assert excess.min() > -1e-9 and (excess < 1e-9).mean() > 0.75


def test_disjoint_rows_take_the_best_component():
    """One nonzero a sample: nothing is left to chance."""
    A, gram, rng = quadratic(2)
    target = A.T @ rng.random((12, 30))
    counts = present(counts_of(combine((Nonnegative(), DisjointSupports())), True, 8))
    found = recoded(np.zeros((8, 30)), target, gram, counts)
    expected = (np.maximum(target, 0) ** 2 / gram.diagonal()[:, None]).max(axis=0) / 2
    np.testing.assert_allclose(-values(found, target, gram), expected, rtol=1e-9)


def test_a_component_without_curvature_stays_out():
    A, _, rng = quadratic(3)
    A[:, 2] = 0
    found = recoded(np.zeros((8, 20)), A.T @ rng.standard_normal((12, 20)), A.T @ A, Counts((np.arange(8),), (3,), False))
    assert np.isfinite(found).all() and not found[2].any()


@pytest.mark.parametrize("nonnegative", [False, True])
def test_multiples_of_one_large_component_are_coded(nonnegative):
    """Their equations are singular."""
    rng = np.random.default_rng(4)
    counts, size = Counts((np.arange(20),), (3,), nonnegative), rng.random(40)
    for _ in range(30):
        A = rng.standard_normal((9, 20)) * 1e-6
        A[:, :3] = rng.standard_normal((9, 1))
        gram, target = A.T @ A, (A.T @ A)[:, :1] * size
        found = recoded(np.where(np.arange(20)[:, None] < 3, size / 3, 0), target, gram, counts)
        np.testing.assert_allclose(found[:3].sum(axis=0), size, rtol=1e-6)


@pytest.mark.parametrize(
    "sets",
    [
        (Nonnegative(),),
        (Sparse(3, axis="row"),),
        (Sparse(3, columns=(0, 1)),),
        (Sparse(3), UnitNorm()),
        (Sparse(3), GroupSparse(GROUPS)),
        (GroupSparse((tuple(range(8)),), k=(7,)), Sparse(8)),
    ],
)
def test_other_structures_are_left_alone(sets):
    assert counts_of(combine(sets), False, 8) is None
