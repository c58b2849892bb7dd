"""SeMF on blocks of rows on a real Dask cluster of two worker processes: the iterates of the local solver."""

import os
import signal
from typing import Any

import dask.array as da
import distributed
import numpy as np
import pytest

from semf_core.common.errors import InvalidInput
from semf_core.distributed import WorkerLost, factorize_blocks
from semf_core.distributed.cluster import Cluster, Share, shares_of
from semf_core.distributed.sources import blocks_of
from semf_core.factorization.problem import make_problem
from semf_core.factorization.result import make_result
from semf_core.sets import Box, DisjointSupports, FixedColumns, Nonnegative, NormBall, Simplex, Sparse, Support, UnitNorm
from semf_core.solvers import ADMM, DEFAULT, Limits, Run
from tests.helpers import of

CUTS = [17, 60, 61, 100]
"""Where the 130 rows are cut: five blocks of unequal size."""
ITERATIONS = 12


@pytest.fixture(scope="module")
def cluster():
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as made:
        yield made


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster) as made:
        yield made


def planted(m=130, n=40, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(m, p)) @ rng.gamma(0.5, size=(p, n)) + 0.01 * rng.random((m, n))


def cut(M):
    return np.split(M, CUTS)


def local(M, X, Y, p=4, seed=3, limits=None, **options):
    limits = Limits(**({"tol": 0.0, "max_iter": ITERATIONS} | (limits or {})))
    name = options.pop("solver", DEFAULT.name)
    solver = ADMM(**options) if name == ADMM.name else DEFAULT(**options, descend=False)
    return make_result(Run(make_problem(M, p, X, Y), solver, limits, seed).finish())


def assert_same(found, expected):
    U, X = found.U.compute(), found.X.compute()
    for name, got, wanted in (("U", U, expected.U), ("X", X, expected.X), ("V", found.V, expected.V), ("Y", found.Y, expected.Y)):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max(), err_msg=name)
    np.testing.assert_allclose(found.history.table()[:, :8], expected.history.table()[:, :8], rtol=1e-10, atol=1e-14)
    assert (found.stop_reason, found.starts, found.events) == (expected.stop_reason, expected.starts, expected.events)
    assert found.certificate.feasible
    np.testing.assert_array_equal(found.certificate.nonzeros_u, expected.certificate.nonzeros_u)
    assert [(v.factor, v.constraint) for v in found.certificate.violations] == [
        (v.factor, v.constraint) for v in expected.certificate.violations
    ]
    np.testing.assert_allclose(found.certificate.gap_x, expected.certificate.gap_x, rtol=1e-8, atol=1e-12)


RNG = np.random.default_rng(1)
SETTINGS = [
    ((Nonnegative(),), (Nonnegative(), Sparse(2)), {}),
    ((Box(low=-0.5, high=1.0), Support(RNG.random((130, 4)) < 0.8)), (), {"gamma": 1.5}),
    ((FixedColumns([2], RNG.random((130, 1))), Nonnegative()), (Nonnegative(),), {"solver": "semf", "penalty": "scale"}),
    ((Simplex(axis="row"),), (Nonnegative(),), {"solver": "semf", "penalty": "fixed"}),
    ((DisjointSupports(), Nonnegative()), (Nonnegative(),), {"solver": "semf", "alpha0": 1.0}),
    ((Sparse(30),), (UnitNorm(axis="row"),), {"solver": "semf", "alpha0": 0.3}),
    ((Nonnegative(), Sparse(9, columns=[3])), (Nonnegative(),), {}),
    ((UnitNorm(),), (Sparse(2),), {"solver": "semf", "alpha0": 1.0, "beta0": 0.1}),
    ((Nonnegative(), UnitNorm()), (Nonnegative(),), {}),
    ((Nonnegative(), Sparse(40), NormBall(radius=0.7)), (Nonnegative(),), {"start": "normal"}),
    ((Sparse(20), UnitNorm()), (), {}),
]


@pytest.mark.filterwarnings("ignore::semf_core.ScaleAmbiguityWarning")
@pytest.mark.parametrize(("X", "Y", "options"), SETTINGS)
def test_iterates_are_those_of_the_local_solver(client, X, Y, options):
    M = planted()
    found = factorize_blocks(cut(M), 4, X, Y, client=client, seed=3, tol=0, max_iter=ITERATIONS, **options)
    assert of(da.Array, found.U).chunks[0] == (17, 43, 1, 39, 30)
    assert_same(found, local(M, X, Y, **options))


def test_kicks_restarts_and_stopping_are_those_of_the_local_solver(client):
    M = planted()
    limits: dict[str, Any] = {"tol": 1e-4, "max_iter": 40, "restarts": 2}
    limits |= {"kick": True, "window": 8, "stagnation": 0.5, "target": 1e-9}
    X, Y = (Nonnegative(), Sparse(20)), (Nonnegative(),)
    found = factorize_blocks(cut(M), 4, X, Y, client=client, seed=3, **limits)
    assert {e.kind for e in found.events} == {"kick", "restart"}
    assert_same(found, local(M, X, Y, limits=limits))


def test_an_exact_factorization_is_seen_below_the_rounding_of_the_identity(client):
    rng = np.random.default_rng(0)
    M = rng.random((60, 2)) @ rng.random((2, 30))
    found = factorize_blocks(np.split(M, 3), 2, client=client, tol=0, max_iter=40, solver="semf", alpha0=1e-3, beta0=1e-3)
    expected = local(M, (), (), p=2, seed=0, limits={"max_iter": 40}, solver="semf", alpha0=1e-3, beta0=1e-3)
    assert found.history.residual_xy.min() < 1e-9 * found.norm
    np.testing.assert_allclose(found.history.residual_xy, expected.history.residual_xy, rtol=1e-6, atol=1e-12 * found.norm)


def test_only_sums_travel(client):
    n, p, M = 40, 4, planted()
    found = factorize_blocks(cut(M), p, [Nonnegative()], client=client, tol=0, max_iter=10)
    down, up = p * n + p * p + 5, 2 * p * n + 2 * p * p + 3  # Y, YYᵀ, α, γ, steps, two slots; XᵀM, UᵀM, XᵀX, UᵀU and three norms
    assert (found.traffic.down, found.traffic.up) == (10 * 2 * 8 * down, 10 * 2 * 8 * up) and found.traffic.calls == 10
    longer = factorize_blocks([M, M, M, M], p, [Nonnegative()], client=client, tol=0, max_iter=10)
    assert longer.traffic == found.traffic
    counted = factorize_blocks([M, M, M, M], p, [Sparse(99)], client=client, tol=0, max_iter=10)
    assert counted.traffic.up < 10 * 2 * 8 * (up + 9 * p * 128 + 4 * p)


def test_rows_are_read_by_the_workers_and_a_folder_keeps_the_factors(cluster, tmp_path, monkeypatch):
    M = planted()
    da.to_npy_stack(tmp_path / "M", da.from_array(M, chunks=((30, 50, 50), (40,))), axis=0)
    stack = da.from_npy_stack(str(tmp_path / "M"))
    np.save(tmp_path / "m.npy", M)
    expected = local(M, (Nonnegative(),), ())
    monkeypatch.setenv("SEMF_DASK", cluster.scheduler_address)
    with pytest.raises(InvalidInput, match="say where the workers put"):
        factorize_blocks(stack, 4)
    files = sorted((tmp_path / "M").glob("*.npy"))
    for i, given in enumerate((stack, files, np.load(tmp_path / "m.npy", mmap_mode="r"))):
        folder = tmp_path / str(i)
        found = factorize_blocks(given, 4, [Nonnegative()], folder=folder, seed=3, tol=0, max_iter=ITERATIONS)
        assert_same(found, expected)
        assert not list(folder.glob("part-*"))
    kept = da.from_npy_stack(str(folder / "U")).compute(scheduler="synchronous")
    np.testing.assert_array_equal(kept, of(da.Array, found.U).compute())


def test_what_does_not_fit_is_read_again_and_never_kept(client, tmp_path, monkeypatch):
    M = planted()
    np.save(tmp_path / "m.npy", M)
    monkeypatch.setattr("semf_core.distributed.sources.BLOCK_BYTES", 10 * 40 * 8)
    blocks = blocks_of(np.load(tmp_path / "m.npy", mmap_mode="r"))
    assert len(blocks) == 13
    size = 10 * 40 * 8
    assert Share(tuple(blocks), 0).kept(3 * size, 8) == [True, True] + [False] * 11
    with pytest.raises(InvalidInput, match="smaller blocks"):
        Share(tuple(blocks), 0).kept(size - 1, 8)
    mixed = (*blocks[:2], *blocks_of([np.ones((10, 40))]))
    assert Share(mixed, 0).kept(2 * size, 8) == [False, False, True]
    with pytest.raises(InvalidInput, match="needs 0 MB at the least; cut M"):
        Share(mixed, 0).kept(2 * size - 1, 8)
    monkeypatch.setattr(Cluster, "_room", lambda *_: 3 * size)
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    found = factorize_blocks(mapped, 4, [Sparse(30)], client=client, seed=3, tol=0, max_iter=5)
    assert_same(found, local(M, (Sparse(30),), (), limits={"max_iter": 5}))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"start": "svd"}, "svd is not possible"),
        ({"start_factors": (np.ones((130, 4)), None)}, "X cannot be given"),
        ({"X": Support(np.ones((129, 4)))}, "X mask: has shape"),
    ],
)
def test_options_that_need_all_rows_at_once_are_refused(client, options, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        factorize_blocks(cut(planted()), 4, client=client, **options)


def test_missing_entries_and_files_are_said_by_the_workers(client, tmp_path):
    M = planted()
    M[70, 3] = np.nan
    with pytest.raises(InvalidInput, match="missing or infinite entry in rows 61 to 99"):
        factorize_blocks(cut(M), 4, client=client)
    gone = tmp_path / "gone.npy"
    np.save(gone, M)
    blocks = blocks_of([gone])
    gone.unlink()
    with pytest.raises(InvalidInput, match="rows from 0 on cannot be read"):
        Cluster(client, blocks, 4, np.dtype(float)).ask("scan")


def kill_a_worker(client, at):
    def callback(run):
        if run.iterations == at:
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    return callback


def test_a_worker_killed_in_the_middle_changes_nothing_with_a_folder_and_is_said_without(client, tmp_path):
    M, X = planted(), (Nonnegative(), Sparse(40))
    options = {"client": client, "seed": 3, "tol": 0, "max_iter": ITERATIONS, "folder": tmp_path, "checkpoint_every": 4}
    before = set(client.run(os.getpid).values())
    found = factorize_blocks(cut(M), 4, X, callback=kill_a_worker(client, 6), **options)
    assert_same(found, local(M, X, ()))
    client.wait_for_workers(2)
    assert len(before & set(client.run(os.getpid).values())) == 1
    del options["folder"]
    with pytest.raises(WorkerLost, match=r"rows from \d+ on was lost, .*give folder"):
        factorize_blocks(cut(M), 4, X, callback=kill_a_worker(client, 3), **options)
    client.wait_for_workers(2)


def test_runs_of_blocks_follow_the_rows():
    blocks = blocks_of(cut(planted()))
    for workers in range(1, 8):
        shares = shares_of(blocks, workers)
        assert [b for s in shares for b in s.blocks] == blocks and len(shares) <= workers
        assert [s.first for s in shares] == np.cumsum([0, *(s.rows for s in shares)])[:-1].tolist()
