"""Size of every export of Swimmer's run, and the time to make it against the time of the run itself."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.common import Row, at_most, parser, print_table
from semf_core.datasets import Dataset
from semf_core.exports import EXPORTS, Export, thumbnail
from semf_core.model import preset
from semf_core.runs.folder import RunFolder
from semf_core.runs.session import Session

T = TypeVar("T")
REPORT_MB = 6.0
THUMBNAIL = Export("thumbnail", "Thumbnail", ".png", "image/png", thumbnail)


def record(folder: RunFolder, iterations: int) -> Dataset:
    """Swimmer with groups, for a fixed number of iterations, as a worker records it; its data."""
    spec = preset("swimmer-groups")
    folder.write_spec(replace(spec, limits=replace(spec.limits, max_iter=iterations, tol=0.0, target=0.0)))
    session = Session(folder, 0, fresh=True)
    session.go(None)
    session.work(lambda: False)
    session.finish()
    session.close()
    return session.dataset


def timed(make: Callable[[], T]) -> tuple[float, T]:
    """Processor time, which other work on the machine changes little, and what was made."""
    began = time.process_time()
    made = make()
    return time.process_time() - began, made


def rows_of(folder: RunFolder, dataset: Dataset, run_seconds: float, repeats: int) -> list[Row]:
    rows = []
    for export in (*EXPORTS.values(), THUMBNAIL):
        spent, content = min((timed(partial(export.make, folder, dataset)) for _ in range(repeats)), key=lambda pair: pair[0])
        note = f"{spent:.2f} s of one core, {spent / run_seconds:.2g} of the run"
        size = len(content) / 1e6
        if export.name == "html":
            rows.append(at_most(f"{export.title}: MB", size, REPORT_MB, note=note))
        else:
            rows.append(Row(f"{export.title}: MB", f"{size:.3g}", note=note))
    return rows


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    iterations, repeats = (200, 1) if quick else (2000, 3)
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home))
        spent, dataset = timed(lambda: record(folder, iterations))
        rows, frames = rows_of(folder, dataset, spent, repeats), len(folder.keyframes())
    print_table("Exports", rows, f"Swimmer (35), {iterations} iterations, {frames} recorded frames; best of {repeats}.")


if __name__ == "__main__":
    main(sys.argv[1:])
