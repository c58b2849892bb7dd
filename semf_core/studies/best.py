"""Which settings worked best in the studies so far, for each data set."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from semf_core.common.notation import FIRST, spell
from semf_core.common.parameters import params_of
from semf_core.model import ModelSpec
from semf_core.runs.files import DamagedFile
from semf_core.runs.uploads import public_form
from semf_core.sets import StructureSet
from semf_core.solvers import ADMM
from semf_core.studies.axes import REPEATS as REPEATS
from semf_core.studies.axes import Axis
from semf_core.studies.measures import Measure
from semf_core.studies.store import StudyStore
from semf_core.studies.study import Study
from semf_core.studies.summaries import wilson
from semf_core.studies.tables import ResultTable

Array = np.ndarray
LOG = logging.getLogger(__name__)
JUDGES = ("solved", "recovered_share", "held_out_error", "snr_db", "relative_error", "sample_error", "squared_error")
"""Measures that can judge a setting, the strictest first."""
FITS = ("snr_db", "relative_error", "sample_error", "squared_error")
"""Those that measure how well shown data are fitted: a larger model always does better, so only equal ones compare."""
SIZES = ("k", "share")
"""Options of algorithms that say how much a model may use."""


@dataclass(frozen=True)
class Judged:
    """How a setting did over its repetitions, one of which is the cell."""

    cell: int
    value: float
    """Share of successes, or the mean of the measure that judges, as the study's own tables and choice have it."""
    sure: float
    """For ranking: the lower end of Wilson's interval, or the mean; larger is better."""
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
    like: str
    """Settings compare if this is equal: rank and constraints where a fit is judged, nothing otherwise."""

    def to_dict(self) -> dict[str, Any]:
        """A flat row, and the model that it stands for."""
        setting = ", ".join(f"{k} {v}" for k, v in self.labels.items())
        row = {"data": self.data, "judged_by": self.judged_by, "value": self.judged.value, "runs": self.judged.runs}
        row |= {"seconds": self.judged.seconds, "study": self.study, "setting": setting, "rank": self.rank}
        row |= {"alpha0": self.alpha0, "beta0": self.beta0, "x": self.x, "y": self.y}
        return row | {"spec": public_form(self.spec.to_dict())}


def best_settings(stores: Iterable[StudyStore], most: int = 3) -> list[Setting]:
    """For every data set the settings that did best, at most `most` for each way of judging.

    Only the same measure on the same data can be compared, so these make the groups; within a group the lower
    end of the confidence interval (for rates) or the mean decides, then the time. Where a fit to shown data is
    judged, rank and constraints make a group as well, and the best of each is named.
    """
    groups: dict[tuple[str, str, str], list[Setting]] = {}
    for store in stores:
        for setting in _known_settings(store, most):
            groups.setdefault((setting.data, setting.judged_by, setting.like), []).append(setting)
    return [s for (_, _, like), group in groups.items() for s in sorted(group, key=_order)[: 1 if like else most]]


def _known_settings(store: StudyStore, most: int) -> list[Setting]:
    """None of a study whose files are damaged; the others have theirs."""
    try:
        return settings_of(store, most)
    except DamagedFile as damage:
        LOG.warning("study %s is left out: %s", store.id, damage)
        return []


def _order(setting: Setting) -> tuple[float, float]:
    return _rank(setting.judged)


def _rank(judged: Judged) -> tuple[float, float]:
    return -judged.sure, np.inf if judged.seconds is None else judged.seconds


def settings_of(store: StudyStore, most: int | None = None) -> list[Setting]:
    """The settings of a study that have at least one result, best first; at most so many of those that compare.

    None where only a fit was measured and nothing but the size of the model varies: the largest would win.
    """
    study = store.study()
    table = store.table(study)
    judge = min((m for m in study.measures if m.name in JUDGES), key=lambda m: JUDGES.index(m.name), default=None)
    if judge is None:
        return []
    sized = [judge.name in FITS and _sizes(a) for a in study.axes]
    if any(sized) and all(size or a.repeats for size, a in zip(sized, study.axes, strict=True)):
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
    groups: dict[str, list[Judged]] = {}
    for judged in sorted(found, key=_rank):
        groups.setdefault(_like(study, judged.cell, sized) if judge.name in FITS else "", []).append(judged)
    best = [(judged, like) for like, group in groups.items() for judged in group[:most]]
    return [_setting(study, store.id, table, judge, *pair) for pair in sorted(best, key=lambda pair: _rank(pair[0]))]


def _sizes(axis: Axis) -> bool:
    """Whether an axis changes how much a model may use: its rank, its constraints."""
    roots = {path.partition(".")[0] for path in axis.paths}
    return bool(roots & {"rank", "x", "y", "preset"}) or any(path.rpartition(".")[2] in SIZES for path in axis.paths)


def _like(study: Study, number: int, sized: list[bool]) -> str:
    """Rank and constraints of a cell, as the first of the algorithms has them: others say the same in their own options."""
    positions = [i if size else 0 for i, size in zip(study.cell(number).positions, sized, strict=True)]
    cell = int(np.ravel_multi_index(positions, study.shape)) if positions else number
    form = study.cell(cell).trial.model.to_dict()
    return json.dumps([form["rank"], form.get("x"), form.get("y")], sort_keys=True)


def _judged(values: Array, yes_no: bool, better: str) -> tuple[float, float]:
    if yes_no:
        share, low, _ = wilson(values)
        return share, low
    mean = float(values.mean())
    return mean, mean if better == "high" else -mean


def _setting(study: Study, study_id: str, table: ResultTable, judge: Measure, judged: Judged, like: str) -> Setting:
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
        data=_with(data, [f"{k.replace('_', ' ')} {v}" for k, v in sorted(details.items()) if k not in ("path", "id")]),
        labels=labels,
        rank=model.rank,
        alpha0=solver.alpha0 if isinstance(solver, ADMM) else None,
        beta0=solver.beta0 if isinstance(solver, ADMM) else None,
        x=" ∩ ".join(map(set_words, model.x)) or "free",
        y=" ∩ ".join(map(set_words, model.y)) or "free",
        judged_by=table.title_of(judge.key),
        judged_rate=judge.yes_no,
        judged=judged,
        spec=dataclasses.replace(model, title=f"{study.title}: {words}" if words else study.title),
        like=like,
    )


def set_words(s: StructureSet) -> str:
    """A constraint by its title, with what was chosen for it: k-sparse (k 17, columns 1-16)."""
    given = s.to_dict()
    plain = [p for p in params_of(type(s)) if p.name in given and p.kind not in ("matrix", "mask", "groups")]
    return _with(s.title, [f"{p.name} {spell(p, getattr(s, p.name), FIRST)}" for p in plain])


def _with(title: str, details: list[str]) -> str:
    return f"{title} ({', '.join(details)})" if details else title
