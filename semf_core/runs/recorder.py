"""The worker's pen: numbers, events, factors and checkpoints of a run, at a bounded cost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict

from semf_core.runs.files import write_whole
from semf_core.runs.folder import RunFolder
from semf_core.runs.frames import VIEW_BYTES, Schedule, frame_bytes, write_frame
from semf_core.runs.restore_points import RestorePoints
from semf_core.runs.rows import ROW_BYTES
from semf_core.solvers import Run

FLUSH_SECONDS = 0.05
LIVE_SECONDS = 0.2
FIRST_CHECKPOINT_SECONDS = 1.0
CHECKPOINT_SECONDS = 3.0
SHARE = 20
"""Whatever is written takes at most one part in this many of the time."""


class Timer:
    """When something is due again: after its interval, or SHARE times as long as it took."""

    def __init__(self, interval: float, first: float | None = None) -> None:
        self.interval = interval
        self.due = time.perf_counter() + (interval if first is None else first)

    def run(self, action: Callable[[], None]) -> None:
        began = time.perf_counter()
        action()
        ended = time.perf_counter()
        self.due = ended + max(self.interval, SHARE * (ended - began))


class Recorder:
    """Writes one run into its folder."""

    def __init__(self, folder: RunFolder, run: Run) -> None:
        self.folder, self.run = folder, run
        self._size = frame_bytes(run.problem.shape, run.problem.rank)
        self.schedule = Schedule(self._size)
        self._flush_timer = Timer(FLUSH_SECONDS)
        self._live_timer = Timer(LIVE_SECONDS, 0)
        self._checkpoint_timer = Timer(CHECKPOINT_SECONDS, FIRST_CHECKPOINT_SECONDS)
        self._live_iteration = -1
        self._checkpoint_stamp: tuple[object, ...] = ()
        self._align()
        self._kept = folder.keyframes()
        self._points = RestorePoints(folder, run, SHARE)
        self._seen = 0
        self._note_events()
        if run.iterations not in self._kept:
            self._write_keyframe()

    def _align(self) -> None:
        """Make the files say exactly what the run says: what is beyond it was written by a worker that died."""
        self._rows = self._rows_to_keep()
        self._scalars = os.open(self.folder.scalars, os.O_CREAT | os.O_RDWR, 0o600)
        os.ftruncate(self._scalars, self._rows * ROW_BYTES)
        os.lseek(self._scalars, 0, os.SEEK_END)
        self._end = -1
        if self.run.history.end() is None:
            self.folder.end.unlink(missing_ok=True)
        self._events = 0
        self._event_log = os.open(self.folder.event_log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        for iteration in self.folder.keyframes():
            if iteration > self.run.iterations:
                self.folder.keyframe(iteration).unlink()
        self.folder.live.unlink(missing_ok=True)
        self.flush()

    def _rows_to_keep(self) -> int:
        """Rows in the file that are also the run's; 0 if they are others: of an earlier version, or lost with the power."""
        kept = self.run.history.kept().tobytes()
        try:
            known = self.folder.scalars.read_bytes()
        except FileNotFoundError:
            return 0
        common = min(len(known) // ROW_BYTES, len(kept) // ROW_BYTES)
        return common if known[: common * ROW_BYTES] == kept[: common * ROW_BYTES] else 0

    def close(self) -> None:
        for descriptor in (self._scalars, self._event_log, self._end):
            if descriptor >= 0:
                os.close(descriptor)

    # -- while it iterates -------------------------------------------------------------------

    def look(self, now: float) -> None:
        """Write what is due; called every few hundredths of a second."""
        if now >= self._flush_timer.due:
            self._flush_timer.run(self.flush)
        if now >= self._live_timer.due and self.folder.is_watched():
            self._live_timer.run(self.write_live)
        if now >= self._checkpoint_timer.due:
            self._checkpoint_timer.run(self.checkpoint)

    def after_iteration(self) -> None:
        """Called after every iteration, so it only compares a few numbers."""
        if len(self.run.events) != self._seen:
            self._note_events()
        if self.run.iterations >= self.keyframe_due:
            self._keyframe()
        if self.run.seconds >= self._points.due:
            self.flush()
            self._points.keep()

    def _note_events(self) -> None:
        """Keyframes come close together again after something has happened."""
        for event in self.run.events[self._seen :]:
            self.schedule.mark_event(event.iteration)
        self._seen = len(self.run.events)
        self.keyframe_due = self.schedule.next(self.run.iterations)

    def _presentable(self) -> bool:
        """False right after a kick or a new start, when U and V are zero and the last row speaks of others."""
        return not self.run.moved

    def _keyframe(self) -> None:
        """Record the factors of this iteration and find out when that is due again."""
        if not self._presentable():
            self.keyframe_due = self.run.iterations + 1
            return
        self._write_keyframe()
        for iteration in self.schedule.thinned(self._kept):
            self.folder.keyframe(iteration).unlink()
            self._kept.remove(iteration)
        self.keyframe_due = self.schedule.next(self.run.iterations)

    def _write_keyframe(self) -> None:
        if self.schedule.limit:
            write_whole(self.folder.keyframe(self.run.iterations), lambda file: write_frame(file, self.run))
            self._kept.append(self.run.iterations)

    def flush(self) -> None:
        """Append the numbers and events that are not in the files yet."""
        end = self.run.history.end()
        if end is not None and self._end < 0:  # before the first row that stands for several iterations
            self._end = os.open(self.folder.end, os.O_CREAT | os.O_WRONLY, 0o600)
            os.pwrite(self._end, bytes(end.nbytes), 0)
        new = self.run.history.kept(self._rows)
        if len(new):
            _write_all(self._scalars, new.tobytes())
            self._rows += len(new)
        if end is not None:  # in place: a reader sees the old numbers or the new ones
            os.pwrite(self._end, end.tobytes(), 0)
        if len(self.run.events) > self._events:
            fresh = self.run.events[self._events :]
            _write_all(self._event_log, "".join(json.dumps(asdict(e), ensure_ascii=False) + "\n" for e in fresh).encode())
            self._events += len(fresh)

    def write_live(self) -> None:
        if self._size <= VIEW_BYTES and self._live_iteration != self.run.iterations and self._presentable():
            write_whole(self.folder.live, lambda file: write_frame(file, self.run))
            self._live_iteration = self.run.iterations

    def checkpoint(self) -> None:
        """Numbers first, so that the checkpoint is never ahead of them."""
        self.flush()
        stamp = (self.run.iterations, len(self.run.events), self.run.stop_reason)
        if stamp != self._checkpoint_stamp:
            write_whole(self.folder.checkpoint, self.run.checkpoint, durable=True)
            self._checkpoint_stamp = stamp

    # -- when it rests -----------------------------------------------------------------------

    def settle(self) -> None:
        """Everything on disk, as at a pause or at the end; a keyframe too, for the scrubber's right end."""
        if self.run.iterations not in self._kept and self._presentable():
            self._write_keyframe()
        self._live_iteration = -1
        self.write_live()
        self.checkpoint()


def _write_all(descriptor: int, data: bytes) -> None:
    """os.write may take only a part of a large buffer."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
