"""One full iteration, diagnostics included, against the two bare products M Yᵀ and XᵀM on the full M."""

from __future__ import annotations

import sys
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
from semf_core.model import preset
from semf_core.problem import make_problem
from semf_core.sets import Nonnegative, Sparse, StructureSet
from semf_core.solvers import ADMM, Limits, Problem, Run, Solver
from semf_core.threads import blas_threads

WARM_UP = 20
"""Iterations before the timing starts: supports have formed, buffers are there."""


@dataclass(frozen=True)
class Case:
    """A factorization to be timed, and how much of it."""

    title: str
    M: Array
    rank: int
    x: tuple[StructureSet, ...]
    y: tuple[StructureSet, ...]
    solver: Solver
    iterations: int
    repeats: int

    def problem(self, dtype: str) -> Problem:
        return make_problem(self.M, self.rank, self.x, self.y, dtype=dtype)


@dataclass(frozen=True)
class Timing:
    """Seconds of one iteration and of the two bare products."""

    iteration: float
    products: float

    @property
    def ratio(self) -> float:
        return self.iteration / self.products


def measure(case: Case, dtype: str, threads: int) -> Timing:
    """Best of several repeats; iterations and bare products take turns in one process."""
    M = case.M.astype(dtype)
    total = WARM_UP + case.iterations * case.repeats
    run = Run(case.problem(dtype), case.solver, Limits(tol=0, max_iter=total + 1), seed=1)
    with blas_threads(threads):
        for _ in range(WARM_UP):
            run.advance()
        _, _, X, Y = run.factors(best=False)
        Xt = np.ascontiguousarray(X.T)

        def iterate() -> None:
            for _ in range(case.iterations):
                run.advance()

        def as_printed() -> None:
            for _ in range(case.iterations):
                M @ Y.T, Xt @ M

        def transposed() -> None:
            for _ in range(case.iterations):
                Y @ M.T, Xt @ M

        best = best_alternating((iterate, as_printed, transposed), case.repeats)
    return Timing(best[0] / case.iterations, min(best[1:]) / case.iterations)


def row(case: Case, timing: Timing, target: float | None, note: str) -> Row:
    detail = f"{1e3 * timing.iteration:.3g} ms against {1e3 * timing.products:.3g} ms; {note}"
    if target is None:
        return Row(case.title, f"{timing.ratio:.3g}", note=detail)
    return at_most(case.title, timing.ratio, target, note=detail)


def cases(quick: bool) -> tuple[Case, Case, str]:
    M, remark = orl()
    groups = preset("swimmer-groups")
    data = groups.dataset.load().data
    iterations, repeats = (20, 3) if quick else (50, 15)
    small = Case("Swimmer (35)", data, groups.rank, groups.x, groups.y, groups.solver, iterations, repeats)
    sparse = (Nonnegative(), Sparse(round(0.33 * len(M))))
    iterations, repeats = (3, 3) if quick else (10, 12)
    solver = ADMM(alpha0=0.1, beta0=0.1)
    faces = Case("ORL size, 33 % sparse, p=25", M, ORL_RANK, sparse, (Nonnegative(),), solver, iterations, repeats)
    return small, faces, remark


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    small, faces, remark = cases(quick)
    swimmer_time = measure(small, "float64", 1)
    double, single = measure(faces, "float64", 1), measure(faces, "float32", 1)
    rows = [
        row(small, swimmer_time, 1.0, "float64, 1 thread"),
        row(faces, double, 2.0, "float64, 1 thread"),
        at_least("ORL size: float64 time / float32 time", double.iteration / single.iteration, 1.6, note="1 thread"),
        row(faces, single, None, "float32, 1 thread"),
    ]
    rows += [row(case, measure(case, "float64", 2), None, "float64, 2 threads for numpy, 1 for scipy") for case in (small, faces)]
    repeats = f"best of {small.repeats} and {faces.repeats} repeats, taking turns; all diagnostics on."
    print_table("One iteration / the two bare products on the full M", rows, f"{remark} {repeats}")


if __name__ == "__main__":
    main(sys.argv[1:])
