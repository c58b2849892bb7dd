"""Queries at runs and snapshots: whoever has the id may. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from semf_core import sandbox
from semf_core.common.errors import InvalidInput
from semf_core.datasets import Axes, Dataset, DatasetSource, Patches
from semf_core.drawing.overview import column_shape
from semf_core.drawing.pictures import Shape
from semf_core.exports import EXPORTS, Export, available
from semf_core.factorization.ending import Ending
from semf_core.factorization.restoration import PICTURE_SIDE, Restored, compress, denoise, middle
from semf_core.factorization.result import Result
from semf_core.factorization.retrieval import Answer, retrieve
from semf_core.factorization.scores import truth_scores
from semf_core.mathematics import metrics
from semf_core.model import ModelSpec
from semf_core.runs.bounds import LowerBounds
from semf_core.runs.caches import Cache
from semf_core.runs.datasets import Datasets, Loaded, check_visitors_source
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import FactorFrame
from semf_core.runs.manager import Manager
from semf_core.runs.outcome import final_frame, read_ending, read_outcome
from semf_core.runs.recompute import Recomputation, Recomputed, affordable
from semf_core.runs.rows import Rows
from semf_core.runs.status import QueueStatus, RunStatus, status_of
from semf_core.runs.store import Meta, Store, unknown_run
from semf_core.runs.substeps import Substep, substeps
from semf_core.runs.uploads import Upload, read_axes
from semf_core.runs.variant_strips import Strip
from semf_core.snapshots.data_source import snapshot_dataset
from semf_core.snapshots.gallery import file_name
from semf_core.snapshots.store import SnapshotStore
from semf_core.snapshots.variants import MOST_VARIANTS
from semf_core.solvers import Event

Array = np.ndarray


class Queries:
    """The half of the service that needs no key. An id is that of a run or of a snapshot, which reads like a run."""

    def __init__(self, home: Path, slots: int, local_files: bool, read_only: bool) -> None:
        self.home, self.read_only = home, read_only
        self._local_files = local_files
        self._store = Store(home, read_only)
        self._manager = Manager(self._store, slots, warm=not read_only)
        self._snapshots = SnapshotStore(home, self._store.quota, read_only, sandbox.call)
        self.datasets = Datasets(home, self._snapshots.folders)
        self._bundled: Cache[tuple[str, str], Dataset] = Cache()
        self._specs: Cache[tuple[str, int], ModelSpec] = Cache()
        self._scores: Cache[tuple[str, int, int, str], dict[str, Any]] = Cache()
        self._finals: Cache[str, FactorFrame] = Cache()
        self._lower_bounds = LowerBounds()
        self._recomputed = Recomputed()
        self._substeps: Cache[tuple[Any, ...], list[Substep]] = Cache()

    def close(self) -> None:
        """End the workers; what runs is checkpointed and can be resumed by the next service."""
        self._lower_bounds.close()
        self._recomputed.close()
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

    def history(self, run_id: str, since: int = 0, stride: int = 1) -> Rows:
        """Rows with their iterations, after iteration `since`: the last of every `stride` iterations, and the newest."""
        return self._folder(run_id).history(max(0, since), stride)

    def scalars(self, run_id: str, since: int = 0) -> Array:
        """The same without their iterations."""
        return self.history(run_id, since).values

    def iterations(self, run_id: str) -> int:
        """Iterations that are recorded."""
        return self._folder(run_id).iterations()

    def row_at(self, run_id: str, iteration: int) -> Array | None:
        """The row of this very iteration, if it is kept."""
        return self._folder(run_id).row_file.at(iteration)

    def events(self, run_id: str) -> list[Event]:
        """Kicks, restarts, edits, the polish."""
        return self._folder(run_id).events()

    def newest_events(self, run_id: str, since: int, most: int) -> tuple[int, list[Event]]:
        """How many there are, and those after the first `since`, at most the last `most`."""
        return self._folder(run_id).newest_events(since, most)

    def keyframes(self, run_id: str) -> list[int]:
        """Iterations whose factors are recorded."""
        return self._folder(run_id).keyframes()

    def look(self, run_id: str) -> tuple[tuple[int, int], ...]:
        """Say that somebody looks at a run; what comes back is another value once there are other factors to see."""
        folder = self._folder(run_id)
        self._look(run_id, folder)
        return folder.frame_stamps()

    def factors(self, run_id: str, iteration: int | None = None) -> FactorFrame:
        """The factors recorded at or last before an iteration; for None the result's, or the newest ones of a run in progress."""
        folder = self._folder(run_id)
        if iteration is not None:
            return folder.frame(iteration)
        try:
            return self._finals.get(run_id, lambda: final_frame(folder), folder.stamp())
        except FileNotFoundError:  # it has no result yet
            self._look(run_id, folder)
            return folder.frame()

    def recomputed(self, run_id: str, iteration: int) -> Recomputation:
        """The factors of this very iteration where they are not recorded; what takes long is asked for until it is there."""
        folder = self._folder(run_id)
        if iteration in folder.keyframes():
            return Recomputation()
        try:
            dataset = self.dataset(run_id)
            if not affordable(self.status(run_id).spec, dataset):
                return Recomputation()
            return self._recomputed.ask(run_id, folder, dataset, iteration)
        except InvalidInput:  # the data of a snapshot is not here
            return Recomputation()

    def substeps(self, run_id: str, iteration: int) -> list[Substep]:
        """What happens inside one iteration, computed again."""
        folder = self._find(run_id)[0]
        dataset = self.dataset(run_id)
        if not affordable(self.status(run_id).spec, dataset):
            raise InvalidInput("run", "is too large to be computed again here", "take fewer samples to look inside an iteration")
        key = (run_id, folder.stamp(), iteration)
        return self._substeps.get(key, lambda: substeps(folder, dataset, iteration))

    def stamp(self, run_id: str, iteration: int | None = None) -> tuple[Any, ...]:
        """Changes when `factors` may give others; asking costs next to nothing."""
        folder = self._folder(run_id)
        if iteration is None:
            self._look(run_id, folder)
        return folder.stamp(iteration)

    def _look(self, run_id: str, folder: RunFolder) -> None:
        """Let the worker know that somebody wants to see the newest factors."""
        if not self.read_only and not self._is_snapshot(run_id):
            folder.look()

    def result(self, run_id: str) -> Result:
        """What a finished or stopped run gives, the same object as from a run in Python."""
        folder, meta = self._find(run_id)
        try:
            return read_outcome(folder)
        except FileNotFoundError:
            raise InvalidInput("run", f"is {meta.state}; it has no result") from None

    def ending(self, run_id: str) -> Ending | None:
        """How a run ended and what could be tried next; None as long as it has no result."""
        try:
            return read_ending(self._folder(run_id))
        except FileNotFoundError:
            return None

    def dataset(self, run_id: str) -> Dataset:
        """The data of a run or a snapshot; rejected where a snapshot does not hold it and it cannot be had here."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        if not self._is_snapshot(run_id):
            return self.datasets.dataset(spec.dataset)
        card = self._snapshots.card(run_id)
        key = (run_id.partition(".")[0], card.fingerprint)  # variants mostly have the data of their snapshot
        return self._bundled.get(key, lambda: snapshot_dataset(card, spec, folder, self._checked_data))

    def data_title(self, run_id: str) -> str:
        """What the data is called: a file by its name; by its kind where an upload is gone or has none."""
        kind = self.status(run_id).spec.dataset.title
        if self._is_snapshot(run_id):
            return self._snapshots.card(run_id).data_title or kind
        try:
            return self.dataset(run_id).title or kind
        except InvalidInput:
            return kind

    def fingerprint(self, run_id: str) -> str:
        """SHA-256 of the data; a snapshot knows it even where its data is not here."""
        if self._is_snapshot(run_id):
            return self._snapshots.card(run_id).fingerprint
        return self.datasets.loaded(self.status(run_id).spec.dataset).fingerprint

    def shape(self, run_id: str) -> tuple[int, int]:
        """Rows and columns of M."""
        return self._snapshots.card(run_id).shape if self._is_snapshot(run_id) else self.dataset(run_id).shape

    def image_shape(self, run_id: str) -> tuple[int, int] | None:
        """Height and width of a sample that is a picture; known for a snapshot even where its data is not."""
        return self._snapshots.card(run_id).image_shape if self._is_snapshot(run_id) else self.dataset(run_id).image_shape

    def restored(self, run_id: str, task: str, amount: float) -> Restored:
        """The middle of the picture that a run's patches come from: without added noise, or kept by few components.

        `amount` is the noise's standard deviation, or the number of components in each patch.
        """
        source = self.status(run_id).spec.dataset
        if not isinstance(source, Patches):
            raise InvalidInput("dataset", "is not made of patches of a picture", "choose Image patches")
        picture, sides = middle(source.picture(), PICTURE_SIDE), (source.size, source.size)
        atoms = self.result(run_id).U
        return denoise(picture, atoms, sides, amount) if task == "denoise" else compress(picture, atoms, sides, int(amount))

    def retrieved(self, run_id: str, query: str) -> Answer:
        """The samples nearest to a query of words, where the rows of the data are words."""
        frame, spec = self.factors(run_id), self.status(run_id).spec
        return retrieve(query, spec, (frame.U, frame.V), self.axes(run_id), lambda: self.dataset(run_id))

    def column_shape(self, run_id: str) -> Shape:
        """How a column of U is drawn: as a picture, or as a curve where the rows have an axis."""
        return column_shape(self.image_shape(run_id), self.axes(run_id))

    def axes(self, run_id: str) -> Axes:
        """What rows and columns of M are called; known for a snapshot even where its data is not."""
        if self._is_snapshot(run_id):
            return read_axes(self._snapshots.folder(run_id).path, self._snapshots.card(run_id).shape)
        return self.dataset(run_id).axes

    def component_names(self, run_id: str) -> tuple[str, ...]:
        """The names that somebody has given to the components; empty where there are none."""
        return self._folder(run_id).component_names()

    def truth(self, run_id: str, frame: FactorFrame) -> dict[str, Any]:
        """Parts found and groups right at a frame; empty where the data has no known truth."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        key = (run_id, meta.revision, frame.iteration, frame.mark())
        return self._scores.get(key, lambda: truth_scores(self.dataset(run_id), frame.U, frame.V, spec.y_set))

    def matching(self, run_id: str, frame: FactorFrame) -> metrics.Matching | None:
        """Which column of U is which true part; None where the data has no known truth."""
        parts = self.dataset(run_id).parts
        return None if parts is None else metrics.match_parts(metrics.without_vanished(frame.U, frame.V), parts)

    def lower_bound(self, run_id: str, wait: float = 0.0) -> float | None:
        """The smallest ‖M−UV‖ that its rank allows (Eckart–Young); None if unknown, or not known after `wait` seconds."""
        folder, meta = self._find(run_id)
        spec = self._spec(run_id, folder, meta)
        data = run_id if self._is_snapshot(run_id) else spec.dataset
        try:
            return self._lower_bounds.get((data, spec.rank), lambda: self.dataset(run_id).data, spec.rank, wait)
        except InvalidInput:  # the data of a snapshot is not here
            return None

    def queue(self) -> QueueStatus:
        """Slots, runs that iterate, runs that wait."""
        running, waiting = self._manager.load()
        return QueueStatus(self._manager.max_running, running, waiting)

    # -- handing on --------------------------------------------------------------------------

    def exports(self, run_id: str) -> list[Export]:
        """What can be made of a run."""
        return list(available(self.status(run_id).spec.solver.splits).values())

    def export(self, run_id: str, kind: str) -> tuple[str, str, bytes]:
        """A run or snapshot as a file: its name, its media type, its bytes."""
        if kind not in EXPORTS:
            raise InvalidInput("export", f"there is no {kind!r}", f"known are {', '.join(EXPORTS)}", whole=True)
        wanted, meta = EXPORTS[kind], self._find(run_id)[1]
        return file_name(meta.title, wanted.suffix), wanted.media_type, wanted.make(*self.recorded(run_id))

    def recorded(self, run_id: str) -> tuple[RunFolder, Dataset | None]:
        """What a file is made of: the folder of a run or snapshot, and its data."""
        folder = self._folder(run_id)
        try:
            return folder, self.dataset(run_id)
        except InvalidInput:  # a snapshot whose data is not here; the export says what it leaves out
            return folder, None

    def content_mark(self, run_id: str) -> str:
        """Changes with everything that an export tells of a run or snapshot."""
        files = self._snapshots.files(run_id) if self._is_snapshot(run_id) else self._store.folder(run_id).content_files()
        return ";".join(f"{path.name} {stat.st_size} {stat.st_mtime_ns}" for path, stat in files)

    # -- saving ------------------------------------------------------------------------------

    def _told(self, run_id: str, name: str) -> tuple[dict[str, Any], str]:
        """What saving has to know of a run at rest, and the upload that is its data; `name` is that of a variant."""
        folder, meta = self._find(run_id)
        which = f"(variant “{name}”) " if name else ""
        if self._is_snapshot(run_id):
            raise InvalidInput("run", f"{which}is a snapshot already", "duplicate it to have one of your own")
        if meta.state in {"queued", "running"}:
            raise InvalidInput("run", f"{which}is {meta.state}", "pause it first, then save it")
        if name and not folder.iterations():
            remedy = "let it run for a moment, or drop it from the strip"
            raise InvalidInput("run", f"{which}has not iterated yet", remedy)
        source = self._spec(run_id, folder, meta).dataset
        told = {"folder": str(folder.path), "source": source.to_dict(), "created": meta.created, "remark": meta.note}
        return told, source.id if isinstance(source, Upload) else ""

    def _told_strip(self, run_id: str, strip: Strip) -> tuple[dict[str, Any] | None, dict[int, str]]:
        """The same of the variants that are there, by their numbers; None where the run is the only one."""
        there = {status.id for status in self.list_runs(v.run for v in strip.shown)}
        shown = [v for v in strip.shown if v.run in there]
        runs = [v.run for v in shown]
        if run_id not in runs:
            raise InvalidInput("run", "is not in this strip any more")
        if len(runs) > MOST_VARIANTS:
            raise InvalidInput("strip", f"has {len(runs)} variants, and a snapshot holds {MOST_VARIANTS}", "drop some of them")
        told = {k: self._told(v.run, v.name) for k, v in enumerate(shown) if v.run != run_id}
        before = runs.index(strip.before) if strip.before in runs and strip.before != run_id else None
        places = {"names": [v.name for v in shown], "current": runs.index(run_id), "before": before}
        others = {str(k): one for k, (one, _) in told.items()}
        return {**places, "others": others} if told else None, {k: upload for k, (_, upload) in told.items()}

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
        return folder, Meta("", card.title, card.created, card.state, card.message, card.remark, revision=card.revision)

    def _spec(self, run_id: str, folder: RunFolder, meta: Meta) -> ModelSpec:
        try:
            version = folder.spec_version(meta.revision)
            return self._specs.get((run_id, meta.revision), lambda: folder.spec(meta.revision), version)
        except FileNotFoundError:  # deleted since it was found
            raise unknown_run() from None

    def _check_source(self, source: DatasetSource) -> None:
        if not self._local_files:
            check_visitors_source(source)

    def _checked_data(self, source: DatasetSource) -> Loaded:
        self._check_source(source)
        return self.datasets.loaded(source)
