"""A worker's side of the pipes: orders on standard input, reports on standard output, one JSON object a line."""

from __future__ import annotations

import json
import os
import select
import signal
import time
from collections import deque
from typing import Any

Order = dict[str, Any]
BEAT_SECONDS = 2.0


class ServerGone(Exception):
    """Standard input has ended or nobody reads the reports."""


class Channel:
    """Lines of JSON from and to the server, without threads."""

    def __init__(self, source: int, sink: int) -> None:
        self._source, self._sink = source, sink
        self._rest = b""
        self._number = 0
        self._beat = 0.0
        self._orders: deque[Order] = deque()
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)

    @classmethod
    def standard(cls) -> Channel:
        """Standard input and output, for a process that ends when its input does."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server
        channel = cls(os.dup(0), os.dup(1))
        os.dup2(2, 1)  # whatever a library prints must not get between the reports
        return channel

    def pending(self) -> bool:
        """Whether an order has arrived; a system call, but a short one."""
        if not self._orders and self._poll.poll(0):
            self._read()
        return bool(self._orders)

    def look(self) -> bool:
        """`pending`, and a sign of life from time to time: called again and again while something is computed."""
        now = time.monotonic()
        if now - self._beat > BEAT_SECONDS:
            self.report("beat")
        return self.pending()

    def attend(self) -> None:
        """A sign of life from time to time, and ServerGone as soon as it has, even if orders of it are still to be read."""
        self.look()
        if any(event & select.POLLHUP for _, event in self._poll.poll(0)):
            raise ServerGone

    def next(self) -> Order:
        """The next order, waiting for it."""
        while not self._orders:
            self._read()
        order = self._orders.popleft()
        self._number = order["number"]
        return order

    def _read(self) -> None:
        data = os.read(self._source, 1 << 16)
        if not data:
            raise ServerGone
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._orders.extend(json.loads(line) for line in lines)

    def report(self, kind: str, **values: Any) -> None:
        self._beat = time.monotonic()
        data = json.dumps({"report": kind, "number": self._number, **values}).encode() + b"\n"
        try:
            while data:
                data = data[os.write(self._sink, data) :]
        except BrokenPipeError:
            raise ServerGone from None
