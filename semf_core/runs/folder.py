"""The folder of one run: names of its files, and everything a reader takes from them."""

from __future__ import annotations

import json
import os
import re
import time
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.model import ModelSpec
from semf_core.parameters import InvalidInput
from semf_core.runs.files import read_json, write_json
from semf_core.runs.frames import FactorFrame, read_frame
from semf_core.solvers import COLUMNS, Event

Array = np.ndarray
ROW_BYTES = 8 * len(COLUMNS)
WATCH_SECONDS = 5.0
"""A run that nobody has looked at for this long records no live factors."""
_KEYFRAME = re.compile(r"frame-(\d{12})\.npz")


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
    def scalars(self) -> Path:
        return self.path / "scalars.bin"

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

    def keyframe(self, iteration: int) -> Path:
        return self.path / f"frame-{iteration:012d}.npz"

    # -- the model ---------------------------------------------------------------------------

    def spec_file(self, edition: int) -> Path:
        """The model as started (edition 0) or after the given number of edits."""
        return self.path / (f"spec-{edition}.json" if edition else "spec.json")

    def write_spec(self, spec: ModelSpec, edition: int = 0) -> None:
        write_json(self.spec_file(edition), spec.to_dict())

    def spec(self, edition: int = 0) -> ModelSpec:
        path = self.spec_file(edition)
        return ModelSpec.from_dict(read_json(path if path.exists() else self.spec_file(0)))

    def numbers_file(self, edition: int) -> Path:
        return self.path / f"numbers-{edition}.json"

    def write_numbers(self, numbers: Mapping[str, float], edition: int) -> None:
        """What an edit set beside the model: α, β."""
        write_json(self.numbers_file(edition), dict(numbers))

    def numbers(self, edition: int) -> dict[str, float] | None:
        """What `write_numbers` kept; None if nothing is known."""
        try:
            return {str(name): float(value) for name, value in read_json(self.numbers_file(edition)).items()}
        except FileNotFoundError:
            return None

    # -- numbers -----------------------------------------------------------------------------

    def row_count(self) -> int:
        """Iterations that are recorded."""
        try:
            return os.stat(self.scalars).st_size // ROW_BYTES
        except FileNotFoundError:
            return 0

    def rows(self, since: int = 0) -> Array:
        """Rows of COLUMNS from iteration `since` on, only what is new is read."""
        try:
            with open(self.scalars, "rb", buffering=0) as file:
                file.seek(since * ROW_BYTES)
                data = file.readall()
        except FileNotFoundError:
            data = b""
        whole = len(data) - len(data) % ROW_BYTES
        return np.frombuffer(data[:whole], dtype=np.float64).reshape(-1, len(COLUMNS))

    def events(self) -> list[Event]:
        """What happened between iterations; a line that is still being written is left for the next time."""
        try:
            data = self.event_log.read_bytes()
        except FileNotFoundError:
            return []
        lines = data[: data.rfind(b"\n") + 1].splitlines()
        return [Event(**json.loads(line)) for line in lines]

    # -- factors -----------------------------------------------------------------------------

    def keyframes(self) -> list[int]:
        """Iterations of the recorded frames, in order."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:  # deleted since it was found
            return []
        return sorted(int(m[1]) for m in map(_KEYFRAME.fullmatch, names) if m)

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
            raise InvalidInput("iteration", "no factors are recorded there yet")
        return newest

    @staticmethod
    def _read(path: Path) -> FactorFrame | None:
        try:
            return read_frame(path)
        except FileNotFoundError:
            return None

    def look(self) -> None:
        """Tell the worker that someone is watching (at most once a second)."""
        try:
            if time.time() - os.stat(self.watched).st_mtime > 1:
                os.utime(self.watched)
        except FileNotFoundError:
            with suppress(FileNotFoundError):  # the run was deleted since it was found
                self.watched.touch()

    def is_watched(self) -> bool:
        try:
            return time.time() - os.stat(self.watched).st_mtime < WATCH_SECONDS
        except FileNotFoundError:
            return False

    # -- checkpoints -------------------------------------------------------------------------

    def checkpoint_position(self) -> tuple[int, int] | None:
        """Iterations and edits at the checkpoint, without reading its factors; None if there is none."""
        try:
            with zipfile.ZipFile(self.checkpoint) as archive:
                with archive.open("history.npy") as file:
                    np.lib.format.read_magic(file)
                    shape, _, _ = np.lib.format.read_array_header_1_0(file)
                with archive.open("meta.npy") as file:
                    meta: dict[str, Any] = json.loads(np.lib.format.read_array(file).tobytes())
        except FileNotFoundError:
            return None
        return int(shape[0]), sum(e["kind"] == "edit" for e in meta["events"])

    def what_is_left(self) -> str:
        """The end of a sentence about a run that broke off."""
        rows, position = self.row_count(), self.checkpoint_position()
        if position is None:
            return f"{rows} iterations are kept, there is no checkpoint yet" if rows else "it had not begun to iterate"
        return f"{rows} iterations are kept, the last checkpoint is at {position[0]}"
