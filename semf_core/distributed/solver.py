"""SeMF's ADMM with M, X, U and Λ in parts on the workers of a cluster; Y, V, Π and Algorithm 2 stay with the client."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.distributed.cluster import Cluster
from semf_core.distributed.columns import Scaled, find_cuts, scale_for
from semf_core.distributed.plans import ByColumns, Plan
from semf_core.mathematics.matrix import DataMatrix
from semf_core.solvers.admm import ADMM
from semf_core.solvers.base import Array, Problem, State
from semf_core.solvers.half_steps import RowSums, Sent
from semf_core.solvers.relative import RelativeADMM
from semf_core.solvers.splitting import Splitting


@dataclass(frozen=True)
class RemoteFactor:
    """X (upper) or U of a slot, wherever its rows are."""

    slot: int
    upper: bool


class RemoteRows:
    """Stands for an array of X above U, transposed, that is on the workers under the number `slot`."""

    def __init__(self, slot: int, rank: int) -> None:
        self.slot, self._rank = slot, rank

    def __len__(self) -> int:
        return 2 * self._rank

    def __getitem__(self, half: slice) -> RemoteFactor:
        return RemoteFactor(self.slot, upper=half.start is None)


class RemoteMatrix(DataMatrix):
    """M in blocks of rows on the workers: its norm and residuals are sums over them."""

    def __init__(self, cluster: Cluster, plan: Plan, shape: tuple[int, int], dtype: np.dtype, rank: int) -> None:
        self.cluster, self.plan, self.shape, self.dtype, self._rank = cluster, plan, shape, dtype, rank
        cluster.use(plan)
        self._free: list[int] = []
        self._made = 0

    @cached_property
    def _squares(self) -> tuple[float, float]:
        """‖M‖² and ‖min(M, 0)‖²."""
        total, negative = (sum(part) for part in zip(*self.cluster.ask("scan"), strict=True))
        return float(total), float(negative)

    def _norm_squared(self) -> float:
        return self._squares[0]

    def _negative_squared(self) -> float:
        return self._squares[1]

    def residual(self, Xt: Any, Y: Array) -> float:
        return float(np.sqrt(sum(self.cluster.ask("residual", Xt.slot, Xt.upper, Y.copy()))))

    def rows(self) -> RemoteRows:
        """Room for X above U; its number serves again once nobody holds it."""
        if not self._free:
            self._free.append(self._made)
            self._made += 1
        made = RemoteRows(self._free.pop(), self._rank)
        weakref.finalize(made, self._free.append, made.slot)
        return made


class InBlocks(Splitting):
    """The steps on rows are taken by the workers; a descent on U and V is not among them."""

    own_start: ClassVar[str] = "a random Y: the workers take no X"
    can_descend: ClassVar[bool] = False

    checkpoint_every: int = param("integer", 25, low=1, help="iterations between two states that the workers write to the folder")

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.first.kind == "svd":
            raise InvalidInput("start", "svd is not possible on blocks of rows", "use uniform or normal", whole=True)
        if problem.start[0] is not None:
            raise InvalidInput("start_factors", "X cannot be given for blocks of rows", "give (None, Y)", whole=True)

    def _rows_like(self, problem: Problem) -> Any:
        return _matrix(problem).rows()

    def _clear_rows(self, problem: Problem, state: State) -> None:
        _matrix(problem).cluster.ask("clear", slot_of(state.W))

    def _update_rows(self, problem: Problem, state: State, W: Any, sent: Sent) -> RowSums:
        cluster, plan = _matrix(problem).cluster, _matrix(problem).plan
        if int(state.numbers["since_start"]) % self.checkpoint_every == 0:
            cluster.checkpoint()
        # The buffer of Y is used again, and a lost worker may have to be told this once more.
        order = (slot_of(state.W), slot_of(W), sent._replace(Y=sent.Y.copy()))
        if not isinstance(plan, ByColumns):
            return RowSums.total(cluster.ask("advance", *order))
        scaled = project_columns(cluster, plan, lambda: cluster.ask("begin", *order))
        return RowSums.total(cluster.ask("settle", scaled))


class BlockADMM(InBlocks, ADMM):
    """SeMF as printed, in blocks of rows."""


class BlockRelativeADMM(InBlocks, RelativeADMM):
    """SeMF with penalties relative to the factors, in blocks of rows."""


BLOCK_SOLVERS: dict[str, type[InBlocks]] = {cls.name: cls for cls in (BlockRelativeADMM, BlockADMM)}


def project_columns(cluster: Cluster, plan: ByColumns, begin: Callable[[], list[Any]]) -> Scaled | None:
    """Let the parts agree on the thresholds of the columns; returns how they are brought to their length.

    `begin` has the parts get ready, and returns their answers.
    """
    extremes = begin()
    cuts: list[Any] = [None] * len(extremes)
    if plan.counted.size:
        cuts = find_cuts(plan.count[plan.counted], extremes, lambda *bins: cluster.ask("count", *bins))
    measured = cluster.ask_each("cut", [(cut,) for cut in cuts])
    return scale_for(plan, measured) if plan.sized else None


def distance_from(cluster: Cluster, plan: Plan, slot: int) -> float:
    """‖U − P(U)‖ for the projection that the plan describes."""
    cluster.use(plan)
    scaled = project_columns(cluster, plan, lambda: cluster.ask("show", slot)) if isinstance(plan, ByColumns) else None
    if not isinstance(plan, ByColumns):
        cluster.ask("show", slot)
    return float(np.sqrt(sum(cluster.ask("distance", slot, scaled))))


def _matrix(problem: Problem) -> RemoteMatrix:
    if not isinstance(problem.matrix, RemoteMatrix):
        raise InvalidInput("M", "is not in blocks of rows on a cluster")
    return problem.matrix


def slot_of(rows: Any) -> int:
    """The number under which the workers have what stands for W."""
    return int(rows.slot)
