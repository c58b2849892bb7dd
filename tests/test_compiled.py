"""The compiled loops against their NumPy twins, bit for bit: which of them is at hand must not be seen in any result."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from semf_core.factorization.problem import make_problem
from semf_core.mathematics import compiled, matrix
from semf_core.mathematics.matrix import DenseMatrix, SparseFit
from semf_core.sets import (
    GroupSparse,
    L1Ball,
    Nonnegative,
    OrthogonalTo,
    Simplex,
    Sparse,
    StructureSet,
    UnitNorm,
    combine,
    curves,
    kernels,
)
from semf_core.solvers import ADMM, Limits, Run, half_steps
from tests.sets.test_kernels import LENGTH, long_columns

Array = np.ndarray
DTYPES = (np.float64, np.float32)


@pytest.fixture(scope="module")
def loaded() -> SimpleNamespace:
    compiled.load()
    ready = compiled.loops(compiled.SMALL)
    assert ready is not None
    return ready


@pytest.fixture
def both(loaded: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], tuple[object, object]]:
    """What a function gives by the compiled loops, and what it gives by NumPy."""

    def run(function: Callable[[], object]) -> tuple[object, object]:
        results = []
        for ready in (loaded, None):
            for module in (half_steps, kernels, curves, matrix):
                monkeypatch.setattr(module, "loops", lambda entries=0, ready=ready: ready)
            results.append(function())
        return results[0], results[1]

    return run


def same_bits(a: Array, b: Array) -> None:
    """Equal to the last bit, the sign of a zero included."""
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8))


def matrices(dtype: type, shape: tuple[int, int]) -> Iterator[Array]:
    """Signed, with ties and zeros of both signs, constant, zero, huge and tiny."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal(shape)
    yield A.astype(dtype)
    yield rng.integers(-3, 4, shape).astype(dtype) * dtype(-0.5)
    yield np.where(rng.random(shape) < 0.9, -0.0, A).astype(dtype)
    yield np.ones(shape, dtype)
    yield -np.ones(shape, dtype)
    yield np.zeros(shape, dtype)
    yield (A * 1e30).astype(dtype)
    yield (A * 1e-30).astype(dtype)


SHAPES = [(3, 64), (17, 130), (60, 300), (256, 129)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 15, 16])
@pytest.mark.parametrize("keep", [kernels.keep_largest, kernels.keep_largest_nonnegative])
def test_the_largest_entries(both, dtype: type, shape: tuple[int, int], k: int, keep: Callable[[Array, int], Array]) -> None:
    for A in matrices(dtype, shape):
        fast, slow = both(lambda A=A: keep(A, k))
        same_bits(fast, slow)
        assert np.count_nonzero(fast, axis=0).max() <= k


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, 2, 60, 1650, 4940, LENGTH - 1, LENGTH])
def test_the_largest_entries_of_long_columns(both, dtype: type, k: int) -> None:
    columns = (long_columns(dtype), -long_columns(dtype), np.round(long_columns(dtype), 1))
    for A in (*columns, *map(np.asfortranarray, columns)):
        for keep in (kernels.kth_largest, kernels.keep_largest, kernels.keep_largest_nonnegative):
            same_bits(*both(lambda A=A, keep=keep: keep(A, k) + 0.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [1, (1, 2, 1, 2), (1, 2, 2, 1)])
@pytest.mark.parametrize("others", [(), (Nonnegative(),), (Nonnegative(), UnitNorm())], ids=len)
def test_the_largest_of_each_group(both, dtype: type, k: int | tuple[int, ...], others: tuple[StructureSet, ...]) -> None:
    groups = ((4, 0, 2), (1, 3), (5,), (8, 7, 6, 9)) if k == 1 else ((0, 3, 5), (9, 1), (2, 4, 6), (7, 8))
    joint = combine((GroupSparse(groups, k), *others))
    for A in matrices(dtype, (10, 300)):
        fast, slow = both(lambda A=A: joint.project(A))
        same_bits(fast, slow)
        for group, count in zip(groups, (k,) * 4 if isinstance(k, int) else k, strict=True):
            assert np.count_nonzero(fast[list(group)], axis=0).max() <= count


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [None, 1, 3, 10, 11])
def test_columns_kept_off_the_support_of_one(both, dtype: type, k: int | None) -> None:
    for A in matrices(dtype, (10, 120)):
        P = np.asfortranarray(np.maximum(A, 0))
        fast, slow = both(lambda P=P: kernels.clear_shared_support(P, 2, k))
        same_bits(fast, slow)
        np.testing.assert_array_equal(fast[:, 2], P[:, 2] if k is None else kernels.keep_largest_nonnegative(P, k)[:, 2])
        assert not (np.delete(fast, 2, axis=1)[fast[:, 2] > 0]).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_simplex(both, dtype: type, shape: tuple[int, int]) -> None:
    masked: np.ndarray = np.where(np.random.default_rng(1).random(shape) < 0.5, -np.inf, 1).astype(dtype)
    masked[0] = 0
    for A in (*matrices(dtype, shape), masked):
        for total in (1.0, 7.5, 1e-3):
            fast, slow = both(lambda A=A, total=total: kernels.simplex(A, total))
            same_bits(fast, slow)
            np.testing.assert_allclose(fast.sum(axis=0), total, rtol=1e-4 if dtype is np.float32 else 1e-11)
        same_bits(*both(lambda A=A: L1Ball(2.0).project(np.where(np.isinf(A), 0, A))))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("first", [0, 37])
def test_the_passes_over_a_factor(both, dtype: type, first: int) -> None:
    p, n, width = 9, 200, 110
    rng = np.random.default_rng(2)

    def normal(rows: int, columns: int) -> np.ndarray:
        return rng.standard_normal((rows, columns)).astype(dtype)

    product, projected, multiplier, old, new = (normal(rows, n) for rows in (p, p, p, 2 * p, 2 * p))
    work, addend, V = (normal(p, width) for _ in range(3))
    penalty = dtype(0.37)

    def passes() -> list[Array]:
        out, T, S, S2 = work.copy(), work.copy(), work.copy(), work.copy()
        Z, L = new.copy(), multiplier.copy()
        half_steps.free(out, product, projected, multiplier, penalty, first)
        half_steps.target(T, projected, multiplier, penalty, first)
        half_steps.place(Z, S, addend, multiplier, penalty, first)
        half_steps.place(Z, S2, addend[:0], multiplier, penalty, first)
        sums = half_steps.settle(Z, old, V, L, 1.3 * penalty, first)
        return [out.ravel(), T.ravel(), S.ravel(), S2.ravel(), Z.ravel(), L.ravel(), np.array(sums)]

    fast, slow = both(passes)
    for a, b in zip(fast, slow, strict=True):
        same_bits(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_residual_of_sparse_codes(both, dtype: type) -> None:
    rng = np.random.default_rng(3)
    M: np.ndarray = rng.standard_normal((7, 90)).astype(dtype)
    Ut: np.ndarray = rng.standard_normal((30, 7)).astype(dtype)
    V = kernels.keep_largest(rng.standard_normal((30, 90)).astype(dtype), 3)
    V[:, 5] = 0

    def residual() -> float:
        fit = SparseFit(DenseMatrix(M, np.dtype(dtype)), Ut, 3)
        fit.add(V, slice(0, 40))
        fit.add(V, slice(40, 90))
        return fit.residual()

    fast, slow = both(residual)
    assert fast == slow == pytest.approx(np.linalg.norm(M - Ut.T @ V), rel=1e-5 if dtype is np.float32 else 1e-13)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("others", [(), (Nonnegative(),)], ids=len)
def test_codes_with_ties(both, dtype: type, others: tuple[StructureSet, ...]) -> None:
    """Where X = 0 the V before is projected, here of small integers."""
    p, m, n, k = 70, 5, 150, 4
    Z: Array = np.random.default_rng(5).integers(-3, 4, (2 * p, n)).astype(dtype)
    M = DenseMatrix(np.ones((m, n), dtype), np.dtype(dtype))

    def advanced() -> list[Array]:
        W: Array = np.zeros((2 * p, m), dtype)
        new, Pi = np.empty_like(Z), Z[:p] * dtype(0.5)
        columns = half_steps.Columns(M, W, Z, new, Pi, np.empty_like(Pi), combine((*others, Sparse(k))))
        fit = SparseFit(M, W[p:], k)
        sums = half_steps._advance_parts(columns, half_steps.SmallSystem(M.array, W[:p], dtype(2)), 1.3, fit)
        return [new.ravel(), Pi.ravel(), np.array([*sums, fit.residual()])]

    for fast, slow in zip(*both(advanced), strict=True):
        same_bits(fast, slow)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bound", [30.0, 0.5, 1e-3, 1e-9])
def test_smooth_nonnegative_curves(both, dtype: type, bound: float) -> None:
    rng = np.random.default_rng(6)
    waves = np.sin(np.linspace(0, 20, 200))[:, None] * np.arange(1, 4) + 0.3 * rng.standard_normal((200, 3))
    for A in (waves.astype(dtype), *matrices(dtype, (40, 3))):
        fast, slow = both(lambda A=A: curves.smooth_nonnegative(A, bound))
        same_bits(fast, slow)


GROUPS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (9,))
RUNS = {
    "sparse codes": ((12, 300), 20, (UnitNorm(),), (Sparse(2),)),
    "nonnegative codes": ((12, 300), 20, (UnitNorm(),), (Nonnegative(), Sparse(2))),
    "simplex": ((30, 900), 6, (), (Simplex(),)),
    "sparse X": ((5000, 20), 4, (Nonnegative(), Sparse(900)), (Nonnegative(),)),
    "groups": ((150, 130), 10, (Nonnegative(), Sparse(9, columns=(9,)), OrthogonalTo(9)), (Nonnegative(), GroupSparse(GROUPS))),
    "sparse rows of X": ((400, 10), 24, (Sparse(2, axis="row"),), (UnitNorm(),)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", RUNS)
def test_a_whole_run(both, name: str, dtype: str) -> None:
    shape, p, X, Y = RUNS[name]
    M = np.random.default_rng(0).random(shape)

    def history() -> Array:
        run = Run(make_problem(M, p, X, Y, dtype=dtype), ADMM(), Limits(max_iter=12, tol=0), seed=1).finish()
        return np.concatenate([run.history[c] for c in ("residual_xy", "residual_uv", "gap_x", "gap_y", "change")])

    same_bits(*both(history))


def test_of_processes_that_start_together_one_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together, busy, most = threading.Barrier(2), [0], [0]

    def compile_slowly(signature: str) -> None:
        busy[0] += 1
        most[0] = max(most[0], busy[0])
        time.sleep(0.02)
        busy[0] -= 1

    def dispatchers() -> tuple[dict[str, SimpleNamespace], Path]:
        together.wait(10)
        dispatcher = SimpleNamespace(compile=compile_slowly, disable_compile=lambda: None)
        return {"free": dispatcher}, tmp_path / "loops.compiled"

    monkeypatch.setattr(compiled, "_dispatchers", dispatchers)
    loaders = [compiled._Loops(), compiled._Loops()]
    threads = [threading.Thread(target=loader.load, args=(True,)) for loader in loaders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most == [1] and all(loader.ready for loader in loaders)


def test_numpy_serves_until_there_is_much_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    loader = compiled._Loops()
    asked: list[bool] = []
    monkeypatch.setattr(loader, "load_in_background", lambda: asked.append(True))
    monkeypatch.setattr(compiled, "_LOOPS", loader)
    assert compiled.loops(compiled.SMALL - 1) is None and compiled.loops(compiled.SMALL) is None and not asked
    assert compiled.loops(compiled.WORTHWHILE) is None and asked


@pytest.mark.parametrize(
    "trouble",
    [
        "import sys; sys.modules['numba'] = None",
        "import numba.core.caching as c; c._CacheLocator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError())",
        "import os; os.environ['SEMF_COMPILED'] = '0'",
    ],
    ids=["no numba", "no folder to write to", "switched off"],
)
def test_without_them_everything_still_works(trouble: str) -> None:
    code = f"""
{trouble}
import time
import numpy as np
from semf_core import factorize
from semf_core.mathematics import compiled
compiled.prepare()
time.sleep(0.5)
M = np.random.default_rng(0).random((40, 300))
print(factorize(M, 3, max_iter=3).iterations, compiled.loops(10**6))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", "None"] and not done.stderr
