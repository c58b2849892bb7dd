"""Nonnegative factors alone: our time to scikit-learn's error, against scikit-learn's own time."""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks.common import ORL_RANK, Array, Row, at_most, orl, parser, print_table
from semf_core import factorize
from semf_core.sets import Nonnegative
from semf_core.threads import blas_threads

SETTINGS: dict[str, dict[str, Any]] = {
    "scale-following penalties, c = 0.1, γ = 1.5": {"penalty": "scale", "scale": 0.1, "gamma": 1.5},
    "default settings": {},
}
"""Ours; the first is the one that the target is for."""


def relative_error(M: Array, U: Array, V: Array) -> float:
    return float(np.linalg.norm(M - U @ V) / np.linalg.norm(M))


def scikit_learn(M: Array) -> tuple[float, float, int]:
    """Seconds, relative error and iterations of NMF with its defaults: coordinate descent, images in rows."""
    samples = np.ascontiguousarray(M.T)
    model = NMF(n_components=ORL_RANK, random_state=0)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        W = model.fit_transform(samples)
    seconds = time.process_time() - began
    return seconds, relative_error(samples, W, model.components_), int(model.n_iter_)


def ours(M: Array, options: dict[str, Any], error: float, seed: int) -> tuple[float, float, int]:
    """Seconds, relative error and iterations until U, V ≥ 0 are at least as good as `error`."""
    wanted = error * float(np.linalg.norm(M))
    began = time.process_time()
    result = factorize(
        M,
        ORL_RANK,
        X=Nonnegative(),
        Y=Nonnegative(),
        seed=seed,
        tol=0,
        max_iter=2000,
        callback=lambda run: bool(run.best_uv <= wanted),
        **options,
    )
    return time.process_time() - began, relative_error(M, result.U, result.V), result.iterations


def main(argv: list[str] | None = None) -> None:
    quick = parser(__doc__).parse_args(argv).quick
    seeds = range(1 if quick else 5)
    M, remark = orl()
    rows: list[Row] = []
    with blas_threads(1):
        reference = min(scikit_learn(M) for _ in range(1 if quick else 3))
        error = reference[1]
        rows.append(Row("scikit-learn NMF", f"{reference[0]:.2f} s", note=f"error {error:.5f}, {reference[2]} iterations"))
        for number, (title, options) in enumerate(SETTINGS.items()):
            found = sorted(ours(M, options, error, seed) for seed in seeds)
            seconds, reached, iterations = found[len(found) // 2]
            note = f"{seconds:.2f} s (from {found[0][0]:.2f} to {found[-1][0]:.2f}), error {reached:.5f}, {iterations} iterations"
            ratio, what = seconds / reference[0], f"our time / scikit-learn's: {title}"
            rows.append(at_most(what, ratio, 1.0, note=note) if number == 0 else Row(what, f"{ratio:.3g}", note=note))
    remark += f" Rank {ORL_RANK}, float64, 1 BLAS thread, seconds of one core."
    remark += f" Ours: median of {len(seeds)} random starts, stopped when ‖M−UV‖ is scikit-learn's."
    print_table("Nonnegative factors alone, against scikit-learn's coordinate descent", rows, remark)


if __name__ == "__main__":
    main(sys.argv[1:])
