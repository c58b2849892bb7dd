"""Whose run is next: visitors take turns, however many runs each of them has waiting.

A visitor is a text that names who asks, "address/session" where both are known: then addresses take turns first, and
the sessions of an address among themselves. Whoever was served longest ago is next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from semf_core.common.errors import InvalidInput

MOST_REMEMBERED = 10_000


class FairQueue:
    """Runs that wait, with the visitors they belong to; whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._visitors: dict[str, str] = {}
        """The visitor of each waiting run, in the order of arrival."""
        self._served: dict[str, int] = {}
        """When an address or a visitor was served last; who was not served for long is forgotten."""
        self._clock = 0
        self._order: list[str] | None = None

    def __len__(self) -> int:
        return len(self._visitors)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._visitors

    def visitors(self) -> set[str]:
        """Whose runs wait."""
        return set(self._visitors.values())

    def put(self, run_id: str, visitor: str) -> None:
        self._visitors[run_id] = visitor
        self._order = None

    def remove(self, run_id: str) -> None:
        if self._visitors.pop(run_id, None) is not None:
            self._order = None

    def position(self, run_id: str) -> int | None:
        """Place in line, from 1."""
        return self.order().index(run_id) + 1 if run_id in self._visitors else None

    def next(self, may_run: Callable[[str], bool]) -> str | None:
        """Take out the first run of a visitor who may have one more; None if nobody may."""
        for run_id in self.order():
            visitor = self._visitors[run_id]
            if may_run(visitor):
                self._clock += 1
                for name in (_address(visitor), visitor):
                    self._served.pop(name, None)
                    self._served[name] = self._clock
                while len(self._served) > MOST_REMEMBERED:
                    self._served.pop(next(iter(self._served)))
                self.remove(run_id)
                return run_id
        return None

    def order(self) -> list[str]:
        """All waiting runs, as they would be served if each took equally long."""
        if self._order is None:
            self._order = list(self._in_turn())
        return self._order

    def _in_turn(self) -> Iterator[str]:
        waiting: dict[str, dict[str, deque[str]]] = {}
        for run_id, visitor in self._visitors.items():
            waiting.setdefault(_address(visitor), {}).setdefault(visitor, deque()).append(run_id)
        served, clock = dict(self._served), self._clock
        while waiting:
            address = min(waiting, key=lambda name: served.get(name, 0))  # the first of equal ones, who came first
            visitors = waiting[address]
            visitor = min(visitors, key=lambda name: served.get(name, 0))
            yield visitors[visitor].popleft()
            clock += 1
            served[address] = served[visitor] = clock
            if not visitors[visitor]:
                del visitors[visitor]
            if not visitors:
                del waiting[address]


def address_of(visitor: str) -> str:
    """Where a visitor comes from; empty if that is not known."""
    address, known, _ = visitor.partition("/")
    return address if known else ""


def check_places(visitor: str, taken: Iterable[str], most: float, most_of_address: float, what: str) -> None:
    """Deny a visitor one more run or study, if he or his address has as many as anybody may have."""
    visitors, address = list(taken), address_of(visitor)
    if sum(v == visitor for v in visitors) >= most:
        told = f"{most:.0f} of yours are under way already"
    elif address and sum(address_of(v) == address for v in visitors) >= most_of_address:
        told = f"{most_of_address:.0f} from your network are under way already"
    else:
        return
    raise InvalidInput(what, f"cannot be started: {told}", "stop or delete one, or let it end")


def _address(visitor: str) -> str:
    """The name under which an address is remembered; never that of a visitor."""
    return f"{visitor.partition('/')[0]}/*"
