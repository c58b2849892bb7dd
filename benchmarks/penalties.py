"""SeMF §4.1, Figure 1: exact factorizations from six starting penalties, fixed against adaptive.

The cells are those of the built-in study adaptive-penalties.
"""

from __future__ import annotations

import dataclasses
import sys

import numpy as np

from benchmarks.common import WORKERS, Row, at_least, parser, print_table, results_of
from semf_core.model import preset
from semf_core.studies import ResultTable, Study, builtin_study

RATE = 80.0
"""Per cent of the runs that should end exact, of the first scheme: without kicks, as the paper has it."""
REMARKS = {"adaptive, with kicks": "as the preset has it"}


def study(first: int, instances: int, max_iter: int) -> Study:
    """The built-in study on other instances, with other limits; processor time is measured as well."""
    size = {"axes": {"instance": {"range": [first, instances]}}, "set": {"limits.max_iter": max_iter}}
    whole = builtin_study("adaptive-penalties").to_dict()
    form = whole | {"sizes": {"here": size}, "measures": [*whole["measures"], "cpu_seconds"], "keep": []}
    return dataclasses.replace(Study.from_dict(form).sized("here"), views=())


def rows_of(table: ResultTable, number: int, target: float | None) -> list[Row]:
    """Rates of XY and of UV over starts × instances for one scheme."""
    names = ("scheme", "start", "instance")
    exact = {key: table.arranged(key, names)[number, :, :, 0] == 1 for key in ("exact", "exact UV")}
    good = exact["exact"] & exact["exact UV"]
    by_start = " ".join(str(count) for count in exact["exact"].sum(axis=1))
    note = f"by start: {by_start}; all six: {exact['exact'].all(axis=0).sum()} of {good.shape[1]}"
    if good.any():
        iterations, seconds = (table.arranged(key, names)[number, :, :, 0][good] for key in ("iterations", "cpu_seconds"))
        note += f"; median of the successes: {np.median(iterations):.0f} iterations, {np.median(seconds):.1f} s"
    label = table.axis("scheme").labels[number]
    scheme = f"{label} ({REMARKS[label]})" if label in REMARKS else label
    rows = []
    for key, name in (("exact", "XY"), ("exact UV", "UV")):
        what, rate = f"{scheme}: RMSE of {name} below 1e-10", 100 * float(exact[key].mean())
        detail = note if name == "XY" else ""
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
    table = results_of(study(chosen.first, instances, max_iter))
    schemes = range(len(table.axis("scheme")))
    rows = [row for number in schemes for row in rows_of(table, number, RATE if number == 0 else None)]
    remark = f"{instances} instances × 6 starts (α, β) = 10^(k−1)‖M‖(1, 0.1), k = 0..5; 40×1500, p = 60, at most {max_iter}"
    remark += f" iterations, {WORKERS} processes with 1 BLAS thread each."
    print_table("§4.1: exact factorization from six starting penalties", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
