"""SeMF's iteration against a plain transcription, and the properties the engine promises."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from semf_core.factorization.problem import make_problem
from semf_core.sets import FixedColumns, GroupSparse, Nonnegative, OrthogonalTo, Sparse, UnitNorm
from semf_core.solvers import ADMM, COLUMNS, Case, Limits, Run, half_steps
from semf_core.solvers.penalties import decide, factors
from tests.solvers.reference import reference_admm

LETTERS = {
    Case.NONE: "",
    Case.SKIP: "skip",
    Case.NEAR_FEASIBLE: "1",
    Case.X_STALLED: "2a",
    Case.Y_STALLED: "2b",
    Case.BOTH_STALLED: "2ab",
    Case.FIDELITY_STALLED: "3a",
    Case.BOTH_IMPROVE: "3b",
}


def planted(m=30, n=40, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(m, p)) @ rng.gamma(0.5, size=(p, n))


CLIPPED = (Nonnegative(),)
TWO_SPARSE = (Nonnegative(), Sparse(2))


def make_run(M, p=4, X=CLIPPED, Y=TWO_SPARSE, seed=3, limits=None, dtype=None, **solver):
    limits = {"tol": 0.0, "max_iter": 60} | (limits or {})
    return Run(make_problem(M, p, X, Y, dtype=dtype), ADMM(**solver), Limits(**limits), seed)


SETTINGS = [
    ((Nonnegative(),), (Nonnegative(), Sparse(2)), {}),
    ((UnitNorm(),), (Sparse(2),), {"alpha0": 1.0, "beta0": 0.1}),
    ((Nonnegative(), Sparse(9, columns=[3]), OrthogonalTo(3)), (Nonnegative(), GroupSparse([[0, 1], [2], [3]])), {"gamma": 1.5}),
    ((Nonnegative(),), (Nonnegative(),), {"alpha0": 30.0, "beta0": 3.0, "mu": 3.0, "nu": 2.0, "epsilon": 0.01, "q": 3}),
]


@pytest.mark.parametrize(("X", "Y", "options"), SETTINGS)
def test_iterates_equal_the_plain_transcription(X, Y, options):
    M = planted()
    run = make_run(M, X=X, Y=Y, **options)
    Y0 = run.state.Y.copy()
    names = {k: v for k, v in options.items() if k in {"gamma", "mu", "nu", "epsilon", "q"}}
    norm = float(np.linalg.norm(M))
    expected = reference_admm(
        M,
        Y0,
        run.problem.x_set.project,
        run.problem.y_set.project,
        options.get("alpha0", 0.01) * norm,
        options.get("beta0", 0.01) * norm,
        60,
        **names,
    )
    for X_ref, Y_ref, U_ref, V_ref, alpha, beta, case, uv, xy, gap_x, gap_y in expected:
        frame = run.advance()
        U, V, X_now, Y_now = run.factors(best=False)
        np.testing.assert_allclose(X_now, X_ref, atol=1e-9 * norm)
        np.testing.assert_allclose(Y_now, Y_ref, atol=1e-9 * norm)
        np.testing.assert_allclose(U, U_ref, atol=1e-9 * norm)
        np.testing.assert_allclose(V, V_ref, atol=1e-9 * norm)
        np.testing.assert_allclose((frame.alpha, frame.beta), (alpha, beta))
        np.testing.assert_allclose(
            (frame.residual_uv, frame.residual_xy, frame.gap_x, frame.gap_y), (uv, xy, gap_x, gap_y), rtol=1e-6, atol=1e-9 * norm
        )
        assert LETTERS[frame.case] == case
    assert any(e[6] not in ("", "skip") for e in expected), "the setting must exercise Algorithm 2"


@pytest.mark.parametrize(
    ("now", "before", "case", "alpha", "beta"),
    [
        ((0.9, 0.5, 1, 1), (1, 0.5, 1, 1), Case.SKIP, 1, 1),
        ((1, 1, 1, 1), (1, 1, 1, 1), Case.NEAR_FEASIBLE, 1 / 5, 1 / 5),
        ((1, 0.5, 1, 0.5), (1, 0.5, 1, 1), Case.X_STALLED, 2, 1),
        ((1, 0.5, 0.5, 1), (1, 0.5, 1, 1), Case.Y_STALLED, 1, 2),
        ((1, 0.5, 1, 1), (1, 0.5, 1, 1), Case.BOTH_STALLED, 2, 2),
        ((1, 0.5, 0.5, 0.5), (1, 0.5, 1, 1), Case.FIDELITY_STALLED, 1 / 5, 1 / 5),
        ((1, 0.4, 0.5, 0.5), (1, 0.5, 1, 1), Case.BOTH_IMPROVE, 2, 2),
    ],
)
def test_each_case_of_algorithm_2(now, before, case, alpha, beta):
    assert decide(np.array(now, float), np.array(before, float), 5e-4) == case
    assert factors(case, 2.0, 5.0) == pytest.approx((alpha, beta))


@pytest.mark.parametrize("shape", [(30, 40, 4), (12, 40, 20), (40, 12, 20)], ids=str)
def test_as_many_inner_steps_as_unknowns_solve_the_equations(shape):
    """Conjugate gradients end after p steps; with more components than rows or columns too, where (8) is solved otherwise."""
    m, n, p = shape
    M = planted(m, n, 4)
    runs = [make_run(M, p, alpha0=0.3, beta0=0.3, inner=inner, limits={"max_iter": 10}).finish() for inner in (0, 2 * p)]
    for exact, stepwise in zip(*(run.factors(best=False) for run in runs), strict=True):
        np.testing.assert_allclose(stepwise, exact, rtol=1e-6, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("inner", [1, 3])
def test_few_inner_steps_converge_to_the_same(inner):
    """(7a) and (7b) by a gradient step or a few conjugate ones; V known, so that there is one answer."""
    rng = np.random.default_rng(1)
    V = rng.gamma(0.5, size=(4, 40))
    M = rng.gamma(0.5, size=(30, 4)) @ V + 0.1 * rng.standard_normal((30, 40))
    known = (FixedColumns(range(4), V.T, axis="row"),)
    options = {"penalty": "fixed", "alpha0": 1.0, "beta0": 1.0, "limits": {"max_iter": 500}}
    runs = [make_run(M, Y=known, inner=steps, **options).finish() for steps in (0, inner)]
    truth = np.array([nnls(V.T, row)[0] for row in M])
    for run in runs:
        np.testing.assert_allclose(run.factors(best=False)[0], truth, atol=1e-10)


def test_stops_only_after_three_quiet_iterations_in_a_row():
    run = make_run(planted(), limits={"tol": 1e-5, "max_iter": 3000}).finish()
    assert run.stop_reason == "converged"
    xy, change = run.history.residual_xy, run.history.change
    quiet = (np.abs(np.diff(xy)) <= 1e-5 * xy[:-1]) | (change[1:] <= 1e-5)
    assert quiet[-3:].all()
    assert not any(quiet[i : i + 3].all() for i in range(len(quiet) - 3))


@pytest.mark.parametrize("penalty", ["adaptive", "fixed", "scale"])
def test_penalty_rules(penalty):
    run = make_run(planted(), penalty=penalty, alpha0=5.0, beta0=2.0).finish()
    alpha, beta = run.history.alpha, run.history.beta
    norm = run.problem.matrix.norm
    if penalty == "fixed":
        assert np.allclose(alpha, 5 * norm) and np.allclose(beta, 2 * norm)
    if penalty == "scale":
        X = run.factors(best=False)[2]
        assert beta[-1] == pytest.approx(0.3 * np.sum(X * X) / 4)
    assert (len(np.unique(alpha)) > 1) == (penalty != "fixed")
    assert (run.history.case.any()) == (penalty == "adaptive")


def test_residuals_stay_accurate_down_to_rounding():
    """The expanded residual cancels near zero; the recorded one must not."""
    M = planted(40, 50, 3)
    run = make_run(M, p=3, X=(), Y=(), limits={"max_iter": 400}, penalty="fixed", alpha0=1e-6, beta0=1e-6)
    for _ in range(400):
        frame = run.advance()
        _, _, X, Y = run.factors(best=False)
        true = np.linalg.norm(M - X @ Y)
        assert frame.residual_xy == pytest.approx(true, rel=1e-4, abs=1e-13 * run.problem.matrix.norm)
    assert frame.residual_xy < 1e-10 * run.problem.matrix.norm


def test_zero_rows_and_columns_change_nothing():
    M = planted()
    padded = np.zeros((50, 60))
    rows, columns = np.arange(5, 35), np.r_[0:20, 40:60]
    padded[np.ix_(rows, columns)] = M
    small, large = make_run(M), make_run(padded)
    assert large.problem.matrix.shape == M.shape
    large.state.Z[:] = small.state.Z
    for _ in range(40):
        small.advance(), large.advance()
    U, V, X, Y = large.factors(best=False)
    for whole, part in zip((U[rows], V[:, columns], X[rows], Y[:, columns]), small.factors(best=False), strict=True):
        np.testing.assert_array_equal(whole, part)
    assert not np.delete(U, rows, axis=0).any() and not np.delete(V, columns, axis=1).any()


def test_sparse_and_memory_mapped_data_give_the_dense_iterates(tmp_path):
    rng = np.random.default_rng(1)
    M = planted() * (rng.random((30, 40)) < 0.4)
    np.save(tmp_path / "m.npy", M)
    runs = [make_run(data) for data in (M, sp.csr_array(M), sp.coo_matrix(M), np.load(tmp_path / "m.npy", mmap_mode="r"))]
    for _ in range(40):
        frames = [run.advance() for run in runs]
    for run, frame in zip(runs[1:], frames[1:], strict=True):
        np.testing.assert_allclose(run.factors(best=False)[0], runs[0].factors(best=False)[0], atol=1e-8)
        assert frame.residual_uv == pytest.approx(frames[0].residual_uv, rel=1e-9)


def test_float32_follows_float64():
    M = planted()
    single, double = make_run(M, dtype="float32"), make_run(M)
    for _ in range(20):
        a, b = single.advance(), double.advance()
    assert single.factors()[0].dtype == np.float32
    assert a.residual_xy == pytest.approx(b.residual_xy, rel=1e-3)


def test_missing_entries_are_filled_in():
    """A rank-3 matrix with 30 % missing is recovered where nothing was observed."""
    rng = np.random.default_rng(0)
    M = rng.random((40, 3)) @ rng.random((3, 50))
    holes = rng.random(M.shape) < 0.3
    damaged = np.where(holes, np.nan, M)
    run = Run(
        make_problem(damaged, 3, [Nonnegative()], [Nonnegative()]),
        ADMM(alpha0=0.1, beta0=0.1),
        Limits(max_iter=3000, tol=1e-9),
        0,
    )
    run.finish()
    U, V, *_ = run.factors()
    assert np.linalg.norm((M - U @ V)[holes]) < 2e-2 * np.linalg.norm(M[holes])
    observed = np.linalg.norm(np.where(holes, 0, M - U @ V))
    assert run.best_uv == pytest.approx(observed, rel=1e-6)


def test_mask_argument_equals_nan():
    M = planted()
    holes = np.random.default_rng(2).random(M.shape) < 0.2
    by_nan = Run(make_problem(np.where(holes, np.nan, M), 4), ADMM(), Limits(max_iter=10), 1).finish()
    by_mask = Run(make_problem(M, 4, mask=~holes), ADMM(), Limits(max_iter=10), 1).finish()
    np.testing.assert_array_equal(by_nan.factors()[0], by_mask.factors()[0])


@pytest.mark.parametrize("cut", [1, 7, 23, 61, 97])
def test_checkpoint_and_resume_bit_for_bit(cut):
    """Cut anywhere, kicks and restarts included, a resumed run repeats the uninterrupted one."""
    limits = {"max_iter": 50, "restarts": 2, "kick": True, "window": 10, "target": 0.0}
    M = planted() + 0.3 * np.random.default_rng(5).random((30, 40))
    whole = make_run(M, limits=limits).finish()
    assert {e.kind for e in whole.events} == {"kick", "restart"}
    part = make_run(M, limits=limits)
    for _ in range(cut):
        part.advance()
    stored = io.BytesIO()
    part.checkpoint(stored)
    resumed = Run.resume(stored.getvalue(), part.problem, part.solver, part.limits).finish()
    for a, b in zip(whole.factors(), resumed.factors(), strict=True):
        np.testing.assert_array_equal(a, b)
    timeless = [i for i, name in enumerate(COLUMNS) if name != "seconds"]
    np.testing.assert_array_equal(whole.history.table()[:, timeless], resumed.history.table()[:, timeless])
    assert whole.events == resumed.events and whole.stop_reason == resumed.stop_reason


def test_same_seed_same_run_other_seed_other_run():
    a, b, c = (make_run(planted(), seed=s).finish() for s in (1, 1, 2))
    np.testing.assert_array_equal(a.history.residual_uv, b.history.residual_uv)
    assert not np.array_equal(a.history.residual_uv, c.history.residual_uv)


def test_the_best_factors_are_kept_through_kicks_and_restarts():
    run = make_run(planted(), limits={"max_iter": 80, "restarts": 3, "kick": True, "window": 10, "target": 0.0}).finish()
    U, V, *_ = run.factors()
    assert run.best_uv == pytest.approx(run.history.residual_uv.min())
    assert np.linalg.norm(planted() - U @ V) == pytest.approx(run.best_uv, rel=1e-6)
    assert run.start == 2 and run.iterations == 240


def test_restarts_give_up_on_stagnation_and_stop_when_solved():
    hopeless = make_run(planted(p=8), limits={"max_iter": 500, "restarts": 3, "window": 20}).finish()
    assert any("gave up" in e.text for e in hopeless.events)
    solved = make_run(planted(), Y=(Nonnegative(),), limits={"max_iter": 500, "restarts": 5, "target": 0.1, "tol": 1e-6}).finish()
    assert solved.start == 0 and solved.best_uv <= 0.1 * solved.problem.matrix.norm


@pytest.mark.parametrize("kind", ["uniform", "normal", "svd"])
def test_starting_points(kind):
    run = make_run(planted(), start=kind, X=(), Y=())
    assert run.state.Y.any()
    run.finish()
    assert run.best_uv < 0.2 * run.problem.matrix.norm


def test_start_from_given_factors_continues_from_there():
    rng = np.random.default_rng(0)
    X, Y = rng.random((30, 4)), rng.random((4, 40))
    M = X @ Y
    problem = make_problem(M, 4, [Nonnegative()], [Nonnegative()], start=(X, Y))
    run = Run(problem, ADMM(alpha0=1, beta0=1), Limits(max_iter=5, tol=0.0), 0)
    assert run.advance().residual_uv < 1e-8 * np.linalg.norm(M)


@pytest.mark.parametrize(
    ("X", "Y"),
    [
        ((Nonnegative(), Sparse(10)), (Nonnegative(),)),
        ((UnitNorm(),), (Sparse(2),)),
        ((Nonnegative(), Sparse(9, columns=[3]), OrthogonalTo(3)), (Nonnegative(), GroupSparse([[0, 1], [2], [3]]))),
    ],
)
def test_polish_lowers_the_error_and_keeps_feasibility(X, Y):
    M = planted()
    plain = make_run(M, X=X, Y=Y, limits={"max_iter": 15}).finish()
    polished = make_run(M, X=X, Y=Y, limits={"max_iter": 15, "polish": 20}).finish()
    U, V, *_ = polished.factors()
    assert polished.best_uv < plain.best_uv
    assert np.linalg.norm(M - U @ V) == pytest.approx(polished.best_uv, rel=1e-6)
    assert polished.problem.x_set.violation(U) < 1e-10 and polished.problem.y_set.violation(V) < 1e-10
    assert polished.events[-1].kind == "polish"


def test_no_temporary_of_the_size_of_the_data():
    import tracemalloc

    M = np.random.default_rng(0).random((4000, 2500))
    problem = make_problem(M, 5, [Nonnegative()], [Nonnegative()])
    run = Run(problem, ADMM(), Limits(max_iter=3), 0)
    tracemalloc.start()
    run.finish()
    problem.matrix.residual(run.state.W[:5], run.state.Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < M.nbytes / 5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [1e-2, 1e-9])
def test_the_equations_of_a_factor_are_solved_to_rounding(dtype, share):
    """Whether by the inverse or, where it would lose digits, by triangular solves; whole, or in parts."""
    rng, p, n = np.random.default_rng(0), 7, 60
    A, F = rng.standard_normal((p, 30)).astype(dtype), rng.standard_normal((p, n)).astype(dtype)
    A[0] = A[1]  # singular but for the penalty
    gram = A @ A.T
    penalty = dtype(max(share, 30 * np.finfo(dtype).eps) * gram.trace())
    shifted = gram.astype(float) + float(penalty) * np.eye(p)
    V, Pi = (rng.standard_normal((p, n)).astype(dtype) for _ in range(2))
    product = (shifted @ F - penalty * V + Pi).astype(dtype)
    equations = half_steps.NormalEquations(product, gram, penalty)
    for parts in ([slice(0, n)], [slice(0, 25), slice(25, n)]):
        new = np.full((2 * p, n), np.nan, dtype)
        for part in parts:
            work = np.empty((p, part.stop - part.start), dtype)
            equations.find(new, V, Pi, work, part.start)
            np.testing.assert_allclose(work, new[:p, part] + Pi[:, part] / penalty, rtol=1e-5)
        left = shifted @ new[:p] - (product.astype(float) + float(penalty) * V - Pi)
        assert np.abs(left).max() <= 1e3 * np.finfo(dtype).eps * np.linalg.norm(shifted) * np.abs(new[:p]).max()
