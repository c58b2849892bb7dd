"""Dictionaries: recovered atoms of SeMF and K-SVD (§4.2), K-SVD and patches against other packages (`--peers PYTHON`)."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import REPOSITORY, Array, Row, at_least, at_most, best_alternating, in_processes, parser, print_table
from benchmarks.rivals import run_peer
from semf_core import factorize
from semf_core.common.threads import blas_threads
from semf_core.datasets import NoisyDictionary, Patches
from semf_core.factorization.problem import make_problem
from semf_core.factorization.result import Result
from semf_core.mathematics import metrics
from semf_core.sets import Sparse, UnitNorm
from semf_core.solvers import KSVD, Limits, OnlineDictionary, Run
from semf_core.solvers.omp import batch_omp

ATOMS = 50
FIRST_SEED = 200
"""SeMF's penalties were chosen on data of smaller seeds."""
KSVD_ITERATIONS = 100
PATCHES, PATCH_ATOMS, PATCH_NONZEROS = 20_000, 256, 5
SPAMS_ITERATIONS = (50, 200, 2000)
PASSES = ((2, 16.0), (4, 16.0), (30, 40.0))
"""Of ours beside those, and ρ: a long run may forget its beginning faster."""


@dataclass(frozen=True)
class Trial:
    """One problem of §4.2 and the algorithm that is to solve it."""

    algorithm: str
    samples: int = 1000
    nonzeros: int = 3
    snr_db: float | None = 20.0
    seed: int = 0


@dataclass(frozen=True)
class Outcome:
    """Atoms recovered (27), distance of the dictionaries (28), CPU seconds."""

    atoms: float
    distance: float
    seconds: float


def solve(M: Array, algorithm: str, k: int, seed: int) -> Result:
    """SeMF with its default settings and 500 iterations, as in the paper; K-SVD with at most 200."""
    if algorithm == "ksvd":
        return factorize(M, ATOMS, solver=KSVD(k=k), max_iter=200, seed=seed)
    return factorize(M, ATOMS, [UnitNorm()], [Sparse(k)], max_iter=500, seed=seed)


def tried(trial: Trial) -> Outcome:
    source = NoisyDictionary(samples=trial.samples, nonzeros=trial.nonzeros, snr_db=trial.snr_db, seed=trial.seed)
    dataset = source.load()
    assert dataset.parts is not None
    began = time.process_time()
    U = solve(dataset.data, trial.algorithm, trial.nonzeros, trial.seed).U
    seconds = time.process_time() - began
    return Outcome(metrics.recovered_atoms(dataset.parts, U), metrics.dictionary_distance(dataset.parts, U), seconds)


def mean(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(*(float(np.mean([getattr(o, name) for o in outcomes])) for name in ("atoms", "distance", "seconds")))


def duel(title: str, settings: Sequence[dict[str, Any]], seeds: int, remark: str) -> None:
    """SeMF beside K-SVD, the mean over some data sets of each setting; the aim is that SeMF recovers as many atoms."""
    data = range(FIRST_SEED, FIRST_SEED + seeds)
    trials = [Trial(name, seed=s, **setting) for setting in settings for name in ("semf", "ksvd") for s in data]
    found = in_processes(tried, trials)
    rows = []
    for setting in settings:
        own, other = (
            mean([o for t, o in zip(trials, found, strict=True) if t == Trial(name, seed=t.seed, **setting)])
            for name in ("semf", "ksvd")
        )
        what = ", ".join(f"{name} = {'∞' if value is None else value}" for name, value in setting.items())
        note = f"distance {own.distance:.3f} and {other.distance:.3f}, {own.seconds:.2f} and {other.seconds:.2f} s"
        rows.append(at_least(f"atoms by SeMF, {what}", own.atoms, other.atoms, form="{:.1f}", note=note))
    remark += f" Targets: what K-SVD recovers of 50. Notes: SeMF and K-SVD. Mean of {seeds} data sets."
    print_table(title, rows, remark)


# -- other packages ----------------------------------------------------------------------------


def peer(python: str, name: str, folder: str, **problem: Any) -> dict[str, Any]:
    """One package on one problem, with the atoms that it learned."""
    file = Path(folder) / "problem.npz"
    np.savez(file, **problem)
    found = run_peer(python, name, file, "benchmarks.dictionary_peers")
    return found | {"atoms": np.load(f"{file}.{name}.npy")}


def ksvd_rows(python: str | None, iterations: int) -> list[Row]:
    """Seconds of K-SVD on the 20×50 problem with 1000 samples, all with the same number of iterations."""
    dataset = NoisyDictionary(samples=1000).load()
    M, truth = dataset.data, dataset.parts
    assert truth is not None
    results: list[Result] = []
    times = []
    for _ in range(3):
        began = time.process_time()
        results.append(factorize(M, ATOMS, solver=KSVD(k=3), max_iter=iterations, tol=0))
        times.append(time.process_time() - began)
    atoms, error = metrics.recovered_atoms(truth, results[0].U), results[0].residual_uv / np.linalg.norm(M)
    rows = [
        Row(
            "our K-SVD",
            f"{min(times):.3f} s",
            note=f"{atoms} of 50 atoms, error {error:.4f}",
        )
    ]
    if python:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ksvd", "dictlearn"):
                found = peer(python, name, folder, M=M, p=ATOMS, k=3, iterations=iterations)
                theirs = metrics.recovered_atoms(truth, found["atoms"])
                note = f"{name} {found['version']}: {found['seconds']:.2f} s, {theirs} of 50 atoms, error {found['error']:.4f}"
                rows.append(at_most(f"our seconds against {name}'s", min(times), found["seconds"], form="{:.3f}", note=note))
    return rows


# -- patches -----------------------------------------------------------------------------------


def patches(count: int) -> tuple[Array, str]:
    """8×8 patches without their mean, one column each: of the test images where they are at hand, else of one photograph."""
    file = REPOSITORY.parent / "shared" / "data" / "test_images.npz"
    if not file.exists():
        return Patches(count=count).load().data, "Data: patches of scikit-image's camera."
    rng, names = np.random.default_rng(0), ("barbara", "boat", "house", "peppers")
    pieces = []
    with np.load(file) as stored:
        for name in names:
            windows = np.lib.stride_tricks.sliding_window_view(stored[name] / 255.0, (8, 8))
            chosen = rng.choice(windows.shape[0] * windows.shape[1], count // len(names), replace=False)
            pieces.append(windows[np.divmod(chosen, windows.shape[1])].reshape(len(chosen), -1))
    found = np.concatenate(pieces).T
    return found - found.mean(axis=0), "Data: patches of barbara, boat, house and peppers."


def pursuit_row(M: Array) -> Row:
    """One OMP of all patches against the one product DᵀM, below which it cannot go."""
    signals, k, p = np.ascontiguousarray(M.T, np.float32), PATCH_NONZEROS, PATCH_ATOMS
    (n, m), Dt = signals.shape, signals[:PATCH_ATOMS] / np.maximum(np.linalg.norm(signals[:PATCH_ATOMS], axis=1), 1e-9)[:, None]
    coding, product = best_alternating([lambda: batch_omp(Dt, signals, k), lambda: signals @ Dt.T], 5)
    flops = 2 * m * n * p + n * p * (k * (k - 1) + 2 * k)
    speed = f"{flops / 1e6:.0f} Mflop at {flops / coding / 1e9:.1f} Gflop/s"
    note = f"{coding * 1e3:.0f} ms, {speed}; the product alone {product * 1e3:.0f} ms"
    return Row("OMP of all patches / the product DᵀM", f"{coding / product:.1f}", note=note)


def patch_rows(M: Array, python: str | None, spams_iterations: Sequence[int], passes: Sequence[tuple[int, float]]) -> list[Row]:
    """Our online learner, in single precision, beside SPAMS: error and seconds."""
    rows = [pursuit_row(M)]
    for iterations, (count, rho) in zip(spams_iterations, passes, strict=True):
        solver = OnlineDictionary(coding="pursuit", k=PATCH_NONZEROS, batch=1000, rho=rho)
        for data, most in ((M[:, : 2 * PATCH_ATOMS], 1), (M, count)):  # SPAMS is warmed up on so many as well
            problem = make_problem(data, PATCH_ATOMS, dtype="float32", solver=solver)
            began = time.process_time()
            run = Run(problem, solver, Limits(max_iter=most, tol=0)).finish()
            seconds = time.process_time() - began
        U, V, _, _ = run.factors()
        error = float(np.linalg.norm(M - U @ V) / np.linalg.norm(M))
        if not python:
            rows.append(Row(f"our error after {count} passes", f"{error:.4f}", note=f"{seconds:.2f} s"))
            continue
        with tempfile.TemporaryDirectory() as folder:
            found = peer(python, "spams-bin", folder, M=M, p=PATCH_ATOMS, k=PATCH_NONZEROS, iterations=iterations)
        note = f"spams-bin {found['version']}, {iterations} batches of 512; ours: {count} passes"
        rows.append(at_most("our error against SPAMS's", error, found["error"], form="{:.4f}", note=note))
        rows.append(at_most("our seconds against SPAMS's", seconds, found["seconds"], form="{:.2f}"))
    return rows


def main(argv: list[str] | None = None) -> None:
    options = parser(__doc__)
    options.add_argument("--peers", metavar="PYTHON", help="also ksvd, dictlearn and spams-bin; interpreter of their environment")
    chosen = options.parse_args(argv)
    quick, seeds = chosen.quick, 2 if chosen.quick else 8
    sizes = (300,) if quick else (200, 300, 400, 500, 700, 1000)
    duel("Recovered atoms, Figure 2", [{"samples": n} for n in sizes], seeds, "Dictionary 20×50, 3 nonzeros, 20 dB.")
    if not quick:
        duel("Recovered atoms, Figure 3", [{"nonzeros": k, "samples": 500} for k in range(1, 6)], seeds, "500 samples, 20 dB.")
        duel("Recovered atoms, Figure 4", [{"snr_db": s} for s in (10.0, 20.0, 30.0, None)], seeds, "1000 samples, 3 nonzeros.")
    M, remark = patches(2000 if quick else PATCHES)
    with blas_threads(1):
        iterations = 5 if quick else KSVD_ITERATIONS
        remarks = f"Dictionary 20×50, 1000 samples, {iterations} iterations each. Seconds of one core, 1 BLAS thread."
        print_table("K-SVD against other packages", ksvd_rows(chosen.peers, iterations), remarks)
        some = 2 if quick else len(PASSES)
        rows = patch_rows(M, chosen.peers, SPAMS_ITERATIONS[:some], PASSES[:some])
    remark += f" {M.shape[1]:,} patches of 8×8, {PATCH_ATOMS} atoms, {PATCH_NONZEROS} nonzeros."
    remark += " Ours in single precision. Seconds of one core, 1 BLAS thread."
    print_table("Patch dictionary", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
