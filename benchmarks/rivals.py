"""Exactly counted sparsity with nonnegativity: ours against pyproximal's PALM and proxmin (`--peers PYTHON`)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ORL_RANK, REPOSITORY, Array, Row, at_most, orl, parser, print_table
from semf_core import factorize
from semf_core.common.threads import blas_threads
from semf_core.sets import Nonnegative, Sparse

NAMES = ("pyproximal", "proxmin")
SHARE = 0.33
ITERATIONS = 100
"""Ours: about as many as make the error settle; `benchmarks.orl` shows what 500 iterations give."""
PEER_ITERATIONS = 300


def start_factors(M: Array, rank: int) -> tuple[Array, Array]:
    """Uniform random factors whose product has the mean of M: one start for all.

    Y has entries up to 1, as in our own starts; the others' steps do not depend on how the scale is shared.
    """
    rng = np.random.default_rng(0)
    X, Y = rng.random((M.shape[0], rank)), rng.random((rank, M.shape[1]))
    return X * (4 * M.mean() / rank), Y


def run_peer(python: str, name: str, file: Path, module: str = "benchmarks.peers") -> dict[str, Any]:
    """One package in its own environment."""
    command = [python, "-m", module, name, str(file)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} failed in {python}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def run_ours(M: Array, start: tuple[Array, Array], k: int) -> dict[str, Any]:
    began = time.process_time()
    result = factorize(
        M,
        ORL_RANK,
        X=[Nonnegative(), Sparse(k)],
        Y=[Nonnegative()],
        start_factors=start,
        max_iter=ITERATIONS,
    )
    seconds = time.process_time() - began
    error = float(np.linalg.norm(M - result.U @ result.V) / np.linalg.norm(M))
    return {"seconds": seconds, "error": error, "feasible": result.certificate.feasible}


def compared(name: str, peer: dict[str, Any], own: dict[str, Any]) -> list[Row]:
    feasible = "feasible" if peer["feasible"] else "NOT feasible"
    note = f"{name} {peer['version']}, {feasible}"
    return [
        at_most(f"our error against {name}'s", own["error"], peer["error"], form="{:.4f}", note=note),
        at_most(f"our seconds against {name}'s", own["seconds"], peer["seconds"], form="{:.2f}"),
    ]


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--peers", metavar="PYTHON", required=True, help="interpreter of an environment with these packages")
    chosen = options.parse_args(argv)
    M, remark = orl()
    k, start = round(SHARE * len(M)), start_factors(M, ORL_RANK)
    iterations = 10 if chosen.quick else PEER_ITERATIONS
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, M=M, X=start[0], Y=start[1], k=k, iterations=iterations)
        peers = {name: run_peer(chosen.peers, name, file) for name in NAMES}
    with blas_threads(1):
        own = min((run_ours(M, start, k) for _ in range(1 if chosen.quick else 3)), key=lambda found: found["seconds"])
    rows = [row for name in NAMES for row in compared(name, peers[name], own)]
    rows.append(Row("our U and V", "feasible" if own["feasible"] else "NOT feasible", "feasible", own["feasible"]))
    remark += f" {SHARE:.0%} nonzeros in each column of U, all nonnegative, rank {ORL_RANK}, one start for all."
    remark += " Seconds of one core, 1 BLAS thread."
    remark += f" The others: at most {iterations} iterations; ours: {ITERATIONS}, default settings."
    print_table("Counted sparsity against other packages", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
