"""One trial: a model, and what is done to its data before it runs. Everything about a cell follows from it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from semf_core.common.parameters import InvalidInput, Param, Parametrized, param
from semf_core.datasets import Dataset
from semf_core.datasets.planted import noise_at
from semf_core.mathematics.metrics import rmse
from semf_core.model import ModelSpec
from semf_core.solvers import Run

Array = np.ndarray
EXTRAS = ("data", "until_rmse")
"""What a trial has beside the fields of its model."""
UNTIL = Param(
    "number", None, low=0, open_low=True, optional=True, name="until_rmse", help="ends a run once XY and UV both have this RMSE"
)


class DataChanges(Parametrized):
    """Fewer samples, more noise, entries held out: in this order, each from a random stream of its own."""

    name: ClassVar[str] = "data"

    samples: int | None = param("integer", None, low=1, optional=True, symbol="n", help="samples kept, at random; none: all")
    snr_db: float | None = param("number", None, low=-50, high=300, optional=True, help="white noise is added at this ratio")
    held_out: float = param("number", 0.0, low=0, high=1, open_high=True, help="fraction of the known entries that is hidden")
    seed: int = param("integer", 0, low=0, high=2**32 - 1, help="seed of the choice of samples, the noise and the hidden entries")

    def apply(self, dataset: Dataset) -> Prepared:
        """The data that is factorized, and the entries that were hidden from it."""
        if self.samples is None and self.snr_db is None and not self.held_out:
            return Prepared(dataset)
        for_samples, for_noise, for_hiding = np.random.default_rng(self.seed).spawn(3)
        whole, left = dataset, np.empty(0, dtype=int)
        if self.samples is not None:
            order = for_samples.permutation(whole.shape[1])
            dataset, left = _with_samples(whole, self.samples, order), order[self.samples :]
        if self.snr_db is None and not self.held_out:
            return Prepared(dataset, source=whole, left_out=left)
        if sparse.issparse(dataset.data):
            raise InvalidInput("data", "noise and held-out entries need a dense matrix; this one is sparse", whole=True)
        data = np.array(dataset.data, dtype=float, order="C")  # so that ravel() below is a view
        if self.snr_db is not None:
            data += noise_at(np.nan_to_num(data), self.snr_db, for_noise)
        if not self.held_out:
            return Prepared(dataclasses.replace(dataset, data=data), source=whole, left_out=left)
        known = np.flatnonzero(~np.isnan(data))
        count = max(1, round(self.held_out * known.size))
        if count >= known.size:
            raise InvalidInput("held_out", "would hide every entry", "lower it")
        hidden = np.sort(for_hiding.choice(known, count, replace=False))
        values = data.ravel()[hidden]
        data.ravel()[hidden] = np.nan
        return Prepared(dataclasses.replace(dataset, data=data), hidden, values, whole, left)


def _with_samples(dataset: Dataset, count: int, order: Array) -> Dataset:
    """The first `count` samples of a random order, as they follow in the data."""
    n = dataset.shape[1]
    if count > n:
        raise InvalidInput("samples", f"the data has {n} samples, not {count}", "ask for fewer", whole=True)
    kept = np.sort(order[:count])
    activations, labels = dataset.activations, dataset.labels
    return dataclasses.replace(
        dataset,
        data=dataset.data[:, kept],
        activations=None if activations is None else activations[:, kept],
        labels=None if labels is None else labels[kept],
    )


@dataclass(frozen=True, eq=False)
class Prepared:
    """Data ready to be factorized; `hidden` are flat positions of held-out entries, `values` what was there."""

    dataset: Dataset
    hidden: Array | None = None
    values: Array | None = None
    source: Dataset | None = None
    """The data before samples were left out, where they were."""
    left_out: Array = field(default_factory=lambda: np.empty(0, dtype=int))
    """Columns of `source` that were left out, in random order."""


@dataclass(frozen=True)
class Trial:
    """A model and the changes to its data: the whole description of one run of a study."""

    model: ModelSpec
    data: DataChanges = field(default_factory=DataChanges)
    until_rmse: float | None = None

    def __post_init__(self) -> None:
        UNTIL.check(self.until_rmse)

    def to_dict(self) -> dict[str, Any]:
        """The normal JSON form, without the model's texts: two spellings of the same trial become equal."""
        form = {k: v for k, v in self.model.to_dict().items() if k not in ("title", "watch")}
        changes = {k: v for k, v in self.data.to_dict().items() if k != "name"}
        form |= {"data": changes} if changes else {}
        return form | ({"until_rmse": self.until_rmse} if self.until_rmse is not None else {})

    def run(self, prepared: Prepared, go_on: Callable[[], object] = lambda: None) -> Run:
        """The finished run; `go_on` is called after each iteration and may raise to break it off."""

        def after(run: Run) -> bool:
            go_on()
            return self.until_rmse is not None and max(rmse_of(run)) < self.until_rmse

        return self.model.run(prepared.dataset, bounded=True).finish(after)

    @classmethod
    def from_dict(cls, form: object) -> Trial:
        if not isinstance(form, Mapping):
            raise InvalidInput("trial", "must be a JSON object")
        changes = form.get("data", {})
        if not isinstance(changes, Mapping):
            raise InvalidInput("data", "must be an object")
        model = ModelSpec.from_dict({k: v for k, v in form.items() if k not in EXTRAS})
        return cls(model, DataChanges.from_params(changes), form.get("until_rmse"))


def rmse_of(run: Run) -> tuple[float, float]:
    """RMSE of the current XY and of the best UV (SeMF §4.1)."""
    m, n = run.problem.shape
    return rmse(run.history.last("residual_xy"), m * n), rmse(run.best_uv, m * n)


def trial_id(form: Mapping[str, Any]) -> str:
    """A name that follows from the content: 128 bits of the SHA-256 of the sorted JSON."""
    text = json.dumps(form, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
