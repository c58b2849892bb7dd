"""From runs and snapshots to what a comparison shows; whatever takes time is worked out once for all viewers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.comparison.alignment import Aligned, align, as_they_are
from semf_core.comparison.figure import Montage, Shown
from semf_core.comparison.scores import Curve, Score, measure
from semf_core.datasets import Dataset
from semf_core.drawing.downsample import stride_for
from semf_core.drawing.pictures import Picture, Room, components
from semf_core.drawing.top import word_lists
from semf_core.factorization.result import Result
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.model.variants import LONGEST_TITLE, differences, name_by_difference, same_model, title_of
from semf_core.runs.caches import Cache
from semf_core.runs.frames import FactorFrame
from semf_core.service import RunStatus, Service
from semf_core.solvers import COLUMNS

Array = np.ndarray
MOST_POINTS = 400
MOST_RUNS = 24
MOST_WORDS = 5
MOST_TOLD = 2
"""Differences in the name of a run."""
BOUND_SECONDS = 5.0
"""How long a figure waits for the bound that is drawn in it."""
_ERROR, _SECONDS = COLUMNS.index("residual_uv"), COLUMNS.index("seconds")


@dataclass(frozen=True, eq=False)
class Reference:
    """What all components are put in the order of, and the run whose data says how it is drawn."""

    title: str
    parts: Array
    run_id: str
    is_truth: bool


def digest(A: Array) -> str:
    """Tells an array from others."""
    return hashlib.blake2b(np.ascontiguousarray(A).tobytes(), digest_size=8).hexdigest()


class Reader:
    """Reads runs of one service; any number of threads may use it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._norms: Cache[Any, float] = Cache()
        self._measures: Cache[tuple[str, str, str, bool], dict[str, Any]] = Cache()
        self._orders: Cache[tuple[str, str], Aligned] = Cache()
        self._pictures: Cache[tuple[str, str, str, Room], Picture] = Cache()

    def existing(self, run_ids: Sequence[str]) -> list[str]:
        """Those that are there with their data, each once, at most MOST_RUNS."""
        there = [status.id for status in self.service.list_runs(dict.fromkeys(run_ids))]
        return [run_id for run_id in there if self._has_data(run_id)][:MOST_RUNS]

    def _has_data(self, run_id: str) -> bool:
        """Whether its data can be read; a snapshot knows of them what is needed here."""
        try:
            self.service.fingerprint(run_id)
        except InvalidInput:
            return False
        return True

    def frame(self, run_id: str) -> FactorFrame | None:
        """The result's factors or the newest ones; None while nothing is recorded."""
        try:
            return self.service.factors(run_id)
        except InvalidInput:
            return None

    def result(self, run_id: str) -> Result | None:
        """What a run has come to; None as long as it has not."""
        try:
            return self.service.result(run_id)
        except InvalidInput:
            return None

    def dataset(self, run_id: str) -> Dataset | None:
        """The data; None for a snapshot that does not hold it and whose data is not here."""
        try:
            return self.service.dataset(run_id)
        except InvalidInput:
            return None

    def norm(self, run_id: str) -> float:
        """‖M‖; of a snapshot without its data, as its result has it (0 if it has none)."""
        dataset = self.dataset(run_id)
        if dataset is not None:
            return self._norms.get(self.service.fingerprint(run_id), lambda: metrics.frobenius_norm(dataset.data))
        result = self.result(run_id)
        return 0.0 if result is None else result.norm

    def names(self, run_ids: Sequence[str]) -> dict[str, str]:
        """What each run is called here: its title, and where others have the same one, what tells it from the first of them.

        A title that was made from data and constraints gives way to the difference from another run, if that is shorter.
        """
        statuses = [self.service.status(run_id) for run_id in run_ids]
        first: dict[str, ModelSpec] = {}
        names: dict[str, str] = {}
        for status in statuses:
            title = self._difference(status, statuses) or status.title or "Run"
            before = first.setdefault(title, status.spec)
            name = title if same_model(before, status.spec) else f"{title} ({name_by_difference(before, status.spec)})"
            name = f"{name} (snapshot)" if status.is_snapshot and name in names.values() else name
            again = sum(other == name or other.startswith(f"{name}, run ") for other in names.values())
            names[status.id] = f"{name}, run {again + 1}" if again else name
        return names

    def _difference(self, status: RunStatus, others: Sequence[RunStatus]) -> str:
        """Data and what is different ("Swimmer: k = 8"); empty where the title is somebody's own or there is too much to say."""
        spec, data = status.spec, self.service.data_title(status.id)
        if status.title != title_of(spec, data)[:LONGEST_TITLE]:
            return ""
        alike = (o.spec for o in others if o.spec.dataset == spec.dataset and not same_model(o.spec, spec))
        found = next((found for other in alike if 0 < len(found := differences(other, spec)) <= MOST_TOLD), None)
        return f"{data}: {', '.join(change.name for change in found)}" if found else ""

    def scores(self, run_ids: Sequence[str]) -> list[Score]:
        """The rows of the table."""
        return [replace(self.score(run_id), title=name) for run_id, name in self.names(run_ids).items()]

    def curves(self, run_ids: Sequence[str]) -> list[Curve]:
        """The residuals of all runs."""
        return [replace(self.curve(run_id), title=name) for run_id, name in self.names(run_ids).items()]

    def score(self, run_id: str) -> Score:
        """The row of a run in the table."""
        status, frame = self.service.status(run_id), self.frame(run_id)
        row = Score(
            title=status.title or "Run",
            algorithm=status.spec.solver.title,
            state=status.state,
            iterations=status.iterations,
            seconds=status.seconds,
        )
        dataset = self.dataset(run_id)
        if frame is None or dataset is None or status.iterations == 0:
            return row
        lower_bound = self.service.lower_bound(run_id)
        found = self._measures.get(
            (run_id, frame.mark(), status.state, lower_bound is None),
            lambda: measure(dataset, status.spec, frame, self.norm(run_id), lower_bound, self.result(run_id)),
        )
        return Score(**{**vars(row), **found})

    def curve(self, run_id: str) -> Curve:
        """‖M−UV‖/‖M‖ of a run, thinned to a few hundred points; the last one is always there."""
        found = self.service.history(run_id, stride=stride_for(self.service.iterations(run_id), MOST_POINTS))
        norm, title = self.norm(run_id) or 1.0, self.service.status(run_id).title
        return Curve(title, found.iterations, found.values[:, _SECONDS], found.values[:, _ERROR] / norm)

    def reference(self, run_ids: Sequence[str]) -> Reference | None:
        """The true parts of the first run that has any, or else the components of the first run."""
        for run_id in run_ids:
            dataset = self.dataset(run_id)
            if dataset is not None and dataset.parts is not None:
                return Reference("Ground truth", dataset.parts, run_id, is_truth=True)
        for run_id in run_ids:
            frame = self.frame(run_id)
            if frame is not None:
                return Reference(self.service.status(run_id).title, frame.U, run_id, is_truth=False)
        return None

    def order(self, U: Array, reference: Array) -> Aligned:
        """The columns of U in the order of the reference; as they are where the data is another."""
        if U.shape[0] != reference.shape[0]:
            return as_they_are(U)
        return self._orders.get((digest(U), digest(reference)), lambda: align(U, reference))

    def components(self, run_id: str, frame: FactorFrame | None, reference: Reference | None) -> tuple[Aligned, Array] | None:
        """The columns of U in the order and with the signs of the reference, each divided by its largest modulus.

        The scale of a column means nothing (V has its inverse), so none is drawn fainter than another.
        """
        if frame is None or reference is None or not self.service.status(run_id).iterations:
            return None
        order = self.order(frame.U, reference.parts)
        return order, metrics.unit_peak(order.of(frame.U))

    def montage(
        self,
        run_id: str,
        frame: FactorFrame | None,
        title: str,
        reference: Reference | None,
        theme: str,
        room: Room = None,
    ) -> Montage | None:
        """The components of a run as one picture, made once for all viewers; None while there are none."""
        there = self.components(run_id, frame, reference)
        if there is None:
            return None
        order, columns = there
        names, words = self._named(run_id, order, columns)
        return Montage(title, self._drawn(run_id, columns, theme, room), order.columns, order.found, order.mixed, names, words)

    def _named(self, run_id: str, order: Aligned, columns: Array) -> tuple[tuple[str, ...], Any]:
        """What the components at these places are called, and their strongest rows where those are words."""
        typed = self.service.component_names(run_id)
        names = tuple(typed[c] if 0 <= c < len(typed) else "" for c in order.columns)
        return names, word_lists(columns, self.service.axes(run_id), self.service.image_shape(run_id), MOST_WORDS)

    def truth(self, reference: Reference | None, theme: str, room: Room = None) -> Montage | None:
        """The true parts as one picture, where the reference is that."""
        if reference is None or not reference.is_truth:
            return None
        columns = metrics.unit_peak(reference.parts)
        drawn = self._drawn(reference.run_id, columns, theme, room)
        return Montage(reference.title, drawn, tuple(range(columns.shape[1])))

    def _drawn(self, run_id: str, columns: Array, theme: str, room: Room) -> Picture:
        shape = self.service.column_shape(run_id)
        key = (digest(columns), repr(shape), theme, room)
        return self._pictures.get(key, lambda: components(columns, shape, None, theme, room))

    def lower_bound(self, run_ids: Sequence[str], wait: float = 0.0) -> tuple[float, int] | None:
        """The Eckart–Young bound on ‖M−UV‖/‖M‖ and its rank, where all runs share data and rank and it is above zero.

        None also while it is not known, for which one may `wait` so many seconds.
        """
        ranks = {self.service.status(run_id).spec.rank for run_id in run_ids}
        if len(ranks) != 1 or not self.same_data(run_ids):
            return None
        lower_bound, norm = self.service.lower_bound(run_ids[0], wait), self.norm(run_ids[0])
        return (lower_bound / norm, ranks.pop()) if lower_bound and norm else None

    def shown(self, run_ids: Sequence[str], axis: str) -> Shown:
        """What the figure to keep holds: on light ground, whatever the page's theme."""
        reference = self.reference(run_ids)
        montages = [self.truth(reference, "light")]
        named = self.names(run_ids).items()
        montages += [self.montage(run_id, self.frame(run_id), name, reference, "light") for run_id, name in named]
        lower_bound = self.lower_bound(run_ids, BOUND_SECONDS)
        return Shown(self.curves(run_ids), [m for m in montages if m is not None], axis, lower_bound)

    def same_data(self, run_ids: Sequence[str]) -> bool:
        """Whether all of them factorize the same matrix."""
        return len({self.service.fingerprint(run_id) for run_id in run_ids}) <= 1
