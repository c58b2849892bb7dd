"""Choosing supports: at most so many nonzeros in a sample, or in each group of its entries, for a smaller error.

Projected gradients change a support only where a near one is better, which few are. Here each sample is coded anew
by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993), and then every entry may be exchanged for a
better one. A sample keeps its code unless the new one is better, so the error never grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semf_core.sets import DisjointSupports, GroupSparse, Nonnegative, Sparse, StructureSet, members_of
from semf_core.solvers.base import Array

MOST_NONZEROS = 12
"""Samples with more nonzeros than this are not coded anew: the work grows with their number."""
SWEEPS = 4
"""Of coordinate descent, where a nonnegative code is not simply the solution of its equations."""


@dataclass(frozen=True)
class Counts:
    """How many nonzeros each sample may have."""

    groups: tuple[Array, ...]
    """A partition of the components."""
    most: tuple[int, ...]
    """Nonzeros in each group."""
    nonnegative: bool

    @property
    def nonzeros(self) -> int:
        return sum(self.most)


def counts_of(whole: StructureSet, transposed: bool, rank: int) -> Counts | None:
    """What a set says of the samples of a factor where it counts nonzeros, and at most fixes signs besides; else None."""
    along = "row" if transposed else "column"
    others, nonnegative = [], False
    for s in members_of(whole):
        if isinstance(s, Nonnegative) and s.binds_all_entries:
            nonnegative = True
        else:
            others.append(s)
    match others:
        case [Sparse() as s] if s.axis == along and s.binds_all_entries:
            counts = Counts((np.arange(rank),), (s.k,), nonnegative)
        case [GroupSparse() as s] if s.axis == along and s.binds_all_entries:
            counts = Counts(tuple(np.array(group) for group in s.groups), s.counts, nonnegative)
        case [DisjointSupports() as s] if s.axis != along and s.columns is None:
            counts = Counts((np.arange(rank),), (1,), nonnegative)
        case _:
            return None
    return counts if counts.nonzeros <= MOST_NONZEROS else None


def recoded(factor: Array, target: Array, gram: Array, counts: Counts) -> Array:
    """A factor F (p×N), none of whose samples has a larger ½⟨f, gram·f⟩ − ⟨target, f⟩ than before."""
    code = _Code(factor.copy(), target, gram, counts)
    fresh = _Code(np.zeros_like(factor), target, gram, counts)
    for _ in range(counts.nonzeros):
        fresh.enter()
        fresh.settle()
    code.take_better(fresh)
    changed = _Code(code.F.copy(), target, gram, counts)
    changed.exchange()
    code.take_better(changed)
    return code.F


class _Code:
    """A factor F and the slopes target − gram·F, kept up to date."""

    def __init__(self, F: Array, target: Array, gram: Array, counts: Counts) -> None:
        self.F, self.target, self.gram, self.counts = F, target, gram, counts
        self.slope = target - gram @ F if F.any() else target.copy()
        self.curvature = np.where(gram.diagonal() > 0, gram.diagonal(), np.inf).astype(gram.dtype)
        self.samples = np.arange(F.shape[1])

    def take_better(self, other: _Code) -> None:
        """The code of the other where its value is smaller."""
        values = [np.einsum("ij,ij->j", code.F, code.target + code.slope) for code in (self, other)]
        better = values[1] > values[0]  # half of minus these
        self.F[:, better] = other.F[:, better]
        self.slope[:, better] = other.slope[:, better]

    def _change(self, chosen: Array, step: Array) -> None:
        """Add a step to one entry of each sample."""
        self.F[chosen, self.samples] += step
        self.slope -= self.gram[:, chosen] * step

    def enter(self) -> None:
        """Give each sample the entry that lowers its value most, where one does and there is room for it."""
        gains = np.maximum(self.slope, 0) if self.counts.nonnegative else np.abs(self.slope)
        gains /= np.sqrt(self.curvature)[:, None]
        used = self.F != 0
        gains[used] = 0
        for group, most in zip(self.counts.groups, self.counts.most, strict=True):
            gains[np.ix_(group, used[group].sum(axis=0) >= most)] = 0
        chosen = gains.argmax(axis=0)
        step = self.slope[chosen, self.samples] / self.curvature[chosen]
        self._change(chosen, np.where(gains[chosen, self.samples] > 0, step, 0))

    def exchange(self) -> None:
        """Each nonzero in turn, the smallest first, is taken out, and the best entry put in its place."""
        order = np.argsort(-np.abs(self.F), axis=0)[: self.counts.nonzeros]
        for chosen in order[::-1]:
            self._change(chosen, -self.F[chosen, self.samples])
            self.enter()
        self.settle()

    def settle(self) -> None:
        """The best values on the supports."""
        k, dtype = min(self.counts.nonzeros, len(self.F)), self.gram.dtype
        places = np.argpartition(self.F == 0, k - 1, axis=0)[:k].T  # of each sample, its nonzeros among them
        held = self.F[places, self.samples[:, None]] != 0
        size = self.gram.trace() / dtype.type(len(self.gram))
        small = np.where(held[:, :, None] & held[:, None, :], self.gram[places[:, :, None], places[:, None, :]], 0)
        ridge = np.where(held, k * np.finfo(dtype).eps * size, size)  # any number where nothing is held
        small[:, np.arange(k), np.arange(k)] += ridge
        wanted = np.where(held, self.target[places, self.samples[:, None]], 0)
        try:
            values = np.linalg.solve(small, wanted[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:  # multiples of one component, so large that the ridge is lost in rounding
            values = (np.linalg.pinv(small, hermitian=True) @ wanted[:, :, None])[:, :, 0]
        if self.counts.nonnegative and values.min(initial=0) < 0:
            values = _nonnegative(small, wanted, values)
        self.F = np.zeros_like(self.F)
        self.F[places, self.samples[:, None]] = np.where(held, values, 0)
        self.slope = self.target - self.gram @ self.F


def _nonnegative(small: Array, wanted: Array, values: Array) -> Array:
    """Nonnegative values near the best, for many small systems at once."""
    values = np.maximum(values, 0)
    for _ in range(SWEEPS):
        for i in range(values.shape[1]):
            slope = wanted[:, i] - np.einsum("nj,nj->n", small[:, i], values)
            values[:, i] = np.maximum(values[:, i] + slope / small[:, i, i], 0)
    return values
