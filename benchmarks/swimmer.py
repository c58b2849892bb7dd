"""How often Swimmer's parts and groups are found, over many seeds, beside the paper's plain scheme."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.common import WORKERS, Row, at_most, in_processes, parser, print_table
from semf_core.datasets import Dataset
from semf_core.model import ModelSpec, preset
from semf_core.scores import truth_scores
from semf_core.sets import Intersection, Nonnegative, OrthogonalTo, Sparse
from semf_core.solvers import ADMM

RESTARTS = 5
PARTS, GROUPS = 17, 5


@dataclass(frozen=True)
class Scheme:
    """A model that is run from many seeds, and the rate it should reach (a fraction of the starts)."""

    title: str
    spec: ModelSpec
    target: float | None = None
    groups: bool = True
    """Success means all groups right; otherwise all parts found."""


@dataclass(frozen=True)
class Outcome:
    """What became of one seed; seconds are those of one core."""

    success: bool
    iterations: int
    seconds: float
    kicks: int


def schemes() -> list[Scheme]:
    orthogonal, groups, equal = (preset(f"swimmer-{name}") for name in ("orthogonal", "groups", "groups-equal"))
    several = dataclasses.replace(groups, limits=dataclasses.replace(groups.limits, restarts=RESTARTS))
    return [
        Scheme("(34) orthogonality: 17 parts, single start", orthogonal, 0.95, groups=False),
        Scheme("(35) one per group: groups right, single start", groups, 0.98),
        Scheme(f"(35), at most {RESTARTS} starts", several, 1.0),
        Scheme("(35) with equal nonzeros, single start", equal),
        Scheme("(34) as in the paper, α₀ = β₀ = 0.01", plain(orthogonal, 0.01), groups=False),
        Scheme("(35) as in the paper, α₀ = β₀ = 0.01", plain(groups, 0.01)),
        Scheme("(35) as in the paper, but α₀ = β₀ = 3", plain(groups, 3.0)),
    ]


def plain(spec: ModelSpec, penalty: float) -> ModelSpec:
    """The same model by the paper's plain scheme: one round of projections in the order of §4.4.3, no kick."""
    one_round = Intersection((Nonnegative(), Sparse(17, columns=(16,)), OrthogonalTo(16), Nonnegative()), method="successive")
    limits = dataclasses.replace(spec.limits, kick=False, restarts=1, max_iter=2000)
    return dataclasses.replace(spec, x=(one_round,), solver=ADMM(alpha0=penalty, beta0=penalty), limits=limits)


@cache
def loaded(text: str) -> tuple[ModelSpec, Dataset]:
    spec = ModelSpec.from_json(text)
    return spec, spec.dataset.load()


def solve(task: tuple[str, int, bool]) -> Outcome:
    """One start (or several, if the model says so) from one seed, in a worker."""
    text, seed, groups = task
    spec, dataset = loaded(text)
    began = time.process_time()
    run = dataclasses.replace(spec, seed=seed).run(dataset).finish()
    seconds = time.process_time() - began
    scores = truth_scores(dataset, run.factors()[0], spec.y_set)
    success = scores["parts_found"] == PARTS and (not groups or scores["groups_correct"] == GROUPS)
    kicks = sum(event.kind == "kick" for event in run.events)
    return Outcome(success, run.iterations, seconds, kicks)


def rows_of(scheme: Scheme, outcomes: Sequence[Outcome]) -> list[Row]:
    good = [o for o in outcomes if o.success]
    rate = f"{len(good)} of {len(outcomes)}"
    note = "no success"
    if good:
        iterations, seconds = np.median([o.iterations for o in good]), np.median([o.seconds for o in good])
        kicks = np.mean([o.kicks for o in good])
        note = f"median of the successes: {iterations:.0f} iterations, {seconds:.2f} s; {kicks:.1f} kicks a run"
    if scheme.target is None:
        return [Row(scheme.title, rate, note=note)]
    wanted = scheme.target * len(outcomes)
    rows = [Row(scheme.title, rate, f"≥ {wanted:g}", len(good) >= wanted, note)]
    if good:
        rows.append(at_most("   median seconds of one core for a success", float(seconds), 1.0, form="{:.2f}"))
    return rows


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--first", type=int, default=0, help="first seed")
    options.add_argument("--count", type=int, help="number of seeds (100)")
    chosen = options.parse_args(argv)
    count = chosen.count or (4 if chosen.quick else 100)
    seeds = range(chosen.first, chosen.first + count)
    chosen_schemes = schemes()
    tasks = [(scheme.spec.to_json(), seed, scheme.groups) for scheme in chosen_schemes for seed in seeds]
    outcomes = in_processes(solve, tasks)
    rows = [row for i, scheme in enumerate(chosen_schemes) for row in rows_of(scheme, outcomes[i * count : (i + 1) * count])]
    remark = f"Seeds {seeds[0]} to {seeds[-1]}, {WORKERS} processes with 1 BLAS thread each, at most 2000 iterations a start."
    print_table("Swimmer: how often it is solved", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
