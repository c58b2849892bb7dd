"""What is in the store, and deleting it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from semf_core.common.errors import InvalidInput
from semf_core.runs.expiry import delete_run, demo_runs, expire, last_used, leftovers, strip_files
from semf_core.runs.files import FolderSizes, read_json, remove_folder
from semf_core.runs.folder import RunFolder
from semf_core.runs.ids import ID
from semf_core.runs.store import Store
from semf_core.runs.uploads import remove_unused
from semf_core.service.presentations import expire_presentations, presentation_files, read_presentation
from semf_core.snapshots.format import SUFFIX
from semf_core.snapshots.store import SnapshotStore, read_card
from semf_core.studies.queue import StudyQueue
from semf_core.studies.store import StudyStore


@dataclass(frozen=True)
class Entry:
    """Something in the store."""

    kind: str
    """run, strip (of a workbench), presentation, upload, snapshot, study or opened (a snapshot laid out to be looked at)."""
    id: str
    path: Path
    bytes: int
    used: float
    """When it was changed or looked at last, in seconds since 1970."""
    title: str = ""
    state: str = ""


def entries(home: Path) -> list[Entry]:
    """Everything that has an id, the largest first; what is damaged is there too, and says so."""
    small = (*_strips(home), *_presentations(home))
    kinds = (*_runs(home), *small, *_uploads(home), *_snapshots(home), *_studies(home), *_opened(home))
    return sorted(kinds, key=lambda e: -e.bytes)


def _runs(home: Path) -> Iterator[Entry]:
    store, sizes, demos = Store(home, read_only=True), FolderSizes(), demo_runs(home)
    for path in named(home / "runs"):
        folder = RunFolder(path)
        try:
            meta = store.settled(folder, store.meta(folder))
            title, state = meta.title, f"{meta.state}, the demo of Home" if path.name in demos else meta.state
        except InvalidInput:
            title, state = "", "damaged"
        yield Entry("run", path.name, path, sizes.total(path), last_used(folder), title, state)


def _strips(home: Path) -> Iterator[Entry]:
    for path in strip_files(home):
        try:
            title, state = "", f"{len(read_json(path)['variants'])} variants"
        except (InvalidInput, KeyError):
            title, state = "", "damaged"
        stat = path.stat()
        yield Entry("strip", path.stem, path, stat.st_size, stat.st_mtime, title, state)


def _presentations(home: Path) -> Iterator[Entry]:
    for path in presentation_files(home):
        try:
            shown = read_presentation(path).shown
            title, state = f"{shown.lesson or shown.page} {shown.stage}".strip(), ""
        except (InvalidInput, FileNotFoundError):
            title, state = "", "damaged"
        stat = path.stat()
        yield Entry("presentation", path.stem, path, stat.st_size, stat.st_mtime, title, state)


def _uploads(home: Path) -> Iterator[Entry]:
    sizes = FolderSizes()
    for path in named(home / "data"):
        try:
            title, state = str(read_json(path / "info.json").get("title", "")), ""
        except (InvalidInput, FileNotFoundError):
            title, state = "", "damaged"
        yield Entry("upload", path.name, path, sizes.total(path), path.stat().st_mtime, title, state)


def _snapshots(home: Path) -> Iterator[Entry]:
    for path in sorted((home / "snapshots" / "files").glob(f"*{SUFFIX}")):
        try:
            card = read_card(path.with_suffix(".json"))
            title, state = card.title, "published" if card.published else ""
        except (InvalidInput, FileNotFoundError):
            title, state = "", "without a card"
        stat = path.stat()
        yield Entry("snapshot", path.name.removesuffix(SUFFIX), path, stat.st_size, stat.st_mtime, title, state)


def _studies(home: Path) -> Iterator[Entry]:
    sizes = FolderSizes()
    for path in named(home / "studies"):
        store = StudyStore(path)
        try:
            title, progress = store.study().title, store.progress()
            state = f"{progress.state}, {progress.done} of {progress.total} runs"
        except (InvalidInput, FileNotFoundError):
            title, state = "", "damaged"
        yield Entry("study", path.name, path, sizes.total(path), path.stat().st_mtime, title, state)


def _opened(home: Path) -> Iterator[Entry]:
    sizes = FolderSizes()
    for path in named(home / "opened"):
        yield Entry("opened", path.name, path, sizes.total(path), path.stat().st_mtime)


def named(folder: Path) -> list[Path]:
    """The folders in a folder whose names are ids."""
    return sorted(p for p in folder.iterdir() if ID.fullmatch(p.name) and p.is_dir()) if folder.is_dir() else []


# -- deleting ----------------------------------------------------------------------------------


def delete(home: Path, wanted: str) -> list[Entry]:
    """Delete everything with this id; rejected where somebody works on it or needs it."""
    found = [entry for entry in entries(home) if entry.id == wanted]
    if not found:
        raise InvalidInput("store", f"holds nothing with the id {wanted!r}", "`semf store list` shows what there is")
    for entry in found:
        _delete(home, entry)
    return found


def _delete(home: Path, entry: Entry) -> None:
    if entry.kind == "run" and not delete_run(RunFolder(entry.path), home):
        raise InvalidInput("run", "a server works on it", "pause it there, or end the server", whole=True)
    if entry.kind == "upload" and not remove_unused(home, [entry.id]):
        raise InvalidInput("data", "a run, a study or a snapshot uses it", "delete that first", whole=True)
    if entry.kind == "study":
        store = StudyStore(entry.path)
        if store.living() or store.waits():
            raise InvalidInput("study", "a process works on it or will", "cancel it first", whole=True)
        StudyQueue(entry.path.parent).remove(entry.id)
        remove_folder(entry.path, home / "trash")
    if entry.kind == "snapshot":
        store_of_snapshots = SnapshotStore(home)
        try:
            store_of_snapshots.delete(entry.id)
        finally:
            store_of_snapshots.close()
    if entry.kind in {"strip", "presentation"}:
        entry.path.unlink(missing_ok=True)
    if entry.kind == "opened":
        remove_folder(entry.path, home / "trash")


def purge(home: Path, days: float) -> tuple[list[Entry], int]:
    """Delete runs, strips, unused uploads and opened snapshots that are older, and the trash; what is gone, and bytes freed."""
    before, used = entries(home), FolderSizes().total(home)
    expire(home, days, days)
    expire_presentations(home)
    for path in leftovers(home, time.time()):
        shutil.rmtree(path, ignore_errors=True)
    return [entry for entry in before if not entry.path.exists()], used - FolderSizes().total(home)
