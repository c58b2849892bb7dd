"""A group of columns whose L1/L2 ratios k_j add up to a budget (Potluru et al. 2013, eqs. 2-4).

With f_j from `hoyer` the nearest matrix splits the budget so that Σ f_j(k_j) is largest if the columns
have unit norm, and Σ max(f_j(k_j), 0)² if their norms are free. The first sum is concave: at its
maximum all columns share one threshold, f_j′(k_j) = θ. The second is not: the budget is split on a
grid by dynamic programming, and the split is then refined on ever finer grids around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from semf_core.sets.hoyer import sparse_opt
from semf_core.sets.kernels import binary_scale

Array = np.ndarray
SHARES, STEPS, LEVELS = 48, 4, 11
"""Steps of the first grid; into how many parts each finer grid divides a step; how many finer grids."""
CLOSE = 4 * float(np.finfo(np.float64).eps)
"""How near a threshold is found."""
LARGE_GROUP = 64
"""Above this many columns dynamic programming takes too long, and what its rival loses is small beside the sum."""


@dataclass(frozen=True)
class Path:
    """Sparse-trans (Algorithm 3): what one sort tells about f for every k, for each row of `vectors`."""

    vectors: Array

    @cached_property
    def top(self) -> Array:
        return self.vectors.max(axis=1, keepdims=True)

    @cached_property
    def gaps(self) -> Array:
        """How far each entry lies below the largest one, from the smallest distance on."""
        return self.top - np.sort(self.vectors, axis=1)[:, ::-1]

    @cached_property
    def sums(self) -> Array:
        return np.cumsum(self.gaps, axis=1)

    @cached_property
    def squares(self) -> Array:
        return np.cumsum(self.gaps * self.gaps, axis=1)

    @cached_property
    def breaks(self) -> Array:
        """The ratio where the threshold meets the entry p+1, p = 1, …, d−1: it never falls with p."""
        gap, part = self.gaps[:, 1:], self.sums[:, :-1]
        l1 = np.arange(1, self.gaps.shape[1]) * gap - part
        l2 = np.sqrt(np.maximum(self.squares[:, :-1] + gap * (l1 - part), 0))
        found = np.divide(l1, l2, out=np.zeros_like(l1), where=l2 > 0)
        return np.maximum.accumulate(found, axis=1)

    def values(self, k: Array) -> Array:
        """f_j(k_ji) for every row j and the ratios in row j of k."""
        p = 1 + np.stack([np.searchsorted(breaks, wanted) for breaks, wanted in zip(self.breaks, k, strict=True)])
        part, square = (np.take_along_axis(sums, p - 1, axis=1) for sums in (self.sums, self.squares))
        mean = part / p
        spread = np.maximum(square - mean * part, 0)
        return (self.top - mean) * k + np.sqrt(spread * np.maximum(1 - k * k / p, 0))

    def ratios(self, theta: float) -> Array:
        """The ratio of (b − θ)₊ for every row b; 1, the least there is, at and above its largest entry."""
        gap = self.top[:, 0] - theta
        p = np.array([np.searchsorted(gaps, g) for gaps, g in zip(self.gaps, gap, strict=True)])
        row, last = np.arange(len(gap)), np.maximum(p, 1) - 1
        l1 = p * gap - self.sums[row, last]
        l2 = np.sqrt(np.maximum(self.squares[row, last] + gap * (l1 - self.sums[row, last]), 0))
        return np.where((gap <= 0) | (l2 == 0), 1, l1 / np.where(l2 == 0, 1, l2))


def share_ratios(B: Array, budget: float, nonnegative: bool) -> Array:
    """A near point of {Z : Σ_j ‖z_j‖₁/‖z_j‖₂ = budget (and Z ≥ 0)}; a zero column may count as any ratio."""
    A = B.astype(np.float64) if nonnegative else np.abs(B).astype(np.float64)
    if holds_budget(np.maximum(A, 0), budget, float(np.finfo(B.dtype).eps)):
        return np.maximum(B, 0) if nonnegative else B.copy()
    k = _split(A / binary_scale(A).max(), budget) if A.shape[1] > 1 else np.array([budget])
    Y = sparse_opt(A, k)
    Z = Y * np.maximum(np.einsum("ij,ij->j", Y, A), 0)
    return (Z if nonnegative else np.where(B < 0, -Z, Z)).astype(B.dtype)


def share_ratios_on_sphere(B: Array, budget: float, nonnegative: bool) -> Array:
    """argmin ‖Z − B‖ over unit columns whose ratios add up to the budget (and Z ≥ 0): eq. 2's set."""
    A = B.astype(np.float64) if nonnegative else np.abs(B).astype(np.float64)
    Y = sparse_opt(A, _split_by_threshold(A / binary_scale(A).max(), budget))
    return (Y if nonnegative else np.where(B < 0, -Y, Y)).astype(B.dtype)


def holds_budget(P: Array, budget: float, eps: float) -> bool:
    """Whether the ratios of the columns of P ≥ 0 add up to the budget, up to rounding."""
    scaled = P / binary_scale(P)
    norms = np.sqrt(np.einsum("ij,ij->j", scaled, scaled))
    live = norms > 0
    total = float((scaled.sum(axis=0)[live] / norms[live]).sum())
    empty, slack = np.count_nonzero(~live), 16 * eps * budget
    return total + empty - slack <= budget <= total + empty * np.sqrt(len(P)) + slack


def _split(A: Array, budget: float) -> Array:
    """Ratios k_j with Σ k_j = budget that make Σ max(f_j(k_j), 0)² large."""
    path = Path(np.ascontiguousarray(A.T))
    count, most = A.shape[1], float(np.sqrt(len(A)))

    def gains(k: Array) -> Array:
        values = np.maximum(path.values(np.clip(k, 1, most)), 0) ** 2
        return np.where((k < 1 - 1e-12) | (k > most + 1e-12), -np.inf, values)

    step = (most - 1) / SHARES
    whole, part = divmod(np.clip((budget - count) / step, 0, count * SHARES), 1)
    # The remainder of the budget is spread evenly, so that every split on the grid uses all of it.
    grid = np.minimum(1 + (np.arange(SHARES + 1) + part / count) * step, most)
    k = _settled(grid[best_split(gains(np.tile(grid, (count, 1))), int(whole))], budget, most)
    for _ in range(LEVELS):
        step /= STEPS
        around = k[:, None] + np.arange(-STEPS, STEPS + 1) * step
        k = around[np.arange(count), best_split(gains(around), STEPS * count)]
    return _settled(k, budget, most)


def best_split(gains: Array, total: int) -> Array:
    """Indices with Σ_j i_j = total that make Σ_j gains[j, i_j] largest (in large groups: nearly so)."""
    return split_by_programming(gains, total) if len(gains) <= LARGE_GROUP else split_by_price(gains, total)


def split_by_price(gains: Array, total: int) -> Array:
    """Every column takes the index that gains most at a common price per step.

    The price is halved in on until the indices just add up to less and to more than the total; columns
    then go from the lesser to the greater one by one. At most one of them ends between its two choices.
    """
    steps = np.arange(gains.shape[1])

    def taken(price: float) -> Array:
        return (gains - price * steps).argmax(axis=1)

    finite = gains[np.isfinite(gains)]
    high = float(np.ptp(finite)) + 1
    low = -high
    for _ in range(100):
        price = (low + high) / 2
        low, high = (price, high) if taken(price).sum() >= total else (low, price)
    fewer, more = taken(high), taken(low)
    room = np.clip(total - fewer.sum() - np.concatenate([[0], np.cumsum(more - fewer)[:-1]]), 0, more - fewer)
    return fewer + room


def split_by_programming(gains: Array, total: int) -> Array:
    """argmax Σ_j gains[j, i_j] over indices with Σ_j i_j = total, by dynamic programming."""
    count, width = gains.shape
    window = np.arange(count * (width - 1) + 1)[:, None] + np.arange(width)
    outside = np.full(width - 1, -np.inf)
    best, choices = np.zeros(1), []
    for row in gains:
        # best[total] is the most that the columns so far gain; each total tries every index of this one.
        padded = np.concatenate([outside, best, outside])
        candidates = padded[window[: len(best) + width - 1]] + row[::-1]
        choice = candidates.argmax(axis=1)
        choices.append(width - 1 - choice)
        best = candidates[np.arange(len(candidates)), choice]
    indices = np.empty(count, dtype=int)
    for j in range(count - 1, -1, -1):
        indices[j] = choices[j][total]
        total -= indices[j]
    return indices


def split_pair(b: Array, length: Array, k: Array, steps: int | None) -> Array:
    """Ratios for two vectors (the rows of b) of given lengths whose L1 norms add up to what k makes of them.

    They make Σ t_j f_j(k_j) large under Σ t_j k_j = β (Sparse-biopt, Algorithm 1, with lengths t_j): on a grid
    of that many steps, which keeps k unless a point of it is better, or without one at the maximum itself,
    where both vectors have one threshold because every f_j is concave.
    """
    path, most = Path(b / binary_scale(b.T).max()), float(np.sqrt(b.shape[1]))
    total = float(length @ k)
    least = max(1.0, (total - length[1] * most) / length[0])
    largest = min(most, (total - length[1]) / length[0])
    if largest <= least:
        return k
    if steps is None:
        first = _shared_threshold(path, length, total)[0]
    else:
        grid = np.append(np.linspace(least, largest, steps + 1), k[0])
        other = (total - length[0] * grid) / length[1]
        first = grid[(length @ path.values(np.clip(np.stack((grid, other)), 1, most))).argmax()]
    first = float(np.clip(first, least, largest))
    return np.array([first, np.clip((total - length[0] * first) / length[1], 1, most)])


def _split_by_threshold(A: Array, budget: float) -> Array:
    """Ratios k_j = ratio of (a_j − θ)₊ with Σ k_j = budget: one threshold for all."""
    path = Path(np.ascontiguousarray(A.T))
    return _settled(_shared_threshold(path, np.ones(A.shape[1]), budget), budget, float(np.sqrt(len(A))))


def _shared_threshold(path: Path, weights: Array, budget: float) -> Array:
    """The ratios of (b_j − θ)₊ at the threshold θ with Σ w_j k_j = budget."""

    def excess(theta: float) -> float:
        return float(weights @ path.ratios(theta)) - budget

    high = float(path.top.max())
    depth = max(high - float(path.vectors.min()), 1e-12)
    while excess(high - depth) < 0 and depth < 1e9:
        depth *= 4
    low = high - depth
    if excess(low) <= 0:
        return path.ratios(low)
    if excess(high) < 0:
        root = scipy.optimize.brentq(excess, low, high, xtol=CLOSE, rtol=CLOSE)
        low, high = root - CLOSE * (1 + abs(root)), root + CLOSE * (1 + abs(root))
    # Tied largest entries make the sum jump; there every split between the two sides is optimal.
    more, fewer = path.ratios(low), path.ratios(high)
    gap = float(weights @ (more - fewer))
    share = np.clip((budget - float(weights @ fewer)) / gap, 0, 1) if gap > 0 else 0.0
    return fewer + share * (more - fewer)


def _settled(k: Array, budget: float, most: float) -> Array:
    """k with its rounding error spread over the columns that have room for it."""
    for _ in range(3):
        k = np.clip(k, 1, most)
        error = budget - k.sum()
        room = (most - k) if error > 0 else (k - 1)
        if error == 0 or room.sum() <= 0:
            break
        k = k + room * min(abs(error) / room.sum(), 1) * np.sign(error)
    return np.clip(k, 1, most)
