"""Whether a stored history can be had again: the model is run anew and compared number by number.

On the same platform (machine, numpy, scipy, BLAS and this library in the same versions) a run repeats itself bit for
bit. Elsewhere sums are rounded differently, and the iterations drift apart slowly: they must agree within TOLERANCE.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.common.threads import blas_threads
from semf_core.datasets import Dataset
from semf_core.runs.edits import keeps_problem
from semf_core.snapshots.content import Content, Revision, versions
from semf_core.solvers import COLUMNS, Event, Run

Array = np.ndarray
TOLERANCE = 1e-6
"""Relative difference of ‖M−XY‖, ‖M−UV‖ and the gaps that is put down to rounding on another platform."""
COMPARED = tuple(name for name in COLUMNS if name != "seconds")
SAME = ("semf", "numpy", "scipy", "platform", "blas")


@dataclass(frozen=True)
class Reproduction:
    """What running the model again came to."""

    iterations: int
    """Iterations that could be compared."""
    stored: int
    rows: int
    """Rows that were compared; those of a long history are fewer than its iterations."""
    same_platform: bool
    exact: bool
    """Every number, and the factors of the result, bit for bit."""
    largest: float
    """Largest relative difference of a number, scaled by the largest of its column."""
    first_difference: int | None
    """The first iteration (from 1) at which something differs."""

    @property
    def reproduced(self) -> bool:
        """Bit for bit on the same platform, within the tolerance elsewhere."""
        return self.exact or (not self.same_platform and self.iterations == self.stored and self.largest <= TOLERANCE)

    def sentence(self) -> str:
        where = "on the same platform" if self.same_platform else "on another platform, or version, than it was saved on"
        if self.exact:
            told = "" if self.rows == self.stored else f" ({self.rows} of them recorded and compared)"
            return f"Reproduced bit for bit: {self.stored} iterations{told} and the factors, {where}."
        if self.iterations < self.stored:
            return f"Not reproduced: the run ends after {self.iterations} of {self.stored} iterations, {where}."
        differs = f"it differs from iteration {self.first_difference} on, by at most {self.largest:.2g} (relative), {where}"
        if self.first_difference is None:
            differs = f"the history is the same but the factors of the result differ, {where}"
        return f"{'Reproduced within ' + format(TOLERANCE, 'g') if self.reproduced else 'Not reproduced'}: {differs}."


def reproduce(content: Content, dataset: Dataset, watch: Callable[[Run], object] | None = None) -> Reproduction:
    """Run the model of a snapshot again, edits included; `watch(run)` is called after every iteration."""
    if dataset.fingerprint() != content.data.fingerprint:
        raise InvalidInput("data", "is not the data that the run was made from: its fingerprint is another")
    with blas_threads(1), np.errstate(all="ignore"):
        run = replayed(content, dataset, watch)
    again, stored = run.history.table(), content.history
    count = int(np.searchsorted(content.numbers, run.iterations, side="right"))
    same_rows, largest = _compared(again[:count], stored[:count])
    different = np.flatnonzero(~same_rows)
    exact = run.iterations == content.iterations and not len(different) and _same_factors(run, content)
    same_platform = all(content.versions.get(name) == versions()[name] for name in SAME)
    first = int(content.numbers[different[0]]) if len(different) else None
    return Reproduction(run.iterations, content.iterations, count, same_platform, exact, largest, first)


def replayed(content: Content, dataset: Dataset, watch: Callable[[Run], object] | None = None) -> Run:
    """The run of a snapshot again."""
    thinned = len(content.history) != content.iterations
    return replay(content.revisions, content.start, content.events, content.iterations, dataset, watch, bounded=thinned)


def replay(
    revisions: Sequence[Revision],
    start: tuple[Array, Array] | None,
    events: Sequence[Event],
    iterations: int,
    dataset: Dataset,
    watch: Callable[[Run], object] | None = None,
    bounded: bool = False,
) -> Run:
    """So many iterations of a run again: every edit and every polish where it was done."""
    run = revisions[0].spec.run(dataset, start, bounded=bounded)
    if start is not None:
        run.events.append(Event(0, "fork", ""))
    return go_on(run, revisions, start, events, iterations, dataset, watch)


def go_on(
    run: Run,
    revisions: Sequence[Revision],
    start: tuple[Array, Array] | None,
    events: Sequence[Event],
    iterations: int,
    dataset: Dataset,
    watch: Callable[[Run], object] | None = None,
) -> Run:
    """The same from where a run stands: it has the model of the first revision, and the events are those that follow."""
    before, later = revisions[0].spec, iter(revisions[1:])
    for event in events:
        if event.kind == "polish" and _advanced(run, event.iteration, watch):
            run.complete()
        elif event.kind == "edit" and _advanced(run, event.iteration, watch):
            revision = next(later)
            if revision.numbers is None:
                raise InvalidInput("model", "was edited by a version that did not keep all of the change; it cannot be replayed")
            spec = revision.spec
            problem = run.problem if keeps_problem(before, spec) else spec.problem(dataset, start)
            run.edit(problem, spec.solver, spec.limits, revision.numbers, event.text)
            before = spec
    _advanced(run, iterations, watch)
    return run


def _advanced(run: Run, iterations: int, watch: Callable[[Run], object] | None) -> bool:
    """Go on to this number of iterations; False if the run ends before."""
    while run.iterations < iterations and run.stop_reason is None:
        run.advance()
        if watch is not None:
            watch(run)
    return run.iterations == iterations


def _compared(again: Array, stored: Array) -> tuple[Array, float]:
    """Which rows are the same in every bit, and the largest relative difference."""
    columns = [COLUMNS.index(name) for name in COMPARED]
    a, b = again[:, columns], stored[:, columns]
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    scale = np.maximum(np.max(np.abs(np.where(np.isfinite(b), b, 0)), axis=0, initial=0.0), 1e-300)
    with np.errstate(invalid="ignore"):  # the first change is infinite on both sides
        apart = np.where(same, 0.0, np.abs(a - b) / scale)
    return same.all(axis=1), float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def _same_factors(run: Run, content: Content) -> bool:
    if content.result is None:
        return True
    again = dict(zip("UVXY", run.factors(), strict=True))
    return all(np.array_equal(again[name], content.result.factors[name]) for name in again)
