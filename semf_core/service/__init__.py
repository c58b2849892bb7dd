"""The one door that pages and the command line use: start runs, look at them, control them, save and open them.

Queries and forking need the id of a run or of a snapshot; whatever changes a run needs its control key as well.
Nothing here lists runs of others. Every error is an InvalidInput with a sentence.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from semf_core import sandbox
from semf_core.common.parameters import InvalidInput, Param, params_of
from semf_core.common.server_limits import check_effort, server_limits
from semf_core.datasets import Dataset, DatasetSource
from semf_core.datasets.axes import clean
from semf_core.model import ModelSpec, preset
from semf_core.model.memory import check_made_memory, check_run_memory
from semf_core.model.variants import words_of_difference
from semf_core.runs.datasets import check_visitors_source
from semf_core.runs.edits import Edit
from semf_core.runs.files import locked, needing_room, read_json, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import default_home, flag_from_env
from semf_core.runs.ids import key_matches, new_id
from semf_core.runs.incoming_files import Arrivals
from semf_core.runs.journal import note
from semf_core.runs.status import QueueStatus, RunHandle, RunStatus
from semf_core.runs.uploads import Upload, add_upload, remove_unused
from semf_core.runs.variant_strips import Strip, Strips
from semf_core.service.presentations import Presentations
from semf_core.service.queries import Queries
from semf_core.snapshots import sandboxed
from semf_core.snapshots.content import REST
from semf_core.snapshots.data_source import snapshot_source
from semf_core.snapshots.gallery import Gallery
from semf_core.snapshots.label import Label
from semf_core.snapshots.store import SnapshotHandle
from semf_core.snapshots.to_run_folder import copy_history
from semf_core.studies.service import Studies

__all__ = ["QueueStatus", "RunHandle", "RunStatus", "Service", "SnapshotHandle", "check_visitors_source", "get_service"]

PACE = Param("number", 0, low=0, high=1e6, help="iterations a second at most", name="pace")
MOST_EDITS = 1000
STEPS = Param("integer", 1, low=1, high=1_000_000, help="iterations to go on", name="steps")


class Service(Queries):
    """Runs below a home folder. Any number of threads may use it; several services may share a home.

    `local_files` allows models that name a file of this computer, which is for its owner only, not for a web page.
    """

    def __init__(
        self, home: str | Path | None = None, max_running: int | None = None,
        local_files: bool = False, read_only: bool | None = None,
    ) -> None:  # fmt: skip
        slots = max_running or int(server_limits().runs)
        reading = flag_from_env("SEMF_READ_ONLY") if read_only is None else read_only
        super().__init__(Path(home) if home is not None else default_home(), slots, local_files, reading)
        self.gallery = Gallery(self._snapshots, self._may_write)
        self.strips = Strips(self.home, self._may_write)
        self.presentations = Presentations(self.home, self._may_write)
        self.arrivals = Arrivals(self.home, self._store.quota, self._may_write)
        if not reading:
            self.arrivals.sweep()
        self.studies = Studies(self.home, self._may_write, None if local_files else check_visitors_source)

    def _may_write(self) -> None:
        """The one place that keeps a server for showing results from changing anything."""
        if self.read_only:
            raise InvalidInput("server", "shows results only and starts or changes nothing", "use a server of your own for that")

    # -- starting ----------------------------------------------------------------------------

    @needing_room()
    def start(
        self,
        spec: ModelSpec,
        paused: bool = False,
        dataset: Dataset | None = None,
        visitor: str = "",
        key: str | None = None,
        pace: float = 0.0,
    ) -> RunHandle:
        """Queue a new run, or make one that waits for `resume`. A `dataset` given here is stored and becomes the model's.

        `visitor` names who asks: visitors take turns, and each has so many runs.
        Runs that are started with the same `key` are controlled by it together.
        """
        self._may_write()
        if dataset is not None:
            spec = replace(spec, dataset=self.add_upload(dataset))
        self._check(spec)
        with self._manager.room_for(visitor):
            run_id, key, folder = self._store.create(spec, "paused" if paused else "queued", visitor, key=key)
            if pace:
                folder.set_pace(PACE.check(pace))
            self._manager.start(run_id, paused)
        note(self.home, "started a run", run_id)
        return RunHandle(run_id, key)

    @needing_room()
    def branch(self, run_id: str, spec: ModelSpec, visitor: str = "", key: str | None = None, pace: float = 0.0) -> RunHandle:
        """A new paused run that goes on where this one stands, with its whole history, under a changed model.

        The run itself stays as it is. Data and rank must be the same, and it must be at rest.
        """
        self._may_write()
        return self._branched(run_id, self._own_spec(run_id), spec, visitor, key, pace)

    def _branched(
        self, run_id: str, old: ModelSpec, spec: ModelSpec, visitor: str, key: str | None = None, pace: float = 0.0
    ) -> RunHandle:
        source, meta = self._find(run_id)
        if (spec.dataset, spec.rank) != (old.dataset, old.rank):
            raise InvalidInput(
                "rank", "other data or another rank has no factors to go on from", "start again instead", whole=True
            )
        if meta.state in {"queued", "running"} or source.checkpoint_position() is None:
            raise InvalidInput("run", "has no checkpoint at rest to go on from", "start again instead")
        self._check(spec)
        specs = [replace(source.spec(k), dataset=spec.dataset, title=spec.title) for k in range(meta.revision + 1)]
        with self._manager.room_for(visitor):
            new_id, key, folder = self._store.create(specs[0], "paused", visitor, key=key)
            copy_history(source, folder, specs)
            if pace:
                folder.set_pace(PACE.check(pace))
            self._store.write_meta(folder, replace(self._store.meta(folder), revision=meta.revision))
            self._manager.rests(new_id, visitor)
        self._go_on(new_id, folder, spec, f"goes on from here: {words_of_difference(old, spec) or 'the same model'}")
        note(self.home, "forked a run", new_id)
        return RunHandle(new_id, key)

    def _go_on(self, run_id: str, folder: RunFolder, spec: ModelSpec, text: str) -> None:
        """Let a run that may have come to its end go on under this model from its current factors."""

        def write(revision: int) -> None:
            folder.write_numbers({}, revision)
            folder.write_spec(spec, revision)

        self._manager.edit(run_id, write, {}, text)

    @needing_room()
    def fork(self, run_id: str, iteration: int | None = None, visitor: str = "") -> RunHandle:
        """A new paused run of the same model that starts from the factors of that iteration."""
        self._may_write()
        spec, frame = self._own_spec(run_id), self.factors(run_id, iteration)
        self._check(spec)
        title = f"{spec.title or 'Run'} (from iteration {frame.iteration})"
        with self._manager.room_for(visitor):
            new_id, key, folder = self._store.create(replace(spec, title=title), "paused", visitor)
            write_whole(folder.start_factors, lambda file: np.savez(file, X=frame.X, Y=frame.Y), durable=True)
            if names := self.component_names(run_id):
                folder.write_component_names(names)
            self._manager.start(new_id, paused=True)
        note(self.home, "forked a run", new_id)
        return RunHandle(new_id, key)

    @needing_room()
    def add_upload(self, dataset: Dataset) -> Upload:
        """Keep data of a user; the source that comes back goes into a model."""
        self._may_write()
        upload = add_upload(dataset, self.home, self._store.quota)
        note(self.home, "uploaded data", upload.id)
        return upload

    def demo_run(self, name: str, rerun: bool = False) -> str | None:
        """The id of the one run of this preset that all visitors share."""
        return self.shared_run(name, preset(name), rerun)

    @needing_room()
    def shared_run(self, name: str, spec: ModelSpec, rerun: bool = False) -> str | None:
        """The id of the one run of a model of the server's own (a demo, a stage of a lesson) that all visitors share.

        It runs, or it has finished and is there to replay; it is started again only where `rerun` asks for that.
        None if there is none and nothing may be started.
        """
        record = self.home / "demos" / f"{name}.json"
        if self.read_only:
            return self._demo_on_record(record, spec)
        with locked(self.home / "demos.lock"):
            run_id = self._demo_on_record(record, spec)
            if run_id is None:
                run_id, _, _ = self._store.create(spec, "queued", demo=True)
                self._manager.start(run_id, paused=False, demo=True)
                write_json(record, {"run": run_id}, durable=True)
                return run_id
            state = self.status(run_id).state
            if state == "interrupted":
                self._manager.resume(run_id, demo=True)
            elif rerun and state not in {"queued", "running"}:
                self._manager.reset(run_id, paused=False, demo=True)
            return run_id

    def _demo_on_record(self, record: Path, spec: ModelSpec) -> str | None:
        """The demo's run, unless it was deleted or the preset has changed since."""
        try:
            run_id = str(read_json(record)["run"])
            return run_id if self.status(run_id).spec == spec else None
        except (FileNotFoundError, KeyError, InvalidInput):  # also where either record is damaged: then there is a new one
            return None

    def _check(self, spec: ModelSpec) -> None:
        """Everything that can be rejected is rejected before a worker sees it."""
        self._check_source(spec.dataset)
        if not self._local_files:
            check_effort(spec.limits.max_iter, spec.limits.restarts, spec.limits.polish)
        check_made_memory(spec)
        dataset = self.datasets.dataset(spec.dataset)
        check_run_memory(spec, dataset)
        spec.solver.check(spec.problem(dataset))

    # -- saving ------------------------------------------------------------------------------

    @needing_room()
    def save(self, run_id: str, label: Label | None = None, include_data: bool = False, strip_id: str = "") -> SnapshotHandle:
        """A snapshot of a run at rest, with the other variants of a strip where one is named.

        Whoever may look at the run, or at the strip, may save it.
        """
        self._may_write()
        run, upload = self._told(run_id, "")
        strip, uploads = self._told_strip(run_id, self.strips.get(strip_id)) if strip_id else (None, {})
        words = {p.name: getattr(label or Label(), p.name) for p in params_of(Label)}
        options = {"label": words, "include_data": include_data}
        with self._snapshots.aside() as path:
            sandbox.call(sandboxed.save, "run", run=run, home=str(self.home), out=str(path), options=options, strip=strip)
            handle = self._snapshots.take("snapshot", path, upload, uploads)
        note(self.home, "saved a snapshot", handle.id)
        return handle

    @needing_room()
    def continue_from(self, snapshot_id: str, visitor: str = "") -> RunHandle:
        """A new paused run: one that had not finished goes on with its whole history, bit for bit.

        One that had finished keeps its history too and goes on from its last factors, for as long as its limits allow.
        """
        self._may_write()
        card, folder = self._snapshots.card(snapshot_id), self._snapshots.folder(snapshot_id)
        position = folder.checkpoint_position()
        if position is None:
            return self.fork(snapshot_id, visitor=visitor)
        if card.state == "finished":
            spec = self._own_spec(snapshot_id)
            return self._branched(snapshot_id, spec, replace(spec, title=f"{card.title} (continued)"), visitor)
        spec = self._own_spec(snapshot_id)
        return self._copied(snapshot_id, spec.dataset, visitor, title=f"{card.title} (continued)")

    @needing_room()
    def continue_strip(self, snapshot_id: str, visitor: str = "") -> tuple[Strip, str]:
        """A strip of one's own with all variants of a snapshot, each at rest as it was; and the key to all of it."""
        self._may_write()
        card, key = self._snapshots.card(snapshot_id), new_id()
        saved = card.as_strip()
        if saved is None:
            raise InvalidInput("snapshot", "holds one run and no strip of variants", "continue from that")
        sources: dict[str, DatasetSource] = {}  # data that only the snapshot holds is stored once
        made: dict[str, str] = {}
        try:
            for one in saved.variants:
                data = self.fingerprint(one.run)
                sources[data] = sources.get(data) or self._own_spec(one.run).dataset
                made[one.run] = self._copied(one.run, sources[data], visitor, key).id
        except InvalidInput:
            for run_id in made.values():
                self.delete(run_id, key)
            raise
        return self.strips.restore(saved, made, key), key

    def _copied(
        self, snapshot_id: str, source: DatasetSource, visitor: str, key: str | None = None, title: str = ""
    ) -> RunHandle:
        """A run that stands as the snapshot does: with its result; or paused at its checkpoint, where it gets a new `title`."""
        card, folder = self._snapshots.card(snapshot_id), self._snapshots.folder(snapshot_id)
        done, position = card.state != REST and not title, folder.checkpoint_position()
        specs = [replace(folder.spec(k), dataset=source) for k in range(card.revision + 1)]
        specs = [replace(spec, title=title or spec.title) for spec in specs]
        self._check(specs[-1])
        with self._manager.room_for(visitor):
            run_id, key, new = self._store.create(specs[0], card.state if done else "paused", visitor, key=key)
            copy_history(folder, new, specs, result=done)
            revision = card.revision if done or position is None else position[1]
            words = (card.message, card.remark) if done else ("", "")
            self._store.write_meta(new, replace(self._store.meta(new), revision=revision, message=words[0], note=words[1]))
            if not done:
                self._manager.rests(run_id, visitor)
        note(self.home, "continued a snapshot", run_id)
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
        self._store.quota.check(visitor=self._store.meta(self._authorize(run_id, key)).visitor)
        self._manager.resume(run_id)

    def step(self, run_id: str, key: str, steps: int = 1) -> None:
        """Go on for some iterations."""
        self._store.quota.check(visitor=self._store.meta(self._authorize(run_id, key)).visitor)
        self._manager.resume(run_id, STEPS.check(steps))

    def stop(self, run_id: str, key: str) -> None:
        """End the run with a result from its best factors."""
        self._authorize(run_id, key)
        self._manager.stop(run_id)

    def reset(self, run_id: str, key: str, paused: bool = True) -> None:
        """Back to iteration 0 of the model as it is now; the history is thrown away."""
        self._authorize(run_id, key)
        self._manager.reset(run_id, paused)

    @needing_room()
    def edit(self, run_id: str, key: str, edit: Edit) -> None:
        """Change sets, options, limits or penalties; the run goes on from its current factors."""
        folder = self._authorize(run_id, key)
        status = self.status(run_id)
        spec = status.spec
        if status.edits >= MOST_EDITS:
            raise InvalidInput("run", f"was changed {MOST_EDITS:,} times, which is the most", "fork it to go on changing")
        new, text = edit.applied(spec), edit.sentence(spec)
        self._check(new)

        def write(revision: int) -> None:
            folder.write_numbers(edit.numbers(), revision)
            folder.write_spec(new, revision)

        self._manager.edit(run_id, write, edit.numbers(), text)

    @needing_room()
    def name_components(self, run_id: str, key: str, names: Sequence[str]) -> None:
        """Call the components so; they stay so in snapshots, reports and every export."""
        folder = self._authorize(run_id, key)
        rank = self.status(run_id).spec.rank
        if len(names) > rank:
            raise InvalidInput("names", f"are {len(names)}, and there are {rank} components")
        folder.write_component_names([clean(name) for name in names])

    def set_pace(self, run_id: str, key: str, rate: float) -> None:
        """Iterations a second at most, while it runs and later; 0 for as many as there can be."""
        self._authorize(run_id, key).set_pace(PACE.check(rate))

    def delete(self, run_id: str, key: str) -> None:
        """Remove a run and everything it wrote, and uploaded data that no other run uses."""
        folder = self._authorize(run_id, key)
        source = self.status(run_id).spec.dataset
        self._manager.forget(run_id)
        self._store.delete(folder)
        if isinstance(source, Upload):
            remove_unused(self.home, [source.id])

    def _authorize(self, run_id: str, key: str) -> RunFolder:
        self._may_write()
        if self._is_snapshot(run_id):
            raise InvalidInput("run", "is a snapshot, which stays as it is", "continue from it to have a run of your own")
        folder = self._store.folder(run_id)
        if not key_matches(key, self._store.meta(folder).key):
            raise InvalidInput("key", "only the owner's control link can do this", "fork the run to change a copy", whole=True)
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
