"""Studies: parallel efficiency, overhead per cell, listing 10,000 cells, and a kill -9 in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import WORKERS, Row, at_least, at_most, parser, print_table, seconds_of
from semf_core.runs.pool import worker_environment
from semf_core.studies import Finished, Study, StudyStore, run_study
from semf_core.studies.execution import LocalExecutor
from semf_core.studies.views import VIEWS

EFFICIENCY = 0.85
OVERHEAD_MS = 20.0
LISTING_SECONDS = 1.0
CELLS = 10_000
TINY: dict[str, Any] = {
    "dataset": {"name": "sparse_codes", "rows": 4, "atoms": 2, "samples": 5, "nonzeros": 1},
    "rank": 2,
    "limits": {"max_iter": 1},
}


def study(name: str, base: dict[str, Any], axes: list[dict[str, Any]]) -> Study:
    measures = ["relative_error", "solved", "iterations", "seconds"]
    return Study.from_dict({"name": name, "title": name, "base": base, "axes": axes, "measures": measures})


def swimmer(seeds: int) -> Study:
    return study("swimmer", {"preset": "swimmer-groups"}, [{"path": "seed", "range": [0, seeds]}])


def timed(made: Study, workers: int, home: Path) -> float:
    """Seconds that a study takes from nothing to its last result, processes started included."""
    store = StudyStore.create(made, home)
    return seconds_of(lambda: run_study(store, LocalExecutor(workers, home)))


def efficiency(seeds: int, home: Path) -> Row:
    """Ideal is (cells × mean time of a cell that runs beside others) / workers: what the machine gives to both counts."""
    store = StudyStore.create(swimmer(seeds), home)
    wall = seconds_of(lambda: run_study(store, LocalExecutor(WORKERS, home)))
    computing = sum(cell.seconds for cell in store.finished() if cell.values is not None)
    note = f"{computing:.1f} s of computing in {wall:.1f} s with {WORKERS} workers, process start included"
    return at_least(f"{seeds} Swimmer runs: efficiency", computing / (WORKERS * wall), EFFICIENCY, form="{:.2f}", note=note)


def speed_up(seeds: int, home: Path) -> Row:
    """The same cells with one worker and with several: shows what cores that are shared give."""
    one = timed(swimmer(seeds), 1, home / "one")
    several = timed(swimmer(seeds), WORKERS, home / "several")
    note = f"one worker {one:.1f} s, {WORKERS} workers {several:.1f} s"
    return Row(f"{seeds} Swimmer runs: speed-up / workers", f"{one / several / WORKERS:.2f}", note=note)


def overhead(cells: int, home: Path) -> Row:
    """Time of a study whose cells take no time, divided by their number; the difference of two sizes leaves the start out."""
    few, many = (timed(study(f"tiny {n}", TINY, [{"path": "seed", "range": [0, n]}]), 1, home) for n in (10, 10 + cells))
    each = 1000 * (many - few) / cells
    return at_most("overhead of a cell in ms, committed to the disk", each, OVERHEAD_MS, form="{:.1f}")


def listing(home: Path) -> list[Row]:
    axes = [{"name": "α₀", "path": "solver.alpha0", "values": [0.01 * (i + 1) for i in range(20)]}]
    axes += [{"name": "β₀", "path": "solver.beta0", "values": [0.01 * (i + 1) for i in range(20)]}]
    axes += [{"path": "seed", "range": [0, CELLS // 400]}]
    made = study("large", {"preset": "swimmer-groups"}, axes)
    store = StudyStore(home)
    creating = seconds_of(lambda: setattr(store, "folder", StudyStore.create(made, home).folder))
    values: dict[str, float | None] = {"relative_error": 0.1, "solved": 1.0, "iterations": 500.0, "seconds": 0.5}
    store.record([Finished(n, values, 0.5) for n in range(CELLS)])
    view = VIEWS.build({"name": "heat_map", "measure": "solved", "x": "α₀", "by": "β₀"})
    reading = min(seconds_of(lambda: view.draw(store.table())) for _ in range(3))
    records = min(seconds_of(lambda: store.table().records()) for _ in range(3))
    return [
        Row(f"{CELLS:,} cells: making the study, every cell checked", f"{creating:.2f} s"),
        at_most(f"{CELLS:,} cells: opened and summed up for a heat map", reading, LISTING_SECONDS, form="{:.2f} s"),
        at_most(f"{CELLS:,} cells: opened and listed", records, LISTING_SECONDS, form="{:.2f} s"),
    ]


def killed(cells: int, home: Path) -> Row:
    """kill -9 of the process that works on a study, twice; then to the end. Finished cells must stay and not run again."""
    store = StudyStore.create(swimmer(cells), home)
    code = "import sys; from semf_core.studies import *; run_study(StudyStore.find(sys.argv[1]))"
    kept: dict[int, str] = {}
    lost = again = 0
    for stop_at in (cells // 4, cells // 2, cells):
        store.ask("run")
        process = subprocess.Popen([sys.executable, "-c", code, store.id], env=worker_environment(home))
        while process.poll() is None and store.progress().done < stop_at:
            time.sleep(0.05)
        if stop_at < cells:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        now = store.stamps()
        lost += len(set(kept) - set(now))
        again += sum(now[n] != stamp for n, stamp in kept.items() if n in now)
        kept = now
    whole = len(kept) == cells and not lost and not again
    note = f"{len(kept)} of {cells} cells at the end, {lost} lost, {again} computed again"
    return Row("kill -9 twice in the middle", "nothing lost" if whole else "LOST", "nothing lost", whole, note)


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    seeds = 8 if quick else 64
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        rows = [efficiency(seeds, home / "efficiency"), speed_up(4 if quick else 16, home)]
        rows += [overhead(50 if quick else 300, home / "overhead"), *listing(home / "listing")]
        rows.append(killed(seeds // 2, home / "killed"))
    remark = f"{WORKERS} worker processes with 1 BLAS thread each; every result is on the disk before it counts."
    print_table("Studies", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
