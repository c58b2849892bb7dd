"""What algorithms say of their half steps is what they do, by the factors before and after an iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from semf_core.factorization.problem import make_problem
from semf_core.sets.kernels import keep_largest, polar
from semf_core.solvers import SOLVERS, CSMFncc, Limits, Run, SparsenessNMF
from semf_core.solvers.base import Solver

RANK = 3


@dataclass(frozen=True)
class Seen:
    """M, the factors before (U, V) and after (u, v) an iteration."""

    M: np.ndarray
    U: np.ndarray
    V: np.ndarray
    u: np.ndarray
    v: np.ndarray
    solver: Solver


def seen(name: str, iteration: int = 3, **options) -> Seen:
    rng = np.random.default_rng(5)
    M = rng.gamma(0.7, size=(14, RANK)) @ rng.gamma(0.7, size=(RANK, 20)) + 0.05 * rng.random((14, 20))
    solver = SOLVERS.build({"name": name, **options})
    run = Run(make_problem(M, RANK, solver=solver), solver, Limits(max_iter=iteration + 1, tol=0), 1)
    for _ in range(iteration):
        run.advance()
    U, V, *_ = run.factors(best=False)
    run.advance()
    u, v, *_ = run.factors(best=False)
    return Seen(M, U, V, u, v, solver)


def same(*pairs) -> None:
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def hals(rows, target, gram):
    """One exact sweep over nonnegative rows."""
    rows = rows.copy()
    for k in range(len(rows)):
        rows[k] = np.maximum(rows[k] + (target[k] - gram[k] @ rows) / gram[k, k], 0)
    return rows


def solves_nnls(rows, target, gram) -> None:
    """The conditions of optimality of nonnegative least squares."""
    slope = gram @ rows - target
    assert rows.min() >= 0 and slope.min() > -1e-6 and np.abs(slope * rows).max() < 1e-6


def unit_sums(s: Seen, coefficients) -> np.ndarray:
    U = s.U * ((s.M / (s.U @ coefficients)) @ coefficients.T) / coefficients.sum(axis=1)
    return U / U.sum(axis=0)


def multiplicative(s: Seen) -> None:
    same((s.u, s.U * (s.M @ s.V.T) / (s.U @ s.V @ s.V.T)), (s.v, s.V * (s.u.T @ s.M) / (s.u.T @ s.u @ s.V)))


def coordinates(s: Seen) -> None:
    same((s.u.T, hals(s.U.T, s.V @ s.M.T, s.V @ s.V.T)), (s.v, hals(s.V, s.u.T @ s.M, s.u.T @ s.u)))


def alternating(s: Seen) -> None:
    solves_nnls(s.u.T, s.V @ s.M.T, s.V @ s.V.T)
    solves_nnls(s.v, s.u.T @ s.M, s.u.T @ s.u)


def divergence(s: Seen) -> None:
    V = s.V * (s.U.T @ (s.M / (s.U @ s.V)))
    sums = (s.U * ((s.M / (s.U @ V)) @ V.T) / V.sum(axis=1)).sum(axis=0)
    same((s.u, unit_sums(s, V)), (s.v, sums[:, None] * V))


def local(s: Seen) -> None:
    V = np.sqrt(s.V * (s.U.T @ (s.M / (s.U @ s.V))))
    fit = s.u @ V
    same((s.u, unit_sums(s, V)), (s.v, V * np.vdot(s.M, fit) / np.vdot(fit, fit)))


def nonsmooth(s: Seen) -> None:
    same((s.u, unit_sums(s, s.v)))


def shrunk(s: Seen) -> None:
    """CSMF on all rows and columns: the last component is the shrunk one for those before it."""
    u, v = s.u[:, -1], s.v[-1]
    r = (s.M - s.u[:, :-1] @ s.V[:-1]) @ s.V[-1]
    t = 0.2 * np.abs(s.u[:, :-1]).sum(axis=1) + 0.3 / 2
    same((u, np.sign(r) * np.maximum(np.abs(r) - t, 0) / (s.V[-1] @ s.V[-1])))
    r = s.u[:, -1] @ (s.M - s.u[:, :-1] @ s.v[:-1])
    same((v, np.sign(r) * np.maximum(np.abs(r) - 0.4 / 2, 0) / (u @ u)))


def priced(s: Seen) -> None:
    same((s.v, s.V * (s.u.T @ s.M) / (s.u.T @ s.u @ s.V + 0.1)))
    assert np.allclose(np.linalg.norm(s.u, axis=0), 1)


def procrustes(s: Seen) -> None:
    u = polar(s.M @ s.V.T)
    same((s.u, u), (s.v, keep_largest(u.T @ s.M, 2)))


def prototypes(s: Seen) -> None:
    nearest = np.linalg.norm(s.M[:, None, :] - s.u[:, :, None], axis=0).argmin(axis=0)
    same((s.u, s.M @ s.V.T @ np.linalg.inv(s.V @ s.V.T)), (s.v, np.eye(RANK)[:, nearest]))


def optimal_directions(s: Seen) -> None:
    same((s.u, s.M @ np.linalg.pinv(s.v)), (np.linalg.norm(s.u, axis=0), np.ones(RANK)))


def singular(s: Seen) -> None:
    left, values, right = np.linalg.svd(s.M)
    same((s.u @ s.v, (left[:, :RANK] * values[:RANK]) @ right[:RANK]), (s.v, s.u.T @ s.M), (s.u, s.U))


def principal(s: Seen) -> None:
    rest = s.M - s.u[:, :1]
    same((s.u[:, 0], s.M.mean(axis=1)), (s.v[0], np.ones(20)), (s.v[1:], s.u[:, 1:].T @ rest))


def last_atom(s: Seen) -> None:
    """K-SVD: the last atom and its row are the best pair for what the others leave of the samples that use it."""
    used = s.v[-1] != 0
    rest = (s.M - s.u[:, :-1] @ s.v[:-1])[:, used]
    assert used.any() and not used.all()
    same((s.v[-1, used], s.u[:, -1] @ rest))


def coded(s: Seen) -> None:
    """A lasso for the new atoms: the correlations of what is left are at most the weight."""
    weight = 0.1 * np.linalg.norm(s.M, axis=0).mean()
    slope = s.u.T @ (s.M - s.u @ s.v)
    assert np.abs(slope).max() <= 1.02 * weight and np.allclose(slope[s.v != 0], (weight * np.sign(s.v))[s.v != 0], rtol=0.02)


def last_row(s: Seen) -> None:
    """The last row of V, which is solved for last, leaves nothing along its component where it is free."""
    slope = s.u[:, -1] @ (s.M - s.u @ s.v)
    assert np.abs(slope[s.v[-1] > 0]).max() < 1e-8 * np.linalg.norm(s.M) and (s.v[-1] > 0).any()


CHECKS: list[tuple[str, dict, Callable[[Seen], None]]] = [
    ("nmf-mu", {}, multiplicative),
    ("nmf-cd", {}, coordinates),
    ("nmf-anls", {}, alternating),
    ("nmf-ehals", {}, last_row),
    ("nmf-kl", {}, divergence),
    ("lnmf", {}, local),
    ("nsnmf", {}, nonsmooth),
    ("csmf", {"alpha": 0.2, "beta": 0.3, "lam": 0.4, "rows": 1.0, "columns": 1.0}, shrunk),
    ("nnsc", {}, priced),
    ("orthonormal-dictionary", {"k": 2}, procrustes),
    ("k-means", {}, prototypes),
    ("mod", {"k": 2}, optimal_directions),
    ("ksvd", {"k": 2}, last_atom),
    ("svd", {}, singular),
    ("pca", {}, principal),
    ("ml-dictionary", {}, coded),
    ("online-dictionary", {}, coded),
    ("mixed-norm", {}, last_row),
    ("spatial-nca", {}, last_row),
]


@pytest.mark.parametrize(("name", "options", "check"), CHECKS, ids=[name for name, _, _ in CHECKS])
def test_the_half_steps_are_what_is_said_of_them(name, options, check):
    check(seen(name, **options))


def test_weights_stand_in_the_formulas():
    on_u, on_v = CSMFncc(alpha=0.2, beta=0.3, lam=0.5).half_steps()
    assert "0.2" in on_u.formula and "0.15" in on_u.formula and "0.25" in on_v.formula
    first, second = SparsenessNMF(scheme="published").half_steps()
    assert (first.factor, second.factor) == ("V", "U") and r"\mathcal P_s" in second.formula and "V_+" in second.formula
