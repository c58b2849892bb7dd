"""Nonnegative factors alone: the time to scikit-learn's error, against scikit-learn's own time, on three data sets."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import CBCL_RANK, ORL_RANK, USPS_RANK, Array, Row, at_most, cbcl, is_real, orl, parser, print_table, usps
from semf_core import factorize
from semf_core.common.threads import blas_threads
from semf_core.sets import Nonnegative
from semf_core.solvers import ADMM, ExtrapolatedNMF, Run

DATA: dict[str, tuple[Callable[[], tuple[Array, str]], int]] = {
    "CBCL": (cbcl, CBCL_RANK),
    "USPS": (usps, USPS_RANK),
    "ORL": (orl, ORL_RANK),
}
SEMF: dict[str, Any] = {"X": Nonnegative(), "Y": Nonnegative()}
DEFAULT, RIVAL = "SeMF, default settings", "extrapolated HALS"
WAYS: dict[str, tuple[dict[str, Any], float]] = {
    DEFAULT: (SEMF, 0.5),
    "SeMF, scale-following penalties, c = 0.1, γ = 1.5": (SEMF | {"solver": ADMM(penalty="scale", scale=0.1, gamma=1.5)}, 1.0),
    RIVAL: ({"solver": ExtrapolatedNMF()}, 0.5),
}
"""What is run, and the share of scikit-learn's time that it may take to scikit-learn's error."""
PATIENCE = 2.0
"""A start that has not come to scikit-learn's error after this many times its time never does."""
CHECKPOINTS = ((1.85, 0.0814), (7.7, 0.0807))
"""Seconds, and the error of extrapolated HALS on CBCL after them that was measured elsewhere."""


def relative_error(M: Array, U: Array, V: Array) -> float:
    return float(np.linalg.norm(M - U @ V) / np.linalg.norm(M))


def scikit_learn(M: Array, rank: int) -> tuple[float, float, int]:
    """Seconds, relative error and iterations of NMF with its defaults: coordinate descent from NNDSVDa, images in rows."""
    samples = np.ascontiguousarray(M.T)
    model = NMF(n_components=rank, random_state=0)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        W = model.fit_transform(samples)
    seconds = time.process_time() - began
    return seconds, relative_error(samples, W, model.components_), int(model.n_iter_)


def course(M: Array, rank: int, way: dict[str, Any], seed: int, seconds: float, error: float = 0.0) -> Array:
    """Seconds of one core and best error of UV after each iteration, until the error is reached or the time is up."""
    found: list[tuple[float, float]] = []
    norm, began = float(np.linalg.norm(M)), time.process_time()

    def note(run: Run) -> bool:
        found.append((time.process_time() - began, run.best_uv / norm))
        return found[-1][0] > seconds or found[-1][1] <= error

    factorize(M, rank, seed=seed, tol=0, max_iter=1_000_000, callback=note, **way)
    return np.array(found)


def on(name: str, quick: bool) -> tuple[list[Row], str]:
    """One data set: scikit-learn, each of our ways beside it, and a sentence on the data."""
    load, rank = DATA[name]
    M, remark = load()
    seconds, error, iterations = min(scikit_learn(M, rank) for _ in range(1 if quick else 3))
    rows = [
        Row(f"{name}, rank {rank}: scikit-learn's NMF", f"{seconds:.2f} s", note=f"error {error:.5f}, {iterations} iterations")
    ]
    medians = {}
    for way, (options, target) in WAYS.items():
        runs = [course(M, rank, options, seed, PATIENCE * seconds, error) for seed in range(1 if quick else 5)]
        times = sorted(float(run[-1, 0]) if run[-1, 1] <= error else np.inf for run in runs)
        medians[way] = times[len(times) // 2]
        note = f"{medians[way]:.2f} s (from {times[0]:.2f} to {times[-1]:.2f}), best error {min(run[-1, 1] for run in runs):.5f}"
        rows.append(at_most(f"   time to its error / its time: {way}", medians[way] / seconds, target, note=note))
    rows.append(at_most("   SeMF's time / extrapolated HALS's", medians[DEFAULT] / medians[RIVAL], 1.0))
    return rows, remark


def checkpoints(quick: bool) -> list[Row]:
    """How far extrapolated HALS comes on CBCL in given times, the median of three starts."""
    M, remark = cbcl()
    points = [(seconds / 10, error) for seconds, error in CHECKPOINTS] if quick else list(CHECKPOINTS)
    runs = [course(M, CBCL_RANK, WAYS[RIVAL][0], seed, points[-1][0]) for seed in range(1 if quick else 3)]
    rows = []
    for seconds, target in points:
        error = float(np.median([run[max(0, int(np.searchsorted(run[:, 0], seconds)) - 1), 1] for run in runs]))
        what, form = f"error of {RIVAL} after {seconds:g} s", "{:.4f}"
        scored = is_real(remark) and not quick
        rows.append(at_most(what, error, target, form=form) if scored else Row(what, form.format(error)))
    return rows


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    with blas_threads(1):
        tables = [on(name, quick) for name in DATA]
        remark = " ".join(words for _, words in tables)
        remark += f" float64, 1 BLAS thread, seconds of one core. Ours: median of {1 if quick else 5} random starts,"
        remark += f" stopped when ‖M−UV‖ is scikit-learn's; inf: not within {PATIENCE:g} times its time."
        rows = [row for found, _ in tables for row in found]
        print_table("Nonnegative factors alone, against scikit-learn's coordinate descent", rows, remark)
        print_table(f"CBCL, rank {CBCL_RANK}: extrapolated HALS", checkpoints(quick), cbcl()[1])


if __name__ == "__main__":
    main(sys.argv[1:])
