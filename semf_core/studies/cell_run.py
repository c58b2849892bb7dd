"""One cell, from its description to its numbers: what a worker does, wherever it is."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from semf_core.datasets import Dataset, DatasetSource
from semf_core.runs.caches import Cache
from semf_core.runs.channel import ServerGone
from semf_core.runs.home import default_home
from semf_core.runs.uploads import load_source
from semf_core.runs.worker import error_message
from semf_core.studies.kept_arrays import check_kept, packed
from semf_core.studies.measures import Outcome, measured, measures_from_form
from semf_core.studies.progress import Finished
from semf_core.studies.trials import Trial

Order = dict[str, Any]
"""{"cell": number, "trial": …, "measures": […], "keep": […]}"""
DATASETS: Cache[DatasetSource, Dataset] = Cache()


def order_of(number: int, trial: Trial, measures: Sequence[Any], keep: Sequence[str]) -> Order:
    """Everything a worker has to know, as JSON types."""
    return {"cell": number, "trial": trial.to_dict(), "measures": list(measures), "keep": list(keep)}


def carry_out(
    order: Order, go_on: Callable[[], object] = lambda: None, dataset: Dataset | None = None, home: Path | None = None
) -> Finished:
    """Run a cell. What is wrong with the cell itself becomes a sentence; a gone server passes through."""
    began = time.perf_counter()
    try:
        outcome = observe(Trial.from_dict(order["trial"]), go_on, dataset, home, order["keep"])
        values = measured(measures_from_form(order["measures"]), outcome)
        kept = packed(order["keep"], outcome.run)
    except ServerGone:
        raise
    except Exception as error:  # a cell that breaks must not take the others with it
        return Finished(order["cell"], seconds=time.perf_counter() - began, error=error_message(error))
    return Finished(order["cell"], values, time.perf_counter() - began, kept=kept)


def observe(
    trial: Trial,
    go_on: Callable[[], object] = lambda: None,
    dataset: Dataset | None = None,
    home: Path | None = None,
    keep: Sequence[str] = (),
) -> Outcome:
    """The finished run of a trial, of which so much is to be kept."""
    source = trial.model.dataset
    loaded = dataset or DATASETS.get(source, lambda: load_source(source, home or default_home()))
    prepared = trial.data.apply(loaded)
    check_kept(keep, prepared.dataset.shape, trial.model.rank)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an overflow ends the run as "diverged"
        began = time.process_time()
        run = trial.run(prepared, go_on)
        spent = time.process_time() - began
    U, V, _, _ = run.factors()
    return Outcome(trial, prepared, run, U, V, spent)
