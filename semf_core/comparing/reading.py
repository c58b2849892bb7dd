"""From runs and snapshots to what a comparison shows; whatever takes time is worked out once for all viewers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from semf_core import metrics
from semf_core.comparing.alignment import Aligned, align, as_they_are
from semf_core.comparing.figure import Montage
from semf_core.comparing.scores import Curve, Score, measure
from semf_core.datasets import Dataset
from semf_core.parameters import InvalidInput
from semf_core.pictures import Picture, basis
from semf_core.result import Result
from semf_core.runs.caches import Recent
from semf_core.runs.frames import FactorFrame
from semf_core.service import Service
from semf_core.solvers import COLUMNS
from semf_core.thinning import stride_for

Array = np.ndarray
MOST_POINTS = 400
MOST_RUNS = 24
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
        self._norms: Recent[Any, float] = Recent(8)
        self._measures: Recent[tuple[str, str, str, bool], dict[str, Any]] = Recent(256)
        self._orders: Recent[tuple[str, str], Aligned] = Recent(256)
        self._pictures: Recent[tuple[str, str, str], Picture] = Recent(128)

    def existing(self, run_ids: Sequence[str]) -> list[str]:
        """Those that are there, each once, at most MOST_RUNS."""
        return [status.id for status in self.service.list_runs(dict.fromkeys(run_ids))][:MOST_RUNS]

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
        """What each run is called here: its title; a snapshot says so where something else has the same title."""
        statuses = [self.service.status(run_id) for run_id in run_ids]
        titles = [status.title or "Run" for status in statuses]
        return {
            s.id: f"{title} (snapshot)" if s.is_snapshot and titles.count(title) > 1 else title
            for s, title in zip(statuses, titles, strict=True)
        }

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
        floor = self.service.floor(run_id)
        found = self._measures.get(
            (run_id, frame.mark(), status.state, floor is None),
            lambda: measure(dataset, status.spec, frame, self.norm(run_id), floor, self.result(run_id)),
        )
        return Score(**{**vars(row), **found})

    def curve(self, run_id: str) -> Curve:
        """‖M−UV‖/‖M‖ of a run, thinned to a few hundred points; the last one is always there."""
        rows = self.service.scalars(run_id)
        stride = stride_for(len(rows), MOST_POINTS)
        chosen = np.arange(len(rows) - 1, -1, -stride)[::-1]
        norm = self.norm(run_id) or 1.0
        return Curve(self.service.status(run_id).title, chosen + 1, rows[chosen, _SECONDS], rows[chosen, _ERROR] / norm)

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
        self, run_id: str, frame: FactorFrame | None, title: str, reference: Reference | None, theme: str
    ) -> Montage | None:
        """The components of a run as one picture, made once for all viewers; None while there are none."""
        there = self.components(run_id, frame, reference)
        if there is None:
            return None
        order, columns = there
        return Montage(title, self._drawn(run_id, columns, theme), order.columns, order.found)

    def truth(self, reference: Reference | None, theme: str) -> Montage | None:
        """The true parts as one picture, where the reference is that."""
        if reference is None or not reference.is_truth:
            return None
        columns = metrics.unit_peak(reference.parts)
        return Montage(reference.title, self._drawn(reference.run_id, columns, theme), tuple(range(columns.shape[1])))

    def _drawn(self, run_id: str, columns: Array, theme: str) -> Picture:
        shape = self.service.image_shape(run_id)
        return self._pictures.get((digest(columns), repr(shape), theme), lambda: basis(columns, shape, None, theme))

    def floor(self, run_ids: Sequence[str]) -> tuple[float, int] | None:
        """The Eckart–Young bound on ‖M−UV‖/‖M‖ and its rank, where all runs share data and rank and it is above zero."""
        ranks = {self.service.status(run_id).spec.rank for run_id in run_ids}
        if len(ranks) != 1 or not self.same_data(run_ids):
            return None
        floor, norm = self.service.floor(run_ids[0]), self.norm(run_ids[0])
        return (floor / norm, ranks.pop()) if floor and norm else None

    def same_data(self, run_ids: Sequence[str]) -> bool:
        """Whether all of them factorize the same matrix."""
        return len({self.service.fingerprint(run_id) for run_id in run_ids}) <= 1
