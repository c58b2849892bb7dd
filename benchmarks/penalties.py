"""SeMF §4.1, Figure 1: exact factorizations from six starting penalties, fixed against adaptive."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from benchmarks.common import Row, at_least, blas_threads, parser, print_table
from semf_core.model import preset
from semf_core.solvers import Run

EXACT = 1e-10
"""RMSE below which a factorization counts as exact."""
STARTS = range(6)


def solved(k: int, penalty: str, instance: int) -> Run:
    """A finished run from (α, β) = 10^(k−1)‖M‖(1, 0.1) on one random instance."""
    spec = preset("adaptive-penalty")
    solver = dataclasses.replace(spec.solver, penalty=penalty, alpha0=10.0 ** (k - 1), beta0=10.0 ** (k - 2))  # type: ignore[call-arg]
    dataset = dataclasses.replace(spec.dataset, seed=instance)  # type: ignore[call-arg]
    return dataclasses.replace(spec, solver=solver, dataset=dataset, seed=instance).run().finish()


def errors(run: Run) -> tuple[float, float]:
    """RMSE of XY at the end and of the best UV."""
    m, n = run.problem.shape
    return run.history.last("residual_xy") / np.sqrt(m * n), run.best_uv / np.sqrt(m * n)


def successes(penalty: str, instances: int) -> tuple[np.ndarray, list[Run]]:
    """Whether (XY, UV) is exact for each instance and start: instances × starts × 2; and the runs."""
    runs = [[solved(k, penalty, instance) for k in STARTS] for instance in range(instances)]
    table = np.array([[[rmse < EXACT for rmse in errors(run)] for run in row] for row in runs])
    return table, [run for row in runs for run in row]


def rows_of(penalty: str, instances: int, target: float | None) -> list[Row]:
    exact, runs = successes(penalty, instances)
    counts = " ".join(str(c) for c in exact[:, :, 0].sum(axis=0))
    everywhere = int(exact[:, :, 0].all(axis=1).sum())
    seconds, iterations = np.median([run.seconds for run in runs]), np.median([run.iterations for run in runs])
    note = f"by start: {counts}; all six: {everywhere} of {instances}; median {iterations:.0f} iterations, {seconds:.1f} s"
    rows = []
    for name, good in (("XY", exact[:, :, 0]), ("UV", exact[:, :, 1])):
        what = f"{penalty}: RMSE of {name} below 1e-10"
        value = 100 * float(good.mean())
        if target is None:
            rows.append(Row(what, f"{value:.0f} %", note=note))
        else:
            rows.append(at_least(what, value, target, form="{:.0f} %", note=note))
        note = ""
    return rows


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--instances", type=int, help="random instances (5)")
    chosen = options.parse_args(argv)
    instances = chosen.instances or (1 if chosen.quick else 5)
    with blas_threads(1):
        rows = rows_of("adaptive", instances, 80.0) + rows_of("fixed", instances, None)
    starts = f"{instances} instances × 6 starts (α, β) = 10^(k−1)‖M‖(1, 0.1), k = 0..5"
    remark = f"{starts}; 40×1500, p = 60, at most 1000 iterations, 1 BLAS thread."
    print_table("§4.1: exact factorization from six starting penalties", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
