"""A worker process: waits for work on standard input, reports on standard output, one JSON object a line.

An order is {"order": "work", "run", "folder", "revision", "fresh", …} for a worker at rest, {"order": "amend",
"run", …} for one that iterates. Both may hold "edit", then one of "stop", "drop" (amend only) and "budget"
(0 to pause, null to go on to the end, else a number of iterations). The reports are "ready", "running",
"paused", "done", "failed", "dropped", "late" (the run was over before it could be amended), and "edited" or
"rejected" for an edit. At the end of its input (the server is gone) a worker writes a checkpoint and ends.
"""

from __future__ import annotations

import resource
import sys
import traceback
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from semf_core.common.errors import InvalidInput
from semf_core.common.server_limits import server_limits
from semf_core.runs.channel import Channel, Order, ServerGone
from semf_core.runs.files import is_full
from semf_core.runs.folder import RunFolder
from semf_core.runs.session import Session
from semf_core.sandbox.rlimits import limit_memory, lower_priority

NICENESS = 5


class Worker:
    """Carries out orders, at most one run at a time; a paused run stays in memory until another is wanted."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.session: Session | None = None
        self.run_id = ""
        self.folder: RunFolder | None = None

    def serve(self) -> None:
        """Until the server goes."""
        try:
            self.channel.report("ready")
            while True:
                if self.session is not None and self.session.iterating:
                    self._iterate(self.session)
                if self.session is None or not self.session.iterating or self.channel.pending():
                    self._carry_out(self.channel.next())
        except ServerGone:
            if self.session is not None and self.session.iterating:
                self.session.pause()

    def _iterate(self, session: Session) -> None:
        ended = session.work(self.channel.look)
        if ended == "rests":
            session.pause()
            self._report("paused")
        elif ended == "ended":
            session.finish()
            self._done("finished")

    def _carry_out(self, order: Order) -> None:
        if order["order"] == "amend" and (self.session is None or order["run"] != self.run_id):
            self.channel.report("late", run=order["run"])
            return
        if order["order"] == "work" and (self.session is None or order["run"] != self.run_id or order["fresh"]):
            self._open(order)
        session = self.session
        if session is None:
            raise RuntimeError("an order without a run")
        if order.get("drop"):
            self._forget()
            self._report("dropped")
            return
        if order.get("edit"):
            self._edit(session, order["edit"])
        if order.get("stop"):
            session.stop()
            self._done("stopped")
        elif order.get("budget") == 0:
            session.pause()
            self._report("paused")
        elif "budget" in order:
            session.go(order["budget"])
            self._report("running")
        elif not session.iterating:  # it came to rest before the order arrived, and the server waits to hear so
            self._report("paused")

    def _open(self, order: Order) -> None:
        self._forget()
        self.run_id, self.folder = order["run"], RunFolder(Path(order["folder"]))
        self.session = Session(self.folder, order["revision"], order["fresh"], self.channel.attend)

    def _edit(self, session: Session, edit: dict[str, Any]) -> None:
        try:
            session.edit(edit["revision"], edit["numbers"], edit["text"])
        except InvalidInput as error:
            self.channel.report("rejected", run=self.run_id, error=error.to_dict())
        else:
            self.channel.report("edited", run=self.run_id, revision=session.revision)

    def _report(self, kind: str) -> None:
        revision, note = (self.session.revision, self.session.recorder.schedule.note) if self.session else (0, "")
        self.channel.report(kind, run=self.run_id, revision=revision, note=note)

    def _done(self, state: str) -> None:
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        reason = self.session.ending if self.session else ""
        self._forget()
        self.channel.report("done", run=self.run_id, state=state, reason=reason, peak_mb=peak_mb)

    def _forget(self) -> None:
        if self.session is not None:
            self.session.close()
        self.session = None

    def fail(self, error: BaseException) -> None:
        """Tell the server in words, and leave the details in the run's folder."""
        details = "".join(traceback.format_exception(error))
        try:
            if self.session is not None:
                self.session.recorder.flush()
            if self.folder is not None and not is_full(error):
                self.folder.log.write_text(details, encoding="utf-8")
        except OSError as second:  # the disk is full or the folder gone: then the server's log has it
            print(details if not is_full(second) else error_message(second), file=sys.stderr)
        with suppress(ServerGone):  # then there is nobody to tell
            self.channel.report("failed", run=self.run_id, message=error_message(error), full=is_full(error))


def error_message(error: BaseException) -> str:
    """A sentence about what went wrong."""
    if isinstance(error, MemoryError):
        return f"the computation needed more than the {server_limits().run_mb:g} MB of memory that a run may take"
    if is_full(error):
        return "the disk is full"
    if isinstance(error, InvalidInput):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"the run's files could not be written or read ({error.strerror.lower()})"
    return f"the computation broke off: {error or type(error).__name__}"


def main() -> int:
    """Serve until the server goes; 1 after a failure, so that the next run gets a clean process."""
    warnings.simplefilter("ignore", RuntimeWarning)  # an overflow ends the run as "diverged", which is said there
    channel = Channel.standard()
    worker = Worker(channel)
    limit_memory(server_limits().run_mb)
    lower_priority(NICENESS)
    with threadpool_limits(1, user_api="blas"):
        try:
            worker.serve()
        except Exception as error:
            worker.fail(error)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
