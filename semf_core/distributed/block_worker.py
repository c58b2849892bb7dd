"""What a worker does: it holds some blocks of rows with their part of X, U and Λ, and answers with sums.

An instance lives on a worker as a Dask actor. Its methods take and return arrays of the size of Y, or smaller;
what has the length of M's rows never leaves it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from semf_core.common.errors import InvalidInput
from semf_core.distributed.columns import Candidates, Cut, Measured, Scaled, cut_blocks, largest, scale_blocks
from semf_core.distributed.connection import dask_module
from semf_core.distributed.plans import ByColumns, ByRows, Plan
from semf_core.distributed.sources import Block
from semf_core.mathematics.matrix import DenseMatrix, negative_squares
from semf_core.sets import kernels
from semf_core.solvers.half_steps import Rows, RowSums, Sent, free_rows, settle_rows

Array = np.ndarray


@dataclass
class Held:
    """One block: its rows of M, the slots with X above U, Λ and working memory. All are p×rows or 2p×rows."""

    source: Block
    first: int
    keep: bool
    Lam: Array
    spare: Array
    slots: dict[int, Array] = field(default_factory=dict)
    loaded: DenseMatrix | None = None

    def matrix(self) -> DenseMatrix:
        """The rows of M; let go after use unless there is room for them."""
        if self.loaded is not None:
            return self.loaded
        try:
            array = self.source.load()
        except OSError as error:
            raise InvalidInput("M", f"the rows from {self.first} on cannot be read by a worker ({error})", whole=True) from None
        if array.shape != self.source.shape:
            raise InvalidInput(
                "M", f"the rows from {self.first} on have shape {array.shape}, not {self.source.shape} as before", whole=True
            )
        if self.keep:
            array = np.ascontiguousarray(array, self.Lam.dtype)
            self.loaded = DenseMatrix(array, self.Lam.dtype)
            return self.loaded
        return DenseMatrix(array, self.Lam.dtype)

    def slot(self, number: int) -> Array:
        """X above U under this number; made when first asked for."""
        if number not in self.slots:
            self.slots[number] = np.zeros((2 * len(self.Lam), self.Lam.shape[1]), self.Lam.dtype)
        return self.slots[number]

    def half(self, number: int, upper: bool) -> Array:
        """X (upper) or U of a slot."""
        p = len(self.Lam)
        return self.slot(number)[:p] if upper else self.slot(number)[p:]

    def rows(self, old: int, new: int) -> Rows:
        return Rows(self.matrix(), self.slot(old), self.slot(new), self.Lam, self.spare)


PARTS: weakref.WeakValueDictionary[str, Part] = weakref.WeakValueDictionary()
"""The parts in this process by name, for tasks of the same worker."""


class Part:
    """Consecutive blocks of rows on one worker."""

    def __init__(self, name: str, rank: int, dtype: str) -> None:
        PARTS[name] = self
        self._rank, self._dtype = rank, np.dtype(dtype)
        self._blocks: list[Held] = []
        self._plan: Plan = ByRows(())
        self._by_block: list[Plan] = []
        self._candidates: Candidates | None = None
        self._step: tuple[int, int, Sent] | None = None

    # -- rows ----------------------------------------------------------------------------------

    def resident_bytes(self) -> int:
        """Memory that this process has now."""
        return int(dask_module("psutil").Process().memory_info().rss)  # Dask itself needs psutil

    def add(self, source: Block, first: int, keep: bool) -> None:
        """Take a block whose first row has this number in M."""
        shape = (self._rank, source.shape[0])
        self._blocks.append(Held(source, first, keep, np.zeros(shape, self._dtype), np.empty(shape, self._dtype)))

    def scan(self) -> tuple[float, float]:
        """‖M‖² and ‖min(M, 0)‖² of these rows; entries that are not finite are rejected."""
        total = negative = 0.0
        for held in self._blocks:
            for rows, block in held.matrix().blocks():
                if not np.isfinite(block).all():
                    where = f"holds a missing or infinite entry in rows {held.first + rows.start} to {held.first + rows.stop - 1}"
                    raise InvalidInput("M", where, "blocks of rows must be complete (factorize takes missing entries)")
                total += float(np.vdot(block, block))
                negative += negative_squares(block)
        return total, negative

    def use(self, plan: Plan) -> None:
        """How U is projected from now on; the plan is for the rows of this part."""
        self._plan, first = plan, self._blocks[0].first
        self._by_block = [plan.of(slice(b.first - first, b.first - first + b.source.shape[0])) for b in self._blocks]

    def clear(self, slot: int) -> None:
        """X, U and Λ zero."""
        for held in self._blocks:
            held.slot(slot)[:] = 0
            held.Lam[:] = 0

    # -- one iteration -------------------------------------------------------------------------

    def advance(self, old: int, new: int, sent: Sent) -> RowSums:
        """X, U and Λ where every row is projected by itself: each block is read once."""
        found = []
        for held, plan in zip(self._blocks, self._by_block, strict=True):
            rows = held.rows(old, new)
            free_rows(rows, sent)
            found.append(settle_rows(rows, sent, _projected(plan, rows.spare)))
        return RowSums.total(found)

    def begin(self, old: int, new: int, sent: Sent) -> Array | None:
        """X, and what is to be projected; returns what `find_cuts` starts from."""
        self._step = (old, new, sent)
        for held in self._blocks:
            free_rows(held.rows(old, new), sent)
        return self._count_from()

    def _count_from(self) -> Array | None:
        plan = self._column_plan()
        if not plan.counted.size:
            return None
        self._candidates = Candidates(self._spares(), plan)
        return self._candidates.extremes()

    def count(self, low: Array, high: Array, shift: Array) -> Array:
        if self._candidates is None:
            raise RuntimeError("counting before there is anything to count")
        return self._candidates.count(low, high, shift)

    def cut(self, cut: Cut | None) -> Measured | None:
        """Signs and counts; measures the columns if a length is asked for."""
        plan, spares = self._column_plan(), self._spares()
        top = largest(spares, self._firsts()) if plan.sized else None
        cut_blocks(spares, plan, cut)
        self._candidates = None
        if top is None:
            return None
        return Measured(kernels.norms(np.array([kernels.norms(B.T) for B in spares])), *top)

    def settle(self, scaled: Scaled | None) -> RowSums:
        """Lengths, then U, Λ and the sums."""
        if self._step is None:
            raise RuntimeError("an iteration that ends before it began")
        self._scale(scaled)
        old, new, sent = self._step
        return RowSums.total(settle_rows(held.rows(old, new), sent, held.spare) for held in self._blocks)

    def _scale(self, scaled: Scaled | None) -> None:
        if scaled is not None:
            scale_blocks(self._spares(), self._firsts(), scaled)

    def _spares(self) -> list[Array]:
        return [held.spare for held in self._blocks]

    def _firsts(self) -> list[int]:
        return [held.first for held in self._blocks]

    def _column_plan(self) -> ByColumns:
        if not isinstance(self._plan, ByColumns):
            raise RuntimeError("these sets are projected row by row")
        return self._plan

    # -- what is known of the factors ------------------------------------------------------------

    def residual(self, slot: int, upper: bool, Y: Array) -> float:
        """‖M − XY‖² (or UV) of these rows, evaluated directly."""
        return sum(held.matrix().residual(held.half(slot, upper), Y) ** 2 for held in self._blocks)

    def facts(self, slot: int) -> tuple[Array, float, float]:
        """Nonzeros of each column of U, ‖U‖² and ‖X−U‖²."""
        halves = [(held.half(slot, True), held.half(slot, False)) for held in self._blocks]
        counts = np.sum([np.count_nonzero(U, axis=1) for _, U in halves], axis=0)
        return counts, sum(float(np.vdot(U, U)) for _, U in halves), sum(float(np.vdot(X - U, X - U)) for X, U in halves)

    def show(self, slot: int) -> Array | None:
        """Get ready to project U once more, to see whether that changes it."""
        for held in self._blocks:
            held.spare[:] = held.half(slot, False)
        return self._count_from() if isinstance(self._plan, ByColumns) else None

    def distance(self, slot: int, scaled: Scaled | None) -> float:
        """‖U − P(U)‖² of these rows."""
        self._scale(scaled)
        total = 0.0
        for held, plan in zip(self._blocks, self._by_block, strict=True):
            difference = _projected(plan, held.spare) - held.half(slot, False)
            total += float(np.vdot(difference, difference))
        return total

    def take(self, slot: int, upper: bool) -> list[Array]:
        """X or U, block by block, rows×p."""
        return [np.ascontiguousarray(held.half(slot, upper).T) for held in self._blocks]

    def write(self, slot: int, upper: bool, paths: Sequence[str]) -> None:
        """X or U of every block into a .npy file each."""
        with _writing():
            for held, path in zip(self._blocks, paths, strict=True):
                np.save(path, np.ascontiguousarray(held.half(slot, upper).T))

    # -- checkpoints -----------------------------------------------------------------------------

    def save(self, path: str) -> None:
        """X, U and Λ of all slots and blocks into one file, whole or not at all."""
        stored: dict[str, Any] = {}
        for i, held in enumerate(self._blocks):
            stored[f"{i}_Lam"] = held.Lam
            stored.update({f"{i}_{slot}": rows for slot, rows in held.slots.items()})
        unfinished = Path(path).with_suffix(".writing")
        with _writing():
            with unfinished.open("wb") as file:
                np.savez(file, **stored)
            unfinished.replace(path)

    def restore(self, path: str) -> None:
        """Go back to what `save` wrote."""
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                number, _, what = name.partition("_")
                held = self._blocks[int(number)]
                if what == "Lam":
                    held.Lam[:] = stored[name]
                else:
                    held.slot(int(what))[:] = stored[name]


@contextmanager
def _writing() -> Iterator[None]:
    """An error of the disk in words; as it is, it would look like a worker that does not answer."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(
            "folder", f"a worker cannot write there ({error})", "all workers need the same folder", whole=True
        ) from None


def taken(name: str, slot: int, upper: bool) -> list[Array]:
    """A factor, block by block, as a task of the worker that has the part, so that it becomes ordinary data there."""
    return PARTS[name].take(slot, upper)


def _projected(plan: Plan, spare: Array) -> Array:
    """U from what is to be projected; columns were projected already, all rows together."""
    return plan.project(spare.T).T if isinstance(plan, ByRows) else spare
