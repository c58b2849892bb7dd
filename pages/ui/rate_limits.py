"""Turns for what costs time: so many at once, so many for each visitor, round-robin between visitors, and a line that ends."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class TooMany(Exception):
    """The visitor has as many requests in line as one may have."""


class Turns:
    """To be used from one event loop."""

    def __init__(self, at_once: int, each: int, waiting: int) -> None:
        """`at_once` in all, `each` of one visitor; `waiting` requests of one visitor may stand in line."""
        self._free, self._each, self._waiting = at_once, each, waiting
        self._busy: Counter[str] = Counter()
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, visitor: str) -> AsyncIterator[None]:
        """Wait for a turn and hold it."""
        await self._wait(visitor)
        try:
            yield
        finally:
            self._give_back(visitor)

    async def _wait(self, visitor: str) -> None:
        line = self._lines.setdefault(visitor, deque())
        if len(line) >= self._waiting:
            raise TooMany
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(place)
        self._serve()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the turn came at the same moment
                self._give_back(visitor)
            raise

    def _give_back(self, visitor: str) -> None:
        self._free += 1
        self._busy[visitor] -= 1
        if not self._busy[visitor]:
            del self._busy[visitor]
        self._serve()

    def _serve(self) -> None:
        """Give free turns to whoever waits; a visitor who got one goes to the end of the round."""
        while self._free:
            visitor = next((v for v, line in self._lines.items() if self._busy[v] < self._each), None)
            if visitor is None:
                return
            place = self._lines[visitor].popleft()
            self._lines.move_to_end(visitor)
            if not self._lines[visitor]:
                del self._lines[visitor]
            if not place.cancelled():
                self._free -= 1
                self._busy[visitor] += 1
                place.set_result(None)
