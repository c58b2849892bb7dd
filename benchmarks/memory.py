"""Memory beyond M: a memory-mapped matrix of 2 GB, and a sparse one that must not become dense."""

from __future__ import annotations

import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import at_most, parser, print_table
from semf_core.common.threads import blas_threads
from semf_core.factorization.problem import make_problem
from semf_core.sets import Nonnegative
from semf_core.solvers import ADMM, Limits, Run

RANK = 20
EXTRA_MEGABYTES = 300.0
SPARSE_SHAPE, SPARSE_NONZEROS = (19_000, 8_000), 400_000
SPARSE_SECONDS = 0.2
SAMPLE_SECONDS = 0.002


@dataclass(frozen=True)
class Usage:
    """What a run took: seconds of one core for an iteration, memory before it and at its highest (MB, without mapped pages)."""

    seconds: float
    before: float
    peak: float

    @property
    def extra(self) -> float:
        return self.peak - self.before


def anonymous_megabytes() -> float:
    """Resident memory of this process that is not backed by a file (RssAnon)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not report RssAnon")


@contextmanager
def watched_peak() -> Iterator[list[float]]:
    """A list whose last entry is the highest anonymous memory seen so far, sampled by a thread."""
    peaks, done = [anonymous_megabytes()], threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_SECONDS):
            peaks.append(max(peaks[-1], anonymous_megabytes()))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        done.set()
        watcher.join()


def usage(load: Callable[[], Any], iterations: int) -> Usage:
    """Factorize what `load` returns; the memory that M itself takes counts as there before."""
    M = load()
    before = anonymous_megabytes()
    with blas_threads(1), watched_peak() as peaks:
        run = Run(make_problem(M, RANK, [Nonnegative()], [Nonnegative()]), ADMM(), Limits(tol=0, max_iter=iterations + 1))
        run.advance()
        began = time.process_time()
        for _ in range(iterations):
            run.advance()
        seconds = (time.process_time() - began) / iterations
        run.factors()
    return Usage(seconds, before, peaks[-1])


def mapped_usage(file: str) -> Usage:
    return usage(lambda: np.load(file, mmap_mode="r"), 2)


def sparse_usage(iterations: int) -> Usage:
    (m, n), rng = SPARSE_SHAPE, np.random.default_rng(0)
    density = SPARSE_NONZEROS / (m * n)
    return usage(lambda: sp.random_array((m, n), density=density, format="csr", rng=rng), iterations)


def write_matrix(file: Path, size: int) -> None:
    """A square matrix of low rank plus noise, written block by block."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((size, RANK)), rng.random((RANK, size))
    M = np.lib.format.open_memmap(file, mode="w+", dtype=np.float64, shape=(size, size))
    for first in range(0, size, 256):
        rows = slice(first, first + 256)
        M[rows] = X[rows] @ Y + 0.01 * rng.random((len(X[rows]), size))
    M.flush()


def in_fresh_process(function: Callable[..., Usage], *arguments: Any) -> Usage:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    if not Path("/proc/self/status").exists():
        print("\nMemory is measured through /proc, which this system does not have: skipped.")
        return
    size = 4096 if quick else 16384
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "matrix.npy"
        write_matrix(file, size)
        mapped = in_fresh_process(mapped_usage, str(file))
    sparse = in_fresh_process(sparse_usage, 5 if quick else 30)
    gigabytes, dense = size**2 * 8 / 1e9, SPARSE_SHAPE[0] * SPARSE_SHAPE[1] * 8 / 1e6
    mapped_title = f"memory-mapped {size}×{size} ({gigabytes:.1f} GB), extra MB"
    mapped_note = f"{mapped.before:.0f} MB before, {mapped.peak:.0f} MB at most; {mapped.seconds:.2f} s of one core an iteration"
    sparse_title = "sparse 19,000×8,000, 400,000 nonzeros, extra MB"
    sparse_note = f"{sparse.before:.0f} MB before, {sparse.peak:.0f} MB at most; dense it would be {dense:.0f} MB"
    rows = [
        at_most(mapped_title, mapped.extra, EXTRA_MEGABYTES, form="{:.0f}", note=mapped_note),
        at_most(sparse_title, sparse.extra, EXTRA_MEGABYTES, form="{:.0f}", note=sparse_note),
        at_most("   seconds of one core for an iteration", sparse.seconds, SPARSE_SECONDS),
    ]
    remark = f"Rank {RANK}, nonnegative, float64, 1 BLAS thread, fresh processes;"
    remark += f" anonymous resident memory sampled every {1e3 * SAMPLE_SECONDS:.0f} ms."
    print_table("Memory beyond M", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
