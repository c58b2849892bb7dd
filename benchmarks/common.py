"""What the benchmarks share: data, timing, BLAS threads, tables with a target beside each figure."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from semf_core.studies import ResultTable, Study, StudyStore, run_study
from semf_core.studies.execution import LocalExecutor

Array = np.ndarray
Task = TypeVar("Task")
Outcome = TypeVar("Outcome")
WORKERS = 2
REPOSITORY = Path(__file__).resolve().parents[1]
ORL_SHAPE, ORL_RANK = (10304, 400), 25
CBCL_SHAPE, CBCL_RANK = (361, 2429), 49
USPS_SHAPE, USPS_RANK = (256, 9298), 40


@dataclass(frozen=True)
class Row:
    """One line of a table: what was measured, the figure, its target, whether it was met, and what the paper reports."""

    what: str
    measured: str
    target: str = ""
    met: bool | None = None
    note: str = ""
    paper: str = ""

    @property
    def word(self) -> str:
        return "" if self.met is None else "pass" if self.met else "FAIL"


def at_most(what: str, value: float, target: float, *, form: str = "{:.3g}", note: str = "", paper: str = "") -> Row:
    """A figure that should not exceed its target."""
    return Row(what, form.format(value), "≤ " + form.format(target), value <= target, note, paper)


def at_least(what: str, value: float, target: float, *, form: str = "{:.3g}", note: str = "", paper: str = "") -> Row:
    """A figure that should reach its target."""
    return Row(what, form.format(value), "≥ " + form.format(target), value >= target, note, paper)


def print_table(title: str, rows: Sequence[Row], remark: str = "") -> None:
    """A Markdown table, its columns aligned."""
    cells = [("what", "paper", "measured", "target", "", "note")]
    cells += [(r.what, r.paper, r.measured, r.target, r.word, r.note) for r in rows]
    widths = [max(3, *(len(line[i]) for line in cells)) for i in range(len(cells[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    print(f"\n## {title}", *([remark] if remark else []), "", *lines, sep="\n", flush=True)


def seconds_of(function: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    began = clock()
    function()
    return clock() - began


def best_alternating(
    functions: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Shortest time of each function; they take turns, so that a slow spell of the machine hits all of them."""
    times = [[seconds_of(f, clock) for f in functions] for _ in range(repeats)]
    return [min(column) for column in zip(*times, strict=True)]


@cache
def orl() -> tuple[Array, str]:
    """The ORL faces in [0, 1] where they are at hand, else a smooth matrix of the same size; and a sentence on it."""
    return _stored("orl_faces", ORL_SHAPE, 60, lambda data: data / 255.0, ("ORL faces", "divided by 255"))


@cache
def cbcl() -> tuple[Array, str]:
    """The CBCL faces in [0, 1], or a stand-in."""
    return _stored("cbcl_faces", CBCL_SHAPE, 80, lambda data: data / 255.0, ("CBCL faces", "divided by 255"))


@cache
def usps() -> tuple[Array, str]:
    """The USPS digits in [0, 1], or a stand-in."""
    return _stored("usps", USPS_SHAPE, 60, lambda data: (data / 1000.0 + 1) / 2, ("USPS digits", "shifted to [0, 1]"))


def _stored(
    name: str, shape: tuple[int, int], rank: int, values: Callable[[Array], Array], words: tuple[str, str]
) -> tuple[Array, str]:
    """The values of a file of the shared data, or a smooth stand-in of this shape and rank; and a sentence on it."""
    file = REPOSITORY.parent / "shared" / "data" / f"{name}.npz"
    size, (title, treatment) = f"{shape[0]}×{shape[1]}", words
    if file.exists():
        with np.load(file) as stored:
            return values(stored["data"]), f"Data: {title}, {size}, {treatment}."
    return smooth_matrix(shape, rank, 0), f"Data: synthetic stand-in for {title} (smooth, nonnegative, {size})."


def is_real(remark: str) -> bool:
    """Whether the real data was found; targets of errors only hold for it."""
    return "synthetic" not in remark


def smooth_matrix(shape: tuple[int, int], rank: int, seed: int) -> Array:
    """Nonnegative, bell curves times random weights whose importance decays, and a little noise; at most 1."""
    rng = np.random.default_rng(seed)
    m, n = shape
    centres, widths = rng.random(rank), 0.01 + 0.2 * rng.random(rank)
    X = np.exp(-(((np.arange(m)[:, None] / m - centres) / widths) ** 2))
    Y = rng.random((rank, n)) / np.sqrt(1 + np.arange(rank))[:, None]
    M = X @ Y
    M += 0.05 * M.mean() * rng.random(shape)
    return M / M.max()


def machine() -> str:
    """Where the figures come from."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    blas = {f"{pool['internal_api']} {pool['version']}" for pool in threadpool_info() if pool["user_api"] == "blas"}
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{platform.machine()}, {cores} cores, {versions}, {', '.join(sorted(blas))}"


def in_processes(function: Callable[[Task], Outcome], tasks: Iterable[Task]) -> list[Outcome]:
    """The function of each task, by two fresh processes with one BLAS thread each."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context, initializer=threadpool_limits, initargs=(1, "blas")) as pool:
        return list(pool.map(function, tasks))


def results_of(study: Study) -> ResultTable:
    """The numbers of a study that is run from nothing; a cell without any ends the benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        store = StudyStore.create(study, Path(folder))
        run_study(store, LocalExecutor(WORKERS, Path(folder)))
        if store.failures():
            raise RuntimeError(f"cell {store.failures()[0][0]}: {store.failures()[0][1]}")
        return store.table()


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser with the option that every benchmark has."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--quick", action="store_true", help="small sizes and few repeats, to see that it works")
    return made
