"""SeMF §4.1, Figure 1: exact factorizations from six starting penalties, fixed against adaptive."""

from __future__ import annotations

import dataclasses
import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common import WORKERS, Row, at_least, in_processes, parser, print_table
from semf_core.datasets import SparseCodes
from semf_core.model import ModelSpec, preset
from semf_core.solvers import ADMM, Run

EXACT = 1e-10
"""RMSE below which a factorization counts as exact."""
STARTS = range(6)
RATE = 80.0
"""Per cent of the runs that should end exact."""
SCHEMES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "adaptive, as the preset has it": ({}, {}),
    "adaptive, as in the paper (ε = 5e-4, no kick)": ({"epsilon": 5e-4}, {"kick": False, "tol": 0}),
    "fixed": ({"penalty": "fixed"}, {"kick": False, "tol": 0}),
}
"""What is changed in the preset's solver and limits; the first has the target, the others get its iterations."""


@dataclass(frozen=True)
class Task:
    scheme: str
    instance: int
    start: int
    max_iter: int

    def spec(self) -> ModelSpec:
        """The preset of §4.1 from (α, β) = 10^(k−1)‖M‖(1, 0.1), k the start."""
        solver, limits = SCHEMES[self.scheme]
        spec = preset("adaptive-penalty")
        assert isinstance(spec.solver, ADMM)
        assert isinstance(spec.dataset, SparseCodes)
        alpha0 = 10.0 ** (self.start - 1)
        return dataclasses.replace(
            spec,
            solver=dataclasses.replace(spec.solver, alpha0=alpha0, beta0=0.1 * alpha0, **solver),
            dataset=dataclasses.replace(spec.dataset, seed=self.instance),
            limits=dataclasses.replace(spec.limits, max_iter=self.max_iter, **limits),
            seed=self.instance,
        )


@dataclass(frozen=True)
class Found:
    """RMSE of XY and of the best UV, and what they took (seconds of one core)."""

    xy: float
    uv: float
    iterations: int
    seconds: float


def rmse(run: Run) -> tuple[float, float]:
    m, n = run.problem.shape
    return run.history.last("residual_xy") / np.sqrt(m * n), run.best_uv / np.sqrt(m * n)


def solve(task: Task) -> Found:
    """Run until XY and UV are both exact, or to the last iteration."""
    began = time.process_time()
    run = task.spec().run().finish(lambda now: bool(max(rmse(now)) < EXACT))
    return Found(*rmse(run), run.iterations, time.process_time() - began)


def rows_of(scheme: str, found: list[Found], target: float | None) -> list[Row]:
    """Rates of XY and of UV over instances × starts."""
    exact = np.array([(f.xy < EXACT, f.uv < EXACT) for f in found]).reshape(-1, len(STARTS), 2)
    good = [f for f in found if max(f.xy, f.uv) < EXACT]
    by_start = " ".join(str(count) for count in exact[:, :, 0].sum(axis=0))
    note = f"by start: {by_start}; all six: {exact[:, :, 0].all(axis=1).sum()} of {len(exact)}"
    if good:
        note += f"; median of the successes: {np.median([f.iterations for f in good]):.0f} iterations"
        note += f", {np.median([f.seconds for f in good]):.1f} s"
    rows = []
    for column, name in enumerate(("XY", "UV")):
        what, rate = f"{scheme}: RMSE of {name} below 1e-10", 100 * float(exact[:, :, column].mean())
        detail = note if column == 0 else ""
        if target is None:
            rows.append(Row(what, f"{rate:.0f} %", note=detail))
        else:
            rows.append(at_least(what, rate, target, form="{:.0f} %", note=detail))
    return rows


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--first", type=int, default=100, help="seed of the first instance")
    options.add_argument("--instances", type=int, help="random instances (5)")
    options.add_argument("--max-iter", type=int, help="iterations at most (those of the preset)")
    chosen = options.parse_args(argv)
    instances = chosen.instances or (1 if chosen.quick else 5)
    max_iter = chosen.max_iter or preset("adaptive-penalty").limits.max_iter
    cells = [(instance, start) for instance in range(chosen.first, chosen.first + instances) for start in STARTS]
    found = in_processes(solve, [Task(scheme, *cell, max_iter) for scheme in SCHEMES for cell in cells])
    rows: list[Row] = []
    for number, scheme in enumerate(SCHEMES):
        part = found[number * len(cells) : (number + 1) * len(cells)]
        rows += rows_of(scheme, part, RATE if number == 0 else None)
    remark = f"{instances} instances × 6 starts (α, β) = 10^(k−1)‖M‖(1, 0.1), k = 0..5; 40×1500, p = 60, at most {max_iter}"
    remark += f" iterations, {WORKERS} processes with 1 BLAS thread each."
    print_table("§4.1: exact factorization from six starting penalties", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
