"""The parts on their workers, seen from the client: where they are, asking all of them, and replacing a lost one."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.distributed.block_worker import Part
from semf_core.distributed.connection import dask_module
from semf_core.distributed.plans import Plan
from semf_core.distributed.sources import Block

SHARE = 0.75
"""Fraction of a worker's memory that is planned for; from 0.8 on Dask gives it no more tasks."""
BUFFERS = 12
"""Arrays of X's size a worker needs at most: three slots of X and U, Λ, working memory, and what a projection makes."""
START_SECONDS = 120.0
"""How long a worker may take to begin; it has to import the library."""
COMING_SECONDS = 20.0
"""How long a worker that takes the place of a lost one is waited for."""
LOSSES = 5
"""Workers that may be lost in a run; more than that is no accident."""


class WorkerLost(RuntimeError):
    """A worker went away, and its part of the factors with it."""


@dataclass(frozen=True)
class Share:
    """Consecutive blocks for one worker; `first` is the number of its first row."""

    blocks: tuple[Block, ...]
    first: int

    @property
    def rows(self) -> int:
        return sum(b.shape[0] for b in self.blocks)

    @property
    def firsts(self) -> list[int]:
        """Number of the first row of each block."""
        return [self.first + int(n) for n in np.cumsum([0, *(b.shape[0] for b in self.blocks[:-1])])]

    def kept(self, room: float, itemsize: int) -> list[bool]:
        """Which blocks of M stay in memory: as many as fit, beside the largest of those that do not."""
        sizes = [b.shape[0] * b.shape[1] * itemsize for b in self.blocks]
        if sum(sizes) <= room:
            return [True] * len(sizes)
        resident = sum(size for block, size in zip(self.blocks, sizes, strict=True) if block.resident)
        needed = resident + max((size for block, size in zip(self.blocks, sizes, strict=True) if not block.resident), default=0)
        if needed > room:
            raise InvalidInput(
                "M",
                f"a worker has {max(room, 0) / 1e6:.0f} MB for its rows of M, but needs {needed / 1e6:.0f} MB at the least",
                "cut M into smaller blocks that the workers read from files, or give them more memory",
                whole=True,
            )
        keep, left = [], room - needed
        for block, size in zip(self.blocks, sizes, strict=True):
            keep.append(block.resident or size <= left)
            left -= 0 if block.resident or not keep[-1] else size
        return keep


def shares_of(blocks: Sequence[Block], workers: int) -> list[Share]:
    """The blocks in runs of about equally many rows, at most one run for each worker."""
    rows = np.array([b.shape[0] for b in blocks])
    middles = np.cumsum(rows) - rows / 2
    owners = np.minimum((middles * workers / rows.sum()).astype(int), workers - 1)
    firsts = np.cumsum(rows) - rows
    runs = [np.flatnonzero(owners == w).tolist() for w in np.unique(owners)]
    return [Share(tuple(blocks[i] for i in run), int(firsts[run[0]])) for run in runs]


@dataclass
class Traffic:
    """Bytes of numbers between the client and the workers so far, and the calls that carried them."""

    down: int = 0
    up: int = 0
    calls: int = 0

    def since(self, before: Traffic) -> Traffic:
        return Traffic(self.down - before.down, self.up - before.up, self.calls - before.calls)


@dataclass
class Member:
    """A part on its worker."""

    share: Share
    address: str
    name: str
    actor: Any


class Cluster:
    """All parts, in the order of the rows."""

    def __init__(self, client: Any, blocks: Sequence[Block], rank: int, dtype: np.dtype, folder: Path | None = None) -> None:
        self.client, self._rank, self._dtype, self._folder = client, rank, dtype, folder
        self._log: list[tuple[str, list[tuple[Any, ...]]]] = []
        self._serial = 0
        self._plans: list[tuple[Plan]] = []
        self._plans_then: list[tuple[Plan]] = []
        self._lost = 0
        self.traffic = Traffic()
        addresses = sorted(self._workers())
        if not addresses:
            raise InvalidInput("client", "the cluster has no workers", "start some first", whole=True)
        self.members: list[Member] = []
        for share, address in zip(shares_of(blocks, len(addresses)), addresses, strict=False):
            self.members.append(self._settled(share, address))

    def _workers(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return found

    def _settled(self, share: Share, address: str) -> Member:
        """A new part on a worker, with its blocks."""
        name = f"rows-{share.first}-{uuid.uuid4().hex}"
        options = {"workers": [address], "allow_other_workers": False, "actor": True, "pure": False}
        try:
            made = self.client.submit(Part, name, self._rank, self._dtype.name, **options)
            dask_module("distributed").wait(made, timeout=START_SECONDS)
            # Made in this thread it takes the current client, which talks to the workers; a result takes the default one.
            actor = dask_module("distributed").actor.Actor(Part, address, made.key)
            keep = share.kept(self._room(share, address, actor.resident_bytes().result()), self._dtype.itemsize)
            for block, first, stays in zip(share.blocks, share.firsts, keep, strict=True):
                actor.add(block, first, stays).result()
        except OSError as error:
            raise WorkerLost(f"the worker {address} was lost before it had its rows ({error})") from None
        return Member(share, address, name, actor)

    def _room(self, share: Share, address: str, taken: int) -> float:
        """Bytes that a worker has left for rows of M, where so many are taken already."""
        limit = self._workers().get(address, {}).get("memory_limit")
        if not limit:
            return np.inf
        return SHARE * limit - taken - BUFFERS * share.rows * self._rank * self._dtype.itemsize

    # -- asking ----------------------------------------------------------------------------------

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The same of every part; their answers in the order of the rows."""
        return self.ask_each(method, [arguments] * len(self.members))

    def ask_each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Something of each part, all at the same time. What a lost worker should have done is done by another."""
        pending = [self._asked(member, method, given) for member, given in zip(self.members, arguments, strict=True)]
        answers = [self._answer(i, method, arguments[i], wait) for i, wait in enumerate(pending)]
        if self._folder is not None:
            self._log.append((method, list(arguments)))
        self.traffic.down += payload(arguments)
        self.traffic.up += payload(answers)
        self.traffic.calls += 1
        return answers

    def _answer(self, i: int, method: str, arguments: tuple[Any, ...], wait: Callable[[], Any]) -> Any:
        while True:
            try:
                return wait()
            except WorkerLost as loss:
                self._replace(i, str(loss))
                wait = self._asked(self.members[i], method, arguments)

    def _asked(self, member: Member, method: str, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        lost = f"the worker {member.address} with the rows from {member.share.first} on was lost"

        def gone() -> Any:
            raise WorkerLost(lost)

        try:
            future = getattr(member.actor, method)(*arguments)
        except RuntimeError:  # known to be lost before it is asked
            return gone

        def wait() -> Any:
            try:
                return future.result()
            except OSError:  # parts turn their own into words, so this one is of the connection
                raise WorkerLost(lost) from None

        return wait

    def use(self, plan: Plan) -> None:
        """Tell every part how its rows are projected from now on."""
        self._plans = [(plan.of(slice(m.share.first, m.share.first + m.share.rows)),) for m in self.members]
        self.ask_each("use", self._plans)

    # -- losses ----------------------------------------------------------------------------------

    def checkpoint(self) -> None:
        """All parts write their state; what was asked of them before need not be repeated any more."""
        if self._folder is None:
            return
        before, serial = self._serial, self._serial + 1
        self.ask_each("save", [(str(self._state_file(i, serial)),) for i in range(len(self.members))])
        self._log.clear()
        self._serial, self._plans_then = serial, self._plans
        for i in range(len(self.members)):
            self._state_file(i, before).unlink(missing_ok=True)

    def _state_file(self, part: int, serial: int) -> Path:
        return (self._folder or Path()) / f"part-{part}-{serial}.npz"

    def _replace(self, i: int, loss: str) -> None:
        """Part i on another worker: the last state that all parts wrote, and everything since once more."""
        self._lost += 1
        if self._folder is None:
            raise WorkerLost(f"{loss}, and with it that part of X and U; give folder=… to let such a run go on") from None
        if self._lost > LOSSES:
            raise WorkerLost(f"{loss}, the {self._lost}th in this run; look at the workers' logs, memory may be short") from None
        address = self._free_worker(loss)
        share = self.members[i].share
        try:
            self.members[i] = self._settled(share, address)
            if self._serial:
                self._asked(self.members[i], "use", self._plans_then[i])()
                self._asked(self.members[i], "restore", (str(self._state_file(i, self._serial)),))()
            for method, arguments in self._log:
                self._asked(self.members[i], method, arguments[i])()
        except WorkerLost as again:
            self._replace(i, str(again))

    def _free_worker(self, loss: str) -> str:
        """A worker without a part, waited for a while; else the one with the fewest."""
        end = time.monotonic() + COMING_SECONDS
        while True:
            load = {address: 0 for address in sorted(self._workers())}
            for member in self.members:
                if member.address in load:
                    load[member.address] += 1
            free = [address for address, parts in load.items() if not parts]
            if free or time.monotonic() > end:
                break
            time.sleep(0.2)
        if not load:
            raise WorkerLost(f"{loss}, and no other is left")
        return min(load, key=lambda address: load[address])

    def close(self) -> None:
        """Let the workers forget their parts."""
        self.members.clear()
        if self._folder is not None:
            for file in self._folder.glob("part-*.npz"):
                file.unlink(missing_ok=True)


def payload(value: Any) -> int:
    """Bytes of the numbers in arguments or answers."""
    if isinstance(value, np.ndarray | np.generic):
        return int(value.nbytes)
    if isinstance(value, list | tuple):
        return sum(payload(v) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return sum(payload(getattr(value, f.name)) for f in dataclasses.fields(value))
    return 8 if isinstance(value, int | float) else 0
