"""The one door that pages and the command line use: start runs, look at them, control them, save and open them.

Looking and forking need the id of a run or of a snapshot; whatever changes a run needs its control key as well.
Nothing here lists runs of others. Every refusal is an InvalidInput with a sentence.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semf_core import metrics
from semf_core.datasets import Dataset, DatasetSource, FileSource
from semf_core.floor import Floors
from semf_core.model import ModelSpec, preset
from semf_core.parameters import InvalidInput, Param
from semf_core.result import Result
from semf_core.runs.caches import Recent
from semf_core.runs.edits import Edit
from semf_core.runs.files import locked, read_json, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame
from semf_core.runs.home import default_home, flag_from_env, number_from_env
from semf_core.runs.ids import key_matches
from semf_core.runs.manager import Manager
from semf_core.runs.outcome import final_frame, read_outcome
from semf_core.runs.status import QueueStatus, RunHandle, RunStatus, status_of
from semf_core.runs.store import Meta, Store, unknown_run
from semf_core.runs.uploads import Upload, add_upload, load_source, remove_unused
from semf_core.scores import truth_scores
from semf_core.snapshots.gallery import Gallery
from semf_core.snapshots.gathering import Story, gather
from semf_core.snapshots.label import Label
from semf_core.snapshots.laying import copy_history
from semf_core.snapshots.resolving import snapshot_dataset, snapshot_source
from semf_core.snapshots.store import SnapshotHandle, SnapshotStore
from semf_core.solvers import Event

Array = np.ndarray
STEPS = Param("integer", 1, low=1, high=1_000_000, help="iterations to go on", name="steps")


def check_visitors_source(source: DatasetSource) -> None:
    """Refuse what a visitor of a server may not ask for: its files, and data that would fill its memory."""
    if isinstance(source, FileSource):
        raise InvalidInput("dataset", "files of the server are not read; upload the file on the Data page instead")
    source.check_entries(int(1e6 * number_from_env("SEMF_MAX_ENTRIES_MILLIONS", 20)))


class Service:
    """Runs below a home folder. Any number of threads may use it; several services may share a home.

    `local_files` allows models that name a file of this computer, which is for its owner only, not for a web page.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        max_running: int | None = None,
        local_files: bool = False,
        read_only: bool | None = None,
    ) -> None:
        self.home = Path(home) if home is not None else default_home()
        self.read_only = flag_from_env("SEMF_READ_ONLY") if read_only is None else read_only
        slots = max_running or int(number_from_env("SEMF_MAX_RUNS", os.cpu_count() or 1, low=1))
        self._local_files = local_files
        self._store = Store(self.home, self.read_only)
        self._manager = Manager(self._store, slots, warm=not self.read_only)
        self._snapshots = SnapshotStore(self.home, self._store.quota, self.read_only)
        self.gallery = Gallery(self._snapshots, self._may_write)
        self._datasets: Recent[DatasetSource | str, Dataset] = Recent(4)
        self._specs: Recent[tuple[str, int, int], ModelSpec] = Recent(64)
        self._scores: Recent[tuple[str, int, int, int], dict[str, Any]] = Recent(256)
        self._floors = Floors()

    def close(self) -> None:
        """End the workers; what runs is checkpointed and can be resumed by the next service."""
        self._floors.close()
        self._manager.close()
        self._store.close()
        self._snapshots.close()

    def _may_write(self) -> None:
        """The one place that keeps a server for showing results from changing anything."""
        if self.read_only:
            raise InvalidInput("server", "shows results only and starts or changes nothing; use a server of your own for that")

    # -- starting ----------------------------------------------------------------------------

    def start(self, spec: ModelSpec, paused: bool = False, dataset: Dataset | None = None) -> RunHandle:
        """Queue a new run, or make one that waits for `resume`. A `dataset` given here is stored and becomes the model's."""
        if dataset is not None:
            spec = replace(spec, dataset=self.add_upload(dataset))
        self._may_write()
        self._check(spec)
        run_id, key, _ = self._store.create(spec, "paused" if paused else "queued")
        self._manager.start(run_id, paused)
        return RunHandle(run_id, key)

    def fork(self, run_id: str, iteration: int | None = None) -> RunHandle:
        """A new paused run of the same model that starts from the factors of that iteration."""
        self._may_write()
        spec, frame = self._own_spec(run_id), self.factors(run_id, iteration)
        self._check(spec)
        title = f"{spec.title or 'Run'} (from iteration {frame.iteration})"
        new_id, key, folder = self._store.create(replace(spec, title=title), "paused")
        write_whole(folder.start_factors, lambda file: np.savez(file, X=frame.X, Y=frame.Y))
        self._manager.start(new_id, paused=True)
        return RunHandle(new_id, key)

    def add_upload(self, dataset: Dataset) -> Upload:
        """Keep data of a user; the source that comes back goes into a model."""
        self._may_write()
        return add_upload(dataset, self.home, self._store.quota)

    def demo_run(self, name: str, rerun: bool = False) -> str | None:
        """The id of the one run of this preset that all visitors share.

        It runs, or it has finished and is there to replay; it is started again only where `rerun` asks for that.
        None if there is none and nothing may be started.
        """
        spec = preset(name)
        record = self.home / "demos" / f"{name}.json"
        if self.read_only:
            return self._demo_on_record(record, spec)
        with locked(self.home / "demos.lock"):
            run_id = self._demo_on_record(record, spec)
            if run_id is None:
                run_id = self.start(spec).id
                write_json(record, {"run": run_id})
                return run_id
            state = self.status(run_id).state
            if state == "interrupted":
                self._manager.resume(run_id)
            elif rerun and state not in {"queued", "running"}:
                self._manager.reset(run_id, paused=False)
            return run_id

    def _demo_on_record(self, record: Path, spec: ModelSpec) -> str | None:
        """The demo's run, unless it was deleted or the preset has changed since."""
        try:
            run_id = str(read_json(record)["run"])
            return run_id if self.status(run_id).spec == spec else None
        except (FileNotFoundError, InvalidInput):
            return None

    def _check(self, spec: ModelSpec) -> None:
        """Everything that can be refused is refused before a worker sees it."""
        if not self._local_files:
            check_visitors_source(spec.dataset)
        spec.solver.check(spec.problem(self._dataset(spec.dataset)))

    # -- saving ------------------------------------------------------------------------------

    def save(self, run_id: str, label: Label | None = None, include_data: bool = False) -> SnapshotHandle:
        """A snapshot of a run at rest; whoever may look at the run may save it."""
        self._may_write()
        folder, meta = self._find(run_id)
        if self._is_snapshot(run_id):
            raise InvalidInput("run", "is a snapshot already; duplicate it to have one of your own")
        if meta.state in {"queued", "running"}:
            raise InvalidInput("run", f"is {meta.state}; pause it first, then save it")
        source = self._spec(run_id, folder, meta).dataset
        story = Story(meta.created, meta.note)
        try:
            content = gather(folder, self._dataset(source), label or Label(), story, include_data)
        except FileNotFoundError:  # reset or deleted since it was found
            content = None
        if content is None or self._find(run_id)[1] != meta or folder.row_count() != len(content.history):
            raise InvalidInput("run", "went on while it was saved; pause it and save it again")
        return self._snapshots.add(content, source.id if isinstance(source, Upload) else "")

    def continue_from(self, snapshot_id: str) -> RunHandle:
        """A new paused run: one that had not finished goes on with its whole history, bit for bit.

        One that had finished gives its factors to a new run of the same model, as `fork` does.
        """
        self._may_write()
        card, folder = self._snapshots.card(snapshot_id), self._snapshots.folder(snapshot_id)
        position = folder.checkpoint_position()
        if card.state == "finished" or position is None:
            return self.fork(snapshot_id)
        source = self._own_spec(snapshot_id).dataset
        title = f"{card.title} (continued)"
        specs = [replace(folder.spec(k), dataset=source, title=title) for k in range(card.edition + 1)]
        self._check(specs[-1])
        run_id, key, new = self._store.create(specs[0], "paused")
        copy_history(folder, new)
        for k, spec in enumerate(specs):
            new.write_spec(spec, k)
        self._store.write_meta(new, replace(self._store.meta(new), edition=position[1]))
        return RunHandle(run_id, key)

    def _own_spec(self, run_id: str) -> ModelSpec:
        """The model for a new run that goes on from this one; data that only a snapshot holds is stored for it."""
        spec = self.status(run_id).spec
        if not self._is_snapshot(run_id):
            return spec
        card = self._snapshots.card(run_id)
        return replace(spec, dataset=snapshot_source(card, spec, self.dataset(run_id), self.add_upload))

    # -- looking -----------------------------------------------------------------------------

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
        return self._datasets.get(run_id, lambda: snapshot_dataset(card, spec, folder, self.home))

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
        return self._floors.get((spec.dataset, spec.rank), lambda: self._dataset(spec.dataset).data, spec.rank, wait)

    def queue(self) -> QueueStatus:
        """Slots, runs that iterate, runs that wait."""
        running, waiting = self._manager.load()
        return QueueStatus(self._manager.max_running, running, waiting)

    # -- controlling -------------------------------------------------------------------------

    def pause(self, run_id: str, key: str) -> None:
        """Stop iterating; the slot is free for others."""
        self._authorize(run_id, key)
        self._manager.pause(run_id)

    def resume(self, run_id: str, key: str) -> None:
        """Go on: after a pause, a stop, a failure, or a restart of the server."""
        self._authorize(run_id, key)
        self._manager.resume(run_id)

    def step(self, run_id: str, key: str, steps: int = 1) -> None:
        """Go on for some iterations."""
        self._authorize(run_id, key)
        self._manager.resume(run_id, STEPS.check(steps))

    def stop(self, run_id: str, key: str) -> None:
        """End the run with a result from its best factors."""
        self._authorize(run_id, key)
        self._manager.stop(run_id)

    def reset(self, run_id: str, key: str, paused: bool = True) -> None:
        """Back to iteration 0 of the model as it is now; the history is thrown away."""
        self._authorize(run_id, key)
        self._manager.reset(run_id, paused)

    def edit(self, run_id: str, key: str, edit: Edit) -> None:
        """Change sets, options, limits or penalties; the run goes on from its current factors."""
        folder = self._authorize(run_id, key)
        spec = self.status(run_id).spec
        new, text = edit.applied(spec), edit.sentence(spec)
        self._check(new)

        def write(edition: int) -> None:
            folder.write_numbers(edit.numbers(), edition)
            folder.write_spec(new, edition)

        self._manager.edit(run_id, write, edit.numbers(), text)

    def delete(self, run_id: str, key: str) -> None:
        """Remove a run and everything it wrote, and uploaded data that no other run uses."""
        folder = self._authorize(run_id, key)
        source = self.status(run_id).spec.dataset
        self._manager.forget(run_id)
        self._store.delete(folder)
        if isinstance(source, Upload):
            remove_unused(self.home, [source.id])

    def remove_unused_uploads(self, older_than: float = 86400.0) -> int:
        """For the operator: delete uploads of more than that many seconds ago that no run uses; how many."""
        self._may_write()
        before = time.time() - older_than
        return remove_unused(self.home, [f.name for f in (self.home / "data").iterdir() if f.stat().st_mtime < before])

    def _authorize(self, run_id: str, key: str) -> RunFolder:
        self._may_write()
        if self._is_snapshot(run_id):
            raise InvalidInput("run", "is a snapshot, which stays as it is; continue from it to have a run of your own")
        folder = self._store.folder(run_id)
        if not key_matches(key, self._store.meta(folder).key):
            raise InvalidInput("key", "only the owner's control link can do this; fork the run to change a copy")
        return folder

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

    def _dataset(self, source: DatasetSource) -> Dataset:
        return self._datasets.get(source, lambda: load_source(source, self.home))


_SERVICE: list[Service] = []
_SERVICE_LOCK = threading.Lock()


def get_service() -> Service:
    """The service of this process. It lives in this module, out of reach of a page's caches."""
    with _SERVICE_LOCK:
        if not _SERVICE:
            _SERVICE.append(Service())
            atexit.register(_SERVICE[0].close)
        return _SERVICE[0]
