"""LRU caches that share one budget of bytes: what all of them hold together is bounded, whoever fills them."""

from __future__ import annotations

import itertools
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from types import FunctionType, MethodType, ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

from semf_core.common.server_limits import server_limits

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MB = 1 << 20
MAPPED_SHARE = 0.25
IDLE_SECONDS, IDLE_SHARE = 120.0, 1 / 6
"""What nobody has asked for in this time goes, except for so much of the budget: runs are deleted, visitors leave."""
ENTRY_BYTES = 500
"""What an entry costs beside its value."""
PLAIN = frozenset({int, float, bool, str, bytes, type(None)})
"""Types of values that hold no others."""


@dataclass
class _Entry:
    """A value that is kept."""

    version: Hashable
    value: Any
    size: int
    """In bytes."""
    used: float
    """When somebody asked for it last."""


class _Shared:
    """The entries of all caches of this process, the least recently used first."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # a cache may be collected, and forgotten, while this thread has the lock
        self.entries: OrderedDict[tuple[int, Hashable], _Entry] = OrderedDict()
        self.bytes = 0

    def find(self, key: tuple[int, Hashable], version: Hashable) -> _Entry | None:
        """What is kept under a key, if it is of this version; it is now the most recently used."""
        entry = self.entries.get(key)
        if entry is None or entry.version != version:
            return None
        self.entries.move_to_end(key)
        entry.used = time.monotonic()
        return entry

    def put(self, key: tuple[int, Hashable], entry: _Entry) -> None:
        """Keep it, and drop the oldest until all fit; what is larger than the budget is not kept at all."""
        limit = server_limits().cache_mb * MB
        with self.lock:
            self._drop(key)
            if entry.size > limit:
                return
            self.entries[key] = entry
            self.bytes += entry.size
            while self.bytes > limit or (self.bytes > IDLE_SHARE * limit and self._oldest() < entry.used - IDLE_SECONDS):
                self._drop(next(iter(self.entries)))

    def _oldest(self) -> float:
        """When the entry that was used least recently was used."""
        return next(iter(self.entries.values())).used

    def forget(self, token: int) -> None:
        """Drop everything of a cache that is gone."""
        with self.lock:
            for key in [key for key in self.entries if key[0] == token]:
                self._drop(key)

    def _drop(self, key: tuple[int, Hashable]) -> None:
        dropped = self.entries.pop(key, None)
        self.bytes -= dropped.size if dropped is not None else 0


_SHARED = _Shared()


def cached_bytes() -> int:
    """What the caches of this process hold."""
    return _SHARED.bytes


class Cache(Generic[K, V]):
    """Values by key, as long as there is room for them; safe for many threads."""

    _tokens = itertools.count()

    def __init__(self) -> None:
        self._token = next(Cache._tokens)  # not the address, which another cache may have later
        self._making: dict[K, threading.Lock] = {}
        weakref.finalize(self, _SHARED.forget, self._token)

    def get(self, key: K, make: Callable[[], V], version: Hashable = None) -> V:
        """The value of a key, made if it is not there: once, however many ask for it at the same time.

        Of what changes all the time, as the newest picture of a run does, a `version` keeps the last one alone: with the
        version in the key the cache would fill with pictures that nobody asks for again.
        """
        full_key, shared = (self._token, key), _SHARED
        with shared.lock:
            found = shared.find(full_key, version)
            if found is not None:
                return found.value
            maker = self._making.setdefault(key, threading.Lock())
        with maker:  # not the common lock: a slow one holds up nobody else
            with shared.lock:
                found = shared.find(full_key, version)
                if found is not None:
                    return found.value
            try:
                value = make()
                size = ENTRY_BYTES + size_of(key) + size_of(value)
                shared.put(full_key, _Entry(version, value, size, time.monotonic()))
            finally:
                with shared.lock:
                    self._making.pop(key, None)
        return value


def size_of(value: Any) -> int:
    """About how many bytes of memory a value takes.

    An array that is mapped from a file counts too, up to a share of the budget: its pages are in memory as long as the
    system has room for them, and its file is on the disk as long as it is mapped.
    """
    seen: set[int] = set()
    waiting, total = [value], 0
    while waiting:
        one = waiting.pop()
        if type(one) in PLAIN:  # nearly all of a picture's tiles and numbers, several times a second
            total += sys.getsizeof(one)
            continue
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType | MethodType):
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            total += 128
            if isinstance(one, np.memmap):
                total += min(one.nbytes, int(server_limits().cache_mb * MB * MAPPED_SHARE))
            elif one.base is not None:
                waiting.append(one.base)  # a view keeps all of it alive
            else:
                total += one.nbytes
            continue
        total += sys.getsizeof(one, 64)
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += one
        else:
            waiting += vars(one).values() if hasattr(one, "__dict__") else []
    return total
