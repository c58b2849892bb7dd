"""Somebody who looks at the workers all the time, so that nobody has to wait for one that will never answer."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from semf_core.common.server_limits import server_limits
from semf_core.runs.expiry import expire

if TYPE_CHECKING:
    from semf_core.runs.manager import Manager

LOOK_SECONDS = 0.5
ERRAND_SECONDS = 10.0
"""What takes longer than this is no errand: it gets a slot, and the next errand can begin."""
STORE_SECONDS = 3.0
"""Between two looks at the size of the store while something runs, and at what could not be written."""
EXPIRY_SECONDS = 3600.0
LOG = logging.getLogger(__name__)


class Watchdog:
    """A thread beside the manager: hung workers, time limits, a full store, what is too old."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._ended = threading.Event()
        self._store_due = 0.0
        self._expiry_due = 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True, name="watchdog")
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(LOOK_SECONDS):
            try:
                self.look(time.monotonic())
            except Exception:  # a wrong setting, a disk that fails: the next look must still come
                LOG.exception("looking after the workers")

    def look(self, now: float) -> None:
        """Do what is due."""
        self._manager.check_workers(now, ERRAND_SECONDS)
        if now >= self._store_due:
            self._store_due = now + STORE_SECONDS
            self._manager.write_late()
            self._look_at_store()
        if now >= self._expiry_due:
            self._expiry_due = now + EXPIRY_SECONDS
            limits = server_limits()
            self._manager.forget_deleted(expire(self._manager.store.home, limits.expire_days, limits.opened_days))

    def _look_at_store(self) -> None:
        quota, visitors = self._manager.store.quota, self._manager.visitors_at_work()
        if visitors and quota.is_full():
            self._manager.hold_runs("the server's store is full; delete what is no longer needed, then press Play", visitors)
        full = {visitor for visitor in visitors if quota.is_full_for(visitor)}
        self._manager.hold_runs("your share of the server's store is full; delete what you no longer need, then press Play", full)
