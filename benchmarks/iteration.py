"""One full iteration, diagnostics included, against the two bare products M Yᵀ and XᵀM on the full M; one projection."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.common import (
    ORL_RANK,
    Array,
    Row,
    at_least,
    at_most,
    best_alternating,
    orl,
    parser,
    print_table,
)
from semf_core.common.threads import blas_threads
from semf_core.datasets.planted import NoisyDictionary, SparseCodes
from semf_core.factorization.problem import make_problem
from semf_core.mathematics import compiled
from semf_core.model import preset
from semf_core.sets import Nonnegative, Simplex, Smooth, Sparse, StructureSet, UnitNorm, combine
from semf_core.solvers import ADMM, Limits, Problem, Run, Solver

WARM_UP = 20
"""Iterations before the timing starts: supports have formed, buffers are there."""


@dataclass(frozen=True)
class Case:
    """A factorization to be timed, how much of it, and what it should stay below."""

    title: str
    data: Callable[[], Array]
    rank: int
    x: tuple[StructureSet, ...]
    y: tuple[StructureSet, ...]
    pace: tuple[int, int]
    """Iterations that are timed together, and how often."""
    aims: dict[str, float]
    """The largest ratio for each precision that is measured."""
    solver: Solver = ADMM()  # noqa: RUF009 (a frozen dataclass)


@dataclass(frozen=True)
class Timing:
    """Seconds of one iteration and of the two bare products."""

    iteration: float
    products: float

    @property
    def ratio(self) -> float:
        return self.iteration / self.products

    def row(self, title: str, note: str, aim: float | None = None) -> Row:
        detail = f"{1e3 * self.iteration:.3g} ms against {1e3 * self.products:.3g} ms; {note}"
        return Row(title, f"{self.ratio:.3g}", note=detail) if aim is None else at_most(title, self.ratio, aim, note=detail)


def measure(case: Case, dtype: str, threads: int) -> Timing:
    """Best of several repeats; iterations and bare products take turns in one process."""
    M = case.data().astype(dtype)
    iterations, repeats = case.pace
    problem: Problem = make_problem(M, case.rank, case.x, case.y, dtype=dtype)
    run = Run(problem, case.solver, Limits(tol=0, max_iter=WARM_UP + iterations * repeats + 1), seed=1)
    with blas_threads(threads):
        for _ in range(WARM_UP):
            run.advance()
        _, _, X, Y = run.factors(best=False)
        Xt = np.ascontiguousarray(X.T)

        def iterate() -> None:
            for _ in range(iterations):
                run.advance()

        def as_printed() -> None:
            for _ in range(iterations):
                M @ Y.T, Xt @ M

        def transposed() -> None:
            for _ in range(iterations):
                Y @ M.T, Xt @ M

        # One thread's own time is what the clock on the wall shows when nothing else runs.
        clock = time.thread_time if threads == 1 else time.perf_counter
        best = best_alternating((iterate, as_printed, transposed), repeats, clock)
    return Timing(best[0] / iterations, min(best[1:]) / iterations)


def mixtures(rows: int, samples: int, rank: int) -> Array:
    """Shares that add up to one of nonnegative sources, and a little noise."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(rank), samples).T
    return rng.random((rows, rank)) @ shares + 0.01 * rng.standard_normal((rows, samples))


def cases(quick: bool) -> tuple[list[Case], str]:
    """The cases, Swimmer first and the faces second, and a sentence on the faces."""
    M, remark = orl()
    groups = preset("swimmer-groups")
    swimmer = groups.dataset.load().data
    samples, pixels, slow = (2_000, 10_000, (2, 2)) if quick else (20_000, 100_000, (1, 12))
    small, middle = ((20, 3), (3, 3)) if quick else ((50, 40), (5, 20))
    codes, atoms = SparseCodes(), NoisyDictionary(rows=64, atoms=256, samples=samples, nonzeros=5)
    unit, clip, sparse = (UnitNorm(),), (Nonnegative(),), (Nonnegative(), Sparse(round(0.33 * len(M))))
    titles = (f"64×{samples:,}, p=256, unit X, 5-sparse Y", f"200×{pixels:,}, p=20, Y on the simplex")
    faces = ADMM(alpha0=0.1, beta0=0.1)
    both = {"float64": 1.4, "float32": 1.6}
    return [
        Case("Swimmer (35)", lambda: swimmer, groups.rank, groups.x, groups.y, small, {"float64": 0.5}, groups.solver),
        Case("ORL size, 33 % sparse, p=25", lambda: M, ORL_RANK, sparse, clip, middle, both, faces),
        Case("40×1500, p=60, unit X, 3-sparse Y", lambda: codes.load().data, 60, unit, (Sparse(3),), small, {"float64": 3}),
        Case(titles[0], lambda: atoms.load().data, 256, unit, (Sparse(5),), slow, {"float64": 3.5}),
        Case(titles[1], lambda: mixtures(200, pixels, 20), 20, (), (Simplex(),), slow, {"float64": 1.6}),
    ], remark


def inexact(quick: bool) -> list[Row]:
    """(7a) and (7b) by one step of conjugate gradients, which the paper suggests for large p, beside the exact equations."""
    rows = []
    for rows_of_m, columns, rank in ((400, 1000, 300), (400, 400, 1000)):
        if quick:
            rows_of_m, columns, rank = rows_of_m // 8, columns // 8, rank // 8
        data = mixtures(rows_of_m, columns, rank)
        runs = [Run(make_problem(data, rank), ADMM(inner=inner), Limits(tol=0, max_iter=1000), seed=1) for inner in (0, 1)]
        with blas_threads(1):
            exact, one = best_alternating([run.advance for run in runs], 3 if quick else 20, time.thread_time)
        note = f"{1e3 * one:.3g} ms against {1e3 * exact:.3g} ms"
        rows.append(
            Row(f"{rows_of_m}×{columns}, p={rank}: an iteration with one inner step / exact", f"{one / exact:.2f}", note=note)
        )
    return rows


def projection(repeats: int) -> Row:
    """One projection onto nonnegative and smooth columns, of a noisy curve that neither set lets be."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 1024)[:, None]
    curves = np.sin(2 * np.pi * grid * np.arange(1, 6)) + 0.3 * rng.standard_normal((1024, 5))
    joint = combine((Nonnegative(), Smooth(0.5)))
    with blas_threads(1):
        (seconds,) = best_alternating([lambda: joint.project(curves)], repeats, time.thread_time)
    return at_most("nonnegative ∩ smooth, 1024×5, one projection (ms)", 1e3 * seconds, 2.0, note=joint.reason)


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    compiled.load()  # as every run has them that takes more than a second or two
    chosen, remark = cases(quick)
    rows, timings = [], {}
    for case in chosen:
        for dtype, aim in case.aims.items():
            timings[case.title, dtype] = measure(case, dtype, 1)
            rows.append(timings[case.title, dtype].row(case.title, f"{dtype}, 1 thread", aim))
    faces = chosen[1]
    faster = timings[faces.title, "float64"].iteration / timings[faces.title, "float32"].iteration
    rows.insert(3, at_least("ORL size: float64 time / float32 time", faster, 1.6, note="1 thread"))
    rows.append(projection(3 if quick else 20))
    rows += inexact(quick)
    note = "float64, 2 threads for numpy, 1 for scipy"
    rows += [measure(case, "float64", 2).row(case.title, note) for case in chosen[:2]]
    repeats = "Best of several repeats, taking turns; all diagnostics on."
    print_table("One iteration / the two bare products on the full M", rows, f"{remark} {repeats}")


if __name__ == "__main__":
    main(sys.argv[1:])
