"""Row blocks on a cluster of this computer: the local iterates, memory below M's size, time linear in m, bytes that travel."""

from __future__ import annotations

import math
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import distributed
import numpy as np

from benchmarks.common import Array, Row, at_least, at_most, parser, print_table
from semf_core.common.threads import blas_threads
from semf_core.distributed import BlockResult, factorize_blocks
from semf_core.distributed.columns import BINS
from semf_core.factorization.problem import make_problem
from semf_core.factorization.result import make_result
from semf_core.sets import Nonnegative, Sparse, StructureSet, UnitNorm
from semf_core.solvers import ADMM, Limits, Run

WORKERS = 2
RANK = 20
COLUMNS = 1000
AGREEMENT = 1e-10
ACKNOWLEDGED, RECEIVED = 120, 128
"""Where Linux's tcp_info holds the bytes that the other side has acknowledged, and those that came."""
FRAMING = 1.15
"""Headers and acknowledgements may add this much to the numbers on the wire."""
COMBINATIONS: dict[str, tuple[tuple[StructureSet, ...], tuple[StructureSet, ...]]] = {
    "nonnegative": ((Nonnegative(),), (Nonnegative(),)),
    "unit norm; 3-sparse codes": ((UnitNorm(),), (Sparse(3),)),
    "nonnegative, k-sparse": ((Nonnegative(), Sparse(300)), (Nonnegative(),)),
    "nonnegative, k-sparse, unit norm": ((Nonnegative(), Sparse(300), UnitNorm()), (Nonnegative(),)),
}


@contextmanager
def cluster(memory_limit: str | int = 0) -> Iterator[distributed.Client]:
    """Two worker processes with one thread and so much memory each."""
    options: dict[str, Any] = {"n_workers": WORKERS, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**options, dashboard_address=None, memory_limit=memory_limit) as made,
        distributed.Client(made) as client,
    ):
        yield client


def write_blocks(folder: Path, rows: int, block_rows: int) -> list[Path]:
    """A nonnegative matrix of low rank plus noise as .npy files of so many rows."""
    rng = np.random.default_rng(0)
    Y = rng.random((RANK, COLUMNS))
    files = []
    for first in range(0, rows, block_rows):
        count = min(block_rows, rows - first)
        files.append(folder / f"{first:09d}.npy")
        np.save(files[-1], rng.gamma(0.5, size=(count, RANK)) @ Y + 0.01 * rng.random((count, COLUMNS)))
    return files


def peak_megabytes() -> float:
    """The most resident memory this process has had, mapped pages included."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("this system does not report VmHWM")


# -- the same iterates ---------------------------------------------------------------------------


def largest_difference(found: BlockResult, M: Array, sets: Any, limits: Limits, client: distributed.Client) -> float:
    """Between U, V and the history of both solvers, relative to the largest entry of each."""
    with blas_threads(1):
        expected = make_result(Run(make_problem(M, RANK, *sets), ADMM(), limits).finish())
    (U,) = client.gather(client.compute([found.U]))
    pairs = [(U, expected.U), (found.V, expected.V)]
    pairs += [(found.history[name], expected.history[name]) for name in ("residual_xy", "residual_uv", "alpha", "beta")]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def agreement(iterations: int) -> list[Row]:
    rng = np.random.default_rng(1)
    M = rng.gamma(0.5, size=(3000, RANK)) @ rng.random((RANK, 200)) + 0.01 * rng.random((3000, 200))
    blocks, limits = np.split(M, [100, 900, 901, 2000]), Limits(tol=0, max_iter=iterations)
    rows = []
    with cluster() as client:
        for name, sets in COMBINATIONS.items():
            found = factorize_blocks(blocks, RANK, *sets, client=client, tol=0, max_iter=iterations)
            worst = largest_difference(found, M, sets, limits, client)
            feasible = "U and V feasible" if found.certificate.feasible else "U or V NOT feasible"
            rows.append(at_most(f"   {name}", worst, AGREEMENT, form="{:.1e}", note=feasible))
    return rows


# -- memory, time --------------------------------------------------------------------------------


class CoreSeconds:
    """A callback: seconds of one core that all workers took together, after the first iteration and after the last so far."""

    def __init__(self, client: distributed.Client) -> None:
        self._client, self._seen = client, [0.0]

    def __call__(self, run: Run) -> None:
        now = sum(self._client.run(time.process_time).values())
        self._seen = [now] if run.iterations == 1 else [*self._seen, now]

    def shortest(self) -> float:
        """The cheapest iteration."""
        return min(after - before for before, after in pairwise(self._seen))


def memory(rows: int, block_rows: int, limit: int, iterations: int) -> list[Row]:
    """M is read by the workers from files, again in each iteration as far as it does not fit."""
    with tempfile.TemporaryDirectory() as folder, cluster(limit) as client:
        files = write_blocks(Path(folder), rows, block_rows)
        size = sum(f.stat().st_size for f in files) / 1e6
        pids, watch, sets = set(client.run(os.getpid).values()), CoreSeconds(client), [Nonnegative()]
        factorize_blocks(files, RANK, sets, sets, client=client, tol=0, max_iter=iterations, callback=watch)
        peak = max(client.run(peak_megabytes).values())
        alive = pids == set(client.run(os.getpid).values())
    note = f"M {size:.0f} MB in {len(files)} files; {watch.shortest():.2f} s of one core an iteration"
    return [
        at_least("M beside the memory of one worker, times", size * 1e6 / limit, 1.0, note=note),
        at_most("   most memory of a worker, MB", peak, limit / 1e6, form="{:.0f}", note="resident, mapped pages included"),
        Row("   workers restarted for lack of memory", "none" if alive else "some", "none", alive),
    ]


def linearity(sizes: list[int], iterations: int) -> list[Row]:
    """The cheapest iteration for each size, the sizes taking turns; the fit is a + b·m."""
    best, sets = dict.fromkeys(sizes, math.inf), [Nonnegative()]
    with tempfile.TemporaryDirectory() as folder, cluster() as client:
        files = {}
        for size in sizes:
            place = Path(folder) / str(size)
            place.mkdir()
            files[size] = write_blocks(place, size, size // 8)
        for _ in range(3):
            for size in sizes:
                watch = CoreSeconds(client)
                factorize_blocks(files[size], RANK, sets, sets, client=client, tol=0, max_iter=iterations, callback=watch)
                best[size] = min(best[size], watch.shortest())
    m, seconds = np.array(sizes, float), np.array([best[size] for size in sizes])
    slope, start = np.polyfit(m, seconds, 1)
    off = float(np.abs(seconds / (start + slope * m) - 1).max())
    growth = float(np.log(seconds[-1] / seconds[0]) / np.log(m[-1] / m[0]))
    note = f"the line is {1e3 * start:.1f} ms + {1e6 * slope:.2f} ms per 1000 rows of {COLUMNS}"
    return [
        *(Row(f"   m = {size}", f"{1e3 * best[size]:.1f} ms") for size in sizes),
        at_most("   farthest from the line a + b·m, relative", off, 0.15, note=note),
        at_most("   exponent e of m^e from the smallest to the largest", growth, 1.1),
    ]


# -- what travels --------------------------------------------------------------------------------


def wire_bytes(client: Any) -> tuple[int, int]:
    """Bytes that the kernel has counted on a client's connections to the workers: sent and received."""
    down = up = 0
    for connections in (*client.rpc.available.values(), *client.rpc.occupied.values()):
        for connection in connections:
            info = connection.stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
            down += struct.unpack_from("Q", info, ACKNOWLEDGED)[0]
            up += struct.unpack_from("Q", info, RECEIVED)[0]
    return down, up


def traffic_of(m: int, sets: list[StructureSet], iterations: int, client: distributed.Client) -> tuple[float, float]:
    """Bytes of an iteration: counted by the client in the numbers that it sends and gets, and by the kernel on the wire."""
    seen: list[int] = []
    blocks = np.array_split(np.random.default_rng(2).random((m, COLUMNS)), 4)

    def watch(run: Run) -> None:
        matrix: Any = run.problem.matrix
        seen.append(sum(wire_bytes(matrix.cluster.client)))

    found = factorize_blocks(blocks, RANK, sets, client=client, tol=0, max_iter=iterations, callback=watch)
    wire = statistics.mean(after - before for before, after in pairwise(seen))
    return (found.traffic.down + found.traffic.up) / iterations, wire


def travel(iterations: int) -> list[Row]:
    p, n, rows = RANK, COLUMNS, []
    sums = 3 * p * n + 3 * p * p
    kinds: list[tuple[str, list[StructureSet], int, str]] = [
        ("nonnegative", [Nonnegative()], sums, "3pn + 3p²"),
        ("k-sparse", [Sparse(100)], sums + 8 * p * BINS // 2, f"3pn + 3p² + at most 8 rounds of {BINS} 4-byte counts a column"),
    ]
    with cluster() as client:
        for name, sets, formula, rule in kinds:
            target = WORKERS * 8 * formula / 1e3
            for m in (2000, 16_000):
                counted, wire = traffic_of(m, sets, iterations, client)
                note = f"{WORKERS} workers × 8 bytes × ({rule}) = {target:.0f} kB; X alone has {8 * m * p / 1e3:.0f} kB"
                rows.append(at_most(f"   {name}, m = {m}: kB of numbers", counted / 1e3, 1.01 * target, form="{:.0f}", note=note))
                rows.append(at_most("      on the wire, kB", wire / 1e3, FRAMING * target, form="{:.0f}", note="with headers"))
    return rows


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    began = time.perf_counter()
    rows = [Row("largest relative difference to the local solver", "", note=f"{RANK} columns of X, 5 blocks of unequal size")]
    rows += agreement(10 if quick else 60)
    rows += memory(80_000 if quick else 150_000, 1000, 450_000_000 if quick else 600_000_000, 2 if quick else 5)
    rows += [Row("time of an iteration", "", note="of one core, all workers together; the cheapest iteration; M kept in memory")]
    rows += linearity([5000, 10_000, 20_000] if quick else [10_000, 20_000, 40_000], 6)
    rows += [Row("bytes an iteration, down and up", "")]
    rows += travel(5 if quick else 20)
    remark = f"{WORKERS} worker processes of one thread each, loopback, rank {RANK}, {COLUMNS} columns, float64;"
    print_table("Blocks of rows on a cluster", rows, f"{remark} {time.perf_counter() - began:.0f} s in all.")


if __name__ == "__main__":
    main(sys.argv[1:])
