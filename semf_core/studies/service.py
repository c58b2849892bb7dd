"""What pages do with studies: start, look, pause, cancel, resume, open a cell as a run.

The id of a study follows from its content. A built-in one is shared by all visitors, as the demo run is; one on a
visitor's own upload cannot be guessed, because the upload's id is part of it. Whoever runs the same with other words
shares the results, and sees his own words: their id is part of the study's then. Queries needs the id. Whoever
started a study holds its key, which pausing and cancelling need; starting again what stands still needs none.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from semf_core import sandbox
from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import check_effort, server_limits
from semf_core.common.visitors import current_visitor
from semf_core.datasets import Axes, Dataset, DatasetSource
from semf_core.datasets.reading import shown
from semf_core.model import ModelSpec
from semf_core.runs.caches import Cache
from semf_core.runs.datasets import check_visitors_source
from semf_core.runs.fairness import check_places
from semf_core.runs.files import locked, needing_room
from semf_core.runs.home import MB, Quota
from semf_core.runs.ids import key_hash, key_matches, new_id
from semf_core.runs.journal import note
from semf_core.runs.uploads import Upload, load_source, public_form
from semf_core.studies import sandboxed
from semf_core.studies.atlas import Atlas
from semf_core.studies.background import start_in_background
from semf_core.studies.best import Setting, best_settings
from semf_core.studies.catalogue import builtin_names, builtin_sized, builtin_study
from semf_core.studies.queue import StudyQueue
from semf_core.studies.store import Progress, StudyStore
from semf_core.studies.study import Cell, Study
from semf_core.studies.study_file import SharedStudy, export_study, read_study
from semf_core.studies.tables import ResultTable
from semf_core.studies.views import Drawing, View

Array = np.ndarray


@dataclass(frozen=True)
class StudyHandle:
    """The id opens a study for looking, the key controls it; it is empty for whoever did not start it first."""

    id: str
    key: str = field(repr=False, default="")


def _handle(store: StudyStore) -> StudyHandle:
    """With a key for whoever asks first."""
    key = ""
    with locked(store.folder / "key.lock"):
        if "key" not in store.notes():
            key = new_id()
            store.note("key", key_hash(key))
    return StudyHandle(store.id, key)


class Studies:
    """The studies below a home folder. Any number of threads and servers may use it."""

    def __init__(self, home: Path, may_write: Callable[[], None], check_source: Callable[[DatasetSource], None] | None) -> None:
        self.home = home
        self._may_write = may_write
        self._for_visitors = check_source is not None
        self._check_source = check_source or (lambda source: None)
        self._quota = Quota(home)
        self._known: Cache[str, Study] = Cache()
        self._tables: Cache[str, ResultTable] = Cache()
        self._atlases: Cache[tuple[str, tuple[int, ...]], Atlas | None] = Cache()
        self._drawings: Cache[tuple[str, str], Drawing] = Cache()
        self._shapes: Cache[DatasetSource, tuple[int, int]] = Cache()
        self._views: Cache[DatasetSource, tuple[tuple[int, int] | None, Axes]] = Cache()
        self._queue = StudyQueue(home / "studies")

    # -- starting and controlling ------------------------------------------------------------

    def prepare(self, study: Study) -> Study:
        """The study as it would be started, on data of the right shape; rejected if it must not run here."""
        limits = server_limits()
        if study.count > limits.study_cells:
            raise InvalidInput(
                "axes", f"make {study.count:,} runs; here {limits.study_cells:,.0f} is the most", "take fewer values"
            )
        size = study.count * study.cell_bytes() / MB
        if size > limits.study_mb:
            told = f"describe {study.count:,} runs with {size:,.0f} MB in all, and {limits.study_mb:,.0f} MB is the most here"
            raise InvalidInput("axes", told, "take fewer runs, or smaller masks and matrices")
        source = study.base_trial().model.dataset
        self._check_source(source)
        if any(axis.shares_of for axis in study.axes):
            return study.ready(self._shape(source))
        return study

    @needing_room()
    def start(self, study: Study, visitor: str = "") -> StudyHandle:
        """Start a study or go on with it, in a process that outlives the server; `visitor` is who asks for it."""
        self._may_write()
        self._quota.check()
        study, visitor = self.prepare(study), visitor or current_visitor()
        self._check_turn(visitor)
        if not self.exists(self.place(study)):  # else its room is somebody's already
            self._quota.shares.add(visitor, "studies", study.id)
        store = StudyStore.create(study, self.home, self._check_cell)
        handle = _handle(store)
        self._go(store, visitor)
        note(self.home, "started a study", handle.id)
        return handle

    def _check_turn(self, visitor: str) -> None:
        limits = server_limits()
        check_places(visitor, self._queue.visitors(), limits.studies_per_visitor, limits.studies_per_address, "study")

    def export(self, study_id: str) -> bytes:
        """The study with all its results so far as one file."""
        return export_study(self._store(study_id))

    def content_mark(self, study_id: str) -> str:
        """Changes with everything that a file of the study tells."""
        store = self._store(study_id)
        return f"{store.stamp()} {store.newest()}"

    @needing_room()
    def import_(self, data: bytes, name: str = "study") -> StudyHandle:
        """Put the study of such a file here, beside and never among what was computed here; nothing is started."""
        self._may_write()
        with self._quota.reserved(len(data)), tempfile.NamedTemporaryFile(prefix="study-", dir=self.home) as file:
            file.write(data)
            file.flush()
            places = {"path": file.name, "home": str(self.home)}
            study_id = sandbox.call(receive, shown(name), name=name, visitors=self._for_visitors, **places)
        self._quota.shares.add(current_visitor(), "studies", self.study(study_id).id)
        note(self.home, "brought a study", study_id)
        return _handle(self._store(study_id))

    def put_here(self, shared: SharedStudy) -> str:
        """Keep the study of a file, if it may run here; its id."""
        self.prepare(shared.study)
        return shared.stored(self.home, self._check_cell).id

    def _check_cell(self, cell: Cell) -> None:
        self._check_source(cell.trial.model.dataset)
        limits = cell.trial.model.limits
        check_effort(limits.max_iter, limits.restarts, limits.polish)

    @needing_room()
    def resume(self, study_id: str, visitor: str = "") -> None:
        """Go on with what is not finished, after a pause, a cancellation or a crash, and run again what failed."""
        self._may_write()
        self._quota.check()
        store, visitor = self._store(study_id), visitor or current_visitor()
        if not self._queue.has(store.results):
            self._check_turn(visitor)
        self._go(store, visitor, again=True)
        note(self.home, "resumed a study", study_id)

    def _go(self, store: StudyStore, visitor: str, again: bool = False) -> None:
        """Give runs whose worker died another chance, or `again` all that failed, and start what is open."""
        store.retry(every=again)
        if store.progress().state != "finished":
            start_in_background(store, self.home, visitor)

    def pause(self, study_id: str, key: str) -> None:
        """Let the cells that have begun finish, then stop."""
        self._authorized(study_id, key).ask("pause")

    def cancel(self, study_id: str, key: str) -> None:
        """Break off at once; what is finished stays, and the study can be resumed."""
        self._authorized(study_id, key).ask("cancel")

    def owner_ok(self, study_id: str, key: str) -> bool:
        return key_matches(key, self._store(study_id).notes().get("key", ""))

    def _authorized(self, study_id: str, key: str) -> StudyStore:
        self._may_write()
        if not self.owner_ok(study_id, key):
            raise InvalidInput("key", "only whoever started this study can pause or cancel it", whole=True)
        return self._store(study_id)

    # -- looking -----------------------------------------------------------------------------

    def place(self, study: Study) -> str:
        """The id that a prepared study has or would have, with its words."""
        return StudyStore.place(study, self.home).id

    def _store(self, study_id: str) -> StudyStore:
        return StudyStore.find(study_id, self.home)

    def exists(self, study_id: str) -> bool:
        try:
            return self._store(study_id).exists()
        except InvalidInput:
            return False

    def study(self, study_id: str) -> Study:
        store = self._store(study_id)
        return self._known.get(study_id, store.study, store.stamp())

    def progress(self, study_id: str) -> Progress:
        return self._store(study_id).progress()

    def table(self, study_id: str) -> ResultTable:
        """All results so far; read again only when there are more of them."""
        store = self._store(study_id)
        version = (store.stamp(), store.progress().done)
        return self._tables.get(study_id, lambda: store.table(self.study(study_id)), version)

    def failures(self, study_id: str) -> list[tuple[int, str]]:
        return self._store(study_id).failures()

    def drawing(self, study_id: str, view: View, table: ResultTable) -> Drawing:
        """What a view shows of a table; one that needs what runs have kept is drawn in the limited child."""
        if not view.needs:
            return view.draw(table)

        def drawn() -> Drawing:
            places = {"study_id": study_id, "home": str(self.home)}
            return Drawing.from_dict(sandbox.call(sandboxed.draw, "figure", view=view.to_dict(), **places))

        return self._drawings.get((study_id, json.dumps(view.to_dict())), drawn, int(table.done.sum()))

    def atlas(self, study_id: str, numbers: list[int]) -> Atlas | None:
        """The runs of some cells compared, in the limited child; None if they have kept nothing."""

        def compared() -> Atlas | None:
            places = {"study_id": study_id, "home": str(self.home)}
            form = sandbox.call(sandboxed.compare, "atlas", numbers=numbers, **places)
            return None if form is None else Atlas.from_dict(form)

        return self._atlases.get((study_id, tuple(numbers)), compared, self._store(study_id).newest())

    def components(self, study_id: str, number: int) -> Array:
        """U that a cell has kept; rejected unless it is one of the cell's data, because strangers bring studies too."""
        U = self._store(study_id).components([number]).get(number)
        source = self.study(study_id).cell(number).trial.model.dataset
        if U is None or len(U) != self._shape(source)[0]:
            raise InvalidInput("study", f"what run {number} has kept does not fit its data", "run the study again", whole=True)
        return U

    def _shape(self, source: DatasetSource) -> tuple[int, int]:
        return self._shapes.get(source, lambda: load_source(source, self.home).shape)

    def cell_view(self, study_id: str, number: int) -> tuple[tuple[int, int] | None, Axes]:
        """What the components of a cell are drawn by: the sides of the pictures that its data consists of, names and axes."""
        source = self.study(study_id).cell(number).trial.model.dataset

        def known() -> tuple[tuple[int, int] | None, Axes]:
            dataset = load_source(source, self.home)
            return dataset.image_shape, dataset.axes

        return self._views.get(source, known)

    def as_json(self, study_id: str) -> str:
        """The study to share; running it again elsewhere gives the same cells."""
        return json.dumps(public_form(self.study(study_id).to_dict()), indent=2, ensure_ascii=False)

    def best(self, study_ids: Iterable[str]) -> list[Setting]:
        """The best settings in the built-in studies that have been run and in those that the caller names."""
        shared = [builtin_sized(name, size) for name in builtin_names() for size in builtin_study(name).sizes]
        ids = dict.fromkeys([*(self.place(self.prepare(study)) for study in shared), *study_ids])
        return best_settings(self._store(study_id) for study_id in ids if self.exists(study_id))

    def cell_model(self, study_id: str, number: int, add_upload: Callable[[Dataset], Upload]) -> ModelSpec:
        """The model of a cell, ready to run by itself; changed data are stored as an upload first."""
        study = self.study(study_id)
        trial = study.cell(number).trial
        words = ", ".join(f"{name} {label}" for name, label in self.table(study_id).labels(number).items())
        model = dataclasses.replace(trial.model, title=f"{study.title} ({words})")
        prepared = trial.data.apply(loaded := load_source(model.dataset, self.home))
        if prepared.dataset is loaded:
            return model
        return dataclasses.replace(model, dataset=add_upload(prepared.dataset))


def receive(name: str, path: str, home: str, visitors: bool) -> str:
    """What the limited child does with a file that a visitor brings: check it and put it below `home`; the id of the study."""
    studies = Studies(Path(home), lambda: None, check_visitors_source if visitors else None)
    return studies.put_here(read_study(Path(path).read_bytes(), name))
