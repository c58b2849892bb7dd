"""How often Swimmer's parts and groups are found, over many seeds, beside the paper's plain scheme."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.common import WORKERS, Array, Row, at_most, parser, print_table, results_of
from semf_core.model import ModelSpec, preset
from semf_core.sets import Intersection, Nonnegative, OrthogonalTo, Sparse
from semf_core.solvers import ADMM
from semf_core.studies import Study

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


def study(chosen: Sequence[Scheme], first: int, count: int) -> Study:
    """Every scheme from every seed."""
    parts = ("x", "y", "solver", "limits")
    forms = [scheme.spec.to_dict() for scheme in chosen]
    schemes_axis = {"name": "scheme", "paths": parts, "values": [[form[part] for part in parts] for form in forms]}
    return Study.from_dict(
        {
            "name": "swimmer",
            "base": forms[0],
            "axes": [schemes_axis | {"labels": [s.title for s in chosen]}, {"path": "seed", "range": [first, count]}],
            "measures": ["parts_found", "groups_correct", "iterations", "cpu_seconds", "kicks"],
        }
    )


def rows_of(scheme: Scheme, found: dict[str, Array]) -> list[Row]:
    """The rate of a scheme and what a success takes; `found` holds one number a seed for each measure."""
    success = found["parts_found"] == PARTS
    if scheme.groups:
        success &= found["groups_correct"] == GROUPS
    rate, note = f"{success.sum()} of {len(success)}", "no success"
    if success.any():
        iterations, seconds = (float(np.median(found[key][success])) for key in ("iterations", "cpu_seconds"))
        kicks = found["kicks"][success].mean()
        note = f"median of the successes: {iterations:.0f} iterations, {seconds:.2f} s; {kicks:.1f} kicks a run"
    if scheme.target is None:
        return [Row(scheme.title, rate, note=note)]
    wanted = scheme.target * len(success)
    rows = [Row(scheme.title, rate, f"≥ {wanted:g}", bool(success.sum() >= wanted), note)]
    if success.any():
        rows.append(at_most("   median seconds of one core for a success", seconds, 1.0, form="{:.2f}"))
    return rows


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--first", type=int, default=0, help="first seed")
    options.add_argument("--count", type=int, help="number of seeds (100)")
    chosen = options.parse_args(argv)
    count = chosen.count or (4 if chosen.quick else 100)
    table = results_of(study(schemes(), chosen.first, count))
    found = {key: table.arranged(key, ("scheme",)) for key in table.columns}
    rows = [row for i, scheme in enumerate(schemes()) for row in rows_of(scheme, {k: v[i] for k, v in found.items()})]
    seeds = f"Seeds {chosen.first} to {chosen.first + count - 1}"
    remark = f"{seeds}, {WORKERS} processes with 1 BLAS thread each, at most 2000 iterations a start."
    print_table("Swimmer: how often it is solved", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
