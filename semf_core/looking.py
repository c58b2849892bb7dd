"""Looking at runs and snapshots: whoever has the id may. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from semf_core import metrics
from semf_core.datasets import Dataset, DatasetSource, FileSource
from semf_core.exports import EXPORTS, Export, available
from semf_core.floor import Floors
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.result import Result
from semf_core.runs.caches import Recent
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame
from semf_core.runs.home import number_from_env
from semf_core.runs.manager import Manager
from semf_core.runs.outcome import final_frame, read_outcome
from semf_core.runs.status import QueueStatus, RunStatus, status_of
from semf_core.runs.store import Meta, Store, unknown_run
from semf_core.runs.uploads import load_source
from semf_core.scores import truth_scores
from semf_core.snapshots.gallery import file_name
from semf_core.snapshots.resolving import snapshot_dataset
from semf_core.snapshots.store import SnapshotStore
from semf_core.solvers import Event

Array = np.ndarray


def check_visitors_source(source: DatasetSource) -> None:
    """Refuse what a visitor of a server may not ask for: its files, and data that would fill its memory."""
    if isinstance(source, FileSource):
        raise InvalidInput("dataset", "files of the server are not read; upload the file on the Data page instead")
    source.check_entries(int(1e6 * number_from_env("SEMF_MAX_ENTRIES_MILLIONS", 20)))


class Looking:
    """The half of the service that needs no key. An id is that of a run or of a snapshot, which reads like a run."""

    def __init__(self, home: Path, slots: int, local_files: bool, read_only: bool) -> None:
        self.home, self.read_only = home, read_only
        self._local_files = local_files
        self._store = Store(home, read_only)
        self._manager = Manager(self._store, slots, warm=not read_only)
        self._snapshots = SnapshotStore(home, self._store.quota, read_only)
        self._datasets: Recent[DatasetSource | str, Dataset] = Recent(4)
        self._specs: Recent[tuple[str, int, int], ModelSpec] = Recent(64)
        self._scores: Recent[tuple[str, int, int, int], dict[str, Any]] = Recent(256)
        self._prints: Recent[DatasetSource, str] = Recent(64)
        self._floors = Floors()

    def close(self) -> None:
        """End the workers; what runs is checkpointed and can be resumed by the next service."""
        self._floors.close()
        self._manager.close()
        self._store.close()
        self._snapshots.close()

    def status(self, run_id: str) -> RunStatus:
        """Where a run stands now."""
        folder, meta = self._find(run_id)
        return status_of(run_id, folder, meta, self._spec(run_id, folder, meta), self._manager.position(run_id))

    def list_runs(self, run_ids: Iterable[str]) -> list[RunStatus]:
        """Those of the caller's runs that still exist."""
        found = []
        for run_id in run_ids:
            try:
                found.append(self.status(run_id))
            except InvalidInput:
                continue
        return found

    def scalars(self, run_id: str, since: int = 0) -> Array:
        """Rows of COLUMNS from iteration `since` on: what a viewer does not have yet."""
        return self._folder(run_id).rows(max(0, since))

    def events(self, run_id: str) -> list[Event]:
        """Kicks, restarts, edits, the polish."""
        return self._folder(run_id).events()

    def keyframes(self, run_id: str) -> list[int]:
        """Iterations whose factors are recorded."""
        return self._folder(run_id).keyframes()

    def factors(self, run_id: str, iteration: int | None = None) -> FactorFrame:
        """The factors recorded at or last before an iteration; for None the result's, or the newest ones of a run in progress."""
        folder = self._folder(run_id)
        if iteration is not None:
            return folder.frame(iteration)
        try:
            return final_frame(folder)
        except FileNotFoundError:  # it has no result yet
            if not self.read_only and not self._is_snapshot(run_id):
                folder.look()
            return folder.frame()

    def result(self, run_id: str) -> Result:
        """What a finished or stopped run gives, the same object as from a run in Python."""
        folder, meta = self._find(run_id)
        try:
            return read_outcome(folder)
        except FileNotFoundError:
            raise InvalidInput("run", f"is {meta.state}; it has no result") from None

    def dataset(self, run_id: str) -> Dataset:
        """The data of a run or a snapshot; refused where a snapshot does not hold it and it cannot be had here."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        if not self._is_snapshot(run_id):
            return self._dataset(spec.dataset)
        card = self._snapshots.card(run_id)
        return self._datasets.get(run_id, lambda: snapshot_dataset(card, spec, folder, self.home, self._check_source))

    def fingerprint(self, run_id: str) -> str:
        """SHA-256 of the data; a snapshot knows it even where its data is not here."""
        return self._snapshots.card(run_id).fingerprint if self._is_snapshot(run_id) else self._fingerprint(run_id)

    def _fingerprint(self, run_id: str) -> str:
        source = self.status(run_id).spec.dataset
        return self._prints.get(source, lambda: self._dataset(source).fingerprint())

    def image_shape(self, run_id: str) -> tuple[int, int] | None:
        """Height and width of a sample that is a picture; known for a snapshot even where its data is not."""
        return self._snapshots.card(run_id).image_shape if self._is_snapshot(run_id) else self.dataset(run_id).image_shape

    def truth(self, run_id: str, frame: FactorFrame) -> dict[str, Any]:
        """Parts found and groups right at a frame; empty where the data has no known truth."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        key = (run_id, meta.edition, frame.iteration, hash(frame.U.tobytes()))
        return self._scores.get(key, lambda: truth_scores(self.dataset(run_id), frame.U, spec.y_set))

    def matching(self, run_id: str, frame: FactorFrame) -> metrics.Matching | None:
        """Which column of U is which true part; None where the data has no known truth."""
        parts = self.dataset(run_id).parts
        return None if parts is None else metrics.match_parts(frame.U, parts)

    def floor(self, run_id: str, wait: float = 0.0) -> float | None:
        """The smallest ‖M−UV‖ that its rank allows (Eckart–Young); None if unknown, or not known after `wait` seconds."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        data = run_id if self._is_snapshot(run_id) else spec.dataset
        try:
            return self._floors.get((data, spec.rank), lambda: self.dataset(run_id).data, spec.rank, wait)
        except InvalidInput:  # the data of a snapshot is not here
            return None

    def queue(self) -> QueueStatus:
        """Slots, runs that iterate, runs that wait."""
        running, waiting = self._manager.load()
        return QueueStatus(self._manager.max_running, running, waiting)

    # -- handing on --------------------------------------------------------------------------

    def exports(self, run_id: str) -> list[Export]:
        """What can be made of a run."""
        return list(available(self._folder(run_id)).values())

    def export(self, run_id: str, kind: str) -> tuple[str, str, bytes]:
        """A run or snapshot as a file: its name, its media type, its bytes."""
        if kind not in EXPORTS:
            raise InvalidInput("export", f"there is no {kind!r}; known are {', '.join(EXPORTS)}")
        wanted, (folder, meta) = EXPORTS[kind], self._find(run_id)
        try:
            dataset = self.dataset(run_id)
        except InvalidInput:  # a snapshot whose data is not here; the export says what it leaves out
            dataset = None
        return file_name(meta.title, wanted.suffix), wanted.media_type, wanted.make(folder, dataset)

    # -- finding -----------------------------------------------------------------------------

    def _is_snapshot(self, run_id: str) -> bool:
        return self._snapshots.has(run_id)

    def _folder(self, run_id: str) -> RunFolder:
        return self._snapshots.folder(run_id) if self._is_snapshot(run_id) else self._store.folder(run_id)

    def _find(self, run_id: str) -> tuple[RunFolder, Meta]:
        folder = self._folder(run_id)
        if not self._is_snapshot(run_id):
            return folder, self._manager.meta(run_id, folder)
        card = self._snapshots.card(run_id)
        return folder, Meta("", card.title, card.created, card.state, card.message, card.remark, edition=card.edition)

    def _spec(self, run_id: str, folder: RunFolder, meta: Meta) -> ModelSpec:
        try:
            return self._specs.get((run_id, meta.generation, meta.edition), lambda: folder.spec(meta.edition))
        except FileNotFoundError:  # deleted since it was found
            raise unknown_run() from None

    def _check_source(self, source: DatasetSource) -> None:
        if not self._local_files:
            check_visitors_source(source)

    def _dataset(self, source: DatasetSource) -> Dataset:
        return self._datasets.get(source, lambda: load_source(source, self.home))
