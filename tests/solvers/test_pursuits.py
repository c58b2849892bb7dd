"""Codes over given dictionaries, the ready dictionaries, K-means, and dictionaries learned with an ℓ1 penalty."""

import numpy as np
import pytest
from scipy.fft import dctn

from semf_core import factorize
from semf_core.common.errors import InvalidInput
from semf_core.mathematics.metrics import match_parts, recovered_atoms
from semf_core.solvers import KSVD, KMeans, LikelihoodDictionary, SparseCoding
from semf_core.solvers.bases import BASES, fixed_atoms
from semf_core.solvers.omp import batch_omp
from semf_core.solvers.pursuits import as_codes, focuss, lasso, matching_pursuit
from tests.solvers.descent import run_on


def planted(seed=0, p=30, m=20, n=400, k=2):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, p))
    D /= np.linalg.norm(D, axis=0)
    codes = np.zeros((p, n))
    for j in range(n):
        codes[rng.choice(p, k, replace=False), j] = rng.uniform(1, 2, k) * rng.choice([-1, 1], k)
    return D, codes, D @ codes


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize(("sides", "count"), [((8, 8), 64), ((8, 8), 150), ((6, 9), 30), ((32, 1), 40)])
def test_ready_atoms_are_different_and_of_unit_length(kind, sides, count):
    atoms = fixed_atoms(kind, sides, count)
    assert atoms.shape == (count, sides[0] * sides[1])
    np.testing.assert_allclose(np.linalg.norm(atoms, axis=1), 1)
    assert np.linalg.matrix_rank(atoms) >= min(count, sides[0] * sides[1]) * 0.6


def test_as_many_cosines_as_pixels_are_the_discrete_cosine_transform():
    atoms, image = fixed_atoms("cosines", (8, 8), 64), np.random.default_rng(0).standard_normal((8, 8))
    np.testing.assert_allclose(atoms @ atoms.T, np.eye(64), atol=1e-12)
    np.testing.assert_allclose(
        np.sort(np.abs(atoms @ image.ravel())), np.sort(np.abs(dctn(image, norm="ortho").ravel())), atol=1e-12
    )


def test_wavelets_are_orthonormal():
    atoms = fixed_atoms("wavelets", (8, 8), 64)
    np.testing.assert_allclose(atoms @ atoms.T, np.eye(64), atol=1e-10)


@pytest.mark.parametrize("coding", ["omp", "mp", "lasso", "focuss"])
def test_true_codes_are_found_over_the_true_dictionary(coding):
    D, codes, M = planted()
    solver = SparseCoding(dictionary="given", coding=coding, k=2, penalty=0.02, noise=0.01)
    result = factorize(M, 30, solver=solver, start_factors=(D, np.zeros_like(codes)), max_iter=30)
    np.testing.assert_allclose(result.U, D)
    largest = np.argsort(-np.abs(result.V), axis=0)[:2]
    found = np.take_along_axis(codes != 0, largest, axis=0).all(axis=0).mean()
    assert found > (0.75 if coding == "mp" else 0.9)


def test_plain_pursuit_equals_the_orthogonal_one_on_an_orthonormal_basis():
    Dt, signals = fixed_atoms("cosines", (4, 4), 16), np.random.default_rng(1).standard_normal((20, 16))
    np.testing.assert_allclose(matching_pursuit(Dt, signals, 3), batch_omp(Dt, signals, 3).dense(16).T, atol=1e-10)


def test_focuss_keeps_the_signal_and_lowers_the_power_sum():
    D, _, M = planted(n=30)
    codes, sums = np.ones((30, 30)), []
    for _ in range(12):
        codes = focuss(D.T, M.T, codes, 0.5, 0.0)
        np.testing.assert_allclose(codes @ D.T, M.T, atol=1e-6)
        sums.append(np.sqrt(np.abs(codes)).sum())
    assert (np.diff(sums) <= 1e-9 * sums[0]).all() and sums[-1] < 0.6 * sums[0]


def test_lasso_codes_keep_their_values_in_the_form_of_a_pursuit():
    D, _, M = planted(n=20)
    dense = lasso(D.T, M.T, 0.1)
    codes = as_codes(dense, D.T, M.T)
    np.testing.assert_allclose(codes.dense(30).T, dense)
    np.testing.assert_allclose(codes.errors, np.square(M.T - dense @ D.T).sum(axis=1))


def test_focuss_ignores_the_units_of_its_signals():
    D, _, M = planted(n=30)
    plain, other, mixed = (focuss(D.T, (M * unit).T, None, 0.5, 0.1) for unit in (1, 2.0**10, 2.0 ** np.arange(30)))
    for _ in range(3):
        plain, other = focuss(D.T, M.T, plain, 0.5, 0.1), focuss(D.T, 2.0**10 * M.T, other, 0.5, 0.1)
        mixed = focuss(D.T, (M * 2.0 ** np.arange(30)).T, mixed, 0.5, 0.1)
    np.testing.assert_allclose(other, 2.0**10 * plain)
    np.testing.assert_allclose(mixed, (2.0 ** np.arange(30))[:, None] * plain)
    assert not focuss(D.T, np.zeros((1, 20)), None, 0.5, 0.0).any()


def test_codes_by_focuss_are_stationary_for_the_posterior_that_is_said():
    """½‖x − Dc‖² + (noise²/q) ‖x‖^(2−q) Σ|c|^q, the cost of the maximum a posteriori dictionary."""
    D, _, M = planted(n=5)
    q = 0.5
    codes = focuss(D.T, M.T, None, q, 0.1)
    for _ in range(300):
        codes = focuss(D.T, M.T, codes, q, 0.1)
    kept = np.abs(codes) > 1e-3
    slopes = (codes @ D.T - M.T) @ D
    lengths, entries = np.broadcast_to(np.linalg.norm(M, axis=0)[:, None], codes.shape)[kept], codes[kept]
    np.testing.assert_allclose(
        slopes[kept], -(0.1**2) * lengths ** (2 - q) * np.abs(entries) ** (q - 1) * np.sign(entries), rtol=1e-5
    )
    assert 5 <= kept.sum() < 30


LEARNED = {
    "ksvd": KSVD(coding="lasso", penalty=0.2),
    "likelihood": LikelihoodDictionary(penalty=0.05),
    "posterior": LikelihoodDictionary(coding="focuss"),
}


@pytest.mark.parametrize("solver", LEARNED.values(), ids=LEARNED)
def test_dictionaries_learned_without_counting_find_atoms(solver):
    D, _, M = planted(p=15, m=10)
    run = run_on(M, 15, solver, 40)
    first = run.solver.cost(run.problem, run.state)
    run.finish()
    U, V = run.factors()[:2]
    assert recovered_atoms(D, U) >= 6 and run.solver.cost(run.problem, run.state) < 0.8 * first
    assert (V == 0).mean() > 0.5


def test_k_means_finds_clusters():
    rng = np.random.default_rng(2)
    centres = 10 * rng.standard_normal((6, 3))
    M = centres[:, rng.integers(0, 3, 90)] + 0.1 * rng.standard_normal((6, 90))
    result = min((factorize(M, 3, solver=KMeans(), seed=s) for s in range(4)), key=lambda r: r.residual_uv)
    assert match_parts(result.U, centres).cosines.min() > 0.999 and (result.V.sum(axis=0) == 1).all()
    with pytest.raises(InvalidInput, match="samples"):
        factorize(M[:, :2], 3, solver=KMeans())


def test_what_cannot_be_had_is_refused():
    with pytest.raises(InvalidInput, match="no start"):
        factorize(np.ones((4, 5)), 2, solver=SparseCoding(dictionary="given"))
    with pytest.raises(InvalidInput, match="haar atoms"):
        factorize(np.ones((4, 5)), 200, solver=SparseCoding(dictionary="haar"))
