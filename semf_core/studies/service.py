"""What pages do with studies: start, look, pause, cancel, resume, open a cell as a run.

The id of a study follows from its content. A built-in one is shared by all visitors, as the demo run is; one on a
visitor's own upload cannot be guessed, because the upload's id is part of it. Looking needs the id. Whoever
started a study holds its key, which pausing and cancelling need; starting again what stands still needs none.
"""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from semf_core.datasets import Dataset, DatasetSource
from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.runs.caches import Recent
from semf_core.runs.files import locked
from semf_core.runs.home import Quota
from semf_core.runs.ids import key_hash, key_matches, new_id
from semf_core.runs.uploads import Upload, load_source
from semf_core.studies.atlas import Atlas, atlas_of
from semf_core.studies.background import start_in_background
from semf_core.studies.best import Setting, best_settings
from semf_core.studies.catalogue import builtin_names, builtin_sized, builtin_study
from semf_core.studies.sharing import export_study, read_study
from semf_core.studies.store import Progress, StudyStore
from semf_core.studies.study import Cell, Study
from semf_core.studies.tables import ResultTable

Array = np.ndarray
MOST_CELLS = 20_000
"""Cells of a study that a visitor may start."""


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
        self._check_source = check_source or (lambda source: None)
        self._quota = Quota(home)
        self._known: Recent[tuple[str, int], Study] = Recent(64)
        self._tables: Recent[tuple[str, int, int], ResultTable] = Recent(16)
        self._shapes: Recent[DatasetSource, tuple[int, int]] = Recent(16)
        self._pictures: Recent[DatasetSource, tuple[int, int] | None] = Recent(16)
        self._lock = threading.Lock()

    # -- starting and controlling ------------------------------------------------------------

    def prepare(self, study: Study) -> Study:
        """The study as it would be started, on data of the right shape; refused if it must not run here."""
        if study.count > MOST_CELLS:
            raise InvalidInput("axes", f"make {study.count:,} runs; here {MOST_CELLS:,} is the most")
        source = study.base_trial().model.dataset
        self._check_source(source)
        if any(axis.shares_of for axis in study.axes):
            return study.ready(self._shapes.get(source, lambda: load_source(source, self.home).shape))
        return study

    def start(self, study: Study) -> StudyHandle:
        """Start a study or go on with it, in a process of its own that outlives the server."""
        self._may_write()
        self._quota.check()
        study = self.prepare(study)
        study = self._shared(study)
        store = StudyStore.create(study, self.home, self._check_cell)
        handle = _handle(store)
        self._go(store)
        return handle

    def export(self, study_id: str) -> bytes:
        """The study with all its results so far as one file."""
        return export_study(self._store(study_id))

    def import_(self, data: bytes, name: str = "study") -> StudyHandle:
        """Put the study of such a file here, beside and never among what was computed here; nothing is started."""
        self._may_write()
        self._quota.check(len(data))
        shared = read_study(data, name)
        self.prepare(shared.study)
        return _handle(shared.stored(self.home, self._check_cell))

    def _check_cell(self, cell: Cell) -> None:
        self._check_source(cell.trial.model.dataset)

    def _shared(self, study: Study) -> Study:
        """A study that is a built-in one as all visitors see it: nobody gives it other words."""
        if not self.exists(study.id):
            return study
        known = self.study(study.id)
        if known.name in builtin_names() and known.size in builtin_study(known.name).sizes:
            builtin = self.prepare(builtin_sized(known.name, known.size))
            return builtin if builtin.id == study.id else study
        return study

    def resume(self, study_id: str) -> None:
        """Go on with what is not finished, after a pause, a cancellation or a crash, and run again what failed."""
        self._go(self._store(study_id), again=True)

    def _go(self, store: StudyStore, again: bool = False) -> None:
        """Give runs whose worker died another chance, or `again` all that failed, and start what is open."""
        self._may_write()
        with self._lock:
            store.retry(every=again)
            if store.progress().state != "finished":
                start_in_background(store, self.home)

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
            raise InvalidInput("key", "only whoever started this study can pause or cancel it")
        return self._store(study_id)

    # -- looking -----------------------------------------------------------------------------

    def _store(self, study_id: str) -> StudyStore:
        return StudyStore.find(study_id, self.home)

    def exists(self, study_id: str) -> bool:
        try:
            return self._store(study_id).exists()
        except InvalidInput:
            return False

    def study(self, study_id: str) -> Study:
        store = self._store(study_id)
        return self._known.get((study_id, store.stamp()), store.study)

    def progress(self, study_id: str) -> Progress:
        return self._store(study_id).progress()

    def table(self, study_id: str) -> ResultTable:
        """All results so far; read again only when there are more of them."""
        store = self._store(study_id)
        key = (study_id, store.stamp(), store.progress().done)
        return self._tables.get(key, lambda: store.table(self.study(study_id)))

    def failures(self, study_id: str) -> list[tuple[int, str]]:
        return self._store(study_id).failures()

    def atlas(self, study_id: str, numbers: list[int] | None = None) -> Atlas | None:
        return atlas_of(self._store(study_id), numbers)

    def components(self, study_id: str, numbers: list[int]) -> dict[int, Array]:
        """U of some cells, where it was kept."""
        return self._store(study_id).components(numbers)

    def cell_shape(self, study_id: str, number: int) -> tuple[int, int] | None:
        """Height and width of the pictures that the data of a cell consists of, if it does."""
        source = self.study(study_id).cell(number).trial.model.dataset
        return self._pictures.get(source, lambda: load_source(source, self.home).image_shape)

    def as_json(self, study_id: str) -> str:
        """The study to share; running it again elsewhere gives the same cells."""
        return json.dumps(self.study(study_id).to_dict(), indent=2, ensure_ascii=False)

    def best(self, study_ids: Iterable[str]) -> list[Setting]:
        """The best settings in the built-in studies that have been run and in those that the caller names."""
        shared = [builtin_sized(name, size) for name in builtin_names() for size in builtin_study(name).sizes]
        ids = dict.fromkeys([*(self.prepare(study).id for study in shared), *study_ids])
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
