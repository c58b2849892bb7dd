"""One cell, from its description to its numbers: what a worker does, wherever it is."""

from __future__ import annotations

import base64
import io
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.datasets import Dataset, DatasetSource
from semf_core.runs.caches import Recent
from semf_core.runs.home import default_home
from semf_core.runs.uploads import load_source
from semf_core.runs.worker import ServerGone, in_words
from semf_core.solvers import Run
from semf_core.studies.measures import Outcome, measured, measures_from_form
from semf_core.studies.store import Finished
from semf_core.studies.trials import Trial

Order = dict[str, Any]
"""{"cell": number, "trial": …, "measures": […], "keep": […]}"""
POINTS = 200
"""Iterations that are kept of a history, log-spaced."""
DATASETS: Recent[DatasetSource, Dataset] = Recent(4)


def order_of(number: int, trial: Trial, measures: Sequence[Any], keep: Sequence[str]) -> Order:
    """Everything a worker has to know, as JSON types."""
    return {"cell": number, "trial": trial.to_dict(), "measures": list(measures), "keep": list(keep)}


def carry_out(
    order: Order, go_on: Callable[[], object] = lambda: None, dataset: Dataset | None = None, home: Path | None = None
) -> Finished:
    """Run a cell. What is wrong with the cell itself becomes a sentence; a gone server passes through."""
    began = time.perf_counter()
    try:
        outcome = observe(Trial.from_dict(order["trial"]), go_on, dataset, home)
        values = measured(measures_from_form(order["measures"]), outcome)
        kept = _kept(order["keep"], outcome)
    except ServerGone:
        raise
    except Exception as error:  # a cell that breaks must not take the others with it
        return Finished(order["cell"], seconds=time.perf_counter() - began, error=in_words(error))
    return Finished(order["cell"], values, time.perf_counter() - began, kept=kept)


def observe(
    trial: Trial, go_on: Callable[[], object] = lambda: None, dataset: Dataset | None = None, home: Path | None = None
) -> Outcome:
    """The finished run of a trial."""
    source = trial.model.dataset
    loaded = dataset or DATASETS.get(source, lambda: load_source(source, home or default_home()))
    prepared = trial.data.apply(loaded)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an overflow ends the run as "diverged"
        run = trial.run(prepared, go_on)
    U, V, _, _ = run.factors()
    return Outcome(trial, prepared, run, U, V)


def _kept(names: Sequence[str], outcome: Outcome) -> str:
    """Factors in single precision and a thinned history, as the text of an NPZ file; empty if nothing is wanted."""
    arrays: dict[str, np.ndarray] = {}
    if "factors" in names:
        arrays |= {"U": outcome.U.astype(np.float32), "V": outcome.V.astype(np.float32)}
    if "history" in names:
        arrays |= thinned(outcome.run)
    if not arrays:
        return ""
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]
    return base64.b64encode(stream.getvalue()).decode()


def thinned(run: Run) -> dict[str, np.ndarray]:
    """‖M−XY‖ and ‖M−UV‖ at log-spaced iterations, the first and the last among them."""
    last = run.iterations
    kept = np.unique(np.geomspace(1, last, POINTS).astype(int)) - 1
    history = run.history
    return {"iteration": kept + 1, "residual_xy": history["residual_xy"][kept], "residual_uv": history["residual_uv"][kept]}


def unpacked(kept: str) -> dict[str, np.ndarray]:
    """The arrays that `carry_out` kept."""
    with np.load(io.BytesIO(base64.b64decode(kept)), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
