"""Every record looked at by itself: what cannot be read, and what repairing does about it.

Repairing throws nothing away: what cannot be read is moved to `damaged/`, and what follows from other files is made again.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.maintenance.entries import named
from semf_core.runs.expiry import STALE_SECONDS, leftovers, strip_files
from semf_core.runs.files import has_its_digest, is_locked, read_json, reading, set_aside, write_json, write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import read_frame
from semf_core.runs.ids import ID, key_hash, new_id
from semf_core.runs.outcome import read_outcome
from semf_core.runs.rows import MOST_ITERATIONS
from semf_core.runs.store import Meta, read_meta
from semf_core.runs.uploads import read_dataset
from semf_core.runs.variant_strips import read_strip
from semf_core.service.presentations import presentation_files, read_presentation
from semf_core.snapshots.format import SUFFIX, most_file_bytes, read_file
from semf_core.snapshots.store import SnapshotStore, read_card
from semf_core.studies.repair import database_is_sound, salvage
from semf_core.studies.store import STUDY, StudyStore

KEY_BYTES = 32
"""Of the key by which visitors are known again."""
AGAIN = "it is made again when somebody asks for it"


@dataclass(frozen=True)
class Problem:
    """A file that cannot be read."""

    kind: str
    id: str
    file: str
    remedy: str
    """What repairing does, to go on after "repairing"."""
    repair: Callable[[], object]
    in_use: Callable[[], bool] = lambda: False
    """Whether somebody works on it now, so that it must be left alone."""

    def sentence(self) -> str:
        return f"{self.kind} {self.id}: {self.file} is damaged; repairing {self.remedy}"


def problems(home: Path) -> Iterator[Problem]:
    """Everything that is wrong below a home folder; nothing is changed."""
    for path in named(home / "runs"):
        yield from _of_run(home, RunFolder(path))
    for path in named(home / "data"):
        if not _reads(partial(read_dataset, path)):
            yield Problem("upload", path.name, "data", "sets it aside", partial(set_aside, home, path))
    yield from _of_snapshots(home)
    yield from _of_trash(home)
    if (key := home / "visitors.key").exists() and key.stat().st_size != KEY_BYTES:
        remedy = "sets it aside: every browser is a new visitor once, and keeps its runs"
        yield Problem("key of", "visitors", key.name, remedy, partial(set_aside, home, key))
    for path in named(home / "studies"):
        yield from _of_study(home, path)
    for record in sorted((home / "demos").glob("*.json")):
        if not _reads(partial(_demo, record)):
            remedy = "sets it aside, and Home starts the demo again"
            yield Problem("demo", record.stem, record.name, remedy, partial(set_aside, home, record))
    for strip in strip_files(home):
        if not _reads(partial(read_strip, strip)):
            yield Problem("strip", strip.stem, strip.name, "sets it aside; its runs stay", partial(set_aside, home, strip))
    for path in presentation_files(home):
        if not _reads(partial(read_presentation, path)):
            yield Problem("presentation", path.stem, path.name, "sets it aside", partial(set_aside, home, path))
    for path in (home / "opened").iterdir() if (home / "opened").is_dir() else ():
        if not path.name.startswith(".") and (damaged := _damaged_in(home, path)):
            yield Problem("opened", path.name, damaged, f"removes it: {AGAIN}", partial(shutil.rmtree, path, ignore_errors=True))
    for path in (home / "downloads").glob("[!.]*.*"):
        if not has_its_digest(path):
            yield Problem("download", path.name[:8], path.name, f"removes it: {AGAIN}", partial(path.unlink, missing_ok=True))
    for path in leftovers(home, time.time() - STALE_SECONDS):
        remedy = "removes it: it was being written or deleted when something ended"
        yield Problem("leftover", path.name, path.name, remedy, partial(shutil.rmtree, path, ignore_errors=True))


def _damaged_in(home: Path, opened: Path) -> str:
    """The first damaged file of an opened snapshot with its variants, or of generated data; empty if there is none."""
    folders = [RunFolder(path.parent) for path in opened.rglob("spec.json")]
    words = [folder.about.name for folder in folders if not _reads(partial(read_json, folder.about))]
    files = [found.file for folder in folders for found in _of_run(home, folder) if found.file != folder.meta.name]
    data = [path.parent.name for path in opened.rglob("info.json") if not _reads(partial(read_dataset, path.parent))]
    return next(iter((*words, *files, *data)), "")


def _demo(record: Path) -> object:
    return read_json(record)["run"]


def _reads(read: Callable[[], object]) -> bool:
    """Whether a record can be read; one that is not there has no damage."""
    try:
        with reading(Path()):
            read()
    except FileNotFoundError:
        return True
    except InvalidInput:
        return False
    return True


# -- runs --------------------------------------------------------------------------------------


def _of_run(home: Path, folder: RunFolder) -> Iterator[Problem]:
    run_id = folder.path.name

    def problem(file: Path, remedy: str, repair: Callable[[], object]) -> Problem:
        return Problem("run", run_id, file.name, remedy, repair, partial(is_locked, folder.claim))

    whole = [folder.start_factors, *(p for p in folder.path.glob("spec*.json"))]
    lost = [file for file in whole if not _reads(partial(_read_part, folder, file))]
    if lost or not folder.spec_file(0).exists():
        file = lost[0] if lost else folder.spec_file(0)
        yield problem(file, "sets the whole run aside", partial(set_aside, home, folder.path))
        return
    if not folder.meta.exists() or not _reads(partial(read_meta, folder)):
        remedy = "writes another without a key: the run can be looked at and forked"
        yield problem(folder.meta, remedy, partial(_new_meta, home, folder))
    if not _reads(partial(_read_part, folder, folder.checkpoint)):
        remedy = "sets it aside: a run that is resumed starts from iteration 0 again"
        yield problem(folder.checkpoint, remedy, partial(set_aside, home, folder.checkpoint))
    if not _reads(partial(folder.row_file.read, 0, MOST_ITERATIONS)):
        remedy = "writes those of the checkpoint, if there is one"
        yield problem(folder.scalars, remedy, partial(_rewrite_numbers, home, folder))
    elif folder.result.exists() and not _reads(partial(read_outcome, folder)):
        yield problem(folder.result, "sets the result aside: the run can be resumed", partial(_without_result, home, folder))
    elif folder.result.exists() and folder.iterations() < read_outcome(folder).iterations:
        yield problem(folder.scalars, "writes the numbers of the checkpoint", partial(_rewrite_numbers, home, folder))
    for file in (folder.components, *folder.path.glob("numbers-*.json")):
        if not _reads(partial(read_json, file)):
            yield problem(file, "sets it aside: what it named or set is forgotten", partial(set_aside, home, file))
    for frame in (*(folder.keyframe(k) for k in folder.keyframes()), folder.live):
        if not _reads(partial(read_frame, frame)):
            yield problem(frame, "sets this frame aside", partial(set_aside, home, frame))
    for point in map(folder.restore_point, folder.restore_points()):
        if not _reads(partial(_arrays, point)):
            yield problem(point, "sets this restore point aside", partial(set_aside, home, point))
    count, events = folder.newest_events()
    if count != len(events):
        yield problem(folder.event_log, f"drops {count - len(events)} of {count} lines", partial(_rewrite_events, home, folder))


def _read_part(folder: RunFolder, file: Path) -> object:
    if file.suffix == ".json":
        return folder.spec(0 if file == folder.spec_file(0) else int(file.stem.removeprefix("spec-")))
    arrays = _arrays(file)
    return folder.checkpoint_position() if file == folder.checkpoint else (arrays["X"], arrays["Y"])


def _arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _new_meta(home: Path, folder: RunFolder) -> None:
    set_aside(home, folder.meta)
    spec, created = folder.spec(), folder.spec_file(0).stat().st_mtime
    state = "interrupted" if not folder.result.exists() else "finished"
    write_json(folder.meta, asdict(Meta(key_hash(new_id()), spec.title, created, state)), durable=True)


def _without_result(home: Path, folder: RunFolder) -> None:
    set_aside(home, folder.result, folder.result_factors)
    meta = read_meta(folder)
    if meta.state in {"finished", "stopped"}:
        message = f"its result was damaged; {folder.what_is_left()}"
        write_json(folder.meta, asdict(replace(meta, state="interrupted", message=message)), durable=True)


def _rewrite_numbers(home: Path, folder: RunFolder) -> None:
    set_aside(home, folder.scalars, folder.end)
    if folder.checkpoint.exists() and _reads(partial(_read_part, folder, folder.checkpoint)):
        arrays = _arrays(folder.checkpoint)
        for file, name in ((folder.end, "history_end"), (folder.scalars, "history")):
            if name in arrays:
                file.write_bytes(arrays[name].tobytes())


def _rewrite_events(home: Path, folder: RunFolder) -> None:
    events = folder.events()
    set_aside(home, folder.event_log)
    lines = "".join(json.dumps(asdict(e), ensure_ascii=False) + "\n" for e in events)
    write_whole(folder.event_log, lambda file: file.write(lines.encode()), durable=True)


# -- snapshots ---------------------------------------------------------------------------------


def _of_snapshots(home: Path) -> Iterator[Problem]:
    for path in sorted((home / "snapshots" / "files").glob(f"*{SUFFIX}")):
        snapshot_id, card = path.name.removesuffix(SUFFIX), path.with_suffix(".json")
        if not ID.fullmatch(snapshot_id) or path.stat().st_size > most_file_bytes():
            continue
        if not _reads(partial(read_file, path)):
            yield Problem("snapshot", snapshot_id, path.name, "sets it aside", partial(set_aside, home, path, card))
        elif not _reads(partial(read_card, card)):
            remedy = "makes another from the snapshot, without a key"
            yield Problem("snapshot", snapshot_id, card.name, remedy, partial(_new_card, home, snapshot_id))


def _of_trash(home: Path) -> Iterator[Problem]:
    """Deleted snapshots, which can be restored."""
    for path in sorted((home / "snapshots" / "trash").glob(f"*{SUFFIX}")):
        card = path.with_suffix(".json")
        if not (_reads(partial(read_file, path)) and _reads(partial(read_card, card))):
            name = path.name.removesuffix(SUFFIX)
            yield Problem("deleted snapshot", name, path.name, "sets it aside", partial(set_aside, home, path, card))


def _new_card(home: Path, snapshot_id: str) -> None:
    set_aside(home, home / "snapshots" / "files" / f"{snapshot_id}.json")
    store = SnapshotStore(home)
    try:
        store.rewrite_card(snapshot_id)
    finally:
        store.close()


# -- studies -----------------------------------------------------------------------------------


def _of_study(home: Path, path: Path) -> Iterator[Problem]:
    store = StudyStore(path)

    def in_use() -> bool:
        return bool(store.living()) or store.waits()

    if not store.exists() or not _reads(store.study):
        yield Problem("study", path.name, STUDY, "sets the whole study aside", partial(set_aside, home, path), in_use)
    elif not database_is_sound(store):
        remedy = "keeps the results that can be read; the others are computed again"
        yield Problem("study", path.name, "cells.db", remedy, partial(salvage, store, home), in_use)
    for words in path.glob("words-*.json"):
        if not _reads(StudyStore(path, words.stem.removeprefix("words-")).study):
            remedy = "sets them aside: the words of one visitor; the results stay"
            yield Problem("study", path.name, words.name, remedy, partial(set_aside, home, words), in_use)


def repair(home: Path) -> tuple[list[Problem], list[Problem]]:
    """Put right what can be; what was done, and what was left alone because somebody works on it."""
    done: list[Problem] = []
    left: list[Problem] = []
    for problem in list(problems(home)):
        if problem.in_use():
            left.append(problem)
        else:
            problem.repair()
            done.append(problem)
    return done, left
