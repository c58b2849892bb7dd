"""The folder of one run: names of its files, and everything a reader takes from them."""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.model import ModelSpec
from semf_core.runs.files import UNREADABLE, DamagedFile, read_json, reading, write_json
from semf_core.runs.frames import FactorFrame, read_frame
from semf_core.runs.rows import RowFile, Rows
from semf_core.solvers import Event

Array = np.ndarray
WATCH_SECONDS = 5.0
"""A run that nobody has looked at for this long records no live factors."""
CONTENT = frozenset({".json", ".jsonl", ".bin", ".npz"})
_KEYFRAME = re.compile(r"frame-(\d{12})\.npz")
_RESTORE_POINT = re.compile(r"restore-(\d{12})\.npz")


@dataclass(frozen=True)
class RunFolder:
    """Files of a run; the worker writes them, anybody with the id reads them."""

    path: Path

    @property
    def meta(self) -> Path:
        return self.path / "meta.json"

    @property
    def about(self) -> Path:
        """What a person has written about the run: title, tags and note; only some folders have it."""
        return self.path / "about.json"

    @property
    def components(self) -> Path:
        """The names that somebody has given to the components; only some folders have it."""
        return self.path / "components.json"

    def component_names(self) -> tuple[str, ...]:
        """Those names, as they were typed; empty where there are none, or none that can be read."""
        try:
            with reading(self.components):
                return tuple(str(name) for name in read_json(self.components)["names"])
        except (FileNotFoundError, DamagedFile):
            return ()

    def write_component_names(self, names: Iterable[str]) -> None:
        write_json(self.components, {"names": list(names)}, durable=True)

    @property
    def scalars(self) -> Path:
        return self.path / "scalars.bin"

    @property
    def end(self) -> Path:
        """Where the run stands once rows are thinned out (`History.end`); without it every iteration has its row."""
        return self.path / "end.bin"

    @property
    def event_log(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def live(self) -> Path:
        return self.path / "live.npz"

    @property
    def watched(self) -> Path:
        return self.path / "watched"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.npz"

    @property
    def start_factors(self) -> Path:
        return self.path / "start.npz"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def result_factors(self) -> Path:
        return self.path / "result.npz"

    @property
    def log(self) -> Path:
        return self.path / "worker.log"

    @property
    def worker_lock(self) -> Path:
        return self.path / "worker.lock"

    @property
    def pace_file(self) -> Path:
        return self.path / "pace"

    @property
    def claim(self) -> Path:
        """Held by the server that works on the run."""
        return self.path / "server.lock"

    def keyframe(self, iteration: int) -> Path:
        return self.path / f"frame-{iteration:012d}.npz"

    def restore_point(self, iteration: int) -> Path:
        """The whole state of the run at that iteration (`restore_points`)."""
        return self.path / f"restore-{iteration:012d}.npz"

    # -- the model ---------------------------------------------------------------------------

    def spec_file(self, revision: int) -> Path:
        """The model as started (revision 0) or after the given number of edits."""
        return self.path / (f"spec-{revision}.json" if revision else "spec.json")

    def write_spec(self, spec: ModelSpec, revision: int = 0) -> None:
        write_json(self.spec_file(revision), spec.to_dict(), durable=True)

    def spec(self, revision: int = 0) -> ModelSpec:
        return ModelSpec.from_dict(read_json(self._kept_spec(revision)))

    def spec_version(self, revision: int) -> Hashable:
        """Changes with the model of that revision: a new start counts them from 0 again."""
        path = self._kept_spec(revision)
        known = path.stat()
        return path.name, known.st_mtime_ns, known.st_ino

    def _kept_spec(self, revision: int) -> Path:
        path = self.spec_file(revision)
        return path if path.exists() else self.spec_file(0)

    def numbers_file(self, revision: int) -> Path:
        return self.path / f"numbers-{revision}.json"

    def write_numbers(self, numbers: Mapping[str, float], revision: int) -> None:
        """What an edit set beside the model: α, β."""
        write_json(self.numbers_file(revision), dict(numbers), durable=True)

    def numbers(self, revision: int) -> dict[str, float] | None:
        """What `write_numbers` kept; None if nothing is known."""
        try:
            with reading(self.numbers_file(revision)):
                return {str(name): float(value) for name, value in read_json(self.numbers_file(revision)).items()}
        except FileNotFoundError:
            return None

    # -- numbers -----------------------------------------------------------------------------

    @property
    def row_file(self) -> RowFile:
        return RowFile(self.scalars, self.end)

    def iterations(self) -> int:
        """Iterations that are recorded."""
        return self.row_file.iterations()

    def history(self, since: int = 0, stride: int = 1) -> Rows:
        """Rows after iteration `since`, the last of every `stride` iterations and the newest."""
        return self.row_file.read(since, stride)

    def rows(self, since: int = 0) -> Array:
        """The numbers alone, of all rows after iteration `since`."""
        return self.history(since).values

    def events(self) -> list[Event]:
        """What happened between iterations."""
        return self.newest_events()[1]

    def newest_events(self, since: int = 0, most: int | None = None) -> tuple[int, list[Event]]:
        """How many events there are, and those after the first `since`, at most the last `most`; only these are decoded.

        A line that is still being written is left for the next time.
        """
        try:
            data = self.event_log.read_bytes()
        except FileNotFoundError:
            return 0, []
        lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        first = since if most is None else max(since, len(lines) - most)
        return len(lines), [event for line in lines[first:] if (event := _event(line)) is not None]

    # -- factors -----------------------------------------------------------------------------

    def keyframes(self) -> list[int]:
        """Iterations of the recorded frames, in order."""
        return self._iterations_named(_KEYFRAME)

    def restore_points(self) -> list[int]:
        """Iterations whose whole state is kept, in order."""
        return self._iterations_named(_RESTORE_POINT)

    def _iterations_named(self, pattern: re.Pattern[str]) -> list[int]:
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:  # deleted since it was found
            return []
        return sorted(int(m[1]) for m in map(pattern.fullmatch, names) if m)

    def frame(self, iteration: int | None = None) -> FactorFrame:
        """The last keyframe at or before an iteration; for None the newest factors there are."""
        kept = [k for k in self.keyframes() if iteration is None or k <= iteration]
        newest = self._read(self.live) if iteration is None or not kept else None
        if newest is not None and iteration is not None and newest.iteration > iteration:
            newest = None
        while kept and (newest is None or kept[-1] > newest.iteration):
            found = self._read(self.keyframe(kept.pop()))  # None if it was thinned out since it was listed
            if found is not None:
                return found
        if newest is None:
            raise InvalidInput("iteration", "no factors are recorded there yet", whole=True)
        return newest

    def stamp(self, iteration: int | None = None) -> tuple[Any, ...]:
        """Changes when what `frame` gives may have changed; a few looks at the file system, nothing is read."""
        kept = [k for k in self.keyframes() if iteration is None or k <= iteration]
        newest = self.keyframe(kept[-1]) if kept else None
        others = (self.result_factors, self.live) if iteration is None else () if kept else (self.live,)
        return (*map(_stamp, filter(None, (newest, *others))),)

    def frame_stamps(self) -> tuple[tuple[int, int], ...]:
        """Tell the frames that are there now from those at any other time; nothing is read."""
        found = []
        for path in (self.path, self.live, self.result_factors):
            try:
                stat = os.stat(path)
            except FileNotFoundError:
                found.append((0, 0))
            else:
                found.append((stat.st_ino, stat.st_mtime_ns))
        return tuple(found)

    @staticmethod
    def _read(path: Path) -> FactorFrame | None:
        """A frame; None if it is not there or damaged, because another one does."""
        try:
            with reading(path):
                return read_frame(path)
        except (FileNotFoundError, DamagedFile):
            return None

    def look(self) -> None:
        """Tell the worker that someone is watching (at most once a second)."""
        try:
            if time.time() - os.stat(self.watched).st_mtime > 1:
                os.utime(self.watched)
        except FileNotFoundError:
            with suppress(OSError):  # the run was deleted since it was found, or the disk is full
                self.watched.touch()

    def is_watched(self) -> bool:
        try:
            return time.time() - os.stat(self.watched).st_mtime < WATCH_SECONDS
        except FileNotFoundError:
            return False

    def start(self) -> tuple[Array, Array] | None:
        """Starting factors (X, Y) that a fork was given."""
        try:
            with np.load(self.start_factors, allow_pickle=False) as stored:
                return stored["X"], stored["Y"]
        except FileNotFoundError:
            return None

    # -- pace ----------------------------------------------------------------------------------

    def set_pace(self, rate: float) -> None:
        """Iterations a second at most, from now on; 0 for as many as there can be."""
        self.pace_file.write_text(f"{rate:g}", encoding="ascii")

    def pace(self) -> float:
        """What `set_pace` asked for last."""
        try:
            return float(self.pace_file.read_text(encoding="ascii") or 0)
        except (FileNotFoundError, ValueError):  # nobody has asked, or it is being written
            return 0.0

    def content_files(self) -> list[tuple[Path, os.stat_result]]:
        """The files that say what the run is and has done, as they are now; not locks, logs and signs of life."""
        found = []
        for path in sorted(self.path.iterdir()):
            if path.suffix in CONTENT and not path.name.startswith("."):
                with suppress(FileNotFoundError):  # thinned out since it was listed
                    found.append((path, path.stat()))
        return found

    # -- checkpoints -------------------------------------------------------------------------

    def checkpoint_position(self) -> tuple[int, int] | None:
        """Iterations and edits at the checkpoint, without reading its factors; None if there is none."""
        try:
            with reading(self.checkpoint), zipfile.ZipFile(self.checkpoint) as archive:
                iterations = _iterations_in(archive)
                with archive.open("meta.npy") as file:
                    meta: dict[str, Any] = json.loads(np.lib.format.read_array(file).tobytes())
                return iterations, sum(e["kind"] == "edit" for e in meta["events"])
        except FileNotFoundError:
            return None

    def what_is_left(self) -> str:
        """The end of a sentence about a run that broke off."""
        done = self.iterations()
        try:
            position = self.checkpoint_position()
        except DamagedFile:
            return f"{done} iterations can be looked at, but the checkpoint is damaged; Reset starts it afresh"
        if position is None:
            return f"{done} iterations are kept, there is no checkpoint yet" if done else "it had not begun to iterate"
        return f"{done} iterations are kept, the last checkpoint is at {position[0]}"


def _stamp(path: Path) -> tuple[str, int, int]:
    """Name, time and size of a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return path.name, 0, 0
    return path.name, found.st_mtime_ns, found.st_size


def _event(line: bytes) -> Event | None:
    """An event of the log; None for a line that is damaged."""
    try:
        stored = json.loads(line)
        return Event(int(stored["iteration"]), str(stored["kind"]), str(stored["text"]))
    except UNREADABLE:
        return None


def _iterations_in(checkpoint: zipfile.ZipFile) -> int:
    if "history_end.npy" in checkpoint.namelist():
        with checkpoint.open("history_end.npy") as file:
            return int(np.lib.format.read_array(file)[0])
    with checkpoint.open("history.npy") as file:
        np.lib.format.read_magic(file)
        shape, _, _ = np.lib.format.read_array_header_1_0(file)
    return int(shape[0])
