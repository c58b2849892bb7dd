"""What is deleted by age: runs, strips and uploads that nobody has used for long, opened snapshots, what a crash has left."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from semf_core.runs.files import DamagedFile, read_json, remove_folder, try_lock
from semf_core.runs.folder import RunFolder
from semf_core.runs.home import Quota
from semf_core.runs.ids import ID
from semf_core.runs.uploads import remove_unused

DAY = 86400.0
STALE_SECONDS = 3600.0
"""After this time something half written belongs to nobody."""
LOG = logging.getLogger(__name__)


def expire(home: Path, days: float, opened_days: float) -> list[str]:
    """Delete runs, strips and uploads, and opened snapshots, of more than so many days ago; the ids of runs that are gone."""
    now = time.time()
    sweep(home, now)
    gone = expire_runs(home, now - days * DAY)
    for strip in strip_files(home):
        if _time(strip) < now - days * DAY and not _shows_a_run(strip, home):
            strip.unlink(missing_ok=True)
    uploads = remove_unused(home, [f.name for f in _older(home / "data", now - days * DAY)])
    opened = list(_older(home / "opened", now - opened_days * DAY))
    for folder in opened:
        remove_folder(folder, home / "trash")
    Quota(home).shares.forget_gone()
    if gone or uploads or opened:
        LOG.info("expired: %d runs, %d uploads, %d opened snapshots", len(gone), uploads, len(opened))
    return gone


def expire_runs(home: Path, before: float) -> list[str]:
    """Delete runs that nobody has looked at or worked on since then, except the demos; their ids."""
    kept, gone = demo_runs(home), []
    for path in _older(home / "runs", before):
        folder = RunFolder(path)
        if path.name not in kept and last_used(folder) < before and delete_run(folder, home):
            gone.append(path.name)
    return gone


def delete_run(folder: RunFolder, home: Path) -> bool:
    """Delete a run that no server works on; whether it is gone."""
    claim = try_lock(folder.claim)
    if claim is None:
        return False
    with claim:
        remove_folder(folder.path, home / "trash")
    return True


def last_used(folder: RunFolder) -> float:
    """When somebody looked at a run, or something was written."""
    return max(_time(path) for path in (folder.path, folder.meta, folder.watched, folder.scalars, folder.end))


def demo_runs(home: Path) -> set[str]:
    """The runs that Home shows to everybody."""
    found = set()
    for record in (home / "demos").glob("*.json"):
        try:
            found.add(str(read_json(record).get("run")))
        except (FileNotFoundError, DamagedFile):
            continue
    return found


def strip_files(home: Path) -> list[Path]:
    """The files of workbenches."""
    return sorted(path for path in (home / "strips").glob("*.json") if ID.fullmatch(path.stem))


def _shows_a_run(strip: Path, home: Path) -> bool:
    """Whether a workbench still has a variant to show."""
    try:
        return any((home / "runs" / variant["run"]).is_dir() for variant in read_json(strip)["variants"])
    except (FileNotFoundError, DamagedFile, KeyError, TypeError):
        return False


def sweep(home: Path, now: float) -> None:
    """Remove what a crash has left."""
    for path in leftovers(home, now - STALE_SECONDS):
        shutil.rmtree(path, ignore_errors=True)


def leftovers(home: Path, before: float) -> list[Path]:
    """Folders that never got their name, and what was on its way out, from before this time."""
    found = [path for part in ("runs", "data", "studies", "opened") for path in (home / part).glob(".*")]
    return [path for path in (*found, *(home / "trash").glob("*")) if _time(path) < before]


def _older(folder: Path, before: float) -> Iterator[Path]:
    """Folders in a folder that have their name and were changed before this time."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if ID.fullmatch(path.name) and path.is_dir() and _time(path) < before:
            yield path


def _time(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
