"""The loop that works through a study: claim, compute, record, until nothing is left or somebody says stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from semf_core.runs.pool import SILENT_SECONDS
from semf_core.studies.cell_run import order_of
from semf_core.studies.execution import Executor, make_executor
from semf_core.studies.measures import measure_form
from semf_core.studies.runner_locks import Runner
from semf_core.studies.store import Progress, StudyStore
from semf_core.studies.study import Study

AHEAD = 2
"""Cells in flight for each slot, so that a worker never waits for a record to be written."""
LOOK_SECONDS = 0.25
"""How long a wish to pause or cancel may wait."""
OTHERS_SECONDS = 0.5
"""How often to look for cells that another process gave back."""


@dataclass
class Loop:
    """One process's work on one study."""

    store: StudyStore
    study: Study
    executor: Executor
    runner: Runner
    on_progress: Callable[[int], None] = lambda recorded: None
    turn_over: Callable[[], bool] = lambda: False
    """Whether it is time to let another study run."""
    check_room: Callable[[], object] = lambda: None
    """Raises where nothing more may be written."""

    def __post_init__(self) -> None:
        self._forms = [measure_form(m) for m in self.study.measures]
        self._flying: set[int] = set()
        self._said = ""

    def run(self) -> str:
        """Until all cells are done or failed ("finished"), or as wished ("pause", "cancel"), or its "turn" is over."""
        looked = 0.0
        wish = "run"
        while True:
            now = time.monotonic()
            if now - looked >= LOOK_SECONDS:
                wish, looked = self._look(wish), now
            if wish == "cancel":
                self.store.release(self._flying, self.runner.token)
                return wish
            if wish in ("pause", "turn"):
                self._give_back()
                if not self._flying:
                    return wish
            elif not self._fill() and not self._flying:
                if self._everything_over():
                    return "finished"
                time.sleep(OTHERS_SECONDS)
                continue
            self._collect()

    def _look(self, wish: str) -> str:
        """What is wished now; a turn that is over stays so until its last cells are done."""
        self.check_room()
        asked = self.store.wish()
        if asked == "run":
            asked = "turn" if wish == "turn" or self.turn_over() else "run"
        self.runner.has_slots(self.executor.slots)
        self._tell_silent()
        return asked

    def _tell_silent(self) -> None:
        """Cells whose worker shows no sign of life are named, until it does."""
        silent = self.executor.silent()
        sentence = f"run {silent[0] + 1} has shown no sign of life for {SILENT_SECONDS:g} s or longer" if silent else ""
        if sentence != self._said:
            self.store.say(f"{sentence}; Pause gives it back, Cancel ends it" if sentence else "")
            self._said = sentence

    def _fill(self) -> bool:
        """Claim and submit until enough cells are in flight; whether any was claimed."""
        room = AHEAD * self.executor.slots - len(self._flying)
        numbers = self.store.claim(self.runner.token, room) if room > 0 else []
        for number in numbers:
            self.executor.submit(order_of(number, self.study.cell(number).trial, self._forms, self.study.keep))
        self._flying.update(numbers)
        return bool(numbers)

    def _collect(self) -> None:
        found = [f for f in self.executor.finished(LOOK_SECONDS) if f.number in self._flying]
        if not found:
            return
        self._flying.difference_update(f.number for f in found)
        self.on_progress(self.store.record(found))

    def _give_back(self) -> None:
        numbers = self.executor.withdraw()
        if numbers:
            self._flying.difference_update(numbers)
            self.store.release(numbers, self.runner.token)

    def _everything_over(self) -> bool:
        progress = self.store.progress()
        return progress.done + progress.failed == progress.total


def run_study(
    store: StudyStore,
    executor: Executor | None = None,
    on_progress: Callable[[int], None] | None = None,
    home: Path | None = None,
) -> Progress:
    """Work on a study in this process until it is finished, paused or cancelled.

    Parameters
    ----------
    store : StudyStore
        The study's folder; what is done there already is not done again.
    executor : Executor, optional
        Where cells are computed, closed at the end; by default worker processes of this computer, or the
        cluster that SEMF_DASK names.
    on_progress : callable, optional
        Called with the number of cells that were just recorded.
    home : Path, optional
        Folder of the store, by default SEMF_HOME.

    Returns
    -------
    Progress
        How many cells are done and how many failed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from semf_core.studies import Study, StudyStore, run_study
    >>> form = {
    ...     "title": "Two seeds",
    ...     "name": "two-seeds",
    ...     "base": {"preset": "lsi"},
    ...     "axes": [{"path": "seed", "range": [0, 2]}],
    ...     "measures": ["relative_error"],
    ... }
    >>> store = StudyStore.create(Study.from_dict(form), Path("studies-home"))
    >>> store.progress().total
    2
    >>> run_study(store).done  # doctest: +SKIP
    2
    """
    executor = executor or make_executor(home=home)
    try:
        with store.held():
            runner = store.announce(executor.slots)
            try:
                Loop(store, store.study(), executor, runner, on_progress or (lambda recorded: None)).run()
            finally:
                runner.leave()
    finally:
        executor.close()
    return store.progress()
