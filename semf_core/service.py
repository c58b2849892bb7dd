"""The one door that pages and the command line use: start runs, look at them, control them, save and open them.

Looking and forking need the id of a run or of a snapshot; whatever changes a run needs its control key as well.
Nothing here lists runs of others. Every refusal is an InvalidInput with a sentence.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from semf_core.datasets import Dataset
from semf_core.looking import Looking, check_visitors_source
from semf_core.model import ModelSpec, preset
from semf_core.parameters import InvalidInput, Param
from semf_core.runs.edits import Edit
from semf_core.runs.files import locked, read_json, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import default_home, flag_from_env, number_from_env
from semf_core.runs.ids import key_matches
from semf_core.runs.status import QueueStatus, RunHandle, RunStatus
from semf_core.runs.uploads import Upload, add_upload, remove_unused
from semf_core.snapshots.gallery import Gallery
from semf_core.snapshots.gathering import Story, gather
from semf_core.snapshots.label import Label
from semf_core.snapshots.laying import copy_history
from semf_core.snapshots.resolving import snapshot_source
from semf_core.snapshots.store import SnapshotHandle
from semf_core.studies.service import Studies

__all__ = ["QueueStatus", "RunHandle", "RunStatus", "Service", "SnapshotHandle", "check_visitors_source", "get_service"]

STEPS = Param("integer", 1, low=1, high=1_000_000, help="iterations to go on", name="steps")


class Service(Looking):
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
        slots = max_running or int(number_from_env("SEMF_MAX_RUNS", os.cpu_count() or 1, low=1))
        reading = flag_from_env("SEMF_READ_ONLY") if read_only is None else read_only
        super().__init__(Path(home) if home is not None else default_home(), slots, local_files, reading)
        self.gallery = Gallery(self._snapshots, self._may_write)
        self.studies = Studies(self.home, self._may_write, None if local_files else check_visitors_source)

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
        self._check_source(spec.dataset)
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
        content = gather(folder, self._dataset(source), label or Label(), Story(meta.created, meta.note), include_data)
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
        copy_history(folder, new, specs)
        self._store.write_meta(new, replace(self._store.meta(new), edition=position[1]))
        return RunHandle(run_id, key)

    def _own_spec(self, run_id: str) -> ModelSpec:
        """The model for a new run that goes on from this one; data that only a snapshot holds is stored for it."""
        spec = self.status(run_id).spec
        if not self._is_snapshot(run_id):
            return spec
        card = self._snapshots.card(run_id)
        return replace(spec, dataset=snapshot_source(card, spec, self.dataset(run_id), self.add_upload))

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


_SERVICE: list[Service] = []
_SERVICE_LOCK = threading.Lock()


def get_service() -> Service:
    """The service of this process. It lives in this module, out of reach of a page's caches."""
    with _SERVICE_LOCK:
        if not _SERVICE:
            _SERVICE.append(Service())
            atexit.register(_SERVICE[0].close)
        return _SERVICE[0]
