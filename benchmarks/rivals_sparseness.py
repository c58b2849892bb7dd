"""L1/L2 sparseness exactly 0.6: mixed-norm NMF against torchnmf (`--peers PYTHON`)."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ORL_RANK, Array, Row, orl, parser, print_table
from benchmarks.rivals import compared, run_peer, start_factors
from semf_core import factorize
from semf_core.common.threads import blas_threads
from semf_core.solvers import MixedNormNMF

SPARSENESS = 0.6
ITERATIONS, PEER_ITERATIONS = 40, 200
"""Ours: about as many as make the error settle. Theirs: their default."""


def run_ours(M: Array, start: tuple[Array, Array], iterations: int) -> dict[str, Any]:
    began = time.process_time()
    solver = MixedNormNMF(SPARSENESS, shared=False)
    result = factorize(M, ORL_RANK, solver=solver, start_factors=start, max_iter=iterations, tol=0)
    seconds = time.process_time() - began
    error = float(np.linalg.norm(M - result.U @ result.V) / np.linalg.norm(M))
    return {"seconds": seconds, "error": error, "feasible": result.certificate.feasible}


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--peers", metavar="PYTHON", required=True, help="interpreter of an environment with torchnmf")
    chosen = options.parse_args(argv)
    M, remark = orl()
    start = start_factors(M, ORL_RANK)
    iterations, ours = (5, 5) if chosen.quick else (PEER_ITERATIONS, ITERATIONS)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, M=M, X=start[0], Y=start[1], sparseness=SPARSENESS, iterations=iterations)
        peer = run_peer(chosen.peers, "torchnmf", file)
    with blas_threads(1):
        runs = [run_ours(M, start, ours) for _ in range(1 if chosen.quick else 3)]
    own = min(runs, key=lambda found: found["seconds"])
    rows = compared("torchnmf", peer, own)
    rows.append(Row("our U and V", "feasible" if own["feasible"] else "NOT feasible", "feasible", own["feasible"]))
    remark += f" Every column of U with sparseness {SPARSENESS}, rank {ORL_RANK}, one start for both."
    remark += f" Seconds of one core, 1 thread. torchnmf: {iterations} iterations of `sparse_fit`; ours: {ours}."
    print_table("Fixed sparseness against torchnmf", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
