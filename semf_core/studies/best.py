"""Which settings worked best in the studies so far, for each data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.model import ModelSpec
from semf_core.solvers import ADMM
from semf_core.studies.axes import REPEATS as REPEATS
from semf_core.studies.measures import Measure
from semf_core.studies.store import StudyStore
from semf_core.studies.study import Study
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import wilson

Array = np.ndarray
JUDGES = ("solved", "recovered_share", "held_out_error", "snr_db", "relative_error", "sample_error", "squared_error")
"""Measures that can judge a setting, the strictest first."""


@dataclass(frozen=True)
class Judged:
    """How a setting did over its repetitions, one of which is the cell."""

    cell: int
    value: float
    """Share of successes, or the median of the measure that judges."""
    sure: float
    """For ranking: the lower end of Wilson's interval, or the median; larger is better."""
    runs: int
    seconds: float | None


@dataclass(frozen=True)
class Setting:
    """One setting of one study, and how it did over its repetitions."""

    study: str
    study_id: str
    data: str
    labels: dict[str, str]
    rank: int
    alpha0: float | None
    beta0: float | None
    x: str
    y: str
    judged_by: str
    judged_rate: bool
    """A share of successes."""
    judged: Judged
    spec: ModelSpec

    def to_dict(self) -> dict[str, Any]:
        """A flat row, and the model that it stands for."""
        setting = ", ".join(f"{k} {v}" for k, v in self.labels.items())
        row = {"data": self.data, "judged_by": self.judged_by, "value": self.judged.value, "runs": self.judged.runs}
        row |= {"seconds": self.judged.seconds, "study": self.study, "setting": setting, "rank": self.rank}
        return row | {"alpha0": self.alpha0, "beta0": self.beta0, "x": self.x, "y": self.y, "spec": self.spec.to_dict()}


def best_settings(stores: Iterable[StudyStore], most: int = 3) -> list[Setting]:
    """For every data set the settings that did best, at most `most` for each way of judging.

    Only the same measure on the same data can be compared, so these make the groups; within a group the lower
    end of the confidence interval (for rates) or the median decides, then the time.
    """
    groups: dict[tuple[str, str], list[Setting]] = {}
    for store in stores:
        for setting in settings_of(store, most):
            groups.setdefault((setting.data, setting.judged_by), []).append(setting)
    return [s for group in groups.values() for s in sorted(group, key=lambda s: _rank(s.judged))[:most]]


def _rank(judged: Judged) -> tuple[float, float]:
    return -judged.sure, np.inf if judged.seconds is None else judged.seconds


def settings_of(store: StudyStore, most: int | None = None) -> list[Setting]:
    """The settings of a study that have at least one result, best first."""
    study = store.study()
    table = store.table(study)
    judge = min((m for m in study.measures if m.name in JUDGES), key=lambda m: JUDGES.index(m.name), default=None)
    if judge is None:
        return []
    names = [a.name for a in study.axes if not a.repeats]
    values = table.arranged(judge.key, names)
    cells = table.arranged_cells(names)
    seconds = table.arranged("seconds", names) if "seconds" in table.columns else np.full(values.shape, np.nan)
    found = []
    for index in np.ndindex(values.shape[:-1]):
        known = values[index][~np.isnan(values[index])]
        if len(known):
            times = seconds[index][~np.isnan(seconds[index])]
            middle, sure = _judged(known, judge.yes_no, judge.better)
            found.append(Judged(int(cells[index][0]), middle, sure, len(known), float(np.median(times)) if len(times) else None))
    return [_setting(study, store.id, table, judge, judged) for judged in sorted(found, key=_rank)[:most]]


def _judged(values: Array, yes_no: bool, better: str) -> tuple[float, float]:
    if yes_no:
        share, low, _ = wilson(values)
        return share, low
    median = float(np.median(values))
    return median, median if better == "high" else -median


def _setting(study: Study, study_id: str, table: ResultTable, judge: Measure, judged: Judged) -> Setting:
    trial = study.cell(judged.cell).trial
    model = trial.model
    repeats = {a.name for a in study.axes if a.repeats}
    labels = {name: label for name, label in table.labels(judged.cell).items() if name not in repeats}
    words = ", ".join(labels.values())
    solver = model.solver
    changes = {k: v for k, v in trial.data.to_dict().items() if k not in ("name", "seed")}
    data = model.dataset.title or model.dataset.name
    details = {k: v for k, v in model.dataset.to_dict().items() if k not in ("name", "seed")} | changes
    return Setting(
        study=study.title,
        study_id=study_id,
        data=" ".join([data, *(f"{k}={v}" for k, v in sorted(details.items()) if k not in ("path", "id"))]),
        labels=labels,
        rank=model.rank,
        alpha0=solver.alpha0 if isinstance(solver, ADMM) else None,
        beta0=solver.beta0 if isinstance(solver, ADMM) else None,
        x=" ∩ ".join(s.name for s in model.x) or "free",
        y=" ∩ ".join(s.name for s in model.y) or "free",
        judged_by=table.title_of(judge.key),
        judged_rate=judge.yes_no,
        judged=judged,
        spec=dataclasses.replace(model, title=f"{study.title}: {words}" if words else study.title),
    )
